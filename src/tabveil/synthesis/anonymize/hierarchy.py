"""What each value of a column may be generalized to, level by level: the leaves, and groups of them.

Level 0 are the values themselves. Every value of a level has exactly one above it, so generalizing further
only ever joins groups. All levels cover all leaves.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tabveil.core.table import Floats, Indices
from tabveil.errors import SchemaError

MISSING = ""
"""How a missing value is written among the leaves: it is one of its own."""
EVERYTHING = "*"
"""What stands for all values together."""
NOT_IN_TABLE = np.inf
"""The cell of a leaf that the table's schema does not know."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Hierarchy:
    """The generalization hierarchy of one column.

    ``edges`` hold, for levels made of intervals, where each value begins and ends; None for other levels.
    """

    column: str
    leaves: tuple[str, ...]  # as they are written
    cells: Floats  # (n_leaves,) what stands for each in the table: a number, a label's code; NaN for missing
    codes: Indices  # (n_levels, n_leaves) position of a leaf's value among the values of each level
    labels: tuple[tuple[str, ...], ...]  # the values of each level
    edges: tuple[Floats | None, ...] = ()  # each (n_values, 2)

    def __post_init__(self) -> None:
        n_leaves = len(self.leaves)
        if self.codes.shape != (len(self.labels), n_leaves) or len(self.cells) != n_leaves or n_leaves == 0:
            raise SchemaError(f"Column {self.column!r}: its levels must cover its leaves.")
        if len(set(self.leaves)) != n_leaves:
            raise SchemaError(f"Column {self.column!r}: a leaf occurs twice.")
        if not np.array_equal(self.codes[0], np.arange(n_leaves)):
            raise SchemaError(f"Column {self.column!r}: level 0 must be the leaves.")
        for level in range(1, len(self.labels)):
            require_nested(self.column, self.codes[level - 1], self.codes[level], self.labels[level - 1])

    @property
    def n_levels(self) -> int:
        """How many levels there are, the values themselves among them."""
        return len(self.labels)

    @cached_property
    def shares(self) -> Floats:
        """The share of all leaves that lie under a leaf's value at each level, (n_levels, n_leaves)."""
        return np.array([np.bincount(codes)[codes] for codes in self.codes]) / len(self.leaves)

    @cached_property
    def missing(self) -> int | None:
        """Which leaf stands for a missing value, if one does."""
        found = np.flatnonzero(np.isnan(self.cells))
        return int(found[0]) if len(found) else None

    def members(self, level: int, value: int) -> Indices:
        """Return the leaves under a value of a level: those that it may be drawn back to.

        >>> sizes = Hierarchy(
        ...     column="size",
        ...     leaves=("S", "M", "L"),
        ...     cells=np.arange(3.0),
        ...     codes=np.array([[0, 1, 2], [0, 1, 1], [0, 0, 0]]),
        ...     labels=(("S", "M", "L"), ("small", "large"), ("*",)),
        ... )
        >>> sizes.members(1, 1)
        array([1, 2])
        """
        return np.flatnonzero(self.codes[level] == value)

    def encode(self, cells: Floats) -> Indices:
        """Return the leaf of each cell; -1 where there is none."""
        known = np.flatnonzero(np.isfinite(self.cells))
        order = known[np.argsort(self.cells[known], kind="stable")]
        found = np.full(len(cells), -1, dtype=np.int64)
        if len(order):
            sorted_cells = self.cells[order]
            low, high = sorted_cells[0], sorted_cells[-1]
            whole = low == np.floor(low) and high - low == len(order) - 1
            if whole and np.array_equal(sorted_cells, low + np.arange(len(order))):
                inside = (cells >= low) & (cells <= high) & (cells == np.floor(cells))
                found[inside] = order[(cells[inside] - low).astype(np.int64)]
            else:
                places = np.minimum(np.searchsorted(sorted_cells, cells), len(order) - 1)
                equal = sorted_cells[places] == cells
                found[equal] = order[places[equal]]
        if self.missing is not None:
            found[np.isnan(cells)] = self.missing
        return found


def require_nested(column: str, below: Indices, above: Indices, labels: tuple[str, ...]) -> None:
    """Refuse levels in which a value of the lower one lies under several of the upper one."""
    parents = np.full(len(labels), -1, dtype=np.int64)
    parents[below] = above
    torn = np.unique(below[parents[below] != above])
    if len(torn):
        raise SchemaError(
            f"Column {column!r}: {len(torn):,} of the {len(labels):,} values of a level lie under several "
            "values of the next."
        )
