"""Noisy conditional: the histogram of a class, counted with noise."""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.table import Floats
from tabveil.synthesis.hybrid.transitions.histograms import BINS, Counted, HistogramWay
from tabveil.synthesis.hybrid.transitions.way_back import GeneralizedRows, Stored

Noise = Literal["geometric", "laplace"]


@dataclass(frozen=True, kw_only=True)
class NoisyConditional:
    """Draw from the class as it was counted with noise: ε bounds what its histograms tell of a row in it.

    A row lies in one bin of its class in each column that is generalized, so that ``epsilon`` is shared
    evenly by these columns, and every count of a column gets noise for its share: the two-sided geometric
    kind, or Laplace's. Counts below zero are zero, and a class without any is drawn evenly. Numbers are drawn
    evenly within one of ``bins`` parts of their interval; fewer parts have less noise.

    The classes are taken as given. Which classes there are, the generalized rows, all other columns and the
    generator are not covered by ε.
    """

    epsilon: float = 1.0
    noise: Noise = "geometric"
    bins: int = BINS

    name: ClassVar[str] = "noisy_conditional"
    asks_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check.between(self.name, "epsilon", self.epsilon, 0, float("inf"))
        check.one_of(self.name, "noise", self.noise, get_args(Noise))
        check.at_least(self.name, "bins", self.bins, 1)

    @property
    def keeps(self) -> str:
        """What a model holds of real rows."""
        return "which classes there are, and for each a histogram of its rows that was counted with noise"

    @property
    def covers(self) -> str:
        """What ε covers, and what not."""
        return (
            f"The noise of the transition (ε = {self.epsilon:g}) covers the values of rows within their "
            "classes, where the classes are taken as given. It does not cover which classes there are, the "
            "generalized rows, other columns or the generator, and it holds while the seed is secret."
        )

    def learn(self, rows: GeneralizedRows, *, rng: Generator) -> HistogramWay:
        """Count with noise."""
        found = Counted.of(rows, self.bins)
        share = self.epsilon / max(len(found.domains), 1)
        weights = []
        for cells, counts in zip(found.cells, found.counts, strict=True):
            noisy = np.maximum(counts + self._drawn(len(counts), share, rng=rng), 0.0)
            weights.append(cells.normalized(noisy, cells.domain.sizes[cells.bins]))
        return HistogramWay(domains=found.domains, classes=found.classes, weights=tuple(weights))

    def _drawn(self, n: int, epsilon: float, *, rng: Generator) -> Floats:
        if self.noise == "laplace":
            return rng.laplace(scale=1 / epsilon, size=n)
        chance = -np.expm1(-epsilon)
        difference: Floats = (rng.geometric(chance, n) - rng.geometric(chance, n)).astype(np.float64)
        return difference

    def open(self, stored: Stored) -> HistogramWay:
        """Rebuild the way back."""
        return HistogramWay.open(stored)
