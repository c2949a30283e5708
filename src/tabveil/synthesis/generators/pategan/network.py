"""The networks of PATE-GAN: a generator of rows, a student that learns from noisy votes, and their game.

Needs torch. No real row comes here: what is known of them are the noisy votes of the teachers.
"""

import copy
import math
from abc import ABC, abstractmethod
from collections import deque
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from tabveil.engines.networks import require_finite
from tabveil.synthesis.generators.pategan.agreement import AgreementTeachers
from tabveil.synthesis.generators.pategan.network_teachers import BETAS, LEAK, NetworkTeachers

if TYPE_CHECKING:
    from tabveil.synthesis.generators.pategan.synthesizer import PateGan

SOFTNESS = 0.7
"""The temperature of Gumbel-softmax: how far a drawn level's gradient reaches to the other levels."""
AT_FIRST = 3.0
"""How much larger than usual the last layer starts: the random numbers a row is made from must matter for
all its columns, or columns could not go together."""
LEARNED_FROM = 256
"""Rows in a step of the student or the generator."""
COMPARED_WITH = 512
"""Invented rows that the teachers compare theirs with."""


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


class Game(ABC):
    """Generator against student; the student learns from what the teachers say, with noise.

    ``kept`` is the running average of the generator.
    """

    def __init__(self, network: Network, settings: "PateGan", iterations: int) -> None:
        self.network, self.settings, self.iterations = network, settings, iterations
        self.kept = copy.deepcopy(network)
        self.student = nn.Sequential(
            nn.Linear(sum(network.sizes), settings.width), nn.LeakyReLU(LEAK), nn.Linear(settings.width, 1)
        ).to(settings.device)
        self.generator_steps = torch.optim.Adam(
            network.parameters(), settings.course.learning_rate, betas=BETAS
        )
        self.student_steps = torch.optim.Adam(
            self.student.parameters(), settings.student_learning_rate, betas=BETAS
        )
        self.remembered: deque[tuple[Tensor, Tensor]] = deque(maxlen=settings.course.memory)

    def iteration(self, i: int) -> tuple[float, None]:
        """Have the teachers teach the student, improve the generator; returns the student's loss."""
        loss = self.instruct()
        for group in self.generator_steps.param_groups:
            group["lr"] = (
                self.settings.course.learning_rate * (1 + math.cos(math.pi * i / self.iterations)) / 2
            )
        for _ in range(self.settings.course.generator_steps):
            displeasure = self.displeasure(self.student(self.network.invent(LEARNED_FROM)))
            self.generator_steps.zero_grad()
            torch.autograd.backward(displeasure)
            self.generator_steps.step()
        self._average(i)
        return loss, None

    @abstractmethod
    def instruct(self) -> float:
        """Ask the teachers and teach the student; returns its loss."""

    @abstractmethod
    def error(self, scores: Tensor, answers: Tensor) -> Tensor:
        """Return how far the student's scores are from what the teachers answered."""

    @abstractmethod
    def displeasure(self, scores: Tensor) -> Tensor:
        """Return what the generator should make small, from the student's scores of invented rows."""

    def teach(self, steps: int) -> float:
        """Fit the student to the answers remembered; returns its error."""
        rows = torch.cat([asked for asked, _ in self.remembered])
        answers = torch.cat([shares for _, shares in self.remembered])
        loss = torch.zeros(())
        for _ in range(steps):
            chosen = torch.randint(len(rows), (LEARNED_FROM,), device=rows.device)
            loss = self.error(self.student(rows[chosen])[:, 0], answers[chosen])
            self.student_steps.zero_grad()
            torch.autograd.backward(loss)
            self.student_steps.step()
        return float(loss.detach())

    @torch.no_grad()
    def _average(self, i: int) -> None:
        """Let the average follow the generator; the first steps do not weigh more than later ones."""
        new = max(1 - self.settings.averaging, 1 / (i + 1))
        for average, present in zip(self.kept.parameters(), self.network.parameters(), strict=True):
            average.lerp_(present, new)


class AgreementGame(Game):
    """Teachers divide a batch into halves; the student learns their shares by least squares."""

    def __init__(
        self, network: Network, teachers: AgreementTeachers, settings: "PateGan", iterations: int
    ) -> None:
        super().__init__(network, settings, iterations)
        self.teachers = teachers

    def instruct(self) -> float:
        """Have the teachers vote once on newly invented rows, and learn from all answers remembered."""
        asked = self.network.marked(self.settings.course.batch_size)
        agreeing = self.network.marked(COMPARED_WITH) @ asked.T  # (COMPARED_WITH, batch_size)
        shares = self.teachers.vote(asked.cpu().numpy(), agreeing.square().mean(dim=0).cpu().numpy())
        answers = torch.from_numpy(shares).to(asked)
        if self.settings.labels == "majority":
            answers = answers.sign() / 2
        self.remembered.append((asked, answers))
        return self.teach(self.settings.course.student_steps)

    def error(self, scores: Tensor, answers: Tensor) -> Tensor:
        """Return the mean squared error."""
        return functional.mse_loss(scores, answers)

    def displeasure(self, scores: Tensor) -> Tensor:
        """Return minus the mean score."""
        return -scores.mean()


class NetworkGame(Game):
    """Teachers are networks that learn, too; the student learns their majorities, as published."""

    def __init__(
        self, network: Network, teachers: NetworkTeachers, settings: "PateGan", iterations: int
    ) -> None:
        super().__init__(network, settings, iterations)
        self.teachers = teachers

    def instruct(self) -> float:
        """Let the teachers take their steps, then the student its own, each with a batch of new votes."""
        for _ in range(self.settings.teacher_steps):
            self.teachers.learn(self.network.marked(self.settings.course.batch_size))
        loss = 0.0
        for _ in range(self.settings.course.student_steps):
            asked = self.network.marked(self.settings.course.batch_size)
            self.remembered.append((asked, self.teachers.vote(asked)))
            loss = self.teach(1)
        return loss

    def error(self, scores: Tensor, answers: Tensor) -> Tensor:
        """Return the cross-entropy."""
        return functional.binary_cross_entropy_with_logits(scores, answers)

    def displeasure(self, scores: Tensor) -> Tensor:
        """Return the mean logarithm of the chance, in the student's eyes, that a row is invented."""
        return functional.logsigmoid(-scores).mean()
