"""The networks of PATE-GAN: teachers as published, a generator of rows, a student, and their game."""

import copy
import math
from abc import ABC, abstractmethod
from collections import deque
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor, nn
from torch.nn import functional

from tabveil.core.table import Floats, Indices
from tabveil.engines.networks import require_finite
from tabveil.synthesis.generators.pategan.agreement import AgreementTeachers

if TYPE_CHECKING:
    from tabveil.synthesis.generators.pategan.synthesizer import PateGan


MOST_INPUTS = 512
"""Where there are more levels than these, each is given one of so many inputs at random, the same for all."""
LEAK = 0.2
BETAS = (0.5, 0.9)
"""Of Adam: little momentum, because the other side moves, too."""


class NetworkTeachers:
    """So many networks of one hidden layer, each with rows of its own; ``held`` counts the votes held."""

    def __init__(
        self,
        levels: Indices,
        teacher: Indices,
        n_levels: int,
        settings: "PateGan",
        *,
        noise: float,
        rng: Generator,
    ) -> None:
        """Give every row to its teacher.

        ``levels`` (n_rows, n_columns) are the levels each row has, out of ``n_levels`` for all columns;
        ``teacher`` (n_rows,) was drawn for each row by itself.
        """
        self.noise, self.rng, self.held = noise, rng, 0
        device, n_teachers, width = settings.device, settings.course.n_teachers, settings.teacher_width
        order = np.argsort(teacher, kind="stable")
        self.levels = torch.from_numpy(levels[order]).to(device)  # teacher after teacher
        self.n_own = np.bincount(teacher, minlength=n_teachers)  # (teachers,)
        self.first = np.cumsum(self.n_own) - self.n_own
        self.informed = torch.from_numpy(self.n_own > 0).to(device)
        self.n_inputs = min(n_levels, MOST_INPUTS)
        shared = n_levels > self.n_inputs
        inputs = torch.randint(self.n_inputs, (n_levels,)) if shared else torch.arange(n_levels)
        self.inputs = inputs.to(device)  # (n_levels,) the input that each level turns on
        shapes = ((self.n_inputs, n_teachers, width), (n_teachers, width), (n_teachers, width), (n_teachers,))
        sizes = (levels.shape[1], levels.shape[1], width, width)  # so many inputs of each layer are on
        first_weights = [
            (2 * torch.rand(shape) - 1) / math.sqrt(size) for shape, size in zip(shapes, sizes, strict=True)
        ]
        self.weights = [nn.Parameter(weight.to(device)) for weight in first_weights]
        self.steps = torch.optim.Adam(self.weights, settings.teacher_learning_rate, betas=BETAS)

    def learn(self, invented: Tensor) -> None:
        """Take one step: tell as many rows of each teacher's own from these (n, n_levels)."""
        real, fake = self._scores(self._own(len(invented))), self._scores(self._shared(invented))
        losses = (functional.softplus(-real) + functional.softplus(fake)).mean(dim=0)  # (teachers,)
        self.steps.zero_grad()
        torch.autograd.backward((losses * self.informed).sum())  # a sum: no teacher's step depends on others
        self.steps.step()

    @torch.no_grad()
    def vote(self, asked: Tensor) -> Tensor:
        """Which of the invented rows (n, n_levels) look real? Returns the noisy majorities, 1 or 0."""
        self.held += len(asked)
        yes = (self._scores(self._shared(asked)) > 0) & self.informed  # (n, teachers)
        in_favor = yes.sum(dim=1).cpu().numpy().astype(float)
        against = float(self.informed.sum()) - in_favor
        in_favor, against = (add_noise(count, self.noise, rng=self.rng) for count in (in_favor, against))
        return torch.from_numpy(in_favor > against).to(asked)

    def _own(self, n: int) -> Tensor:
        """Draw ``n`` of each teacher's own rows (n, teachers, width), as its first layer sees them."""
        n_teachers = len(self.n_own)
        drawn = self.rng.integers(np.maximum(self.n_own, 1)[:, None], size=(n_teachers, n))
        rows = np.minimum(self.first[:, None] + drawn, len(self.levels) - 1)  # any row where there is none
        inputs = self.inputs[self.levels[torch.from_numpy(rows).to(self.inputs.device)]]
        turned_on = torch.zeros(*rows.shape, self.n_inputs, device=inputs.device)
        turned_on.scatter_add_(2, inputs, torch.ones_like(inputs, dtype=turned_on.dtype))
        return (turned_on @ self.weights[0].transpose(0, 1)).transpose(0, 1)

    def _shared(self, invented: Tensor) -> Tensor:
        """Show the same rows to all teachers: (n, teachers, width), as their first layers see them."""
        turned_on = invented.new_zeros(len(invented), self.n_inputs).index_add_(1, self.inputs, invented)
        return (turned_on @ self.weights[0].flatten(1)).reshape(-1, *self.weights[1].shape)

    def _scores(self, seen: Tensor) -> Tensor:
        """Return how real each teacher finds rows (n, teachers)."""
        _, first_bias, last, last_bias = self.weights
        hidden = functional.leaky_relu(seen + first_bias, LEAK)
        return (hidden * last).sum(dim=2) + last_bias


def add_noise(counts: Floats, scale: float, *, rng: Generator) -> Floats:
    """Add Laplace noise to counts of votes."""
    return counts + rng.laplace(0.0, scale, counts.shape)


SOFTNESS = 0.7
"""The temperature of Gumbel-softmax: how far a drawn level's gradient reaches to the other levels."""
AT_FIRST = 3.0
"""How much larger than usual the last layer starts: the random numbers a row is made from must matter for
all its columns, or columns could not go together."""
LEARNED_FROM = 256
"""Rows in a step of the student or the generator."""
COMPARED_WITH = 512
"""Invented rows that the teachers compare theirs with."""


class RowNetwork(nn.Module):
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


class VotingGame(ABC):
    """Generator against student; the student learns from what the teachers say, with noise.

    ``kept`` is the running average of the generator.
    """

    def __init__(self, network: RowNetwork, settings: "PateGan", iterations: int) -> None:
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


class AgreementGame(VotingGame):
    """Teachers divide a batch into halves; the student learns their shares by least squares."""

    def __init__(
        self, network: RowNetwork, teachers: AgreementTeachers, settings: "PateGan", iterations: int
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


class NetworkGame(VotingGame):
    """Teachers are networks that learn, too; the student learns their majorities, as published."""

    def __init__(
        self, network: RowNetwork, teachers: NetworkTeachers, settings: "PateGan", iterations: int
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
