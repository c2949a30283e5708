"""Histograms of classes: how much weight a bin has, smoothed towards coarser ones or counted with noise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.storage.arrays import Expected, require
from tabveil.core.table import Floats, Indices, Table
from tabveil.synthesis.generators.hybrid.domains import Domain, choose_within
from tabveil.synthesis.generators.hybrid.transitions.way_back import (
    GeneralizedRows,
    KeyedClasses,
    Stored,
    WayBack,
)

BINS = 16
"""Bins of an interval, unless somebody wants others."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassCells:
    """Where the bins of each class stand in one column, end to end; a class without a value has none."""

    domain: Domain
    codes: Floats  # (c,) the generalized value of each class

    @cached_property
    def sizes(self) -> Indices:
        """How many bins each class has, (c,)."""
        there = ~np.isnan(self.codes)
        sizes = np.zeros(len(self.codes), dtype=np.int64)
        sizes[there] = self.domain.n_bins[self.codes[there].astype(np.int64)]
        return sizes

    @cached_property
    def starts(self) -> Indices:
        """Where the bins of each class begin, (c + 1,)."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    @cached_property
    def bins(self) -> Indices:
        """Which bin of the domain each is, (n,)."""
        owners = np.repeat(np.arange(len(self.codes)), self.sizes)
        first = self.domain.starts[self.codes[owners].astype(np.int64)]
        return first + np.arange(len(owners)) - self.starts[owners]

    def count(self, classes: Indices, bins: Indices) -> Floats:
        """Count rows of these classes that lie in these bins (m,) of the domain; -1 is none, (n,)."""
        there = bins >= 0
        owners, own = classes[there], bins[there]
        places = self.starts[owners] + own - self.domain.starts[self.codes[owners].astype(np.int64)]
        return np.bincount(places, minlength=len(self.bins)).astype(np.float64)

    def normalized(self, weights: Floats, otherwise: Floats) -> Floats:
        """Let the weights (n,) of each class have the sum 1; where they have none, those of ``otherwise``."""
        if len(weights) == 0:
            return weights
        held = self.sizes > 0
        starts, sizes = self.starts[:-1][held], self.sizes[held]
        totals = np.repeat(np.add.reduceat(weights, starts), sizes)
        others = otherwise / np.repeat(np.add.reduceat(otherwise, starts), sizes)
        return np.where(totals > 0, weights / np.where(totals > 0, totals, 1.0), others)


@dataclass(frozen=True, kw_only=True, eq=False)
class HistogramWay(WayBack):
    """The weights of the bins of every class."""

    classes: KeyedClasses
    weights: tuple[Floats, ...]  # (n,) of each domain, the bins of class after class

    def draw(self, table: Table, *, rng: Generator) -> list[Floats]:
        """Draw from a row's class; a combination that is none, column by column and evenly."""
        numbers = self.classes.find(table)
        found = []
        for domain, weights in zip(self.domains, self.weights, strict=True):
            codes = table.column(domain.name)
            bins = domain.choose(codes, domain.sizes, rng=rng)
            known = np.flatnonzero((numbers >= 0) & ~np.isnan(codes))
            cells = ClassCells(domain=domain, codes=self.classes.codes(domain.name))
            held = np.flatnonzero(cells.sizes)
            starts = np.append(cells.starts[held], len(weights))
            places = np.searchsorted(held, numbers[known])
            bins[known] = cells.bins[choose_within(starts, weights, places, rng=rng)]
            found.append(domain.draw_bins(bins, rng=rng))
        return found

    def arrays(self) -> dict[str, Any]:
        """Add the classes and their weights."""
        weights = {f"weights{place}": each for place, each in enumerate(self.weights)}
        return super().arrays() | {"classes": self.classes.keys.values} | weights

    @classmethod
    def open(cls, stored: Stored) -> "HistogramWay":
        """Rebuild the way back."""
        domains = stored.domains()
        keys = Expected(dtype=np.float64, shape=(None, len(stored.quasi_identifiers)), missing=True)
        expected: Mapping[str, Expected] = {
            "classes": keys,
            **{
                f"weights{place}": Expected(dtype=np.float64, shape=(None,), low=0, high=1)
                for place in range(len(domains))
            },
        }
        arrays = stored.own(expected)
        classes = stored.classes(arrays["classes"])
        for place, domain in enumerate(domains):
            cells = ClassCells(domain=domain, codes=classes.codes(domain.name))
            weights = arrays[f"weights{place}"]
            require(
                len(weights) == len(cells.bins), f"array 'weights{place}' must have a weight for each bin"
            )
            sums = np.bincount(
                np.repeat(np.arange(len(cells.sizes)), cells.sizes),
                weights=weights,
                minlength=len(cells.sizes),
            )
            require(
                bool((np.abs(sums - 1) < _SUM)[cells.sizes > 0].all()),
                f"array 'weights{place}' must have the sum 1 in each class",
            )
        return cls(
            domains=domains,
            classes=classes,
            weights=tuple(arrays[f"weights{place}"] for place in range(len(domains))),
        )


_SUM = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False)
class Counted:
    """The rows of every class in every bin, before anything is done about them."""

    domains: tuple[Domain, ...]
    classes: KeyedClasses
    cells: Sequence[ClassCells]
    counts: Sequence[Floats]  # (n,) in each column
    everywhere: Sequence[Floats]  # (n,) rows of all classes in the same bin

    @classmethod
    def of(cls, rows: GeneralizedRows, most_bins: int) -> "Counted":
        """Count the rows that take part."""
        domains = rows.domains(most_bins)
        classes, numbers = KeyedClasses.of(rows.keys)
        cells, counts, everywhere = [], [], []
        for domain in domains:
            own = ClassCells(domain=domain, codes=classes.codes(domain.name))
            bins = domain.locate(rows.table.column(domain.name), rows.original.column(domain.name))
            in_all = np.bincount(bins[bins >= 0], minlength=len(domain.low)).astype(np.float64)
            cells.append(own)
            counts.append(own.count(numbers, bins))
            everywhere.append(in_all[own.bins])
        return cls(domains=domains, classes=classes, cells=cells, counts=counts, everywhere=everywhere)


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

    def _mixed(self, cells: ClassCells, counts: Floats, everywhere: Floats) -> Floats:
        even = cells.domain.sizes[cells.bins]
        coarser = self._supported(everywhere) if self.towards == "population" else np.zeros(len(even))
        weights = self._supported(counts) + self.strength * cells.normalized(coarser, even)
        return cells.normalized(weights, even)

    def _supported(self, counts: Floats) -> Floats:
        return np.where(counts >= self.support, counts, 0.0)

    def open(self, stored: Stored) -> HistogramWay:
        """Rebuild the way back."""
        return HistogramWay.open(stored)


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
