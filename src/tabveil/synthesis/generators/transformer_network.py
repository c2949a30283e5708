"""The network of the transformer: reads a row's tokens up to a position and scores what comes next.

Every position has its own vocabulary, and so its own rows of the embedding and its own output layer: a
softmax over the few tokens that can stand there, not over all there are.
"""

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from tabveil.core.workers import tell
from tabveil.engines.networks import require_finite

if TYPE_CHECKING:
    from tabveil.synthesis.generators.transformer import Transformer

INITIAL_SPREAD = 0.02
PRIOR = 0.5
"""Occurrences added to every token's count before training."""
LEFT_OUT = -100
"""A target that no loss is computed for."""
BETAS = (0.9, 0.98)
WARM_UP = 20
"""Steps until the learning rate is reached."""
LEAST_STEPS = 20
"""Steps in an epoch, if there are rows enough."""
MOST_NUMBERS = 4_000_000
"""Held-out rows are read in chunks whose states are at most so many numbers."""


class Reader:
    """Reads rows while they are written, position by position.

    It holds the keys and values of the positions already read, for every layer.
    """

    def __init__(self, network: "TransformerNetwork", n_rows: int) -> None:
        self.network, self.device = network, network.start.device
        n_positions, width = len(network.sizes), network.width // network.heads
        shape = (len(network.blocks), 2, n_rows, network.heads, n_positions, width)
        self.held = torch.empty(shape, device=self.device)

    def scores(self, position: int, previous: NDArray[np.int64] | None) -> NDArray[np.float32]:
        """Return the scores (n, tokens) of a position, given the tokens of the one before (None at 0)."""
        tokens = None if previous is None else torch.from_numpy(previous).to(self.device)
        with torch.inference_mode(), _precision(self.device):
            scores = self.network.step(position, tokens, self)
        require_finite("transformer", scores)
        found: NDArray[np.float32] = scores.float().cpu().numpy()
        return found

    def extend(self, layer: int, position: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Add one position, return all up to it."""
        held = self.held[layer]
        held[0, :, :, position], held[1, :, :, position] = key[:, :, 0], value[:, :, 0]
        return held[0, :, :, : position + 1], held[1, :, :, : position + 1]


class Block(nn.Module):
    """Attention to earlier positions, then a layer for each position by itself; both are added."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.before_attention, self.before_layers = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor, reader: Reader | None = None, layer: int = 0, position: int = 0) -> Tensor:
        """Return x (n, positions, width) with what was found added; with a reader, x is one position."""
        n, length, width = x.shape
        projected = self.attend(self.before_attention(x)).view(n, length, 3, self.heads, width // self.heads)
        query, key, value = projected.permute(2, 0, 3, 1, 4)  # each (n, heads, length, width / heads)
        if reader is not None:
            key, value = reader.extend(layer, position, key, value)
            query = query.to(key.dtype)
        dropout = self.dropout if self.training else 0.0
        seen = functional.scaled_dot_product_attention(
            query, key, value, dropout_p=dropout, is_causal=reader is None
        )
        x = x + functional.dropout(self.mix(seen.transpose(1, 2).reshape(n, length, width)), dropout)
        return x + functional.dropout(
            self.narrow(functional.gelu(self.widen(self.before_layers(x)))), dropout
        )


class TransformerNetwork(nn.Module):
    """A decoder-only transformer over a fixed sequence of positions with ``sizes`` tokens each."""

    first: Tensor
    last: Tensor

    def __init__(self, sizes: Sequence[int], *, width: int, layers: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.sizes, self.width, self.heads = tuple(sizes), width, heads
        counts = torch.tensor(self.sizes)
        after = torch.cumsum(counts + 1, 0)  # each position has a mask token, its last
        self.register_buffer("last", after - 1, persistent=False)
        self.register_buffer("first", after - 1 - counts, persistent=False)
        self.embedding = nn.Embedding(sum(self.sizes) + len(self.sizes), width)
        self.start = nn.Parameter(torch.zeros(width))
        self.places = nn.Parameter(torch.zeros(len(self.sizes), width))
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(layers))
        self.after = nn.LayerNorm(width)
        self.scores = nn.ModuleList(nn.Linear(width, size) for size in self.sizes)
        for parameter in (self.embedding.weight, self.start, self.places):
            nn.init.normal_(parameter, std=INITIAL_SPREAD)
        for layer in self.modules():
            if isinstance(layer, nn.Linear):
                nn.init.normal_(layer.weight, std=INITIAL_SPREAD)
                nn.init.zeros_(layer.bias)

    def know_shares(self, tokens: Tensor) -> None:
        """Start from how often each token occurs, so that training only has to find what goes with what."""
        for score, size, seen in zip(self.scores, self.sizes, tokens.T, strict=True):
            counts = torch.bincount(seen, minlength=size) + PRIOR
            cast("nn.Linear", score).bias.data = torch.log(counts / counts.sum())

    def loss(self, tokens: Tensor, *, masked: float = 0.0, masked_targets: float = 0.0) -> Tensor:
        """Return the negative log-likelihood of the tokens (n, positions), summed by row and averaged.

        While training, a share of the tokens the network looks back on is hidden behind mask tokens, and a
        share of those it has to find is left out.
        """
        inputs = tokens + self.first  # (n, positions)
        if masked > 0 and self.training:
            hidden = torch.rand(inputs.shape, device=inputs.device) < masked
            inputs = torch.where(hidden, self.last, inputs)
        start = self.start.expand(len(tokens), 1, -1)
        x = torch.cat([start, self.embedding(inputs[:, :-1])], dim=1) + self.places  # (n, positions, width)
        for block in self.blocks:
            x = block(x)
        x = self.after(x)
        targets = tokens
        if masked_targets > 0 and self.training:
            left_out = torch.rand(tokens.shape, device=tokens.device) < masked_targets
            targets = torch.where(left_out, LEFT_OUT, tokens)
        total = torch.zeros((), device=tokens.device)
        for position, score in enumerate(self.scores):
            total = total + functional.cross_entropy(
                score(x[:, position]), targets[:, position], ignore_index=LEFT_OUT, reduction="sum"
            )
        return total / len(tokens)

    def step(self, position: int, previous: Tensor | None, reader: Reader) -> Tensor:
        """Return the scores (n, tokens) of a position, given the tokens of the one before (None at 0)."""
        if previous is None:
            x = self.start.expand(reader.held.shape[2], -1)
        else:
            x = self.embedding(previous + self.first[position - 1])
        x = (x + self.places[position])[:, None]  # (n, 1, width)
        for layer, block in enumerate(self.blocks):
            x = block(x, reader, layer, position)
        scores: Tensor = self.scores[position](self.after(x[:, 0]))
        return scores


class TransformerLearner:
    """Trains a network epoch by epoch; ``kept`` is the network whose weights count."""

    def __init__(
        self, network: TransformerNetwork, rows: Tensor, held_out: Tensor, settings: "Transformer"
    ) -> None:
        self.network, self.rows, self.held_out, self.settings = network, rows, held_out, settings
        network.know_shares(rows)
        self.kept = copy.deepcopy(network) if settings.averaging else network
        self.batch_size = max(1, min(settings.batch_size, len(rows) // LEAST_STEPS))
        self.n_steps = 0
        self.optimizer = torch.optim.AdamW(
            network.parameters(), betas=BETAS, weight_decay=settings.weight_decay, fused=True
        )

    def epoch(self, _: int) -> tuple[float, float | None]:
        """Show every row once, in random order; return the training and the held-out loss."""
        self.network.train()
        total = torch.zeros((), device=self.rows.device)
        order = torch.randperm(len(self.rows), device=self.rows.device)
        for start in range(0, len(order), self.batch_size):
            chosen = order[start : start + self.batch_size]
            total += self._step(self.rows[chosen]) * len(chosen)
            tell("learning rows", (start + len(chosen)) / len(order))
        return float(total) / len(self.rows), self._held_out_loss()

    def _step(self, rows: Tensor) -> Tensor:
        self.n_steps += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.learning_rate * min(1.0, self.n_steps / WARM_UP)
        with _precision(rows.device):
            loss = self.network.loss(
                rows, masked=self.settings.masked, masked_targets=self.settings.masked_targets
            )
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        if self.kept is not self.network:
            # At first over few steps, or the average would remember the untrained network.
            stays = min(self.settings.averaging, self.n_steps / (self.n_steps + 10))
            with torch.no_grad():
                for average, weight in zip(self.kept.parameters(), self.network.parameters(), strict=True):
                    average.lerp_(weight, 1 - stays)
        return loss.detach()

    def _held_out_loss(self) -> float | None:
        if not len(self.held_out):
            return None
        self.kept.eval()
        chunk = max(1, MOST_NUMBERS // (len(self.kept.sizes) * self.kept.width))
        with torch.inference_mode(), _precision(self.held_out.device):
            losses = [self.kept.loss(rows) * len(rows) for rows in torch.split(self.held_out, chunk)]
        return float(sum(losses)) / len(self.held_out)


def _precision(device: torch.device) -> torch.autocast:
    """16 bits where the device is made for them."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda")
