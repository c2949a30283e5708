"""Block neural autoregressive flow (De Cao, Aziz and Titov 2019): a density learned by a neural network.

A flow maps points to standard normal noise, one to one; the density is that of the noise times the map's
Jacobian determinant. Each map is a network whose weights are blocks: block (i, j) carries what output i takes
from input j. Blocks above the diagonal are zero, so output i only depends on the inputs up to i, and blocks
on it are positive, so it grows with input i: the map can be inverted, and its log determinant is the sum of
the log derivatives on the diagonal, which are followed through the layers in logs.

All randomness comes from NumPy's generator; torch's own is not touched.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor, nn
from torch.nn.functional import softplus

from tabveil.core.table import Floats
from tabveil.engines import networks

AT_ONCE = 4096  # points evaluated at once
CLIP = 0.1  # the largest norm of a gradient
LEAST_RATE = 1 / 20  # of the learning rate, below which it is not halved


@dataclass(frozen=True, kw_only=True)
class Training:
    """How a flow is fitted."""

    learning_rate: float = 1e-2
    batch_size: int = 256
    max_epochs: int = 30
    patience: int = 4  # epochs without a better validation loss before it stops; half of it halves the rate
    validation_share: float = 0.2
    jitter: float = 0.02  # noise added anew in every epoch, or a flow would find endless density in ties


class Layer(nn.Module):
    """A linear layer of blocks: weights in log scale on the diagonal, normalized and scaled row by row."""

    diagonal: Tensor  # (d·b, d·a) 1 inside the blocks on the diagonal
    below: Tensor  # likewise below

    def __init__(self, d: int, a: int, b: int, *, rng: Generator) -> None:
        super().__init__()
        self.d = d
        block = np.ones((b, a))
        on, under = np.eye(d), np.tril(np.ones((d, d)), -1)
        seen = np.repeat(np.arange(1, d + 1), b)[:, None] * a  # inputs that reach each output
        limit = np.sqrt(6 / (seen + b))
        self.weight = _learned(rng.uniform(-limit, limit, (d * b, d * a)))
        self.scale = _learned(np.log(1 - rng.random((d * b, 1))))  # log
        self.bias = _learned(rng.uniform(-1, 1, d * b) / np.sqrt(d * b))
        self.register_buffer("diagonal", _tensor(np.kron(on, block).astype(np.float64)), persistent=False)
        self.register_buffer("below", _tensor(np.kron(under, block).astype(np.float64)), persistent=False)

    def weights(self) -> tuple[Tensor, Tensor]:
        """Return the weights (d·b, d·a) and their blocks on the diagonal (d, a, b)."""
        raw = self.weight.exp() * self.diagonal + self.weight * self.below
        weight = self.scale.exp() * raw / raw.norm(dim=1, keepdim=True)
        b, a = (size // self.d for size in weight.shape)
        blocks = weight.view(self.d, b, self.d, a).diagonal(dim1=0, dim2=2)  # (b, a, d)
        return weight, blocks.permute(2, 1, 0)


class Flow(nn.Module):
    """A density over points of few dimensions; ``log_density`` gives log p for a batch (n, d).

    There are so many ``hidden`` units a dimension.
    """

    def __init__(
        self, d: int, *, n_flows: int, n_layers: int, hidden: int, rng: Generator, device: str = "cpu"
    ) -> None:
        super().__init__()
        self.d, self.device = d, device
        widths = [1, *[hidden] * n_layers, 1]
        self.maps = [[Layer(d, a, b, rng=rng) for a, b in pairwise(widths)] for _ in range(n_flows)]
        self.layers = nn.ModuleList(layer for layers in self.maps for layer in layers)
        self.gates = nn.ParameterList(_learned(np.zeros(1)) for _ in range(n_flows - 1))
        self.to(device)

    def log_density(self, points: Tensor) -> Tensor:
        """Return log p of each point, (n,)."""
        x, total = points, points.new_zeros(len(points))
        for number, layers in enumerate(self.maps):
            y, log_slope = self._map(layers, x)  # (n, d), (n, d)
            if number < len(self.gates):  # a gated mixture with the identity keeps the map invertible
                gate = self.gates[number]
                share = torch.sigmoid(gate)
                y = share * y + (1 - share) * x
                log_slope = softplus(log_slope + gate) - softplus(gate)
            total = total + log_slope.sum(dim=1)
            x = y.flip(1)  # the next map sees the dimensions in the opposite order
        return total - 0.5 * (x**2).sum(dim=1) - 0.5 * self.d * math.log(2 * math.pi)

    def _map(self, layers: list[Layer], x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the mapped points and the log derivative of each dimension by itself."""
        h = x
        log_slope = x.new_zeros(self.d, len(x), 1)  # (d, n, a)
        for number, layer in enumerate(layers):
            weight, blocks = layer.weights()
            h = h @ weight.T + layer.bias
            top = log_slope.amax(dim=2, keepdim=True).detach()
            log_slope = torch.log(torch.bmm((log_slope - top).exp(), blocks).clamp_min(1e-30)) + top
            if number < len(layers) - 1:
                log_tanh = 2 * (math.log(2) - h - softplus(-2 * h))  # log of tanh's derivative
                log_slope = log_slope + log_tanh.view(len(x), self.d, -1).transpose(0, 1)
                h = torch.tanh(h)
        return h, log_slope[:, :, 0].T

    def evaluate(self, points: Floats) -> Floats:
        """Return log p of each point as an array."""
        with torch.no_grad():
            parts = [
                self.log_density(_tensor(points[start : start + AT_ONCE]).to(self.device)).cpu().numpy()
                for start in range(0, len(points), AT_ONCE)
            ]
        return np.concatenate([np.empty(0), *parts]).astype(np.float64)

    def fit(self, points: Floats, training: Training, *, rng: Generator) -> list[float]:
        """Learn the density of the points. Return the validation loss before and after every epoch.

        The loss on points held back decides when to stop and which parameters stay.
        """
        order = rng.permutation(len(points))
        n_held = min(max(1, round(training.validation_share * len(points))), len(points) - 1)
        held = points[order[:n_held]] + rng.normal(0, training.jitter, (n_held, self.d))
        rows = points[order[n_held:]]
        optimizer = torch.optim.Adam(self.parameters(), lr=training.learning_rate, amsgrad=True)
        losses = [float(-self.evaluate(held).mean())]

        def epoch(_: int) -> tuple[None, float]:
            self._learn(rows, training, optimizer, rng=rng)
            losses.append(float(-self.evaluate(held).mean()))
            return None, losses[-1]

        def halve_the_rate(waited: int) -> None:
            if waited % max(training.patience // 2, 1) == 0:
                group = optimizer.param_groups[0]
                group["lr"] = max(group["lr"] / 2, training.learning_rate * LEAST_RATE)

        networks.train(
            self,
            epoch,
            epochs=training.max_epochs,
            patience=training.patience,
            before=losses[0],
            stalled=halve_the_rate,
            interruptible=False,  # who interrupts an audit wants it to end
        )
        return losses

    def _learn(
        self, rows: Floats, training: Training, optimizer: torch.optim.Optimizer, *, rng: Generator
    ) -> None:
        order = rng.permutation(len(rows))
        for start in range(0, len(rows), training.batch_size):
            batch = rows[order[start : start + training.batch_size]]
            noisy = batch + rng.normal(0, training.jitter, batch.shape)
            loss = -self.log_density(_tensor(noisy).to(self.device)).mean()
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(self.parameters(), CLIP)
            optimizer.step()


def _tensor(values: Floats) -> Tensor:
    return torch.tensor(values, dtype=torch.float32)


def _learned(values: Floats) -> nn.Parameter:
    return nn.Parameter(_tensor(values))
