"""How the critic of DP-CTGAN learns: from real rows only through clipped, noisy gradients."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.random import Generator as Randomness
from opacus.grad_sample import GradSampleModuleFastGradientClipping  # type: ignore[import-untyped]
from torch import Tensor, nn

from tabveil.synthesis.generators.ctgan_network import (
    BETAS,
    SETTLING,
    WEIGHT_DECAY,
    Conditions,
    Critic,
    EncodedRows,
    Generator,
    RunningAverage,
    condition_loss,
)

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

    def score(self, rows: Tensor) -> Tensor:
        """Judge generated rows."""
        scores: Tensor = self.critic(rows)
        return scores


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


class PrivateLearner:
    """Private critic and generator, taking turns; the generator never sees a real row."""

    def __init__(
        self, settings: "DpCtgan", generator: Generator, critic: PrivateCritic, conditions: Conditions
    ) -> None:
        self.settings, self.generator, self.critic, self.conditions = settings, generator, critic, conditions
        self.places = torch.from_numpy(generator.layout.condition_slots).to(settings.device)
        self.averaged = RunningAverage(generator, settings.averaging)
        self.optimizer = torch.optim.Adam(
            generator.parameters(), lr=settings.learning_rate, betas=BETAS, weight_decay=WEIGHT_DECAY
        )
        self.taken = 0

    def epoch(self, _: int) -> tuple[float | None, float | None]:
        """Look once at each row, on average; return the generator's loss, which real rows have no part in."""
        losses = []
        for _ in range(self.settings.steps_per_epoch):
            with torch.no_grad():
                fake, _ = self.generator(
                    self.conditions.vectors(self.conditions.draw(self.settings.batch_size))
                )
            self.critic.learn(fake)
            self.taken += 1
            if self.taken % self.settings.critic_steps == 0:
                losses.append(self._teach_generator())
                self.averaged.update()
        return (float(torch.stack(losses).mean()) if losses else None), None

    def _teach_generator(self) -> Tensor:
        entries = self.conditions.draw(self.settings.batch_size)
        made, chances = self.generator(self.conditions.vectors(entries))
        loss: Tensor = condition_loss(chances, self.places[entries]) - self.critic.score(made).mean()
        self.optimizer.zero_grad()
        torch.autograd.backward(loss)
        self.optimizer.step()
        return loss.detach()

    def finish(self) -> Generator:
        """Return the generator that is kept."""
        draw = (self.conditions.draw(self.settings.batch_size) for _ in range(SETTLING))
        return self.averaged.settle(self.conditions.vectors(entries) for entries in draw)
