"""The rounds of AIM: choose what is described worst, count it, fit again; real rows behind a counter."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np
from numpy.random import Generator

from tabveil.core.table import Floats, Indices, Table
from tabveil.core.workers import tell
from tabveil.synthesis.generators.aim import zcdp
from tabveil.synthesis.generators.aim.graphical import (
    Beliefs,
    Columns,
    Measurement,
    believe,
    estimate,
    estimate_total,
    junction_tree,
)
from tabveil.tables.matrices.bins import Levels

_KEPT = 4000  # tables of counts that are kept for the next round


def add_noise(counts: Floats, sigma: float, *, rng: Generator) -> Floats:
    """Add Gaussian noise to counts in which one row counts once."""
    return counts + rng.normal(0.0, sigma, counts.shape)


def typical_noise(sigma: float, n_cells: int) -> float:
    """Return the sum of the absolute noise expected in a table of counts."""
    return math.sqrt(2 / math.pi) * sigma * n_cells


@dataclass(kw_only=True, eq=False)
class PrivateRows:
    """Rows that answer with noise; ``spent`` is what the answers have cost so far, as rho.

    Neighbors are tables that differ by one row more or less: it changes one count of a table by 1.
    """

    table: Table
    levels: tuple[Levels, ...]
    rng: Generator
    spent: float = 0.0
    _counted: dict[Columns, Floats] = field(default_factory=dict)

    @cached_property
    def _codes(self) -> list[Indices]:
        columns = zip(self.levels, self.table.values.T, strict=True)
        return [levels.encode(cells) for levels, cells in columns]

    def measure(self, columns: Columns, sigma: float) -> Measurement:
        """How many rows have each combination of these columns' levels?"""
        self.spent += zcdp.of_gaussian(sigma)
        counts = add_noise(self._counts(columns), sigma, rng=self.rng)
        return Measurement(counts=counts, variances=np.full(counts.shape, sigma**2))

    def measure_parts(self, column: int, sigma: float) -> Floats:
        """How many rows have a number in each part of each bin of this column?"""
        self.spent += zcdp.of_gaussian(sigma)
        cells, bins = self.table.values[:, column], self.levels[column].bins
        assert bins is not None, "labels have no parts"
        counts = np.bincount(bins.parts(cells[~np.isnan(cells)]), minlength=len(bins.bin))
        return add_noise(counts.astype(np.float64), sigma, rng=self.rng)

    def choose(
        self,
        candidates: Mapping[Columns, float],
        allowed: Callable[[Columns], bool],
        beliefs: Beliefs,
        *,
        total: float,
        sigma: float,
        epsilon: float,
    ) -> Columns:
        """Which candidate does the model describe worst, beyond the noise that measuring it would add?

        The exponential mechanism: a candidate's score is its weight times the sum of the model's errors, less
        the noise expected; one row changes that sum by 1 at most. The largest score after Gumbel noise wins.
        ``allowed`` does not look at rows, so only the winners are asked about, best first, until one is: the
        choice is the same as if all others had been left out before.
        """
        self.spent += zcdp.of_choice(epsilon)
        sharpness = epsilon / (2 * max(candidates.values()))
        scores = {}
        for columns, weight in candidates.items():
            expected = total * beliefs.marginal(columns)
            error = float(np.abs(self._counts(columns) - expected).sum())
            score = weight * (error - typical_noise(sigma, expected.size))
            scores[columns] = sharpness * score + float(self.rng.gumbel())
        ranked = sorted(scores, key=scores.__getitem__, reverse=True)
        return next(columns for columns in ranked if allowed(columns))

    def _counts(self, columns: Columns) -> Floats:
        if columns in self._counted:
            return self._counted[columns]
        shape = tuple(len(self.levels[column]) for column in columns)
        cells = np.ravel_multi_index(tuple(self._codes[column] for column in columns), shape)
        counts = np.bincount(cells, minlength=math.prod(shape)).reshape(shape).astype(np.float64)
        if len(self._counted) < _KEPT:
            self._counted[columns] = counts
        return counts


FOR_MEASURING = 0.9  # of a round's budget; the rest pays for choosing what to measure
MOST_CANDIDATES = 2000  # sets of columns that a round looks at; more are thinned out at random
SEEN = 3.0  # standard deviations of its noise that a count must reach to be told from nothing
NEVER = 1000.0  # taken from a weight, it leaves a probability of zero


@dataclass(kw_only=True)
class RoundBudget:
    """How much may be spent, and the noise and sharpness of the next round."""

    rho: float
    sigma: float
    epsilon: float
    last: bool = False

    @classmethod
    def over(cls, rho: float, rounds: int) -> Self:
        """Lay a budget out over so many rounds."""
        measuring, choosing = FOR_MEASURING * rho / rounds, (1 - FOR_MEASURING) * rho / rounds
        return cls(rho=rho, sigma=zcdp.sigma_for(measuring), epsilon=zcdp.choice_for(choosing))

    def prepare(self, spent: float) -> None:
        """Use up in the next round what would not be enough for two."""
        left = self.rho - spent
        if left <= 2 * (zcdp.of_gaussian(self.sigma) + zcdp.of_choice(self.epsilon)):
            self.sigma = zcdp.sigma_for(FOR_MEASURING * left)
            self.epsilon = zcdp.choice_for((1 - FOR_MEASURING) * left)
            self.last = True


def candidates_of(sets: list[Columns], levels: tuple[Levels, ...]) -> dict[Columns, float]:
    """Return what may be measured: the sets, and all their subsets, by weight.

    A set's weight is the number of columns it shares with each set of the workload, summed up. A column with
    one level tells nothing and is left out.
    """
    telling = {i for i, item in enumerate(levels) if len(item) > 1}
    workload = [found for columns in sets if (found := tuple(i for i in columns if i in telling))]
    workload = workload or [(i,) for i in sorted(telling)]
    uses = Counter(column for columns in workload for column in columns)
    closure = {
        subset
        for columns in set(workload)
        for size in range(1, len(columns) + 1)
        for subset in itertools.combinations(columns, size)
    }
    ordered = sorted(closure, key=lambda columns: (len(columns), columns))
    return {columns: float(sum(uses[column] for column in columns)) for columns in ordered}


@dataclass(kw_only=True, eq=False)
class Rounds:
    """The rounds of AIM. Only ``rows`` sees real rows; all else is computed from its answers."""

    rows: PrivateRows
    budget: RoundBudget
    candidates: dict[Columns, float]
    iterations: int  # of each fit
    max_cells: float  # of the model
    levels: tuple[Levels, ...] = field(init=False)
    measured: dict[Columns, Measurement] = field(default_factory=dict)
    weights: dict[Columns, Floats] = field(default_factory=dict)
    total: float = 1.0

    def run(self) -> bool:
        """Spend the budget; returns whether that was interrupted."""
        levels = list(self.rows.levels)
        for i, item in enumerate(levels):  # every column by itself, and the parts of its bins
            self.measured[i,] = self.rows.measure((i,), self.budget.sigma)
            if item.n_parts:
                parts = self.rows.measure_parts(i, self.budget.sigma)
                levels[i] = item.with_parts(parts, self.budget.sigma**2)
        self.levels = tuple(levels)
        beliefs = self._fit()
        if not self.candidates:
            return False
        try:
            for turn in itertools.count(1):
                tell(f"round {turn}", min(self.rows.spent / self.budget.rho, 1.0))
                self.budget.prepare(self.rows.spent)
                beliefs = self._round(beliefs)
                if self.budget.last:
                    break
        except KeyboardInterrupt:
            return True
        tell("fitted", 1.0)
        return False

    @property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(map(len, self.rows.levels))

    def _fit(self) -> Beliefs:
        total = estimate_total(self.measured.values())
        weights = estimate(
            self._sizes, self.measured, total=total, start=self.weights, iterations=self.iterations
        )
        self.weights, self.total = weights, total  # together, or not at all if interrupted
        return believe(self._sizes, weights)

    def _round(self, before: Beliefs) -> Beliefs:
        """Choose a set of columns, measure it, and fit again."""
        sigma, epsilon = self.budget.sigma, self.budget.epsilon
        spent = self.rows.spent + zcdp.of_gaussian(sigma) + zcdp.of_choice(epsilon)
        limit = self.max_cells * min(spent / self.budget.rho, 1.0)

        def allowed(columns: Columns) -> bool:
            tree = before.tree
            return (
                tree.holds(columns) or junction_tree(self._sizes, [*self.measured, columns]).n_cells <= limit
            )

        chosen = self.rows.choose(
            self._offered(before, limit), allowed, before, total=self.total, sigma=sigma, epsilon=epsilon
        )
        expected = self.total * before.marginal(chosen)
        found = self.rows.measure(chosen, sigma)
        self.measured[chosen] = (
            self.measured[chosen].with_another(found) if chosen in self.measured else found
        )
        after = self._fit()
        change = float(np.abs(self.total * after.marginal(chosen) - expected).sum())
        if change <= typical_noise(sigma, expected.size):  # little news: less noise from now on
            self.budget.sigma /= 2
            self.budget.epsilon *= 2
        return after

    def closed_to_missing(self, columns: Iterable[int]) -> dict[Columns, Floats]:
        """Return the weights, without missing values in those columns where there may as well be none."""
        weights = dict(self.weights)
        for column in columns:
            found = self.measured[column,]
            if len(found.counts) > 1 and found.counts[-1] < SEEN * found.variances[-1] ** 0.5:
                weights[column,] = weights[column,].copy()
                weights[column,][-1] -= NEVER
        return weights

    def _offered(self, beliefs: Beliefs, limit: float) -> dict[Columns, float]:
        """Leave out what could not be allowed in any case; and thin out what is too much to look at."""
        kept = [columns for columns in self.candidates if len(columns) == 1]
        joint = [columns for columns in self.candidates if len(columns) > 1]
        joint = [columns for columns in joint if beliefs.tree.cells_of(columns) <= limit]
        if len(joint) > MOST_CANDIDATES:
            drawn = self.rows.rng.choice(len(joint), MOST_CANDIDATES, replace=False)
            joint = [joint[i] for i in np.sort(drawn)]
        return {columns: self.candidates[columns] for columns in (*kept, *joint)}
