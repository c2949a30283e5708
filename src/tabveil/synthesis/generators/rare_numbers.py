"""Numbers that few rows share, replaced before a network learns: it could give them back to the last digit.

What labels are in :mod:`tabveil.synthesis.generators.rare_labels`, numbers are here, by the rule that trees
draw by (:mod:`tabveil.tables.matrices.unshared`). Where only few rows have a number at all, there is nothing
that trees could draw between: they learn such a column as missing, too (:func:`drop_lone_numbers`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from tabveil.core.people import LEAST_SHARED, LEAST_SHARED_IN_WORDS
from tabveil.core.table import Floats, Numeric, Table
from tabveil.core.wording import plural
from tabveil.tables.matrices.unshared import only_few_have, stand_ins


@dataclass(frozen=True, kw_only=True, eq=False)
class Redrawn:
    """A table with stand-ins for rare numbers, in how many cells, and of how many columns."""

    table: Table
    n_cells: int = 0
    n_columns: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """What was replaced, in a sentence; nothing if nothing was."""
        if not self.n_cells:
            return ()
        note = (
            f"Rare numbers: those that fewer than {LEAST_SHARED_IN_WORDS} rows share, in "
            f"{plural(self.n_cells, 'cell')} of {plural(self.n_columns, 'column')}, learned as numbers near "
            f"them, none beyond what {LEAST_SHARED_IN_WORDS} rows reach."
        )
        return (note,)


def redraw_rare_numbers(table: Table, *, rng: Generator) -> Redrawn:
    """Replace numbers that fewer than :data:`~tabveil.core.people.LEAST_SHARED` rows share."""
    values, n_cells = np.array(table.values), []
    for position, column in enumerate(table.schema.columns):
        if isinstance(column, Numeric):
            n_cells.append(_count_rare(values[:, position]))
            values[:, position] = stand_ins(column, values[:, position], rng=rng)
    return Redrawn(
        table=Table(schema=table.schema, values=values),
        n_cells=sum(n_cells),
        n_columns=sum(n > 0 for n in n_cells),
    )


def drop_lone_numbers(table: Table) -> tuple[Table, tuple[str, ...]]:
    """Make columns missing in which fewer than ten rows have a number and others have none; say how many."""
    lone = [
        position
        for position, column in enumerate(table.schema.columns)
        if isinstance(column, Numeric) and only_few_have(table.values[:, position])
    ]
    if not lone:
        return table, ()
    values = np.array(table.values)
    values[:, lone] = np.nan
    note = (
        f"Lone numbers: {plural(len(lone), 'column')} in which fewer than {LEAST_SHARED_IN_WORDS} rows have "
        "a number, learned as missing."
    )
    return Table(schema=table.schema, values=values), (note,)


def _count_rare(cells: Floats) -> int:
    """Return how many cells hold a number that few rows share."""
    _, counts = np.unique(cells[~np.isnan(cells)], return_counts=True)
    return int(counts[counts < LEAST_SHARED].sum())
