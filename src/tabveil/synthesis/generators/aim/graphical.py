"""A probabilistic graphical model of a table of levels: a junction tree, and belief propagation on it."""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from string import ascii_letters

import numpy as np
from numpy.random import Generator

from tabveil.core.sampling import draw_given
from tabveil.core.table import Floats, Indices

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


@dataclass(frozen=True, kw_only=True, eq=False)
class Beliefs:
    """A distribution over all columns, as the tables of a junction tree.

    ``given`` holds for each clique the probability of its own columns given its separator, ``joint`` that of
    all its columns, ``log_total`` the logarithm of the sum of all weights.
    """

    tree: JunctionTree
    given: tuple[Floats, ...]
    joint: tuple[Floats, ...]
    log_total: float
    _passed: dict[tuple[int, frozenset[int]], tuple[Columns, Floats]] = field(default_factory=dict)

    def marginal(self, columns: Columns) -> Floats:
        """Return the joint probabilities of some columns, whether or not a clique holds them all."""
        tops = {self.tree.top[column] for column in columns}
        meeting = self._meeting(tops)
        if meeting == ROOT:  # nothing joins them: each tree's part by itself
            return self._product_of_trees(columns)
        axes, table = self._collect(meeting, frozenset(columns), self.joint[meeting], ())
        return np.transpose(table, [axes.index(column) for column in columns])

    def sample(self, n_rows: int, *, rng: Generator) -> Indices:
        """Draw rows of level numbers, (n_rows, n_columns).

        The draws are spread evenly: among the rows with equal values in a separator, each outcome occurs as
        often as it should, up to one. So the sample is closer to the distribution than independent draws.
        """
        rows = np.zeros((n_rows, len(self.tree.sizes)), dtype=np.int64)
        for clique, members in enumerate(self.tree.cliques):
            separator, own = self.tree.separator(clique), members[self.tree.shared[clique] :]
            conditions = _flat(rows, separator, self.tree.shape(separator))
            outcomes = draw_given(
                self.given[clique].reshape(-1, self.tree.cells_of(own)), conditions, rng=rng
            )
            rows[:, own] = np.column_stack(np.unravel_index(outcomes, self.tree.shape(own)))
        return rows

    @cached_property
    def _depths(self) -> list[int]:
        depths: list[int] = []
        for parent in self.tree.parents:
            depths.append(0 if parent == ROOT else depths[parent] + 1)
        return depths

    def _meeting(self, cliques: set[int]) -> int:
        """Return the lowest clique above (or among) all of these, or ROOT if they lie in different trees."""
        found = set(cliques)
        while len(found) > 1:
            lowest = max(found, key=self._depths.__getitem__)
            found.remove(lowest)
            if self.tree.parents[lowest] == ROOT:
                return ROOT
            found.add(self.tree.parents[lowest])
        return found.pop()

    def _root_of(self, clique: int) -> int:
        while self.tree.parents[clique] != ROOT:
            clique = self.tree.parents[clique]
        return clique

    def _product_of_trees(self, columns: Columns) -> Floats:
        parts: dict[int, list[int]] = {}
        for column in columns:
            parts.setdefault(self._root_of(self.tree.top[column]), []).append(column)
        table = np.ones(())
        for part in parts.values():
            table = np.multiply.outer(table, self.marginal(tuple(part)))
        axes = [column for part in parts.values() for column in part]
        return np.transpose(table, [axes.index(column) for column in columns])

    def _collect(
        self, clique: int, wanted: frozenset[int], table: Floats, kept: Columns
    ) -> tuple[Columns, Floats]:
        """Sum a clique's table, and all below it, down to the columns wanted and those to be kept."""
        axes = self.tree.cliques[clique]
        below: dict[int, set[int]] = {}  # by child: the wanted columns that only it leads to
        for column in wanted - set(axes):
            step = self.tree.top[column]
            while self.tree.parents[step] != clique:
                step = self.tree.parents[step]
            below.setdefault(step, set()).add(column)
        leads = {column for child in below for column in self.tree.separator(child)}
        stay = tuple(column for column in axes if column in wanted or column in kept or column in leads)
        table = table.sum(axis=tuple(i for i, column in enumerate(axes) if column not in stay))
        axes = stay
        last = list(below)
        for i, child in enumerate(last):
            child_axes, message = self._message(child, frozenset(below[child]))
            later = {column for other in last[i + 1 :] for column in self.tree.separator(other)}
            out = tuple(
                column
                for column in dict.fromkeys((*axes, *child_axes))
                if column in wanted or column in kept or column in later
            )
            table, axes = _contract(table, axes, message, child_axes, out), out
        return axes, table

    def _message(self, clique: int, wanted: frozenset[int]) -> tuple[Columns, Floats]:
        """Return the probabilities of the wanted columns below, given the clique's separator."""
        key = clique, wanted
        if key not in self._passed:
            separator = self.tree.separator(clique)
            self._passed[key] = self._collect(clique, wanted, self.given[clique], separator)
        return self._passed[key]


def propagate(tree: JunctionTree, weights: list[Floats]) -> Beliefs:
    """Turn the logarithms of weights, a table a clique, into probabilities.

    One pass from the leaves to the roots, one back. Each cell's exponential is taken once, after the largest
    of its row was subtracted, so no weight is too large or too small. The tables given are overwritten.
    """
    given: list[Floats] = [np.empty(0)] * len(weights)
    log_total = 0.0
    for clique in reversed(range(len(weights))):
        shape, parent = weights[clique].shape, tree.parents[clique]
        outer = shape[: tree.shared[clique]]
        rows = weights[clique].reshape(math.prod(outer), -1)
        largest = rows.max(axis=1, keepdims=True)
        rows = np.exp(rows - largest)
        sums = rows.sum(axis=1, keepdims=True)
        rows /= sums
        given[clique] = rows.reshape(shape)
        message = (largest + np.log(sums)).reshape(outer)
        if parent == ROOT:
            log_total += float(message)
        else:
            weights[parent] += aligned(message, tree.separator(clique), tree.cliques[parent])
    joint: list[Floats] = []
    for clique, parent in enumerate(tree.parents):
        table = given[clique]
        if parent != ROOT:
            chances = projected(joint[parent], tree.cliques[parent], tree.separator(clique))
            table = table * chances.reshape(chances.shape + (1,) * (table.ndim - chances.ndim))
        joint.append(table)
    return Beliefs(tree=tree, given=tuple(given), joint=tuple(joint), log_total=log_total)


@dataclass(frozen=True)
class _Placement:
    """How the axes of a table lie among those of a larger one."""

    order: tuple[int, ...]  # of the smaller table's axes in the larger one
    back: tuple[int, ...]  # the inverse
    slots: tuple[slice | None, ...]  # None where the larger table has an axis of its own
    dropped: tuple[int, ...]  # those axes


@lru_cache(maxsize=10_000)
def _placement(columns: Columns, axes: Columns) -> _Placement:
    order = tuple(sorted(range(len(columns)), key=lambda i: axes.index(columns[i])))
    return _Placement(
        order=order,
        back=tuple(order.index(i) for i in range(len(columns))),
        slots=tuple(slice(None) if column in columns else None for column in axes),
        dropped=tuple(i for i, column in enumerate(axes) if column not in columns),
    )


def projected(table: Floats, axes: Columns, columns: Columns) -> Floats:
    """Sum a table down to some of its columns, in their order."""
    place = _placement(columns, axes)
    return (
        table.sum(axis=place.dropped).transpose(place.back) if place.dropped else table.transpose(place.back)
    )


def aligned(table: Floats, columns: Columns, axes: Columns) -> Floats:
    """Give a table the axes of a larger one (of length 1 where it has none), so that both can be added."""
    place = _placement(columns, axes)
    return table.transpose(place.order)[place.slots]


def _contract(left: Floats, axes: Columns, right: Floats, others: Columns, out: Columns) -> Floats:
    """Multiply two tables, and sum out what is not wanted."""
    letters = dict(zip(dict.fromkeys((*axes, *others)), ascii_letters, strict=False))
    terms = ("".join(letters[column] for column in columns) for columns in (axes, others, out))
    result: Floats = np.einsum("{},{}->{}".format(*terms), left, right, optimize=True)
    return result


def _flat(rows: Indices, columns: Columns, shape: tuple[int, ...]) -> Indices:
    """Return one number for each combination of some columns' levels."""
    if not columns:
        return np.zeros(len(rows), dtype=np.int64)
    return np.ravel_multi_index(tuple(rows[:, column] for column in columns), shape).astype(np.int64)
