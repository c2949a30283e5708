"""Rows arranged for search: distinct ones, in groups, in blocks, under trees; and the rows asked about."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Categorical, Floats, Indices, Table
from tabveil.engines.neighbors import search_kernels
from tabveil.engines.neighbors.group_tree import GroupTree
from tabveil.engines.neighbors.space import Space
from tabveil.tables.matrices.ordinal import in_last_places, label_codes, places_a_unit

Array = NDArray[Any]
Groups = tuple[Array, Array, Indices, Indices]
"""Codes (c, n_groups), missing (n_groups, d), first row (n_groups + 1,), root or -1 (n_groups,)."""
Tree = tuple[Indices, Indices, Indices, Indices, Floats]
"""Left and right child, first and last row, box (nodes, 2, d) of lowest and highest values."""


def encode_codes(space: Space, table: Table, flagged: tuple[str, ...]) -> Array:
    """Return what is compared by equality, (c, n): matched columns, then the missing flags of some measured.

    Missing is a code of its own, so missing equals missing and differs from every value.
    """
    matched = [column for name in space.matched if isinstance(column := table.schema[name], Categorical)]
    most = max((len(column.labels) + 1 for column in matched), default=2)
    codes = np.empty((len(matched) + len(flagged), len(table)), dtype=np.min_scalar_type(most))
    for position, column in enumerate(matched):
        codes[position] = label_codes(column, table.column(column.name))
    for position, name in enumerate(flagged, start=len(matched)):
        codes[position] = np.isnan(table.column(name))
    return codes


def encode_values(space: Space, table: Table) -> tuple[Floats, Floats]:
    """Return what is compared by difference, (n, d), and the weights (d,) that go with it.

    Decimal numbers become whole numbers of their last place: differences are then exact, and equal gaps (of
    0.3 to 0.2 and of 0.2 to 0.1) are equal to the last bit. Columns without weight differ nowhere.
    """
    kept = [column for column in space.measured if column.weight > 0]
    values = table.values[:, [table.schema.position(column.name) for column in kept]]
    weights = np.array([column.weight / places_a_unit(column.decimals) for column in kept])
    for position, column in enumerate(kept):
        if column.decimals is not None:
            values[:, position] = in_last_places(values[:, position], column.decimals)
    return values + 0.0, weights  # + 0.0: -0.0 and 0.0 are one value


def missing_in(space: Space, table: Table) -> tuple[str, ...]:
    """Name the measured columns with missing cells."""
    return tuple(column.name for column in space.measured if np.isnan(table.column(column.name)).any())


@dataclass(frozen=True, kw_only=True, eq=False)
class SortedRows:
    """Rows brought together: equal codes form a group, equal rows within it one distinct row."""

    order: Indices  # (n,) rows by group, then by distinct row, then as they stood
    row_start: Indices  # (n_distinct + 1,) where each distinct row's copies begin in ``order``
    group_start: Indices  # (n_groups + 1,) where each group begins among the distinct rows
    group_hash: NDArray[np.uint64]  # (n_groups,) ascending
    salt: int

    @classmethod
    def of(cls, codes: Array, values: Floats, salt: int = 0) -> Self:
        """Sort by hashes; where two different rows share a hash, start again with another salt."""
        bits = np.where(np.isnan(values), np.nan, values).view(np.uint64)  # all NaNs are one value
        group_hash = hashes(codes, bits[:, :0], salt)
        row_hash = hashes(codes, bits, salt)
        by_row = np.argsort(row_hash, kind="stable")
        order = by_row[np.argsort(group_hash[by_row], kind="stable")]
        ordered_groups, ordered_rows = group_hash[order], row_hash[order]
        new_group = np.diff(ordered_groups, prepend=~ordered_groups[:1]) != 0
        new_row = new_group | (np.diff(ordered_rows, prepend=~ordered_rows[:1]) != 0)
        same_group, same_row = np.flatnonzero(~new_group), np.flatnonzero(~new_row)
        collision = (codes[:, order[same_group]] != codes[:, order[same_group - 1]]).any() or (
            bits[order[same_row]] != bits[order[same_row - 1]]
        ).any()
        if collision:
            return cls.of(codes, values, salt + 1)
        row_start = np.append(np.flatnonzero(new_row), codes.shape[1])
        return cls(
            order=order,
            row_start=row_start,
            group_start=np.append(np.flatnonzero(new_group[row_start[:-1]]), len(row_start) - 1),
            group_hash=ordered_groups[new_group],
            salt=salt,
        )

    @property
    def representatives(self) -> Indices:
        """One row of each kind, in order."""
        return self.order[self.row_start[:-1]]

    @property
    def kind_of(self) -> Indices:
        """Which distinct row each row is, (n,)."""
        kinds = np.empty(len(self.order), dtype=np.int64)
        kinds[self.order] = np.repeat(np.arange(len(self.row_start) - 1), np.diff(self.row_start))
        return kinds

    def regrouped(self, order: Indices) -> tuple[Indices, Indices]:
        """Return the distinct rows, and where each group begins, once groups are put in this order."""
        sizes = np.diff(self.group_start)[order]
        begins = np.concatenate([[0], np.cumsum(sizes)])
        within = np.arange(begins[-1]) - np.repeat(begins[:-1], sizes)
        return np.repeat(self.group_start[:-1][order], sizes) + within, begins

    def places_in(self, order: Indices) -> Indices:
        """Where the distinct row that each row is stands once distinct rows are put in this order, (n,)."""
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        return place[self.kind_of]

    def copies_in(self, order: Indices) -> tuple[Indices, Indices]:
        """Where the copies of each distinct row begin once distinct rows are put in this order, and they."""
        sizes = np.diff(self.row_start)[order]
        begins = np.concatenate([[0], np.cumsum(sizes)])
        offsets = np.arange(len(self.order)) - np.repeat(begins[:-1], sizes)
        return begins, self.order[np.repeat(self.row_start[:-1][order], sizes) + offsets]


def of_copies(summarize: np.ufunc, of_rows: Array, start: Indices, members: Indices) -> Array:
    """Bring together what is known of the copies of each distinct row, as they stand in ``members``."""
    return np.asarray(summarize.reduceat(of_rows[members], start[:-1]))


def lowest_ranks(orders: Sequence[Indices], start: Indices, members: Indices) -> Indices:
    """Return (s, n_distinct): where the first copy of each distinct row stands in each order of rows."""
    ranks = np.empty((len(orders), len(start) - 1), dtype=np.int64)
    for position, order in enumerate(orders):
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        ranks[position] = of_copies(np.minimum, rank, start, members)
    return ranks


def hashes(codes: Array, bits: Array, salt: int) -> NDArray[np.uint64]:
    """Hash every row of codes (c, n) and bits (n, d)."""
    out = np.empty(codes.shape[1], dtype=np.uint64)
    search_kernels.hash_rows(codes, bits, salt, out)
    return out


class Index:
    """All that a search needs to know of the reference, as arrays for the kernels."""

    def __init__(self, space: Space, table: Table) -> None:
        self.flagged = missing_in(space, table)
        codes = encode_codes(space, table, self.flagged)
        values, self.weights = encode_values(space, table)
        rows = SortedRows.of(codes, values)
        self._group_hash, self._salt = rows.group_hash, rows.salt
        self.finder = GroupTree(codes[:, rows.representatives[rows.group_start[:-1]]])
        self._place = np.empty(len(rows.group_hash), dtype=np.int64)
        self._place[self.finder.order] = np.arange(len(rows.group_hash))
        in_groups, group_start = rows.regrouped(self.finder.order)
        kinds = rows.representatives[in_groups]
        kind_values = values[kinds]
        # The column in which sorted rows that stand side by side, often in one group, cost most; or -1.
        self.pivot = -1
        if len(self.weights):
            gaps = np.abs(np.diff(kind_values, axis=0)) * self.weights
            self.pivot = int(np.argmax(np.nan_to_num(gaps**space.power).sum(axis=0)))
        forest = BlockForest(kind_values, self.weights, group_start)
        self.tree = forest.tree
        self.groups: Groups = (
            self.finder.codes,
            np.isnan(kind_values[group_start[:-1]]),
            group_start,
            forest.root,
        )
        blocks = np.empty(len(kinds) * len(self.weights))
        search_kernels.lay_blocks(kind_values, forest.order, forest.bounds, blocks)
        self.reference: tuple[Floats, Indices, Indices] = (blocks, *rows.copies_in(in_groups[forest.order]))

    def homes(self, codes: Array) -> Indices:
        """Return the group with exactly the codes of each query (c, q), or -1."""
        wanted = hashes(codes, np.empty((codes.shape[1], 0), dtype=np.uint64), self._salt)
        home = np.searchsorted(self._group_hash, wanted)
        home[home == len(self._group_hash)] = 0
        home = self._place[home]
        return np.where((self.groups[0][:, home] == codes).all(axis=0), home, -1)


class BlockForest:
    """The trees of consecutive groups of rows (n, d): one over every group that is larger than a block."""

    def __init__(self, values: Floats, weights: Floats, group_start: Indices) -> None:
        self.order = np.arange(len(values))  # rows so that each leaf, each group and each tree is a range
        sizes = np.diff(group_start)
        large = np.flatnonzero(sizes > search_kernels.BLOCK)
        n_nodes = int(np.sum(2 * (-(-sizes[large] // search_kernels.BLOCK)) - 1))
        left, right, begin, end = (np.full(n_nodes, -1, dtype=np.int64) for _ in range(4))
        box = np.empty((n_nodes, 2, values.shape[1]))
        self.root = np.full(len(sizes), -1, dtype=np.int64)  # a node, or -1 for a group of one block
        free = 0
        for group in large:
            self.root[group] = free
            start, stop = group_start[group], group_start[group + 1]
            free = search_kernels.grow_tree(
                values, weights, self.order, start, stop, left, right, begin, end, box, free
            )
        self.tree: Tree = (left[:free], right[:free], begin[:free], end[:free], box[:free])
        # A leaf is longer than one block only if its rows are too near to be told apart.
        leaves = np.column_stack([begin[:free], end[:free]])[left[:free] < 0]
        cuts = (np.arange(start, stop, search_kernels.BLOCK) for start, stop in leaves)
        # Where blocks begin, and where the last one ends.
        self.bounds = np.unique(np.concatenate([group_start, *cuts]))


QUERIES_AT_ONCE = 512
NOBODY = np.iinfo(np.int64).max


class Queries:
    """The distinct rows among some, in the codes and values of an index."""

    def __init__(self, space: Space, table: Table, index: Index) -> None:
        # Columns where the reference always has a cell, and some of these rows have none, (a,).
        self.absent_names = tuple(name for name in missing_in(space, table) if name not in index.flagged)
        codes = encode_codes(space, table, index.flagged + self.absent_names)
        values, weights = encode_values(space, table)
        rows = SortedRows.of(codes, values)
        n_codes = len(index.groups[0])
        heads = rows.representatives[rows.group_start[:-1]]
        alike = np.argsort(index.finder.leaves(codes[:n_codes, heads]), kind="stable")
        in_groups, group_start = rows.regrouped(alike)
        forest = BlockForest(values[rows.representatives[in_groups]], weights, group_start)
        order = in_groups[forest.order]
        kinds = rows.representatives[order]
        self.codes = np.ascontiguousarray(codes[:n_codes, kinds])  # (c, q)
        self.values = values[kinds]  # (q, d)
        self.absent = np.ascontiguousarray(codes[n_codes:, kinds])  # (a, q) whether the cell is missing
        # Rows with equal codes share a number: they have the same groups to visit, (q,).
        self.run = np.repeat(np.arange(len(alike)), np.diff(group_start))
        self.kind_of = rows.places_in(order)  # (m,) the distinct row that each row is

    def __len__(self) -> int:
        return len(self.values)

    @property
    def floor(self) -> Indices:
        """Return how many mismatches each has with every reference row, (q,)."""
        return np.asarray(self.absent.sum(axis=0, dtype=np.int64))
