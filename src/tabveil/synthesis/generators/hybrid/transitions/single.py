"""One value for all that was generalized to the same, or any that it may stand for."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.storage.arrays import Expected, require
from tabveil.core.table import Categorical, Floats, Indices, Table, holds, within
from tabveil.synthesis.generators.hybrid.domains import Domain
from tabveil.synthesis.generators.hybrid.transitions.way_back import GeneralizedRows, Stored, WayBack

Numbers = Literal["mean", "median"]
Labels = Literal["mode", "leaf"]


@dataclass(frozen=True, kw_only=True, eq=False)
class SingleWay(WayBack):
    """One cell for every generalized value."""

    cells: tuple[Floats, ...]  # (n_labels,) of each domain

    def draw(self, table: Table, *, rng: Generator) -> list[Floats]:
        """Look every value up."""
        del rng
        return [
            _look_up(cells, table.column(domain.name))
            for domain, cells in zip(self.domains, self.cells, strict=True)
        ]

    def arrays(self) -> dict[str, Any]:
        """Add the cells."""
        return super().arrays() | {f"cells{place}": cells for place, cells in enumerate(self.cells)}


@dataclass(frozen=True, kw_only=True)
class Single:
    """Put one value in the place of each generalized one: classes stay as large as they were.

    ``numbers`` become the middle of their interval (mean), or the middle one of its values, the lower of two
    (median). ``labels`` become the most frequent one of the rows that take part, the first of several (mode),
    or the first that the generalized value stands for, for which no row is asked (leaf). Nothing varies any
    more within a class.
    """

    numbers: Numbers = "mean"
    labels: Labels = "mode"

    name: ClassVar[str] = "single"
    covers: ClassVar[str] = ""

    def __post_init__(self) -> None:
        check.one_of("single", "numbers", self.numbers, get_args(Numbers))
        check.one_of("single", "labels", self.labels, get_args(Labels))

    @property
    def asks_rows(self) -> bool:
        """Whether anything is read from the rows."""
        return self.labels == "mode"

    @property
    def keeps(self) -> str:
        """What a model holds of real rows."""
        return "the most frequent label of each generalized value" if self.labels == "mode" else ""

    def learn(self, rows: GeneralizedRows, *, rng: Generator) -> SingleWay:
        """Find the one value of each."""
        del rng
        domains = rows.domains()
        return SingleWay(domains=domains, cells=tuple(self._cells(domain, rows) for domain in domains))

    def open(self, stored: Stored) -> SingleWay:
        """Rebuild the way back."""
        domains = stored.domains()
        expected = {
            f"cells{place}": Expected(dtype=np.float64, shape=(len(domain.n_bins),), missing=True)
            for place, domain in enumerate(domains)
        }
        arrays = stored.own(expected)
        for place, domain in enumerate(domains):
            require(
                holds(domain.column, arrays[f"cells{place}"]),
                f"array 'cells{place}' must hold values of the column {domain.name!r}",
            )
        return SingleWay(domains=domains, cells=tuple(arrays[name] for name in expected))

    def _cells(self, domain: Domain, rows: GeneralizedRows) -> Floats:
        if not isinstance(domain.column, Categorical):
            return within(domain.column, _middles(domain, self.numbers))
        weights = np.zeros(len(domain.low), dtype=np.int64)
        if self.labels == "mode":
            codes, cells = rows.table.column(domain.name), rows.original.column(domain.name)
            bins = domain.locate(codes, cells)
            weights = np.bincount(bins[bins >= 0], minlength=len(weights))
        return domain.low[_first_largest(domain, weights)]


def _look_up(cells: Floats, codes: Floats) -> Floats:
    found = np.full(len(codes), np.nan)
    there = ~np.isnan(codes)
    found[there] = cells[codes[there].astype(np.int64)]
    return found


def _first_largest(domain: Domain, weights: Indices) -> Indices:
    """Return the bin of each value with the largest weight, the first of several; missing only if alone."""
    weights = np.where(np.isnan(domain.low), -1, weights)
    return np.array(
        [start + int(np.argmax(weights[start:end])) for start, end in pairwise(domain.starts)], dtype=np.int64
    )


def _middles(domain: Domain, kind: Numbers) -> Floats:
    """Return the middle of each generalized value, (n_labels,); NaN where it stands for nothing else."""
    found = np.full(len(domain.n_bins), np.nan)
    for label, (start, end) in enumerate(pairwise(domain.starts)):
        there = ~np.isnan(domain.low[start:end])
        low, high = domain.low[start:end][there], domain.high[start:end][there]
        if len(low) == 1 and low[0] < high[0]:
            found[label] = (low[0] + high[0]) / 2 if kind == "mean" else domain.middle(low[0], high[0])
        elif len(low):
            found[label] = low.mean() if kind == "mean" else low[(len(low) - 1) // 2]
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class UniformWay(WayBack):
    """Nothing but what the hierarchies say."""

    def draw(self, table: Table, *, rng: Generator) -> list[Floats]:
        """Draw every cell by itself."""
        return [domain.uniform(table.column(domain.name), rng=rng) for domain in self.domains]


@dataclass(frozen=True, kw_only=True)
class Uniform:
    """Draw any number of the interval, or any leaf, evenly: no row is asked, and little is kept.

    Columns are drawn by themselves, so what goes together within a class is lost. Where
    values that are missing are generalized together with others, missing is one value among them.
    """

    name: ClassVar[str] = "uniform"
    keeps: ClassVar[str] = ""
    asks_rows: ClassVar[bool] = False
    covers: ClassVar[str] = ""

    def learn(self, rows: GeneralizedRows, *, rng: Generator) -> UniformWay:
        """Take the domains as they are."""
        del rng
        return UniformWay(domains=rows.domains())

    def open(self, stored: Stored) -> UniformWay:
        """Rebuild the way back."""
        stored.own({})
        return UniformWay(domains=stored.domains())
