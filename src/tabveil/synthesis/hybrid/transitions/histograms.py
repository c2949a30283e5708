"""Histograms of classes: how much weight each bin of its generalized value has, in every class and column.

Labels are bins of their own; an interval of numbers is cut into some, and drawn from evenly within each. So
what is drawn is nobody's number, and what is stored are weights.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator

from tabveil.core.storage.arrays import Expected, require
from tabveil.core.table import Floats, Indices, Table
from tabveil.synthesis.hybrid.domains import Domain, choose_within
from tabveil.synthesis.hybrid.transitions.way_back import Classes, GeneralizedRows, Stored, WayBack

BINS = 16
"""Bins of an interval, unless somebody wants others."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Cells:
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

    classes: Classes
    weights: tuple[Floats, ...]  # (n,) of each domain, the bins of class after class

    def draw(self, table: Table, *, rng: Generator) -> list[Floats]:
        """Draw from a row's class; a combination that is none, column by column and evenly."""
        numbers = self.classes.find(table)
        found = []
        for domain, weights in zip(self.domains, self.weights, strict=True):
            codes = table.column(domain.name)
            bins = domain.choose(codes, domain.sizes, rng=rng)
            known = np.flatnonzero((numbers >= 0) & ~np.isnan(codes))
            cells = Cells(domain=domain, codes=self.classes.codes(domain.name))
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
            cells = Cells(domain=domain, codes=classes.codes(domain.name))
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
    classes: Classes
    cells: Sequence[Cells]
    counts: Sequence[Floats]  # (n,) in each column
    everywhere: Sequence[Floats]  # (n,) rows of all classes in the same bin

    @classmethod
    def of(cls, rows: GeneralizedRows, most_bins: int) -> "Counted":
        """Count the rows that take part."""
        domains = rows.domains(most_bins)
        classes, numbers = Classes.of(rows.keys)
        cells, counts, everywhere = [], [], []
        for domain in domains:
            own = Cells(domain=domain, codes=classes.codes(domain.name))
            bins = domain.locate(rows.table.column(domain.name), rows.original.column(domain.name))
            in_all = np.bincount(bins[bins >= 0], minlength=len(domain.low)).astype(np.float64)
            cells.append(own)
            counts.append(own.count(numbers, bins))
            everywhere.append(in_all[own.bins])
        return cls(domains=domains, classes=classes, cells=cells, counts=counts, everywhere=everywhere)
