"""A graphical model of a table of levels: a junction tree, belief propagation, and a fit to noisy counts.

Noisy counts of overlapping sets of columns contradict each other and can be negative. Among all distributions
the one is sought that is nearest to them, with a slight preference for large entropy:

    minimize over p   Σ (n · p_cell - count)² / (2 · variance)  -  flatness · n · entropy(p)

The solution has one weight w a measured cell, and its dual, which has no constraints,

    minimize over w   n · log Σ exp(w)  -  Σ w · count  +  flatness / 2 · Σ variance · w²

is smooth: L-BFGS solves it in some dozens of passes of belief propagation, from the weights of the round
before. At the solution ``n · p_cell = count - flatness · variance · w``. The flatness is set so that in the
most precise counts a weight of 1 moves a count by :data:`FLATNESS` standard deviations of its noise: far less
than noise does, and enough to keep weights of empty cells from running away.

References
----------
- McKenna, R., Sheldon, D. and Miklau, G. (2019). Graphical-model based estimation and inference for
  differential privacy. ICML.
"""

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from string import ascii_letters

import numpy as np
from numpy.random import Generator
from scipy.optimize import minimize

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


def eliminate(sizes: Sequence[int], sets: Iterable[Collection[int]]) -> list[tuple[int, int]]:
    """Take out the columns, the one with the smallest table first; columns of one set are neighbors.

    Returns, in the order taken, each column and the neighbors it still had (as bits), which become neighbors
    of each other.
    """
    around = [0] * len(sizes)
    for members in sets:
        together = sum(1 << column for column in members)
        for column in members:
            around[column] |= together & ~(1 << column)
    logs = [math.log(size) for size in sizes]

    def weight(column: int) -> float:
        return logs[column] + sum(logs[neighbor] for neighbor in _members(around[column]))

    left, taken = set(range(len(sizes))), []
    weights = list(map(weight, range(len(sizes))))
    while left:
        column = min(left, key=weights.__getitem__)
        left.remove(column)
        bits = around[column]
        taken.append((column, bits))
        for neighbor in _members(bits):
            around[neighbor] = (around[neighbor] | bits) & ~(1 << neighbor) & ~(1 << column)
            weights[neighbor] = weight(neighbor)
    return taken


def junction_tree(sizes: Sequence[int], sets: Iterable[Collection[int]]) -> JunctionTree:
    """Build a tree in which each of the sets lies in one clique."""
    taken = eliminate(sizes, sets)
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
        sizes=tuple(sizes), cliques=tuple(map(tuple, cliques)), parents=tuple(parents), shared=tuple(shared)
    )


def _members(bits: int) -> list[int]:
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found


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
        trees: dict[int, list[int]] = {}
        for column in columns:
            trees.setdefault(self._paths[self.tree.top[column]][0], []).append(column)
        if len(trees) > 1:  # nothing joins them: each tree's part by itself
            table, axes = np.ones(()), tuple(itertools.chain(*trees.values()))
            for part in trees.values():
                table = np.multiply.outer(table, self.marginal(tuple(part)))
        else:
            found = {self.tree.top[column] for column in columns}
            while len(found) > 1:  # up to the lowest clique above, or among, all of these
                lowest = max(found, key=lambda clique: self._paths[clique][1])
                found = found - {lowest} | {self.tree.parents[lowest]}
            (meeting,) = found
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
            conditions = np.zeros(n_rows, dtype=np.int64)
            if separator:
                conditions = np.ravel_multi_index(tuple(rows[:, separator].T), self.tree.shape(separator))
            chances = self.given[clique].reshape(-1, self.tree.cells_of(own))
            outcomes = draw_given(chances, conditions, rng=rng)
            rows[:, own] = np.column_stack(np.unravel_index(outcomes, self.tree.shape(own)))
        return rows

    @cached_property
    def _paths(self) -> list[tuple[int, int]]:
        """The root above each clique, and how far below it the clique is."""
        paths: list[tuple[int, int]] = []
        for clique, parent in enumerate(self.tree.parents):
            root, depth = (clique, 0) if parent == ROOT else paths[parent]
            paths.append((root, depth + 1))
        return paths

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


@lru_cache(maxsize=10_000)
def _placement(columns: Columns, axes: Columns) -> tuple[Columns, Columns, tuple[slice | None, ...], Columns]:
    """Say how the axes of a table lie among those of a larger one.

    Returns their order there, the inverse of it, None for each axis that only the larger table has, and which
    of its axes these are.
    """
    order = tuple(sorted(range(len(columns)), key=lambda i: axes.index(columns[i])))
    back = tuple(order.index(i) for i in range(len(columns)))
    slots = tuple(slice(None) if column in columns else None for column in axes)
    return order, back, slots, tuple(i for i, slot in enumerate(slots) if slot is None)


def projected(table: Floats, axes: Columns, columns: Columns) -> Floats:
    """Sum a table down to some of its columns, in their order."""
    _, back, _, dropped = _placement(columns, axes)
    return (table.sum(axis=dropped) if dropped else table).transpose(back)


def aligned(table: Floats, columns: Columns, axes: Columns) -> Floats:
    """Give a table the axes of a larger one (of length 1 where it has none), so that both can be added."""
    order, _, slots, _ = _placement(columns, axes)
    return table.transpose(order)[slots]


def _contract(left: Floats, axes: Columns, right: Floats, others: Columns, out: Columns) -> Floats:
    """Multiply two tables, and sum out what is not wanted."""
    letters = dict(zip(dict.fromkeys((*axes, *others)), ascii_letters, strict=False))
    terms = ("".join(letters[column] for column in columns) for columns in (axes, others, out))
    result: Floats = np.einsum("{},{}->{}".format(*terms), left, right, optimize=True)
    return result


FLATNESS = 0.05


@dataclass(frozen=True, kw_only=True, eq=False)
class Measurement:
    """Noisy counts of the combinations of some columns, and the variance of each."""

    counts: Floats
    variances: Floats

    def with_another(self, other: "Measurement") -> "Measurement":
        """Pool two measurements of the same columns: each counts by its precision."""
        mine, theirs = 1 / self.variances, 1 / other.variances
        counts = (self.counts * mine + other.counts * theirs) / (mine + theirs)
        return Measurement(counts=counts, variances=1 / (mine + theirs))


MeasuredColumn = Mapping[Columns, Measurement]
Weights = Mapping[Columns, Floats]


def estimate_total(measured: Iterable[Measurement]) -> float:
    """Estimate the number of rows from noisy counts alone: each sum by its precision, at least 1."""
    sums = [(float(item.counts.sum()), float(item.variances.sum())) for item in measured]
    precision = sum(1 / variance for _, variance in sums)
    return max(sum(total / variance for total, variance in sums) / precision, 1.0)


class Terms:
    """Where each measured set lies: in a larger measured set, or in a clique.

    Sums are taken and weights are added along this nesting, so that a clique's (large) table is touched once
    for each largest set in it.
    """

    def __init__(self, tree: JunctionTree, sets: Iterable[Columns]) -> None:
        self.tree, self.sets = tree, sorted(sets, key=len)
        self.holders = [*self.sets, *tree.cliques]
        self.hosts = [self._host(i) for i in range(len(self.sets))]  # by their place among the holders

    def _host(self, position: int) -> int:
        members, n_sets = set(self.sets[position]), len(self.sets)
        for i in range(position + 1, n_sets):
            if members < set(self.sets[i]):
                return i
        fitting = (i for i in range(n_sets, len(self.holders)) if members <= set(self.holders[i]))
        return min(fitting, key=lambda i: self.tree.cells_of(self.holders[i]))

    def weights(self, parts: list[Floats]) -> list[Floats]:
        """Add up the weights of all sets, clique by clique."""
        tables = [*map(np.array, parts), *(np.zeros(self.tree.shape(clique)) for clique in self.tree.cliques)]
        for i, host in enumerate(self.hosts):
            tables[host] += aligned(tables[i], self.sets[i], self.holders[host])
        return tables[len(self.sets) :]

    def marginals(self, beliefs: Beliefs) -> list[Floats]:
        """Return the probabilities of all sets."""
        found = [*(np.empty(0) for _ in self.sets), *beliefs.joint]
        for i, host in reversed(list(enumerate(self.hosts))):
            found[i] = projected(found[host], self.holders[host], self.sets[i])
        return found[: len(self.sets)]


def believe(sizes: tuple[int, ...], weights: Weights) -> Beliefs:
    """Return the distribution that weights define."""
    terms = Terms(junction_tree(sizes, weights), weights)
    return propagate(terms.tree, terms.weights([weights[columns] for columns in terms.sets]))


def estimate(
    sizes: tuple[int, ...], measured: MeasuredColumn, *, total: float, start: Weights, iterations: int
) -> dict[Columns, Floats]:
    """Find the weights of the distribution nearest to what was measured, from those of an earlier round."""
    terms = Terms(junction_tree(sizes, measured), measured)
    shapes = [measured[columns].counts.shape for columns in terms.sets]
    counts = np.concatenate([measured[columns].counts.ravel() for columns in terms.sets])
    variances = np.concatenate([measured[columns].variances.ravel() for columns in terms.sets])
    pull = FLATNESS / np.sqrt(variances.min()) * variances
    scale = 1 / np.sqrt(pull + np.maximum(counts, 0))  # about the inverse root of the curvature
    ends = list(itertools.accumulate(map(math.prod, shapes)))
    places = list(zip([0, *ends], ends, shapes, strict=False))

    def unpacked(vector: Floats) -> list[Floats]:
        return [vector[start:end].reshape(shape) for start, end, shape in places]

    def loss(scaled: Floats) -> tuple[float, Floats]:
        vector = scaled * scale
        beliefs = propagate(terms.tree, terms.weights(unpacked(vector)))
        expected = total * np.concatenate([table.ravel() for table in terms.marginals(beliefs)])
        value = total * beliefs.log_total - vector @ counts + (pull * vector) @ vector / 2
        return value, (expected - counts + pull * vector) * scale

    known = [start.get(columns, np.zeros(shape)) for columns, shape in zip(terms.sets, shapes, strict=True)]
    first = np.concatenate([table.ravel() for table in known])
    options = {"maxiter": iterations, "maxcor": 30, "ftol": 1e-9, "gtol": 1e-3}
    found = minimize(loss, first / scale, jac=True, method="L-BFGS-B", options=options)
    return dict(zip(terms.sets, unpacked(found.x * scale), strict=True))
