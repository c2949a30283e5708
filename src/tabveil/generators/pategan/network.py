"""The networks of PATE-GAN: a generator of rows, a student that learns from noisy votes, and their game.

Needs torch. No real row comes here: what is known of them are the noisy votes of
:meth:`tabveil.generators.pategan.votes.Teachers.vote`.
"""

import copy
import math
from collections import deque
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from tabveil.generators.pategan.votes import Teachers
from tabveil.networks import require_finite

if TYPE_CHECKING:
    from tabveil.generators.pategan.synthesizer import PateGan

SOFTNESS = 0.7
"""The temperature of Gumbel-softmax: how far a drawn level's gradient reaches to the other levels."""
AT_FIRST = 3.0
"""How much larger than usual the last layer starts: the random numbers a row is made from must matter for
all its columns, or columns could not go together."""
LEARNED_FROM = 256
"""Rows in a step of the student or the generator."""
COMPARED_WITH = 512
"""Invented rows that the teachers compare theirs with."""
_BETAS = (0.5, 0.9)  # of Adam: little momentum, because the other side moves, too


class Network(nn.Module):
    """The generator: from random numbers to how likely each level of each column is."""

    def __init__(self, sizes: tuple[int, ...], *, latent: int, width: int) -> None:
        super().__init__()
        self.sizes, self.latent = sizes, latent
        last = nn.Linear(width, sum(sizes))
        with torch.no_grad():
            last.weight.mul_(AT_FIRST)
            last.bias.zero_()
        self.layers = nn.Sequential(
            nn.Linear(latent, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), last
        )

    def forward(self, n_rows: int) -> tuple[Tensor, ...]:
        """Return the scores of each column's levels, (n_rows, n_levels) each."""
        device = next(self.parameters()).device
        scores: Tensor = self.layers(torch.randn(n_rows, self.latent, device=device))
        return torch.split(scores, list(self.sizes), dim=1)

    @torch.no_grad()
    def draw(self, n_rows: int) -> Tensor:
        """Draw the level of each column, (n_rows, n_columns)."""
        found = self(n_rows)
        require_finite("pategan", *found)
        columns = [(scores + _gumbel(scores)).argmax(dim=1) for scores in found]
        return torch.stack(columns, dim=1)

    def invent(self, n_rows: int) -> Tensor:
        """Draw rows as ones and zeros (n_rows, all levels), through which gradients pass."""
        return torch.cat(
            [functional.gumbel_softmax(scores, SOFTNESS, hard=True) for scores in self(n_rows)], dim=1
        )

    @torch.no_grad()
    def marked(self, n_rows: int) -> Tensor:
        """Draw rows as exact ones and zeros, (n_rows, all levels)."""
        levels = self.draw(n_rows)
        columns = zip(levels.unbind(dim=1), self.sizes, strict=True)
        marks = [functional.one_hot(column, size) for column, size in columns]
        return torch.cat(marks, dim=1).float()


def _gumbel(like: Tensor) -> Tensor:
    return -torch.empty_like(like).exponential_().log()


class Game:
    """Generator against student; the student learns from what the teachers say, with noise.

    ``kept`` is the running average of the generator.
    """

    def __init__(self, network: Network, teachers: Teachers, settings: "PateGan", iterations: int) -> None:
        device = settings.device
        self.network, self.teachers, self.settings, self.iterations = network, teachers, settings, iterations
        self.kept = copy.deepcopy(network)
        self.student = nn.Sequential(
            nn.Linear(sum(network.sizes), settings.width), nn.LeakyReLU(0.2), nn.Linear(settings.width, 1)
        ).to(device)
        self.generator_steps = torch.optim.Adam(network.parameters(), settings.learning_rate, betas=_BETAS)
        self.student_steps = torch.optim.Adam(
            self.student.parameters(), settings.student_learning_rate, betas=_BETAS
        )
        self.remembered: deque[tuple[Tensor, Tensor]] = deque(maxlen=settings.memory)

    def iteration(self, i: int) -> tuple[float, None]:
        """Ask the teachers once, teach the student, improve the generator; returns the student's loss."""
        self._ask()
        loss = self._teach()
        for group in self.generator_steps.param_groups:
            group["lr"] = self.settings.learning_rate * (1 + math.cos(math.pi * i / self.iterations)) / 2
        for _ in range(self.settings.generator_steps):
            realism = self.student(self.network.invent(LEARNED_FROM)).mean()
            self.generator_steps.zero_grad()
            (-realism).backward()
            self.generator_steps.step()
        self._average(i)
        return loss, None

    def _ask(self) -> None:
        """Have the teachers vote on newly invented rows, and remember their answers."""
        asked = self.network.marked(self.settings.batch_size)
        agreeing = self.network.marked(COMPARED_WITH) @ asked.T  # (COMPARED_WITH, batch_size)
        shares = self.teachers.vote(asked.cpu().numpy(), agreeing.square().mean(dim=0).cpu().numpy())
        answers = torch.from_numpy(shares).to(asked)
        if self.settings.labels == "majority":
            answers = answers.sign() / 2
        self.remembered.append((asked, answers))

    def _teach(self) -> float:
        """Fit the student to the answers remembered; returns its mean squared error."""
        rows = torch.cat([asked for asked, _ in self.remembered])
        answers = torch.cat([shares for _, shares in self.remembered])
        loss = torch.zeros(())
        for _ in range(self.settings.student_steps):
            chosen = torch.randint(len(rows), (LEARNED_FROM,), device=rows.device)
            loss = functional.mse_loss(self.student(rows[chosen])[:, 0], answers[chosen])
            self.student_steps.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self.student_steps.step()
        return float(loss.detach())

    @torch.no_grad()
    def _average(self, i: int) -> None:
        """Let the average follow the generator; the first steps do not weigh more than later ones."""
        new = max(1 - self.settings.averaging, 1 / (i + 1))
        for average, present in zip(self.kept.parameters(), self.network.parameters(), strict=True):
            average.lerp_(present, new)
