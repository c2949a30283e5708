"""The teachers of PATE-GAN of both kinds, its generator of rows, its student, and their game.

Everything that is learned from the rows passes through the votes of the teachers; what is computed from the
noisy votes needs no further privacy. Why the promise holds: every row belongs to one teacher, drawn for each
row by itself before anything is learned, so a row that is replaced, added or removed changes one teacher and
leaves all others as they are. What the votes of one teacher cost is the business of
:mod:`tabveil.synthesis.generators.pategan.accounting`.
"""

import copy
import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn
from torch.nn import functional

from tabveil.core.table import Floats, Indices
from tabveil.engines.networks import require_finite

if TYPE_CHECKING:
    from tabveil.synthesis.generators.pategan.synthesizer import PateGan

Marks = NDArray[np.float32]


class AgreementTeachers:
    """Teachers that each know their own rows; ``held`` counts the votes that were held.

    ``levels`` (n_rows, n_columns) are the levels each row has, out of ``n_levels`` for all columns;
    ``teacher`` (n_rows,) was drawn for each row by itself.

    A teacher finds a row real if it agrees more with the teacher's own rows than with invented ones: the
    score is the mean square of the number of columns in which they agree, less the same for invented rows.
    (The square makes it count whether columns agree together: it is the sum over all columns and all pairs.)
    Given a batch of invented rows, a teacher finds the half with the higher scores, for +1/2, and the other
    half, for −1/2; a tie, or having no rows, is a vote of 0.
    """

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
        self.n_teachers, self.noise, self.rng, self.held = settings.course.n_teachers, noise, rng, 0
        order = np.argsort(teacher, kind="stable")
        ends = np.arange(0, levels.size + 1, levels.shape[1])
        ones = np.ones(levels.size, dtype=np.float32)  # for the levels that a row has; teacher after teacher
        self.rows = csr_array((ones, levels[order].reshape(-1), ends), shape=(len(levels), n_levels))
        self.first = np.unique(teacher[order], return_index=True)[1]  # (teachers with rows,)

    def vote(self, asked: Marks, usual: Marks) -> Floats:
        """Which of the invented rows ``asked`` look real? Returns noisy sums of votes, as shares of all.

        ``asked`` (n_asked, n_levels) holds 1 for the levels that a row has, ``usual`` (n_asked,) the mean
        square of the number of columns in which each agrees with other invented rows.
        """
        self.held += len(asked)
        agreeing = self.rows @ asked.T  # (n_rows, n_asked) columns in which they agree
        agreeing *= agreeing
        own = np.add.reduceat(agreeing, self.first, axis=0)  # (teachers, n_asked)
        n_own = np.diff(self.first, append=self.rows.shape[0])
        votes = ballot(own / n_own[:, None] - usual).sum(axis=0)
        return add_gaussian(votes, self.noise, rng=self.rng) / self.n_teachers


def ballot(scores: Floats) -> Floats:
    """Return each teacher's votes (teachers, rows): +1/2 for the half of the rows that it scores higher.

    >>> ballot(np.array([[3.0, 1.0, 2.0, 9.0], [5.0, 5.0, 5.0, 5.0]]))
    array([[ 0.5, -0.5, -0.5,  0.5],
           [ 0. ,  0. ,  0. ,  0. ]])
    """
    votes: Floats = np.sign(scores - np.median(scores, axis=1, keepdims=True)) / 2
    return votes


def add_gaussian(votes: Floats, noise: float, *, rng: Generator) -> Floats:
    """Add Gaussian noise to sums of votes, in halves: the last digits of a float could betray the sum."""
    return np.rint(2 * (votes + rng.normal(0.0, noise, votes.shape))) / 2


MOST_INPUTS = 512
"""Where there are more levels than these, each is given one of so many inputs at random, the same for all."""
LEAK = 0.2
BETAS = (0.5, 0.9)
"""Of Adam: little momentum, because the other side moves, too."""


class NetworkTeachers:
    """So many networks of one hidden layer, made of what :class:`AgreementTeachers` are made of."""

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
        in_favor, against = (add_laplace(count, self.noise, rng=self.rng) for count in (in_favor, against))
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


def add_laplace(counts: Floats, scale: float, *, rng: Generator) -> Floats:
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
        # With Gumbel noise, the largest score is that of a level drawn by its chance.
        columns = [(scores - torch.empty_like(scores).exponential_().log()).argmax(dim=1) for scores in found]
        return torch.stack(columns, dim=1)

    def invent(self, n_rows: int) -> Tensor:
        """Draw rows as ones and zeros (n_rows, all levels), through which gradients pass."""
        return torch.cat(
            [functional.gumbel_softmax(scores, SOFTNESS, hard=True) for scores in self(n_rows)], dim=1
        )

    @torch.no_grad()
    def marked(self, n_rows: int) -> Tensor:
        """Draw rows as exact ones and zeros, (n_rows, all levels)."""
        columns = zip(self.draw(n_rows).unbind(dim=1), self.sizes, strict=True)
        return torch.cat([functional.one_hot(column, size) for column, size in columns], dim=1).float()


class VotingGame(ABC):
    """Generator against student; the student learns from what the teachers say, with noise.

    ``kept`` is the running average of the generator.
    """

    error: Callable[..., Tensor]
    """How far the student's scores are from what the teachers answered."""

    def __init__(
        self,
        network: RowNetwork,
        teachers: Any,  # noqa: ANN401 - of the kind that the game is for
        settings: "PateGan",
        iterations: int,
    ) -> None:
        self.network, self.teachers, self.settings, self.iterations = network, teachers, settings, iterations
        self.kept, course = copy.deepcopy(network), settings.course
        self.student = nn.Sequential(
            nn.Linear(sum(network.sizes), settings.width), nn.LeakyReLU(LEAK), nn.Linear(settings.width, 1)
        ).to(settings.device)
        self.generator_steps = torch.optim.Adam(network.parameters(), course.learning_rate, betas=BETAS)
        self.student_steps = torch.optim.Adam(
            self.student.parameters(), settings.student_learning_rate, betas=BETAS
        )
        self.remembered: deque[tuple[Tensor, Tensor]] = deque(maxlen=course.memory)

    def iteration(self, i: int) -> tuple[float, None]:
        """Have the teachers teach the student, improve the generator; returns the student's loss."""
        loss, course = self.instruct(), self.settings.course
        for group in self.generator_steps.param_groups:
            group["lr"] = course.learning_rate * (1 + math.cos(math.pi * i / self.iterations)) / 2
        for _ in range(course.generator_steps):
            displeasure = self.displeasure(self.student(self.network.invent(LEARNED_FROM)))
            self.generator_steps.zero_grad()
            torch.autograd.backward(displeasure)
            self.generator_steps.step()
        new = max(
            1 - self.settings.averaging, 1 / (i + 1)
        )  # the first steps do not weigh more than later ones
        with torch.no_grad():
            for average, present in zip(self.kept.parameters(), self.network.parameters(), strict=True):
                average.lerp_(present, new)
        return loss, None

    @abstractmethod
    def instruct(self) -> float:
        """Ask the teachers and teach the student; returns its loss."""

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


class AgreementGame(VotingGame):
    """Teachers divide a batch into halves; the student learns their shares by least squares."""

    teachers: AgreementTeachers
    error = staticmethod(functional.mse_loss)

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

    def displeasure(self, scores: Tensor) -> Tensor:
        """Return minus the mean score."""
        return -scores.mean()


class NetworkGame(VotingGame):
    """Teachers are networks that learn, too; the student learns their majorities, as published."""

    teachers: NetworkTeachers
    error = staticmethod(functional.binary_cross_entropy_with_logits)

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

    def displeasure(self, scores: Tensor) -> Tensor:
        """Return the mean logarithm of the chance, in the student's eyes, that a row is invented."""
        return functional.logsigmoid(-scores).mean()


GAMES = {"agreement": (AgreementGame, AgreementTeachers), "networks": (NetworkGame, NetworkTeachers)}
"""The game and the teachers of each kind."""
