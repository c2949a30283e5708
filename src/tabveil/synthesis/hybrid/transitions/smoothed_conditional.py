"""Smoothed conditional: the histogram of a class, without what few rows have, drawn towards a coarser one."""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.table import Floats
from tabveil.synthesis.hybrid.transitions.histograms import BINS, Cells, Counted, HistogramWay
from tabveil.synthesis.hybrid.transitions.way_back import GeneralizedRows, Stored

Towards = Literal["population", "uniform"]


@dataclass(frozen=True, kw_only=True)
class SmoothedConditional:
    """Draw from the class as far as many rows support it, and else from all rows with the same value.

    A bin counts in its class only if at least ``support`` rows of the class lie in it, so what few people
    have is not passed on as theirs. To these counts, ``strength`` rows are added that are distributed as all
    rows with the same generalized value are (``towards`` the population, again only bins that ``support``
    rows have), or evenly (uniform). So a large class speaks for itself, and a small one hardly. Numbers are
    drawn evenly within one of ``bins`` parts of their interval.
    """

    strength: float = 10.0
    support: int = 5
    towards: Towards = "population"
    bins: int = BINS

    name: ClassVar[str] = "smoothed_conditional"
    asks_rows: ClassVar[bool] = True
    covers: ClassVar[str] = ""

    def __post_init__(self) -> None:
        check.between(self.name, "strength", self.strength, 0, float("inf"))
        check.at_least(self.name, "support", self.support, 1)
        check.one_of(self.name, "towards", self.towards, get_args(Towards))
        check.at_least(self.name, "bins", self.bins, 1)

    @property
    def keeps(self) -> str:
        """What a model holds of real rows."""
        return (
            f"for every class, how its rows are spread over parts that at least {self.support} of them have"
        )

    def learn(self, rows: GeneralizedRows, *, rng: Generator) -> HistogramWay:
        """Count, leave out what few have, and mix."""
        del rng
        found = Counted.of(rows, self.bins)
        weights = [
            self._mixed(cells, counts, everywhere)
            for cells, counts, everywhere in zip(found.cells, found.counts, found.everywhere, strict=True)
        ]
        return HistogramWay(domains=found.domains, classes=found.classes, weights=tuple(weights))

    def _mixed(self, cells: Cells, counts: Floats, everywhere: Floats) -> Floats:
        even = cells.domain.sizes[cells.bins]
        coarser = self._supported(everywhere) if self.towards == "population" else np.zeros(len(even))
        weights = self._supported(counts) + self.strength * cells.normalized(coarser, even)
        return cells.normalized(weights, even)

    def _supported(self, counts: Floats) -> Floats:
        return np.where(counts >= self.support, counts, 0.0)

    def open(self, stored: Stored) -> HistogramWay:
        """Rebuild the way back."""
        return HistogramWay.open(stored)
