"""Junction trees: groups of columns joined so that a joint distribution can be computed piece by piece.

Sets of columns that were measured together make a graph. Eliminating its columns one after the other fills
in what is missing until the graph falls into overlapping cliques that form a tree; the joint distribution is
the product of the cliques' tables. Which column goes first decides how large those tables become; the best
order is hard to find, and the greedy one taken here (always the column whose table is smallest) is good.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

Columns = tuple[int, ...]
"""Columns by their position, in the order of a table's axes."""

ROOT = -1


@dataclass(frozen=True)
class JunctionTree:
    """Cliques, each after its parent; what a clique shares with its parent (its separator) comes first in it.

    Cliques without a parent are the roots: their columns depend on no column of another root's tree.
    """

    sizes: tuple[int, ...]  # the number of levels of each column
    cliques: tuple[Columns, ...]
    parents: tuple[int, ...]
    shared: tuple[int, ...]  # how many columns of the clique are its separator

    @property
    def n_cells(self) -> int:
        """The number of cells of all tables."""
        return sum(self.cells_of(clique) for clique in self.cliques)

    def cells_of(self, columns: Iterable[int]) -> int:
        """Return the number of cells of one table."""
        return math.prod(self.sizes[column] for column in columns)

    def shape(self, columns: Iterable[int]) -> tuple[int, ...]:
        """Return the shape of one table."""
        return tuple(self.sizes[column] for column in columns)

    def separator(self, clique: int) -> Columns:
        """Return what a clique shares with its parent."""
        return self.cliques[clique][: self.shared[clique]]

    @cached_property
    def top(self) -> tuple[int, ...]:
        """The clique nearest to its root that holds each column."""
        found = dict.fromkeys(range(len(self.sizes)), 0)
        for clique in reversed(range(len(self.cliques))):
            found.update(dict.fromkeys(self.cliques[clique], clique))
        return tuple(found[column] for column in range(len(self.sizes)))

    def holds(self, columns: Collection[int]) -> bool:
        """Say whether one clique holds all these columns."""
        return any(set(columns) <= set(clique) for clique in self.cliques)


def neighborhoods(n_columns: int, sets: Iterable[Collection[int]]) -> list[int]:
    """Return each column's neighbors, as bits: columns are neighbors if they stand in one set."""
    around = [0] * n_columns
    for members in sets:
        together = sum(1 << column for column in members)
        for column in members:
            around[column] |= together
    return [bits & ~(1 << column) for column, bits in enumerate(around)]


def eliminate(logs: Sequence[float], around: Sequence[int]) -> list[tuple[int, int]]:
    """Take out the columns, the one with the smallest table first.

    ``logs`` are the logarithms of the columns' numbers of levels. Returns, in the order taken, each column
    and the neighbors it still had (as bits), which become neighbors of each other.
    """
    around = list(around)
    weights = [logs[column] + _weight(logs, bits) for column, bits in enumerate(around)]
    left = set(range(len(around)))
    taken = []
    while left:
        column = min(left, key=weights.__getitem__)
        left.remove(column)
        bits = around[column]
        taken.append((column, bits))
        for neighbor in _members(bits):
            around[neighbor] = (around[neighbor] | bits) & ~(1 << neighbor) & ~(1 << column)
            weights[neighbor] = logs[neighbor] + _weight(logs, around[neighbor])
    return taken


def junction_tree(sizes: Sequence[int], sets: Iterable[Collection[int]]) -> JunctionTree:
    """Build a tree in which each of the sets lies in one clique."""
    taken = eliminate([math.log(size) for size in sizes], neighborhoods(len(sizes), sets))
    turn = {column: i for i, (column, _) in enumerate(taken)}
    cliques: list[list[int]] = []
    parents: list[int] = []
    shared: list[int] = []
    home: dict[int, int] = {}
    for column, bits in reversed(taken):
        neighbors = _members(bits)
        parent = home[min(neighbors, key=turn.__getitem__)] if neighbors else ROOT
        if neighbors and len(cliques[parent]) == len(neighbors):  # then they are the same columns
            cliques[parent].append(column)
            home[column] = parent
            continue
        home[column] = len(cliques)
        cliques.append([*neighbors, column])
        parents.append(parent)
        shared.append(len(neighbors))
    return JunctionTree(
        sizes=tuple(sizes),
        cliques=tuple(map(tuple, cliques)),
        parents=tuple(parents),
        shared=tuple(shared),
    )


def _members(bits: int) -> list[int]:
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found


def _weight(logs: Sequence[float], bits: int) -> float:
    return sum(logs[column] for column in _members(bits))
