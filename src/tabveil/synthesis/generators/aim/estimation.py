"""From noisy counts to a distribution: the flattest one that explains what was measured.

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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from tabveil.core.table import Floats
from tabveil.synthesis.generators.aim.graphical import (
    Beliefs,
    Columns,
    JunctionTree,
    aligned,
    junction_tree,
    projected,
    propagate,
)

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
        self.tree = tree
        self.sets = sorted(sets, key=len)
        self.hosts = [self._host(i) for i in range(len(self.sets))]

    def _host(self, position: int) -> tuple[bool, int]:
        members = set(self.sets[position])
        for i in range(position + 1, len(self.sets)):
            if members < set(self.sets[i]):
                return True, i
        fitting = (i for i, clique in enumerate(self.tree.cliques) if members <= set(clique))
        return False, min(fitting, key=lambda i: self.tree.cells_of(self.tree.cliques[i]))

    def weights(self, parts: list[Floats]) -> list[Floats]:
        """Add up the weights of all sets, clique by clique."""
        parts = list(parts)
        tables = [np.zeros(self.tree.shape(clique)) for clique in self.tree.cliques]
        for i, (nested, host) in enumerate(self.hosts):
            axes = self.sets[host] if nested else self.tree.cliques[host]
            lifted = aligned(parts[i], self.sets[i], axes)
            if nested:
                parts[host] = parts[host] + lifted
            else:
                tables[host] += lifted
        return tables

    def marginals(self, beliefs: Beliefs) -> list[Floats]:
        """Return the probabilities of all sets."""
        found: list[Floats] = [np.empty(0)] * len(self.sets)
        for i in reversed(range(len(self.sets))):
            nested, host = self.hosts[i]
            table, axes = (
                (found[host], self.sets[host]) if nested else (beliefs.joint[host], self.tree.cliques[host])
            )
            found[i] = projected(table, axes, self.sets[i])
        return found


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

    first = np.concatenate(
        [
            start.get(columns, np.zeros(shape)).ravel()
            for columns, shape in zip(terms.sets, shapes, strict=True)
        ]
    )
    options = {"maxiter": iterations, "maxcor": 30, "ftol": 1e-9, "gtol": 1e-3}
    found = minimize(loss, first / scale, jac=True, method="L-BFGS-B", options=options)
    return dict(zip(terms.sets, unpacked(found.x * scale), strict=True))
