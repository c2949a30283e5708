"""Rows drawn again: the ceiling of every comparison, useful and without any privacy."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.storage.arrays import Arrays, Expected, require, require_arrays
from tabveil.core.table import Categorical, Column, Floats, Table, holds, within
from tabveil.core.workers import tell
from tabveil.synthesis.generators.fitted import FittedModel, Maker, require_rows


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
    """Copy random training rows: nothing is as useful, and nothing betrays more.

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
