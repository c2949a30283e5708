"""Whom is a release compared with? Real rows never learned from, and as many fresh rows beside it.

Every statistic is taken twice: between the synthetic and the real rows, and between the fresh and the real
rows. The *real* rows are the control: a release that copies its training rows cannot come closer to them than
the training rows themselves, which are the *fresh* ones. Both are given the same number of rows, because
plug-in distances shrink as rows are added.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator

from tabveil.core.sampling import draw, rows_of_people, shuffled
from tabveil.core.table import Split, Table

NO_CONTROL = (
    "No control table: one half of the train rows is what the release is compared with, the other half "
    "stands in for fresh rows. A release that copies its train rows looks better here than it is."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparedTables:
    """The tables compared: columns by name, rows in the order of their content."""

    real: Table
    fresh: Table  # may have no rows
    synthetic: Table
    notes: tuple[str, ...]

    @classmethod
    def of(cls, split: Split, *, rng: Generator) -> Self:
        """Take the control as the real rows, and equal numbers of train and synthetic rows beside it."""
        split = split.select(sorted(split.schema.names))
        real, fresh, notes = split.control, split.train, tuple[str, ...]()
        if len(real) == 0:
            real, fresh = _halves(split.train, rng=rng)
            notes = (NO_CONTROL,)
        n = min(len(fresh), len(split.synthetic)) or len(split.synthetic)
        if n < len(split.synthetic):
            note = (
                f"Utility is measured on {n} of {len(split.synthetic)} synthetic rows, as many as there are "
            )
            notes = (*notes, f"{note}train rows to compare them with.")
        return cls(
            real=draw(real, len(real), rng=rng).table,
            fresh=draw(fresh, n, rng=rng).table,
            synthetic=draw(split.synthetic, n, rng=rng).table,
            notes=notes,
        )

    def at_most(self, n_rows: int, *, rng: Generator) -> Self:
        """Keep no more rows of each table than a slower statistic can take."""
        return type(self)(
            real=draw(self.real, n_rows, rng=rng).table,
            fresh=draw(self.fresh, n_rows, rng=rng).table,
            synthetic=draw(self.synthetic, n_rows, rng=rng).table,
            notes=self.notes,
        )


def _halves(train: Table, *, rng: Generator) -> tuple[Table, Table]:
    """Cut train in two by lot, nobody's rows on both sides."""
    if train.people is None:
        rows = shuffled(train, rng=rng).table
        half = (len(rows) + 1) // 2
        return rows.take(np.arange(half)), rows.take(np.arange(half, len(rows)))
    real = rows_of_people(train, (train.n_people + 1) // 2, rng=rng)
    return train.take(real), train.take(np.setdiff1d(np.arange(len(train)), real))
