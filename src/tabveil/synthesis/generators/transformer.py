"""A transformer over rows as sequences of tokens."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.settings.presets import Presets, takes_presets
from tabveil.core.storage.arrays import Arrays, require, require_arrays
from tabveil.core.table import Table
from tabveil.engines.networks import TrainingRecord, rebuild, seeded, train, weights_of
from tabveil.errors import ParameterError
from tabveil.synthesis.generators.models import FittedModel, Maker, memorized, require_rows
from tabveil.synthesis.generators.rare_values import redraw_rare_numbers
from tabveil.tables.matrices.tokens import Drawing, TokenScheme, draw_tokens

if TYPE_CHECKING:
    from tabveil.synthesis.generators.transformer_network import TransformerNetwork


HELD_OUT = 10
"""One row in so many is held out, to see when learning turns into memorizing."""
MOST_NUMBERS = {"cpu": 32_000_000, "cuda": 500_000_000}
"""Rows are drawn in chunks whose scores and remembered keys are at most so many numbers."""
WITHOUT_HELD_OUT = "Too few rows to hold any out: training ran all its epochs, unchecked for memorizing."


@dataclass(frozen=True, kw_only=True, eq=False)
class TransformerModel(FittedModel):
    """The vocabulary and the network."""

    scheme: TokenScheme
    network: "TransformerNetwork | None" = None  # None if all rows are the same

    def draw(self, n_rows: int, *, rng: Generator) -> Table:
        """Write rows token by token; only tokens that can end in a valid row are ever drawn."""
        held = 2 * self.made_by.layers * len(self.scheme.places) * self.made_by.width
        chunk = max(1, MOST_NUMBERS[self.made_by.device] // max((1, held, *self.scheme.sizes)))
        with seeded(rng, owner=self.name, width=self.made_by.width):
            starts = range(0, n_rows, chunk)
            parts = [self._draw_chunk(min(chunk, n_rows - start), rng=rng).values for start in starts]
        return Table(schema=self.schema, values=np.concatenate(parts))

    def _draw_chunk(self, n_rows: int, *, rng: Generator) -> Table:
        drawing = Drawing(self.scheme, n_rows)
        if self.network is not None:
            from tabveil.synthesis.generators.transformer_network import Reader  # noqa: PLC0415 - needs torch

            reader = Reader(self.network, n_rows)
            tokens = None
            for position in range(len(self.scheme.places)):
                scores = reader.scores(position, tokens)
                tokens = draw_tokens(scores, drawing.allowed(position), rng.random(n_rows))
                drawing.take(position, tokens)
        return drawing.table(rng=rng)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the vocabulary and the weights."""
        weights = {} if self.network is None else weights_of(self.network)
        return {"columns": self.scheme.to_json()}, weights

    @classmethod
    def from_state(cls, state: Mapping[str, Any], arrays: Arrays, **shared: Any) -> Self:  # noqa: ANN401
        """Rebuild the model, on the CPU if there is no GPU here."""
        require(set(state) == {"columns"}, "nothing but columns and weights is stored")
        scheme = TokenScheme.from_json(shared["schema"], state["columns"])
        if not scheme.places:
            require_arrays(arrays, {})
            return cls(scheme=scheme, **shared)
        made_by: Transformer = shared["made_by"]
        require(made_by.layers <= len(arrays), "every layer must have its weights")
        network = rebuild(lambda: made_by.build(scheme), arrays, owner=made_by.name, device=made_by.device)
        return cls(scheme=scheme, network=network, **shared)


@takes_presets
@dataclass(frozen=True, kw_only=True)
class Transformer(Maker):
    """Write rows as a language model writes text: piece by piece, each given all before it.

    Every cell is a short sequence of tokens: a label is one, a number a few groups of two digits, missing is
    one of its own. A transformer learns how likely each token is after those before it, and new rows are
    drawn from that, one token after another. Only tokens that can end in a valid row are drawn: labels that
    were seen, and numbers between the smallest and the largest that was seen.

    Parameters
    ----------
    width, layers, heads
        The size of the network; ``width`` must be a multiple of ``heads``.
    masked
        The share of tokens that the network must do without in training, chosen anew each time.
    masked_targets
        The share of tokens that are not learned in a step, chosen anew each time (REaLTabFormer's target
        masking).
    epochs
        The most often each row is looked at.
    batch_size
        The rows in one step; small tables take smaller steps, at least 20 an epoch.
    patience
        Training ends after so many epochs without a smaller loss on the tenth of the rows held out; the
        weights with the smallest are kept.
    preset
        ``"thesis"`` takes what the thesis used (chapter 5): a network of the size of
        REaLTabFormer's, six layers of 768 with twelve heads, 50 epochs, nothing smoothed; its steps are
        smaller than the default's, as so large a network needs. Numbers that
        few rows share are then repeated.
    dropout, learning_rate, weight_decay, averaging, smoothing
        See :class:`~tabveil.synthesis.generators.models.Maker`.
    overfit
        Memorize on purpose: train with none of what prevents it (dropout, masking, averaging, weight decay,
        smoothing) until the held-out loss is this many times its minimum, and keep those weights. 1.0 keeps
        those of the minimum. The ratio reached is in the model's notes, the losses in its history. None
        trains normally.
    device
        ``"cuda"`` trains and draws on a GPU, in 16-bit precision.

    Notes
    -----
    The loss in the history is the negative log-likelihood of a row, in nats. Numbers with decimals, dates
    among them, are learned digit by digit; numbers without are cut into at most 1,000 intervals with equally
    many rows and drawn within them. A network up to 512 wide runs on one thread, and the same seed gives the
    same rows for any number of cores. For a wider one, or on a GPU, sums are added up in another order where
    the number of threads or the device differs, and small differences grow.

    References
    ----------
    - Solatorio, A. V. and Dupriez, O. (2023). REaLTabFormer: Generating Realistic Relational and Tabular Data
      using Transformers. arXiv:2302.02041.
    """

    width: int = 96
    layers: int = 3
    heads: int = 4
    dropout: float = 0.1
    masked: float = 0.1
    masked_targets: float = 0.0
    epochs: int = 50
    batch_size: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 0.01
    averaging: float = 0.99
    patience: int = 2
    smoothing: bool = True
    overfit: float | None = None
    device: Literal["cpu", "cuda"] = "cpu"

    presets: ClassVar[Presets] = {
        "thesis": {
            "width": 768,
            "layers": 6,
            "heads": 12,
            "dropout": 0.1,
            "masked": 0.0,
            "epochs": 50,
            "learning_rate": 2e-4,
            "smoothing": False,
        }
    }
    name: ClassVar[str] = "transformer"
    model: ClassVar[type[FittedModel]] = TransformerModel

    def __post_init__(self) -> None:
        check.settings_at_least(self, 1, "width", "layers", "heads", "epochs", "batch_size", "patience")
        if self.width % self.heads:
            raise ParameterError(
                self.name, f"width must be a multiple of heads, got {self.width} and {self.heads}."
            )
        check.settings_below_one(self, "dropout", "masked", "masked_targets", "averaging")
        check.at_least(self.name, "learning_rate", self.learning_rate, 1e-9)
        check.at_least(self.name, "weight_decay", self.weight_decay, 0)
        check.one_of(self.name, "device", self.device, ("cpu", "cuda"))
        if self.overfit is not None:
            check.at_least(self.name, "overfit", self.overfit, 1)

    def fit(self, table: Table, *, rng: Generator) -> TransformerModel:
        """Learn a table."""
        require_rows(self.name, table, 1 if self.overfit is None else HELD_OUT)
        settings, wanted = self._unhindered(), self.overfit or 1.0
        table, notes = redraw_rare_numbers(table, rng=rng) if settings.smoothing else (table, ())
        scheme = TokenScheme.of(table)
        if not scheme.places:
            return TransformerModel(made_by=self, schema=table.schema, scheme=scheme, notes=notes)
        with seeded(rng, owner=self.name, device=self.device, width=self.width) as torch:
            from tabveil.synthesis.generators.transformer_network import TransformerLearner  # noqa: PLC0415 - needs torch

            rows = torch.from_numpy(rng.permutation(scheme.encode(table))).to(self.device)
            n_held_out = len(rows) // HELD_OUT
            network = self.build(scheme).to(self.device)
            learner = TransformerLearner(network, rows[n_held_out:], rows[:n_held_out], settings)
            trained = train(
                learner.kept,
                learner.epoch,
                epochs=self.epochs,
                patience=self.patience,
                stop=(lambda loss, least: loss / least >= wanted) if wanted > 1 else None,
            )
        return TransformerModel(
            made_by=self,
            schema=table.schema,
            scheme=scheme,
            network=learner.kept.eval(),
            history=trained.history,
            notes=(*notes, *trained.notes, *self._notes(trained)),
        )

    def build(self, scheme: TokenScheme) -> "TransformerNetwork":
        """Return an untrained network for a vocabulary."""
        from tabveil.synthesis.generators.transformer_network import TransformerNetwork  # noqa: PLC0415 - needs torch

        dropout = self._unhindered().dropout
        return TransformerNetwork(
            scheme.sizes, width=self.width, layers=self.layers, heads=self.heads, dropout=dropout
        )

    def _unhindered(self) -> Self:
        """Return the settings in force: to overfit, nothing stands in the way."""
        if self.overfit is None:
            return self
        without_chance = replace(self, dropout=0.0, masked=0.0, masked_targets=0.0, smoothing=False)
        return replace(without_chance, averaging=0.0, weight_decay=0.0)

    def _notes(self, trained: TrainingRecord) -> tuple[str, ...]:
        losses = [epoch.validation for epoch in trained.history if epoch.validation is not None]
        if not losses:
            return (WITHOUT_HELD_OUT,)
        if self.overfit is None:
            return ()
        ratio = losses[trained.best] / min(losses[: trained.best + 1])
        return memorized(ratio, self.overfit, "Not reached; allow more epochs.")
