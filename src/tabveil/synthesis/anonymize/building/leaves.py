"""Leaves that somebody wrote down, matched with the values of a table."""

from collections.abc import Sequence

import numpy as np

from tabveil.core.table import Categorical, Floats
from tabveil.synthesis.anonymize.building.faults import EntryError
from tabveil.synthesis.anonymize.building.values import ColumnValues
from tabveil.synthesis.anonymize.hierarchy import MISSING, NOT_IN_TABLE


def match_leaves(values: ColumnValues, leaves: Sequence[str], entry: str) -> Floats:
    """Return what stands for each leaf in the table: numbers by their value, labels by their text."""
    known = dict(zip(values.texts, values.cells.tolist(), strict=True))
    if isinstance(values.column, Categorical):
        known = {label: float(code) for code, label in enumerate(values.column.labels)} | known
    cells = np.array([_cell(values, known, leaf, entry) for leaf in leaves])
    finite = cells[np.isfinite(cells)]
    n_twice = len(finite) - len(np.unique(finite)) + max(int(np.isnan(cells).sum()) - 1, 0)
    n_twice = max(n_twice, len(leaves) - len(set(leaves)))
    if n_twice:
        raise EntryError(values.name, entry, f"{n_twice:,} of its {len(leaves):,} leaves occur twice.")
    return cells


def _cell(values: ColumnValues, known: dict[str, float], leaf: str, entry: str) -> float:
    if leaf == MISSING:
        return np.nan
    if leaf in known:
        return known[leaf]
    if isinstance(values.column, Categorical) or values.clock is not None:
        return NOT_IN_TABLE
    try:
        number = float(leaf)
    except ValueError:
        raise EntryError(values.name, entry, "the column holds numbers, and a leaf is none.") from None
    if not np.isfinite(number):
        raise EntryError(values.name, entry, "a leaf must be a finite number.")
    return number


def require_covered(values: ColumnValues, cells: Floats, entry: str, what: str) -> None:
    """Refuse leaves that lack values of the table."""
    lacking = np.flatnonzero(~np.isin(values.cells, cells))
    if len(lacking):
        verb = "is" if len(lacking) == 1 else "are"
        raise EntryError(values.name, entry, f"{values.told(lacking)} {verb} not in {what}.")
