"""Labels and numbers that few rows share, replaced before a generator learns: one person's tell on them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.core.people import LEAST_SHARED, LEAST_SHARED_IN_WORDS
from tabveil.core.table import Categorical, Column, Floats, Indices, Numeric, Schema, Table
from tabveil.core.wording import plural
from tabveil.synthesis.generators.dependencies import Dependency, families
from tabveil.tables.matrices.ordinal import label_codes
from tabveil.tables.matrices.unshared import only_few_have, stand_ins


@dataclass(frozen=True, kw_only=True, eq=False)
class PooledTable:
    """A table without rare labels, how many there were, in how many cells, and in which columns."""

    table: Table
    n_labels: int
    n_cells: int
    columns: tuple[str, ...]

    @property
    def note(self) -> str:
        """What was replaced, in a sentence."""
        return (
            f"Rare labels: {plural(self.n_labels, 'label')} that fewer than {LEAST_SHARED_IN_WORDS} rows "
            f"share, in {plural(self.n_cells, 'cell')} of {plural(len(self.columns), 'column')}, learned as "
            "other labels of the column, or as missing where it has none."
        )


def pool_rare_labels(
    table: Table,
    *,
    keep: Collection[str],
    dependencies: Sequence[Dependency] = (),
    own: Mapping[str, str] | None = None,
    rng: Generator,
) -> PooledTable:
    """Replace labels that fewer than :data:`~tabveil.core.people.LEAST_SHARED` rows share.

    Columns in ``keep`` stay as they are, and so do ordered ones: somebody listed their labels, so that a
    label says nothing but where it stands. ``own`` has, by column, a new label that stands for all rare ones
    where enough rows have any of them; else they become other labels of the column.
    """
    values, n_labels, columns = np.array(table.values), 0, []
    schema: list[Column] = list(table.schema.columns)
    rare = np.zeros(values.shape, dtype=np.bool_)
    for position, column in enumerate(table.schema.columns):
        if not isinstance(column, Categorical) or column.ordered or column.name in keep:
            continue
        codes = label_codes(column, values[:, position])
        counts = np.bincount(codes, minlength=len(column.labels) + 1)[:-1]
        few = np.flatnonzero((counts > 0) & (counts < LEAST_SHARED))
        rare[:, position] = np.isin(codes, few)
        n_labels += len(few)
        if len(few):
            columns.append(column.name)
    left = rare.copy()
    for family in map(np.array, families(dependencies)):
        taken = _take_from_others(values, family, rare, rng=rng)
        left[taken[:, None], family] = False
    for position in np.flatnonzero(left.any(axis=0)).tolist():
        cells, column = values[:, position], schema[position]
        label = (own or {}).get(column.name)
        n = left[:, position].sum()
        if label is not None and n >= LEAST_SHARED and isinstance(column, Categorical):
            cells[left[:, position]] = len(column.labels)
            schema[position] = replace(column, labels=(*column.labels, label))
            continue
        # Another label, drawn as often as rows share it; missing if there is none.
        shared, counts = np.unique(cells[~rare[:, position] & ~np.isnan(cells)], return_counts=True)
        cells[left[:, position]] = rng.choice(shared, n, p=counts / counts.sum()) if len(shared) else np.nan
    return PooledTable(
        table=Table(schema=Schema(tuple(schema)), values=values),
        n_labels=n_labels,
        n_cells=int(rare.sum()),
        columns=tuple(columns),
    )


def _take_from_others(values: Floats, family: Indices, rare: NDArray[np.bool_], *, rng: Generator) -> Indices:
    """Give rows with a rare label in a family of columns all of the family from another row; return the rows.

    The other row agrees in one of the columns, if any does: of those that are not rare, the one with the most
    values. Only rows count as others whose first column, from which all follow, has a value that enough rows
    share.
    """
    own = values[:, family]
    needy = np.flatnonzero(rare[:, family].any(axis=1))
    _, code, counts = np.unique(own[:, 0], return_inverse=True, return_counts=True, equal_nan=True)
    others = np.flatnonzero(~rare[:, family].any(axis=1) & (counts[code] >= LEAST_SHARED))
    if len(needy) == 0 or len(others) == 0:
        return needy[:0]
    donors = rng.choice(others, len(needy))
    known = sorted(range(1, len(family)), key=lambda column: len(np.unique(own[:, column])))
    for column in known:  # the last to find one decides
        alike = others[np.argsort(own[others, column], kind="stable")]
        wanted = own[needy, column]
        begin = np.searchsorted(own[alike, column], wanted)
        end = np.searchsorted(own[alike, column], wanted, side="right")
        found = (end > begin) & ~rare[needy, family[column]]
        donors[found] = alike[
            begin[found] + (rng.random(found.sum()) * (end - begin)[found]).astype(np.int64)
        ]
    values[needy[:, None], family] = own[donors]
    return needy


def redraw_rare_numbers(table: Table, *, rng: Generator) -> tuple[Table, tuple[str, ...]]:
    """Replace numbers that fewer than :data:`~tabveil.core.people.LEAST_SHARED` rows share; say how many."""
    values, n_cells = np.array(table.values), []
    for position, column in enumerate(table.schema.columns):
        if isinstance(column, Numeric):
            cells = values[:, position]
            counts = np.unique(cells[~np.isnan(cells)], return_counts=True)[1]
            n_cells.append(int(counts[counts < LEAST_SHARED].sum()))
            values[:, position] = stand_ins(column, cells, rng=rng)
    redrawn = Table(schema=table.schema, values=values)
    if not any(n_cells):
        return redrawn, ()
    note = (
        f"Rare numbers: those that fewer than {LEAST_SHARED_IN_WORDS} rows share, in "
        f"{plural(sum(n_cells), 'cell')} of {plural(sum(n > 0 for n in n_cells), 'column')}, learned as "
        f"numbers near them, none beyond what {LEAST_SHARED_IN_WORDS} rows reach."
    )
    return redrawn, (note,)


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
