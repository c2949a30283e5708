"""Teachers that are networks, as published: each learns to tell its own rows from invented ones, then votes.

Needs torch. Everything that PATE-GAN learns from the rows passes through :meth:`NetworkTeachers.vote`: one
bit for each invented row, the noisy majority.

Why the promise holds. Every row belongs to one teacher for good, drawn for each row by itself before anything
is learned. A teacher has weights, batches and steps of its own, and nothing about it depends on the rows of
another or on how many there are: all are trained side by side, but their losses are added, not averaged, and
each draws as many rows in a step as every other. So a row that is replaced, added or removed changes one
teacher, whatever the invented rows, which come from earlier bits alone. A teacher without rows has no say.
What so many bits cost is the business of
:class:`tabveil.synthesis.generators.pategan.accounting.NoisyMajorities`.
"""

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor, nn
from torch.nn import functional

from tabveil.core.table import Floats, Indices

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
