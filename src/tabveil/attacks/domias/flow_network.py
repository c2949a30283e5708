"""Block neural autoregressive flow (De Cao, Aziz and Titov 2019): a density learned by a neural network.

A flow maps points to standard normal noise, one to one; the density is that of the noise times the map's
Jacobian determinant. Each map is a network whose weights are blocks: block (i, j) carries what output i takes
from input j. Blocks above the diagonal are zero, so output i only depends on the inputs up to i, and blocks
on it are positive, so it grows with input i: the map can be inverted, and its log determinant is the sum of
the log derivatives on the diagonal, which are followed through the layers in logs.

Torch is imported when a flow is fitted, never before. All randomness comes from NumPy's generator; torch's
own is not touched. On a CPU one thread works: the matrices are small, and the answer then depends on no
number of threads.
"""

import importlib
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.random import Generator

from tabveil import workers
from tabveil.errors import NotApplicable
from tabveil.table import Floats

Tensor = Any  # torch may be absent
AT_ONCE = 4096  # points evaluated at once
CLIP = 0.1  # the largest norm of a gradient
LEAST_RATE = 1 / 20  # of the learning rate, below which it is not halved


def load_torch(owner: str) -> Any:  # noqa: ANN401 - a module
    """Import torch, or say how to get it."""
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise NotApplicable(f"{owner}: needs PyTorch: pip install tabveil[deep].") from None


@contextmanager
def one_thread(torch: Any) -> Iterator[None]:  # noqa: ANN401 - a module
    """Let torch use one thread in the block, and as many as before after it."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """The size of a flow."""

    n_dimensions: int
    n_flows: int = 5
    n_layers: int = 3
    hidden: int = 32  # units a dimension


@dataclass(frozen=True, kw_only=True)
class Training:
    """How a flow is fitted."""

    learning_rate: float = 1e-2
    batch_size: int = 256
    max_epochs: int = 30
    patience: int = 4  # epochs without a better validation loss before it stops; half of it halves the rate
    validation_share: float = 0.2
    jitter: float = 0.02  # noise added anew in every epoch, or a flow would find endless density in ties


@dataclass(frozen=True, kw_only=True, eq=False)
class Layer:
    """A linear layer of blocks: weights in log scale on the diagonal, normalized and scaled row by row."""

    weight: Tensor  # (d·b, d·a)
    scale: Tensor  # (d·b, 1) log
    bias: Tensor  # (d·b,)
    diagonal: Tensor  # (d·b, d·a) 1 inside the blocks on the diagonal
    below: Tensor  # likewise below

    def weights(self, d: int) -> tuple[Tensor, Tensor]:
        """Return the weights (d·b, d·a) and their blocks on the diagonal (d, a, b)."""
        raw = self.weight.exp() * self.diagonal + self.weight * self.below
        weight = self.scale.exp() * raw / raw.norm(dim=1, keepdim=True)
        b, a = (size // d for size in weight.shape)
        blocks = weight.view(d, b, d, a).diagonal(dim1=0, dim2=2)  # (b, a, d)
        return weight, blocks.permute(2, 1, 0)


class Flow:
    """A density over points of few dimensions.

    ``parameters`` are the tensors that are learned; ``log_density`` gives log p for a batch (n, d).
    """

    def __init__(self, architecture: Architecture, *, rng: Generator, torch: Any, device: str) -> None:  # noqa: ANN401
        self.d = architecture.n_dimensions
        self.torch = torch
        self.device = device
        widths = [1, *[architecture.hidden] * architecture.n_layers, 1]
        self.maps = [
            [self._layer(a, b, rng) for a, b in pairwise(widths)] for _ in range(architecture.n_flows)
        ]
        self.gates = [self._learned(np.zeros(1)) for _ in range(architecture.n_flows - 1)]
        self.parameters = [
            tensor
            for layers in self.maps
            for layer in layers
            for tensor in (layer.weight, layer.scale, layer.bias)
        ] + self.gates

    def _tensor(self, values: Floats) -> Tensor:
        return self.torch.tensor(values, dtype=self.torch.float32, device=self.device)

    def _learned(self, values: Floats) -> Tensor:
        return self._tensor(values).requires_grad_()

    def _layer(self, a: int, b: int, rng: Generator) -> Layer:
        d = self.d
        block = np.ones((b, a))
        on, under = np.eye(d), np.tril(np.ones((d, d)), -1)
        seen = np.repeat(np.arange(1, d + 1), b)[:, None] * a  # inputs that reach each output
        limit = np.sqrt(6 / (seen + b))
        return Layer(
            weight=self._learned(rng.uniform(-limit, limit, (d * b, d * a))),
            scale=self._learned(np.log(1 - rng.random((d * b, 1)))),
            bias=self._learned(rng.uniform(-1, 1, d * b) / np.sqrt(d * b)),
            diagonal=self._tensor(np.kron(on, block).astype(np.float64)),
            below=self._tensor(np.kron(under, block).astype(np.float64)),
        )

    def log_density(self, points: Tensor) -> Tensor:
        """Return log p of each point, (n,)."""
        torch, x, total = self.torch, points, 0.0
        for number, layers in enumerate(self.maps):
            y, log_slope = self._map(layers, x)  # (n, d), (n, d)
            if number < len(self.gates):  # a gated mixture with the identity keeps the map invertible
                gate = self.gates[number]
                share = torch.sigmoid(gate)
                y = share * y + (1 - share) * x
                log_slope = _softplus(torch, log_slope + gate) - _softplus(torch, gate)
            total = total + log_slope.sum(dim=1)
            x = y.flip(1)  # the next map sees the dimensions in the opposite order
        return total - 0.5 * (x**2).sum(dim=1) - 0.5 * self.d * math.log(2 * math.pi)

    def _map(self, layers: list[Layer], x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the mapped points and the log derivative of each dimension by itself."""
        torch, h = self.torch, x
        log_slope = x.new_zeros(self.d, len(x), 1)  # (d, n, a)
        for number, layer in enumerate(layers):
            weight, blocks = layer.weights(self.d)
            h = h @ weight.T + layer.bias
            top = log_slope.amax(dim=2, keepdim=True).detach()
            log_slope = torch.log(torch.bmm((log_slope - top).exp(), blocks).clamp_min(1e-30)) + top
            if number < len(layers) - 1:
                log_tanh = 2 * (math.log(2) - h - _softplus(torch, -2 * h))  # log of tanh's derivative
                log_slope = log_slope + log_tanh.view(len(x), self.d, -1).transpose(0, 1)
                h = torch.tanh(h)
        return h, log_slope[:, :, 0].T

    def evaluate(self, points: Floats) -> Floats:
        """Return log p of each point as an array."""
        with self.torch.no_grad():
            parts = [
                self.log_density(self._tensor(points[start : start + AT_ONCE])).cpu().numpy()
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
        optimizer = self.torch.optim.Adam(self.parameters, lr=training.learning_rate, amsgrad=True)
        losses, best = [float(-self.evaluate(held).mean())], self._copied()
        for epoch in range(training.max_epochs):
            workers.tell("fitting a flow", epoch / training.max_epochs)
            self._learn(rows, training, optimizer, rng=rng)
            losses.append(float(-self.evaluate(held).mean()))
            if losses[-1] == np.nanmin(losses):
                best = self._copied()
            waited = len(losses) - 1 - int(np.nanargmin(losses))
            if waited >= training.patience:
                break
            if waited and waited % max(training.patience // 2, 1) == 0:
                group = optimizer.param_groups[0]
                group["lr"] = max(group["lr"] / 2, training.learning_rate * LEAST_RATE)
        with self.torch.no_grad():
            for tensor, kept in zip(self.parameters, best, strict=True):
                tensor.copy_(kept)
        return losses

    def _copied(self) -> list[Tensor]:
        return [tensor.detach().clone() for tensor in self.parameters]

    def _learn(self, rows: Floats, training: Training, optimizer: Any, *, rng: Generator) -> None:  # noqa: ANN401
        """Go through all rows once."""
        order = rng.permutation(len(rows))
        for start in range(0, len(rows), training.batch_size):
            batch = rows[order[start : start + training.batch_size]]
            noisy = batch + rng.normal(0, training.jitter, batch.shape)
            loss = -self.log_density(self._tensor(noisy)).mean()
            optimizer.zero_grad()
            loss.backward()
            self.torch.nn.utils.clip_grad_norm_(self.parameters, CLIP)
            optimizer.step()


def _softplus(torch: Any, x: Tensor) -> Tensor:  # noqa: ANN401 - a module
    return torch.nn.functional.softplus(x)
