"""The real rows behind a counter: every look at them costs, and is written down.

Everything that AIM learns from the rows passes through the three questions here. Whatever is computed from
their answers needs no further privacy.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from tabveil.core.table import Floats, Indices, Table
from tabveil.synthesis.generators.aim import zcdp
from tabveil.synthesis.generators.aim.graphical import Beliefs, Columns, Measurement
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
    _codes: list[Indices] = field(init=False)
    _counted: dict[Columns, Floats] = field(default_factory=dict)

    def __post_init__(self) -> None:
        columns = zip(self.levels, self.table.values.T, strict=True)
        self._codes = [levels.encode(cells) for levels, cells in columns]

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
