"""The floor and the ceiling of every comparison: independent columns, and rows drawn again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.storage.arrays import MOST_ROWS, Arrays, Expected, ascending, require, require_arrays
from tabveil.core.table import Categorical, Column, Floats, Indices, Table, holds, within
from tabveil.core.workers import tell
from tabveil.synthesis.generators.models import FittedModel, Maker, require_rows
from tabveil.synthesis.generators.rare_values import drop_lone_numbers
from tabveil.tables.matrices.unshared import StandInRanges


@dataclass(frozen=True, kw_only=True, eq=False)
class MarginalsModel(FittedModel):
    """The values of each column and how often each occurs."""

    values: tuple[np.ndarray[Any, np.dtype[np.float64]], ...]
    counts: tuple[np.ndarray[Any, np.dtype[np.int64]], ...]

    def draw(self, n_rows: int, *, rng: Generator) -> Table:
        """Draw every cell by itself."""
        levels = zip(self.schema.columns, self.values, self.counts, strict=True)
        cells = [_drawn(*each, n_rows, rng=rng) for each in levels]
        return Table(schema=self.schema, values=np.column_stack(cells))

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the values and counts."""
        arrays = {f"values{i}": item for i, item in enumerate(self.values)}
        return {}, {**arrays, **{f"counts{i}": item for i, item in enumerate(self.counts)}}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], arrays: Arrays, **shared: Any) -> Self:  # noqa: ANN401
        """Rebuild the model."""
        columns = shared["schema"].columns
        require(not state, "nothing but values and counts is stored")
        expected = {}
        for i in range(len(columns)):
            expected[f"values{i}"] = Expected(dtype=np.float64, shape=(None,), missing=True)
            expected[f"counts{i}"] = Expected(dtype=np.int64, shape=(None,), low=1, high=MOST_ROWS)
        require_arrays(arrays, expected)
        values, counts = (
            [arrays[f"{what}{i}"] for i in range(len(columns))] for what in ("values", "counts")
        )
        for i, column in enumerate(columns):
            require(
                len(values[i]) == len(counts[i]) > 0 and ascending(values[i]) and holds(column, values[i]),
                f"array 'values{i}' must hold different values of the column {column.name!r}",
            )
        return cls(values=tuple(values), counts=tuple(counts), **shared)


@dataclass(frozen=True, kw_only=True)
class Marginals(Maker):
    """Draw every column by itself: each looks right, nothing goes with anything else.

    The floor of every comparison: what a generator must beat to be of any use. Numbers that fewer than ten
    rows share are drawn between their neighbors, and none beyond what ten rows reach.
    """

    name: ClassVar[str] = "marginals"
    model: ClassVar[type[FittedModel]] = MarginalsModel

    def fit(self, table: Table, *, rng: Generator) -> MarginalsModel:
        """Count the values of each column."""
        del rng
        require_rows(self.name, table)
        table, notes = drop_lone_numbers(table)
        found = []
        for name in table.schema.names:
            found.append(np.unique(table.column(name), return_counts=True))
            tell("counting values", len(found) / len(table.schema))
        return MarginalsModel(
            made_by=self,
            schema=table.schema,
            values=tuple(values for values, _ in found),
            counts=tuple(counts for _, counts in found),
            notes=notes,
        )


def _drawn(column: Column, values: Floats, counts: Indices, n_rows: int, *, rng: Generator) -> Floats:
    """Draw cells of one column; numbers that few rows share must not come back exactly."""
    which = rng.choice(len(values), n_rows, p=counts / counts.sum())
    cells = values[which]
    present = ~np.isnan(values)  # missing stands last
    if isinstance(column, Categorical) or not present.any():
        return cells
    here = present[which]
    around = StandInRanges.of(column, values[present], counts[present])
    cells[here] = around.draw(column, which[here], rng=rng)
    return within(column, cells)


@dataclass(frozen=True, kw_only=True, eq=False)
class BootstrapModel(FittedModel):
    """The training rows themselves."""

    rows: Floats  # (n, d)

    def draw(self, n_rows: int, *, rng: Generator) -> Table:
        """Draw rows with replacement, and shake them if that is wanted."""
        rows = self.rows[rng.integers(len(self.rows), size=n_rows)]
        if self.made_by.noise > 0:
            columns = zip(self.schema.columns, self.rows.T, rows.T, strict=True)
            rows = np.column_stack([_shaken(*column, self.made_by.noise, rng=rng) for column in columns])
        return Table(schema=self.schema, values=rows)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the rows."""
        return {}, {"rows": self.rows}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], arrays: Arrays, **shared: Any) -> Self:  # noqa: ANN401
        """Rebuild the model."""
        columns = shared["schema"].columns
        require(not state, "nothing but the rows is stored")
        require_arrays(arrays, {"rows": Expected(dtype=np.float64, shape=(None, len(columns)), missing=True)})
        rows = arrays["rows"]
        require(len(rows) > 0, "array 'rows' must have rows")
        for column, cells in zip(columns, rows.T, strict=True):
            require(holds(column, cells), f"array 'rows' must hold values of the column {column.name!r}")
        return cls(rows=rows, **shared)


@dataclass(frozen=True, kw_only=True)
class Bootstrap(Maker):
    """Copy random training rows: nothing reveals more.

    The ceiling of every comparison. ``noise`` shakes numbers by so many standard deviations of their column
    and replaces labels with that probability; it makes copies harder to see, not harmless. Labels
    that only one person holds are copied, too; other generators are not shown them.
    """

    noise: float = 0.0

    name: ClassVar[str] = "copy"
    copies_rows: ClassVar[bool] = True  # word for word: there is nothing to be gained by pooling rare labels
    model: ClassVar[type[FittedModel]] = BootstrapModel

    def __post_init__(self) -> None:
        check.share("copy", "noise", self.noise)

    def fit(self, table: Table, *, rng: Generator) -> BootstrapModel:
        """Keep the rows."""
        del rng
        require_rows(self.name, table)
        tell("keeping the rows", 1.0)
        return BootstrapModel(made_by=self, schema=table.schema, rows=np.array(table.values))


def _shaken(column: Column, known: Floats, cells: Floats, noise: float, *, rng: Generator) -> Floats:
    """Shake the cells of one column; what is missing stays missing."""
    if isinstance(column, Categorical):
        seen = np.unique(known[~np.isnan(known)])
        swapped = (rng.random(len(cells)) < noise) & ~np.isnan(cells)
        return np.where(swapped, rng.choice(seen, len(cells)), cells) if len(seen) else cells
    spread = float(np.nanstd(known)) if not np.isnan(known).all() else 0.0
    return within(column, cells + rng.normal(0.0, noise * spread, len(cells)))
