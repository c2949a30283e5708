"""The network that places rows, and how it learns: two views of one row must find each other among others."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from tabveil.core.workers import tell
from tabveil.engines.embedding.inputs import MASKED, UNSEEN, Encoded, Inputs
from tabveil.errors import ParameterError

if TYPE_CHECKING:
    from tabveil.engines.embedding.settings import ContrastiveSettings

MOST_SHARPNESS = math.log(100)
"""A learned temperature stays above 1/100, or the largest similarity alone would decide."""
LEAST_STEPS, LEAST_BATCH = 12, 64
"""Small tables take so many steps an epoch, unless a step would have fewer rows than this to contrast."""
ROWS_AT_ONCE = {"cpu": 512, "cuda": 65_536}
"""Rows are placed in chunks of exactly so many: of another shape, sums are added up in another order, and
equal rows would be a last bit apart."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NetworkRows:
    """Rows on the device where the network is."""

    numbers: Tensor  # (n, numbers), NaN where missing
    tokens: Tensor  # (n, columns of labels)

    @classmethod
    def of(cls, encoded: Encoded, device: str | torch.device) -> "NetworkRows":
        """Move rows to a device."""
        return cls(
            numbers=torch.from_numpy(encoded.numbers).to(device),
            tokens=torch.from_numpy(encoded.tokens).to(device),
        )

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, chosen: Tensor | slice) -> "NetworkRows":
        """Return some of the rows."""
        return NetworkRows(numbers=self.numbers[chosen], tokens=self.tokens[chosen])


@dataclass(frozen=True, kw_only=True, eq=False)
class Views:
    """Two views of each of some rows: the first of all of them, then the second of all of them."""

    rows: NetworkRows  # 2n
    masked: Tensor  # (2n, columns)


class EmbeddingNetwork(nn.Module):
    """Reads rows, of which columns may be masked, and returns vectors of length 1.

    A number enters as its value and two flags, masked and missing; a category as a few learned numbers.
    """

    first: Tensor

    def __init__(self, settings: "ContrastiveSettings", inputs: Inputs) -> None:
        super().__init__()
        n_tokens = [labels.n_tokens for labels in inputs.labels]
        counts = torch.tensor(n_tokens, dtype=torch.int64)
        self.register_buffer("first", torch.cumsum(counts, 0) - counts, persistent=False)
        self.labels = nn.Embedding(sum(n_tokens), settings.label_width)
        parts: list[nn.Module] = []
        entering, width = 3 * len(inputs.numbers) + settings.label_width * len(n_tokens), settings.width
        for _ in range(settings.layers):
            parts += [nn.Linear(entering, width), nn.LayerNorm(width), nn.GELU()]
            parts.append(nn.Dropout(settings.dropout))
            entering = width
        self.hidden = nn.Sequential(*parts)
        self.last = nn.Linear(entering, settings.dimension_for(len(inputs.names)))

    def forward(self, rows: NetworkRows, masked: Tensor) -> Tensor:
        """Return vectors (n, dimension); ``masked`` (n, columns) has numbers first."""
        n_numbers = rows.numbers.shape[1]
        hidden, missing = masked[:, :n_numbers], rows.numbers.isnan()
        values = torch.where(hidden | missing, 0.0, rows.numbers)
        flags = [hidden.to(values.dtype), (missing & ~hidden).to(values.dtype)]
        tokens = torch.where(masked[:, n_numbers:], MASKED, rows.tokens) + self.first
        labels = self.labels(tokens).flatten(1)  # (n, columns of labels * label_width)
        vectors = self.last(self.hidden(torch.cat([values, *flags, labels], dim=1)))
        return functional.normalize(vectors.float(), dim=1)

    def place(self, encoded: Encoded, mask: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return the vectors of rows with the same columns masked in all of them, (n, dimension)."""
        device = self.last.weight.device
        size = ROWS_AT_ONCE[device.type]
        masked = torch.from_numpy(mask).to(device).expand(size, -1)
        vectors = np.empty((len(encoded), self.last.out_features), dtype=np.float32)
        for start in range(0, len(encoded), size):
            part = slice(start, start + size)
            rows = NetworkRows.of(Encoded(numbers=encoded.numbers[part], tokens=encoded.tokens[part]), device)
            whole = NetworkRows(numbers=_filled(rows.numbers, size), tokens=_filled(rows.tokens, size))
            with torch.inference_mode():
                found = self(whole, masked)[: len(rows)]
            if not bool(found.isfinite().all()):
                raise ParameterError("embedding", "the network's weights are too large; fit it again.")
            vectors[part] = found.cpu().numpy()
            tell("placing rows", (start + len(rows)) / len(encoded))
        return vectors


class Contrast(torch.autograd.Function):
    """InfoNCE, both ways: the mean surprise to find a row's other view among those of all rows.

    With its gradient written out, exponentials are taken once, in the places where similarities stood, and
    not again on the way back: these squares of a batch's size take longer to fill than to multiply.
    """

    @staticmethod
    def forward(ctx: Any, one: Tensor, other: Tensor, sharpness: Tensor) -> Tensor:  # noqa: ANN401 - torch's
        """Return the loss of vectors (n, m), each with its partner in the other table."""
        similarity = (one @ other.T).mul_(sharpness)  # (n, n)
        own = similarity.diagonal().clone()
        chances, surprise = [], -own
        for dim in (1, 0):  # among all second views, and among all first ones
            most = similarity.amax(dim, keepdim=True)
            chance = (similarity - most if dim else similarity.sub_(most)).exp_()
            total = chance.sum(dim, keepdim=True)
            surprise = surprise + (total.log() + most).squeeze(dim) / 2
            chances.append(chance.div_(2 * len(one) * total))
        gradient = chances[0].add_(chances[1])  # of the similarities
        gradient.diagonal().sub_(1 / len(one))
        ctx.save_for_backward(one, other, sharpness, gradient)
        return surprise.mean()

    @staticmethod
    def backward(ctx: Any, *of_loss: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:  # noqa: ANN401
        """Return the gradients of both tables of vectors, and of the sharpness."""
        one, other, sharpness, gradient = ctx.saved_tensors
        to_one, to_other = gradient @ other, gradient.T @ one
        to_sharpness = (to_one * one).sum() * of_loss[0] if ctx.needs_input_grad[2] else None
        return to_one * (sharpness * of_loss[0]), to_other * (sharpness * of_loss[0]), to_sharpness


class ContrastLearner:
    """Trains a network epoch by epoch."""

    def __init__(
        self,
        network: EmbeddingNetwork,
        rows: NetworkRows,
        held_out: NetworkRows,
        n_tokens: Sequence[int],
        settings: "ContrastiveSettings",
    ) -> None:
        self.network, self.rows, self.settings = network, rows, settings
        device = rows.numbers.device
        self.n_labels = torch.tensor(n_tokens, device=device) - UNSEEN  # what a label is switched to
        self.batch_size = min(settings.batch_size, max(LEAST_BATCH, len(rows) // LEAST_STEPS))
        self.sharpness = nn.Parameter(
            torch.tensor(-math.log(settings.temperature), device=device),
            requires_grad=settings.learned_temperature,
        )
        self.optimizer = torch.optim.Adam(
            [*network.parameters(), *([self.sharpness] if settings.learned_temperature else [])],
            lr=settings.learning_rate,
            fused=True,
        )
        # The same views each time: losses differ by what was learned, not by what was masked.
        self.held_out = [
            self.views(held_out.take(slice(start, start + settings.batch_size)))
            for start in range(0, len(held_out), settings.batch_size)
        ]
        self.n_held_out = len(held_out)

    def epoch(self, _: int) -> tuple[float, float | None]:
        """Show every row once, in random order; return the training and the held-out loss."""
        self.network.train()
        total = torch.zeros((), device=self.rows.numbers.device)
        order = torch.randperm(len(self.rows), device=total.device)
        for start in range(0, len(order), self.batch_size):
            chosen = order[start : start + self.batch_size]
            loss = self.loss(self.views(self.rows.take(chosen)))
            self.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            with torch.no_grad():
                self.sharpness.clamp_(max=max(MOST_SHARPNESS, -math.log(self.settings.temperature)))
            total += loss.detach() * len(chosen)
            tell("learning rows", (start + len(chosen)) / len(order))
        if not self.held_out:
            return float(total) / len(self.rows), None
        self.network.eval()
        with torch.inference_mode():
            losses = [self.loss(views) * (len(views.masked) // 2) for views in self.held_out]
        return float(total) / len(self.rows), float(sum(losses)) / self.n_held_out

    def views(self, rows: NetworkRows) -> Views:
        """Look at every row twice: some columns masked, numbers shaken, some labels switched."""
        twice = NetworkRows(numbers=rows.numbers.repeat(2, 1), tokens=rows.tokens.repeat(2, 1))
        numbers, tokens = twice.numbers, twice.tokens
        if self.settings.jitter > 0:
            numbers = numbers + self.settings.jitter * torch.randn_like(numbers)
        if self.settings.switched > 0:
            switched = torch.rand(tokens.shape, device=tokens.device) < self.settings.switched
            # Among the labels that were seen, and one that was not: so its token is learned, too.
            others = UNSEEN + (torch.rand(tokens.shape, device=tokens.device) * self.n_labels).long()
            tokens = torch.where(switched, others, tokens)
        n_columns = numbers.shape[1] + tokens.shape[1]
        # How many columns are masked in each row, then which.
        least, most = self.settings.masked_for(n_columns)
        counts = torch.randint(least, most + 1, (len(tokens), 1), device=numbers.device)
        lots = torch.rand(len(tokens), n_columns, device=numbers.device)
        masked = lots < lots.sort(dim=1).values.gather(1, counts)
        return Views(rows=NetworkRows(numbers=numbers, tokens=tokens), masked=masked)

    def loss(self, views: Views) -> Tensor:
        """Return how hard it is to find a row's second view among those of all by its first, and back."""
        device = views.masked.device
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
            vectors = self.network(views.rows, views.masked)
        one, other = vectors.chunk(2)
        loss: Tensor = Contrast.apply(one, other, self.sharpness.exp())  # type: ignore[no-untyped-call]
        return loss


def _filled(rows: Tensor, size: int) -> Tensor:
    """Return the rows with rows of zeros after them, so many in all."""
    return functional.pad(rows, (0, 0, 0, size - len(rows)))
