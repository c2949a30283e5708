"""How the critic of DP-CTGAN learns: from real rows only through clipped, noisy gradients."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.random import Generator as Randomness
from opacus.grad_sample import GradSampleModuleFastGradientClipping  # type: ignore[import-untyped]
from torch import Tensor, nn

from tabveil.core.table import Floats, Indices
from tabveil.synthesis.generators.ctgan_network import BETAS, Critic, EncodedRows, Generator, GeneratorLearner

if TYPE_CHECKING:
    from tabveil.synthesis.generators.dpctgan.synthesizer import DpCtgan

_TINY = 1e-12


class PrivateCritic:
    """A critic whose every look at real rows is paid for.

    Rows are drawn independently of each other (Poisson sampling), each row's gradient is clipped, and noise
    is added to the sum. Generated rows depend on real ones only through earlier noisy gradients, so their
    gradients need no noise; they are clipped all the same, or they would outweigh the real ones.

    Noise and rows are drawn from ``rng``. On a CPU torch keeps 32 bits of a seed, and who tries them all
    could take the noise away.
    """

    def __init__(
        self,
        settings: "DpCtgan",
        rows: EncodedRows,
        width: int,
        *,
        noise: float,
        n_rows: float,
        rng: Randomness,
    ) -> None:
        self.rows, self.sampled, self.rng = rows, settings.sampled, rng
        self.spread = noise * settings.max_grad_norm  # of the noise on a sum of clipped gradients
        self.expected_rows = settings.sampled * n_rows
        self.critic = Critic(width, layers=settings.critic_layers, pac=1, dropout=0.0).to(settings.device)
        self.private = GradSampleModuleFastGradientClipping(
            self.critic, loss_reduction="sum", max_grad_norm=settings.max_grad_norm, use_ghost_clipping=True
        )
        self.optimizer = torch.optim.Adam(
            self.critic.parameters(), lr=settings.critic_learning_rate, betas=BETAS
        )
        self.steepest = Steepest(self.critic)

    def learn(self, fake: Tensor) -> None:
        """Take one step, which looks once at each real row with the chance of the sampling rate."""
        drawn = np.flatnonzero(self.rng.random(len(self.rows)) < self.sampled)
        against = self._clipped_sum(fake)
        toward = self._clipped_sum(self.rows.vectors(torch.from_numpy(drawn).to(fake.device)))
        noisy = add_noise(toward, self.spread, rng=self.rng)
        for weight, down, up in zip(self.critic.parameters(), against, noisy, strict=True):
            weight.grad = down / len(fake) - up / self.expected_rows
        self.optimizer.step()
        self.steepest.limit()

    def _clipped_sum(self, rows: Tensor) -> Sequence[Tensor]:
        """Return the sum of the clipped gradients of the rows' scores; without rows it is zero."""
        weights = list(self.critic.parameters())
        if len(rows) == 0:
            return [torch.zeros_like(weight) for weight in weights]
        self.private.enable_hooks()
        scores = self.private(rows.requires_grad_())
        torch.autograd.grad(scores.sum(), rows, retain_graph=True)  # Opacus finds the norms on the way back
        share = self.private.get_clipping_coef()
        self.private.disable_hooks()
        return torch.autograd.grad((share * scores).sum(), weights)


def add_noise(sums: Sequence[Tensor], spread: float, *, rng: Randomness) -> Sequence[Tensor]:
    """Add normal noise to sums of clipped gradients."""
    sizes = [part.numel() for part in sums]
    drawn = torch.from_numpy(spread * rng.standard_normal(sum(sizes))).to(sums[0])  # all at once is quicker
    return [part + noise.view_as(part) for part, noise in zip(sums, torch.split(drawn, sizes), strict=True)]


class Steepest:
    """Keeps each layer from stretching anything: its largest singular value is at most 1.

    That bounds the critic's slope, as the gradient penalty does elsewhere; the penalty would look at real
    rows a second time. The value is followed by one power iteration a step.
    """

    def __init__(self, critic: Critic) -> None:
        self.weights = [layer.weight for layer in critic.score if isinstance(layer, nn.Linear)]
        self.sides = [torch.randn(weight.shape[1], device=weight.device) for weight in self.weights]

    @torch.no_grad()
    def limit(self) -> None:
        """Shrink the layers that are too steep."""
        for place, weight in enumerate(self.weights):
            left = weight @ self.sides[place]
            right = weight.T @ (left / (left.norm() + _TINY))
            self.sides[place] = right / (right.norm() + _TINY)
            weight.div_(right.norm().clamp(min=1.0))


class PrivateLearner(GeneratorLearner):
    """Private critic and generator, taking turns; the generator never sees a real row."""

    def __init__(
        self,
        settings: "DpCtgan",
        generator: Generator,
        slots: Indices,
        scalars: Floats,
        frequencies: Sequence[Floats],
        *,
        n_rows: float,
        rng: Randomness,
    ) -> None:
        super().__init__(settings, generator, slots, scalars, frequencies)
        self.settings, self.taken = settings, 0
        noise, width = settings.budget.step_noise, generator.layout.width
        self.critic = PrivateCritic(settings, self.rows, width, noise=noise, n_rows=n_rows, rng=rng)

    def epoch(self, _: int) -> tuple[float | None, float | None]:
        """Look once at each row, on average; return the generator's loss, which real rows have no part in."""
        losses = []
        for _ in range(self.settings.steps_per_epoch):
            with torch.no_grad():
                fake, _ = self.generator(self.draw_conditions()[1])
            self.critic.learn(fake)
            self.taken += 1
            if self.taken % self.settings.critic_steps == 0:
                losses.append(self.teach_generator(lambda made, _: self.critic.critic(made)))
        return (float(torch.stack(losses).mean()) if losses else None), None
