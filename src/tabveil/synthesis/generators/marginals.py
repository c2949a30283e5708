"""Independent columns: the floor of every comparison."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator

from tabveil.core.storage.arrays import MOST_ROWS, Arrays, Expected, ascending, require, require_arrays
from tabveil.core.table import Categorical, Column, Floats, Indices, Table, holds, within
from tabveil.core.workers import tell
from tabveil.synthesis.generators.fitted import FittedModel, Maker, require_rows
from tabveil.synthesis.generators.rare_numbers import drop_lone_numbers
from tabveil.tables.matrices.unshared import Intervals


@dataclass(frozen=True, kw_only=True, eq=False)
class MarginalsModel(FittedModel):
    """The values of each column and how often each occurs."""

    values: tuple[np.ndarray[Any, np.dtype[np.float64]], ...]
    counts: tuple[np.ndarray[Any, np.dtype[np.int64]], ...]

    def draw(self, n_rows: int, *, rng: Generator) -> Table:
        """Draw every cell by itself."""
        levels = zip(self.schema.columns, self.values, self.counts, strict=True)
        return Table(
            schema=self.schema, values=np.column_stack([_drawn(*each, n_rows, rng=rng) for each in levels])
        )

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
        for i, column in enumerate(columns):
            values, counts = arrays[f"values{i}"], arrays[f"counts{i}"]
            require(
                len(values) == len(counts) > 0 and ascending(values) and holds(column, values),
                f"array 'values{i}' must hold different values of the column {column.name!r}",
            )
        return cls(
            values=tuple(arrays[f"values{i}"] for i in range(len(columns))),
            counts=tuple(arrays[f"counts{i}"] for i in range(len(columns))),
            **shared,
        )


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
    around = Intervals.of(column, values[present], counts[present])
    cells[here] = around.draw(column, which[here], rng=rng)
    return within(column, cells)
