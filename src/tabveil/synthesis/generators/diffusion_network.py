"""The network that takes noise out of rows, how it learns, and how rows come out of pure noise.

Numbers get Gaussian noise; a choice is replaced by a random one with growing probability (multinomial
diffusion). The network sees a noisy row and the time, and says which noise the numbers have and how likely
each option of each choice was before the noise. All choices are worked on at once: options stand end to end
in one long vector, and ``segment`` says which choice each belongs to.
"""

import copy
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim.swa_utils import get_ema_multi_avg_fn

from tabveil.core.workers import tell
from tabveil.engines.networks import require_finite
from tabveil.tables.matrices.curves import OUTERMOST, CurveRows

if TYPE_CHECKING:
    from tabveil.synthesis.generators.diffusion import Diffusion

PRIOR = 0.5
"""Rows added to every option's count before training."""
FARTHEST = 5.0
"""No number is farther out on the normal curve."""
WARM_UP = 100
"""Steps until the learning rate is reached."""
FASTEST = 1000.0
"""The fastest wave that tells the time has so many radians from the first step to the last."""
ROWS_A_STEP = 256
"""How unsure the network is at each step is measured on about so many rows."""
MOST_PROBABILITIES = 1_000_000
"""Outside of training, so many are worked out at once, or a batch of rows."""
LEAST_HELD_OUT = 4096
"""Held-out rows are repeated, with other noise, until they are at least so many."""


class Batch(NamedTuple):
    """Noisy or clean rows."""

    numbers: Tensor  # (n, numbers)
    choices: Tensor  # (n, choices)


class NoisyBatch(NamedTuple):
    """Rows after noise was added."""

    rows: Batch
    noise: Tensor  # (n, numbers) that the numbers got
    step: Tensor  # (n,) up to which noise was added


class DiffusionNetwork(nn.Module):
    """A multilayer perceptron over numbers, embedded choices and the time.

    Noise is added to rows in small steps, and taken out again.
    """

    first: Tensor
    segment: Tensor
    sizes: Tensor
    waves: Tensor
    stays: Tensor
    left: Tensor
    before: Tensor
    unsure: Tensor

    def __init__(
        self, n_numbers: int, sizes: Sequence[int], *, timesteps: int, width: int, layers: int, dropout: float
    ) -> None:
        super().__init__()
        counts = torch.tensor(sizes, dtype=torch.int64)
        self.n_numbers, self.timesteps, self.dropout = n_numbers, timesteps, dropout
        self.register_buffer("waves", _waves(timesteps, width), persistent=False)  # (timesteps, width)
        for name, shares in zip(("stays", "left", "before"), _schedule(timesteps), strict=True):
            self.register_buffer(name, shares, persistent=False)  # (timesteps,)
        # How wrong the noise is on average, squared: of independent numbers as much as is left of them.
        self.register_buffer("unsure", self.left[:, None].repeat(1, n_numbers))  # (timesteps, numbers)
        self.register_buffer("sizes", counts, persistent=False)  # (choices,)
        self.register_buffer("first", torch.cumsum(counts, 0) - counts, persistent=False)  # (choices,)
        segment = torch.repeat_interleave(torch.arange(len(counts)), counts, output_size=sum(sizes))
        self.register_buffer("segment", segment, persistent=False)  # (options,)
        self.from_numbers = nn.Linear(max(n_numbers, 1), width)
        self.embedding = nn.EmbeddingBag(max(len(segment), 1), width, mode="sum")
        nn.init.normal_(self.embedding.weight, std=1 / math.sqrt(max(len(counts), 1)))
        self.from_time = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.answer = nn.Linear(width, n_numbers + len(segment))  # the noise, then scores of the options
        nn.init.zeros_(self.answer.weight)
        nn.init.zeros_(self.answer.bias)

    def know_shares(self, choices: Tensor) -> None:
        """Start from how often each option occurs, so that training only has to find what goes with what."""
        counts = torch.bincount((choices + self.first).ravel(), minlength=len(self.segment)) + PRIOR
        totals = torch.zeros(len(self.sizes), device=counts.device).index_add_(0, self.segment, counts)
        self.answer.bias.data[self.n_numbers :] = torch.log(counts / totals[self.segment])

    def forward(self, rows: Batch, step: Tensor) -> tuple[Tensor, Tensor]:
        """Return the noise (n, numbers) and the log-probability of each option (n, options).

        The noise is what it would be if all numbers were independent and normal, and what the network adds:
        without any training, columns come out right and only what goes with what is missing.
        """
        x = functional.embedding(step, self.from_time(self.waves))  # (n, width)
        if self.n_numbers:
            x = x + self.from_numbers(rows.numbers)
        if len(self.sizes):
            x = x + self.embedding(rows.choices + self.first)
        for layer in self.layers:
            x = x + functional.dropout(functional.silu(layer(x)), self.dropout, self.training)
        answer = self.answer(x)
        independent = (1 - self.left[step]).sqrt()[:, None] * rows.numbers
        return independent + answer[:, : self.n_numbers], self._log_softmax(answer[:, self.n_numbers :])

    def _log_softmax(self, scores: Tensor) -> Tensor:
        """Turn scores (n, options) into log-probabilities within each choice."""
        if not len(self.sizes):
            return scores
        n = len(scores)
        index = self.segment.expand(n, -1)
        top = torch.full((n, len(self.sizes)), -math.inf, dtype=scores.dtype, device=scores.device)
        top = top.scatter_reduce(1, index, scores.detach(), "amax")
        shifted = scores - top[:, self.segment]
        totals = torch.zeros_like(top).index_add(1, self.segment, shifted.exp())
        return shifted - totals.log()[:, self.segment]

    def blur(self, rows: Batch) -> NoisyBatch:
        """Add the noise of all steps up to one, which differs from row to row, each equally often."""
        n, device = len(rows.numbers), self.waves.device
        step = (torch.arange(n, device=device) + torch.rand(n, device=device)) / n * self.timesteps
        step = step.long().clamp(max=self.timesteps - 1)
        left = self.left[step][:, None]
        noise = torch.randn_like(rows.numbers)
        numbers = left.sqrt() * rows.numbers + (1 - left).sqrt() * noise
        kept = torch.rand(rows.choices.shape, device=device) < left
        return NoisyBatch(Batch(numbers, torch.where(kept, rows.choices, self._random(n))), noise, step)

    def _random(self, n_rows: int) -> Tensor:
        """Choose at random."""
        u = torch.rand(n_rows, len(self.sizes), device=self.waves.device)
        return torch.minimum((u * self.sizes).long(), self.sizes - 1)

    def loss(self, clean: Batch, noisy: NoisyBatch) -> Tensor:
        """Return the mean over columns: the error about the noise, and the surprise at the true choice."""
        found, logs = self(noisy.rows, noisy.step)
        total = ((found - noisy.noise) ** 2).sum()
        if len(self.sizes):
            total = total - logs.gather(1, clean.choices + self.first).sum()
        loss: Tensor = total / (len(found) * (self.n_numbers + len(self.sizes)))
        return loss

    @torch.inference_mode()
    def draw_rows(self, n_rows: int) -> Batch:
        """Draw rows, normal deviates and choices: start from pure noise and take it out step by step."""
        rows = Batch(torch.randn(n_rows, self.n_numbers, device=self.waves.device), self._random(n_rows))
        for step in reversed(range(self.timesteps)):
            noise, logs = self(rows, torch.full((n_rows,), step, device=self.waves.device))
            require_finite("diffusion", noise, logs)
            rows = Batch(
                self._clearer_numbers(rows.numbers, noise, step),
                self._clearer_choices(rows.choices, self._choose(logs), step),
            )
            tell("drawing rows", 1 - step / self.timesteps)
        return rows

    def _clearer_numbers(self, numbers: Tensor, noise: Tensor, step: int) -> Tensor:
        """Go one step back, given the noise that was found (Ho et al. 2020).

        The spread is that of the step itself, and what the network is unsure about (Bao et al. 2022).
        """
        stays, left, before = self.stays[step], self.left[step], self.before[step]
        clean = ((numbers - (1 - left).sqrt() * noise) / left.sqrt()).clamp(-FARTHEST, FARTHEST)
        of_clean = before.sqrt() * (1 - stays) / (1 - left)
        of_present = stays.sqrt() * (1 - before) / (1 - left)
        variance = (1 - before) / (1 - left) * (1 - stays)
        if step:  # the last step back adds no noise: nothing would take it out again
            variance = variance + of_clean**2 * (1 - left) / left * self.unsure[step]
        return of_clean * clean + of_present * numbers + variance.sqrt() * torch.randn_like(numbers)

    def _clearer_choices(self, choices: Tensor, clean: Tensor, step: int) -> Tensor:
        """Go one step back, given what was chosen before the noise (Hoogeboom et al. 2021).

        The product of "one step led here" and "all steps before led there" is, multiplied out: the present
        choice, the clean one, or any, each with a weight.
        """
        stays, before, sizes = self.stays[step], self.before[step], self.sizes
        keep = stays * (1 - before) / sizes + (choices == clean) * stays * before  # (n, choices)
        take = (1 - stays) * before / sizes  # (choices,)
        anything = (1 - stays) * (1 - before) / sizes  # (choices,)
        u = torch.rand(choices.shape, device=self.waves.device) * (keep + take + anything)
        other = torch.where(u < keep + take, clean, self._random(len(choices)))
        return torch.where(u < keep, choices, other)

    def _choose(self, logs: Tensor) -> Tensor:
        """Draw one option of each choice.

        The probabilities of all choices are added up in a row: those of choice c end at c + 1.
        """
        n_choices = len(self.sizes)
        if n_choices == 0:
            return torch.empty(len(logs), 0, dtype=torch.int64, device=self.waves.device)
        ends = logs.exp().double().cumsum(dim=1)
        places = torch.arange(n_choices, device=self.waves.device) + torch.rand(
            len(logs), n_choices, dtype=torch.float64, device=self.waves.device
        )
        found = torch.searchsorted(ends, places, right=True) - self.first
        return torch.minimum(found.clamp(min=0), self.sizes - 1)


def _waves(timesteps: int, width: int) -> Tensor:
    """Return sines and cosines of each time, fast and slow ones."""
    half = (width + 1) // 2
    speeds = torch.exp(torch.linspace(0.0, math.log(FASTEST), half))
    angles = (torch.arange(timesteps)[:, None] + 1) / timesteps * speeds
    return torch.cat([angles.sin(), angles.cos()], dim=1)[:, :width]


def _schedule(timesteps: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the share of a row that stays at each step, is left after it, and was before it.

    Nichol and Dhariwal's cosine schedule (2021).
    """
    steps = torch.arange(timesteps + 1, dtype=torch.float64) / timesteps
    curve = torch.cos((steps + 0.008) / 1.008 * math.pi / 2) ** 2
    stays = torch.clamp(curve[1:] / curve[:-1], min=0.001)
    left = torch.cumprod(stays, 0)
    before = torch.cat([torch.ones(1, dtype=torch.float64), left[:-1]])
    return stays.float(), left.float(), before.float()


class DiffusionLearner:
    """Trains a network round by round; ``kept`` is the network whose weights count, their running average."""

    def __init__(
        self, network: DiffusionNetwork, rows: CurveRows, n_held_out: int, settings: "Diffusion"
    ) -> None:
        self.network, self.settings = network, settings
        device = network.waves.device
        self.start, self.width = (
            torch.from_numpy(part).to(device, torch.float32) for part in (rows.start, rows.width)
        )
        self.choices = torch.from_numpy(rows.choices).to(device)
        self.n_held_out, self.n_rows = n_held_out, len(self.start)
        network.know_shares(self.choices[n_held_out:])
        self.kept = copy.deepcopy(network)
        self.at_once = max(settings.batch_size, MOST_PROBABILITIES // max(len(network.segment), 1))
        self.held_out: list[tuple[Batch, NoisyBatch]] = []  # always with the same noise
        if n_held_out:
            rows_again = torch.arange(n_held_out, device=device).repeat(-(-LEAST_HELD_OUT // n_held_out))
            for chosen in torch.split(rows_again, self.at_once):
                clean = self._clean(chosen)
                self.held_out.append((clean, self.network.blur(clean)))
        self.n_steps = 0
        self.optimizer = torch.optim.AdamW(
            network.parameters(), weight_decay=settings.weight_decay, fused=True
        )

    def _clean(self, chosen: Tensor) -> Batch:
        """Return rows, their numbers drawn anew from their parts of the normal curve."""
        shares = self.start[chosen] + self.width[chosen] * torch.rand_like(self.start[chosen])
        numbers = torch.special.ndtri(shares.clamp(OUTERMOST, 1 - OUTERMOST))
        return Batch(numbers, self.choices[chosen])

    def _choose_rows(self, n_rows: int) -> Tensor:
        """Choose from the rows to learn from."""
        return torch.randint(self.n_held_out, self.n_rows, (n_rows,), device=self.start.device)

    def round(self, n_steps: int) -> tuple[float, float | None]:
        """Take some steps; return the training and the held-out loss."""
        self.network.train()
        total = torch.zeros((), device=self.start.device)
        for i in range(n_steps):
            total += self._step()
            tell(f"step {i + 1} of {n_steps}", (i + 1) / n_steps)
        return float(total) / n_steps, self._held_out_loss()

    def _step(self) -> Tensor:
        settings = self.settings
        for group in self.optimizer.param_groups:  # up at once, then evenly down to nothing
            left = 1 - self.n_steps / settings.steps
            group["lr"] = settings.learning_rate * min(left, (self.n_steps + 1) / WARM_UP)
        self.n_steps += 1
        clean = self._clean(self._choose_rows(settings.batch_size))
        loss = self.network.loss(clean, self.network.blur(clean))
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        # At first over few steps, or the average would remember the untrained network.
        stays = min(settings.averaging, self.n_steps / (self.n_steps + 10))
        average = get_ema_multi_avg_fn(stays)  # type: ignore[no-untyped-call]
        average(list(self.kept.parameters()), list(self.network.parameters()), None)
        return loss.detach()

    def _held_out_loss(self) -> float | None:
        if not self.held_out:
            return None
        self.kept.eval()
        sizes = [len(noisy.step) for _, noisy in self.held_out]
        with torch.inference_mode():
            losses = [self.kept.loss(*piece) * n for piece, n in zip(self.held_out, sizes, strict=True)]
        return float(sum(losses)) / sum(sizes)

    @torch.inference_mode()
    def measure(self) -> None:
        """Measure how unsure the kept network is about the noise at each step: drawing needs to know."""
        network, device = self.kept.eval(), self.start.device
        n_steps = network.timesteps
        squares, counts = torch.zeros_like(network.unsure), torch.zeros(n_steps, 1, device=device)
        for chosen in torch.split(self._choose_rows(ROWS_A_STEP * n_steps), self.at_once):
            clean = self._clean(chosen)
            noisy = self.kept.blur(clean)
            found, _ = network(noisy.rows, noisy.step)
            squares.index_add_(0, noisy.step, (found - noisy.noise) ** 2)
            counts.index_add_(0, noisy.step, torch.ones(len(found), 1, device=device))
        measured = torch.where(counts > 0, squares / counts.clamp(min=1), network.unsure)
        network.unsure.copy_(torch.minimum(measured, network.left[:, None]))
