"""Labels that few rows share, replaced before a generator learns: what one person holds may be their name.

A generator gives labels back word for word, a free text with a telephone number among them. So those that too
few rows share never reach it: each such cell is learned as another label of its column, drawn as often as
rows share it, and as missing where the column has none. The release holds no label that the data do not have,
and neither it nor a stored model names one that was replaced. Numbers are the generators' own business.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from tabveil.disclosure import LEAST_SHARED, LEAST_SHARED_IN_WORDS
from tabveil.encode.ordinal import label_codes
from tabveil.table import Categorical, Table


@dataclass(frozen=True, kw_only=True, eq=False)
class Pooled:
    """A table without rare labels, how many there were, in how many cells, and in which columns."""

    table: Table
    n_labels: int
    n_cells: int
    columns: tuple[str, ...]

    @property
    def note(self) -> str:
        """What was replaced, in a sentence."""
        labels = _counted(self.n_labels, "label")
        cells, columns = _counted(self.n_cells, "cell"), _counted(len(self.columns), "column")
        return (
            f"Rare labels: {labels} that fewer than {LEAST_SHARED_IN_WORDS} rows share, in {cells} of "
            f"{columns}, learned as other labels of the column, or as missing where it has none."
        )


def _counted(n: int, thing: str) -> str:
    return f"{n:,} {thing}{'s'[: n != 1]}"


def pool_rare_labels(table: Table, *, keep: Collection[str], rng: Generator) -> Pooled:
    """Replace labels that fewer than :data:`~tabveil.disclosure.LEAST_SHARED` rows share.

    Columns in ``keep`` stay as they are, and so do ordered ones: somebody listed their labels, so that a
    label says nothing but where it stands.
    """
    values, n_labels, n_cells, columns = np.array(table.values), 0, 0, []
    for position, column in enumerate(table.schema.columns):
        if not isinstance(column, Categorical) or column.ordered or column.name in keep:
            continue
        codes = label_codes(column, values[:, position])
        counts = np.bincount(codes, minlength=len(column.labels) + 1)[:-1]
        shared = np.flatnonzero(counts >= LEAST_SHARED)
        rare = np.flatnonzero((counts > 0) & (counts < LEAST_SHARED))
        if len(rare) == 0:
            continue
        cells = np.isin(codes, rare)
        values[cells, position] = (
            rng.choice(shared, cells.sum(), p=counts[shared] / counts[shared].sum())
            if len(shared)
            else np.nan
        )
        n_labels, n_cells = n_labels + len(rare), n_cells + int(cells.sum())
        columns.append(column.name)
    return Pooled(
        table=Table(schema=table.schema, values=values),
        n_labels=n_labels,
        n_cells=n_cells,
        columns=tuple(columns),
    )
