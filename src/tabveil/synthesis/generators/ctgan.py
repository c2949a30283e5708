"""CTGAN: a conditional generative adversarial network."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.settings.presets import Presets, takes_presets
from tabveil.core.storage.arrays import Arrays, Expected, require, require_arrays, under
from tabveil.core.storage.plain import require_plain
from tabveil.core.table import Categorical, Floats, Indices, Schema, Table
from tabveil.core.workers import tell
from tabveil.engines.networks import TrainingRecord, rebuild, require_finite, seeded, train, weights_of
from tabveil.errors import ParameterError
from tabveil.synthesis.generators.models import FittedModel, Maker, PlainState, require_rows
from tabveil.synthesis.generators.rare_values import redraw_rare_numbers
from tabveil.tables.matrices.modes import MOST_MODES, Slots, fitted_modes, seen_labels, slots_from_json

if TYPE_CHECKING:
    from tabveil.synthesis.generators import ctgan_network as gan_network


MOST_NUMBERS = 8_000_000
"""Rows are drawn in chunks whose vectors are at most so many numbers."""
WEIGHTS = "weights."
"""What the names of the generator's arrays begin with."""
ROUNDING = 1e-6
"""How far the sum of shares may be from 1."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GanModel(FittedModel):
    """The slots of each column, how often each is to be asked for, and the generator.

    ``conditional`` are the columns that a condition may fix.
    """

    slots: tuple[Slots, ...]
    frequencies: tuple[Floats, ...]
    conditional: tuple[int, ...]
    generator: "gan_network.Generator | None"  # None if all rows are the same

    def draw(self, n_rows: int, *, rng: Generator) -> Table:
        """Draw conditions as often as they occur, and a row for each."""
        chosen = np.zeros((n_rows, len(self.slots)), dtype=np.int64)
        scalars = np.zeros((n_rows, len(self.slots)))
        if self.generator is not None:
            from tabveil.synthesis.generators.ctgan_network import Conditions  # noqa: PLC0415 - needs torch

            layout = self.generator.layout
            chunk = max(1, MOST_NUMBERS // layout.width)
            with seeded(rng, owner=self.name) as torch, torch.no_grad():
                conditions = Conditions(layout, self.frequencies, self.generator.out.weight.device)
                for start in range(0, n_rows, chunk):
                    stop = min(start + chunk, n_rows)
                    rows, _ = self.generator(conditions.vectors(conditions.draw(stop - start)))
                    require_finite(self.name, rows)
                    inside, slots = torch.tensor_split(rows, [len(layout.scalar)], dim=1)
                    chosen[start:stop] = layout.chosen(slots)
                    scalars[start:stop, list(layout.scalar)] = inside.double().cpu().numpy()
                    tell("drawing rows", stop / n_rows)
        cells = [item.decode(chosen[:, place], scalars[:, place]) for place, item in enumerate(self.slots)]
        return Table(schema=self.schema, values=np.column_stack(cells))

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Return slots, frequencies and weights."""
        state = {"slots": [item.to_json() for item in self.slots], "conditional": list(self.conditional)}
        frequencies = {f"frequencies{i}": item for i, item in enumerate(self.frequencies)}
        weights = {} if self.generator is None else weights_of(self.generator)
        return state, {**frequencies, **{f"{WEIGHTS}{name}": item for name, item in weights.items()}}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], arrays: Arrays, **shared: Any) -> Self:  # noqa: ANN401
        """Rebuild the model, on the CPU if there is no GPU here."""
        schema: Schema = shared["schema"]
        known = require_plain(_GanState, state, "state")
        require(len(known.slots) == len(schema), "slots must be those of every column")
        pairs = zip(schema.columns, known.slots, strict=True)
        slots = tuple(slots_from_json(column, item) for column, item in pairs)
        telling = [place for place, item in enumerate(slots) if len(item) > 1]
        require(
            list(known.conditional) == [place for place in telling if place in known.conditional],
            "conditional must name columns with more than one slot, in ascending order",
        )
        weights, frequencies = under(arrays, WEIGHTS)
        sizes = {f"frequencies{i}": len(item) for i, item in enumerate(slots)}
        shares = {
            name: Expected(dtype=np.float64, shape=(size,), low=0, high=1) for name, size in sizes.items()
        }
        require_arrays(frequencies, shares)
        for name in sizes:
            require(abs(frequencies[name].sum() - 1) < ROUNDING, f"array {name!r} must have the sum 1")
        made_by, generator = shared["made_by"], None  # of any synthesizer with such a generator
        if any(len(item) > 1 or item.has_scalar for item in slots):
            generator = rebuild(
                lambda: build(slots, known.conditional, embedding=made_by.embedding, layers=made_by.layers),
                weights,
                owner=made_by.name,
                device=made_by.device,
                not_negative=("running_var", "num_batches_tracked"),
            )
        else:
            require_arrays(weights, {})
        return cls(
            slots=slots,
            frequencies=tuple(frequencies[name] for name in sizes),
            conditional=known.conditional,
            generator=generator,
            **shared,
        )


@dataclass(frozen=True, kw_only=True)
class _GanState(PlainState):
    slots: list[dict[str, Any]]
    conditional: tuple[int, ...]


def build(
    slots: tuple[Slots, ...], conditional: tuple[int, ...], *, embedding: int, layers: tuple[int, ...]
) -> "gan_network.Generator | None":
    """Return an untrained generator for these columns, or None where there is nothing to choose."""
    from tabveil.synthesis.generators import ctgan_network as gan_network  # noqa: PLC0415 - needs torch

    scalar = tuple(place for place, item in enumerate(slots) if item.has_scalar)
    layout = gan_network.RowLayout(
        sizes=tuple(map(len, slots)),
        scalar=scalar,
        single=tuple(slots[place].single for place in scalar),
        conditional=conditional,
    )
    if layout.width == 0:
        return None
    return gan_network.Generator(layout, embedding=embedding, layers=layers)


def encode(table: Table, slots: tuple[Slots, ...], *, rng: Generator) -> tuple[Indices, Floats]:
    """Return the slot of each cell and its place within, (n, columns) each."""
    pairs = [item.encode(table.column(item.column.name), rng=rng) for item in slots]
    return np.column_stack([chosen for chosen, _ in pairs]), np.column_stack([place for _, place in pairs])


@takes_presets
@dataclass(frozen=True, kw_only=True)
class Ctgan(Maker):
    """Let a generator invent rows until a critic cannot tell them from real ones.

    The generator turns noise into rows, the critic scores real rows high and invented ones low, and each
    learns from the other. Numbers are described by the mode they belong to and their place within it, so that
    columns with several peaks keep them. Each row is made for a condition, a label that one of its columns
    must have; rare labels are practiced more often than they occur, so that they are learned, too.

    Parameters
    ----------
    epochs
        How often as many rows are looked at as the table has.
    batch_size
        The rows in one step; a multiple of ``pac``.
    learning_rate, critic_learning_rate
        The size of a step of the generator and of the critic. The thesis (chapter 5) uses 1e-4.
    critic_steps
        How many steps the critic takes for each of the generator's.
    embedding
        How many random numbers a row is made from.
    layers
        The widths of the layers, in the generator and in the critic.
    pac
        How many rows the critic judges together: it sees a lack of variety that no single row shows.
    modes
        The most modes a number may have.
    preset
        ``"thesis"`` takes what the thesis used (chapter 5): 300 epochs, steps of 1e-4, nothing smoothed.
        Numbers that few rows share are then repeated.
    averaging, smoothing, device
        See :class:`~tabveil.synthesis.generators.models.Maker`.

    Notes
    -----
    The loss in the history is the critic's estimate of the distance between real and invented rows; it means
    something only within one training. No held-out loss is defined for such a pair of networks, so training
    runs all its epochs and the last weights are kept.

    Beyond the paper: a number that 5 % of the rows share is a mode by itself, and so is every number of a
    column with no more numbers than modes; missing is a slot of its own; conditions with more than 512
    labels are condensed by a layer of their own; the generator starts with the right share of each slot in
    every column; and its weights are averaged. Steps grow with the number of labels: columns of thousands,
    such as identifiers, are better left out.

    References
    ----------
    - Xu, L., Skoularidou, M., Cuesta-Infante, A. and Veeramachaneni, K. (2019). Modeling Tabular Data using
      Conditional GAN. NeurIPS.
    - Gulrajani, I. et al. (2017). Improved Training of Wasserstein GANs. NeurIPS. (The critic's loss.)
    - Lin, Z. et al. (2018). PacGAN: The Power of Two Samples in Generative Adversarial Networks. NeurIPS.
    """

    epochs: int = 300
    batch_size: int = 500
    learning_rate: float = 2e-4
    critic_learning_rate: float = 2e-4
    critic_steps: int = 1
    embedding: int = 128
    layers: tuple[int, ...] = (256, 256)
    pac: int = 10
    modes: int = MOST_MODES
    averaging: float = 0.99
    smoothing: bool = True
    device: Literal["cpu", "cuda"] = "cpu"

    presets: ClassVar[Presets] = {
        "thesis": {
            "epochs": 300,
            "learning_rate": 1e-4,
            "critic_learning_rate": 1e-4,
            "smoothing": False,
        }
    }
    name: ClassVar[str] = "ctgan"
    model: ClassVar[type[FittedModel]] = GanModel

    def __post_init__(self) -> None:
        check.settings_at_least(self, 1, "epochs", "batch_size", "critic_steps", "embedding", "pac", "modes")
        check.at_least(self.name, "batch_size", self.batch_size, 2 * self.pac)
        if self.batch_size % self.pac:
            raise ParameterError(
                self.name, f"batch_size must be a multiple of pac, got {self.batch_size} and {self.pac}."
            )
        for width in self.layers:
            check.at_least(self.name, "every width in layers", width, 1)
        check.settings_at_least(self, 1e-9, "learning_rate", "critic_learning_rate")
        check.below_one(self.name, "averaging", self.averaging)
        check.one_of(self.name, "device", self.device, ("cpu", "cuda"))

    def fit(self, table: Table, *, rng: Generator) -> GanModel:
        """Learn a table."""
        require_rows(self.name, table)
        table, notes = redraw_rare_numbers(table, rng=rng) if self.smoothing else (table, ())
        slots = tuple(
            seen_labels(column, cells)
            if isinstance(column, Categorical)
            else fitted_modes(column, cells, most=self.modes, rng=rng)
            for column, cells in zip(table.schema.columns, table.values.T, strict=True)
        )
        chosen, scalars = encode(table, slots, rng=rng)
        frequencies = tuple(
            np.bincount(column, minlength=len(item)) / len(table)
            for column, item in zip(chosen.T, slots, strict=True)
        )
        conditional = tuple(
            place
            for place, item in enumerate(slots)
            if isinstance(item.column, Categorical) and len(item) > 1
        )
        with seeded(rng, owner=self.name, device=self.device):
            generator = build(slots, conditional, embedding=self.embedding, layers=self.layers)
            trained = TrainingRecord(history=(), best=0)
            if generator is not None:
                generator.start_at(frequencies)
                from tabveil.synthesis.generators.ctgan_network import GanLearner  # noqa: PLC0415 - needs torch

                learner = GanLearner(self, generator.to(self.device), chosen, scalars)
                trained = train(learner.averaged.kept, learner.epoch, epochs=self.epochs)
                generator = learner.finish()
        return GanModel(
            made_by=self,
            schema=table.schema,
            slots=slots,
            frequencies=frequencies,
            conditional=conditional,
            generator=generator,
            history=trained.history,
            notes=(*notes, *trained.notes),
        )
