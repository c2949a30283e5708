"""Transitions that draw from the class of a row, and all transitions by their names.

Conditional ones draw values of the rows of the same class, as often as they occur there, or as its histogram
says.
A histogram gives each bin a weight in its class: smoothed towards coarser ones, or counted with noise.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.sampling import group_equal_rows
from tabveil.core.settings.registry import Registry, make
from tabveil.core.storage.arrays import MOST_ROWS, Expected, require
from tabveil.core.table import Floats, Indices, Table, holds
from tabveil.synthesis.generators.hybrid.domains import ClassCells, choose_within, require_starts
from tabveil.synthesis.generators.hybrid.plain_settings import read_named
from tabveil.synthesis.generators.hybrid.way_back import (
    GeneralizedRows,
    Single,
    Stored,
    Transition,
    Uniform,
    WayBack,
)

_VALUES = ("starts", "cells", "counts")  # what is stored of each
_NO_VALUES = "every class must have values"
_SILVERMAN, _POWER = 1.06, -0.2  # the bandwidth that suits a bell curve


@dataclass(frozen=True, kw_only=True, eq=False)
class _ClassesWay(WayBack):
    """A way back that draws from the class of a row."""

    classes: Table  # (c rows) the generalized quasi-identifiers of each class

    def find(self, table: Table) -> Indices:
        """Return the class of each row (n,); -1 for a combination that no row that took part has."""
        known, rows = group_equal_rows(self.classes, table.select(self.classes.schema.names))
        numbers = np.full(max(known.max(), rows.max(initial=0)) + 1, -1, dtype=np.int64)
        numbers[known] = np.arange(len(known))
        return numbers[rows]

    def arrays(self) -> dict[str, Any]:
        """Add the classes."""
        return super().arrays() | {"classes": self.classes.values}


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassValues:
    """The different values that the rows of each class have in some columns, and how many rows have each."""

    columns: tuple[int, ...]  # places among the domains; several are drawn together
    starts: Indices  # (c + 1,) where the values of each class begin
    cells: Floats  # (v, columns)
    counts: Indices  # (v,)

    @classmethod
    def count(cls, columns: Sequence[int], cells: Floats, classes: Indices, n_classes: int) -> "ClassValues":
        """Count the values (n, columns) of rows of these classes (n,)."""
        keyed = np.column_stack([classes.astype(np.float64), cells]) + 0.0  # -0.0 and 0.0 are one value
        different, counts = np.unique(keyed, axis=0, return_counts=True)
        if np.isnan(different).any():  # NaN differs from itself: one is like the other here
            marked = np.where(np.isnan(keyed), -np.inf, keyed)
            different, counts = np.unique(marked, axis=0, return_counts=True)
            different = np.where(np.isneginf(different), np.nan, different)
        sizes = np.bincount(different[:, 0].astype(np.int64), minlength=n_classes)
        return cls(
            columns=tuple(columns),
            starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            cells=np.ascontiguousarray(different[:, 1:]),
            counts=counts.astype(np.int64),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class ConditionalWay(_ClassesWay):
    """The values of every class."""

    values: tuple[ClassValues, ...]
    widths: tuple[Floats, ...] = ()  # (c,) how far numbers are moved, in each domain; none if they are not

    def draw(self, table: Table, *, rng: Generator) -> list[Floats]:
        """Draw from a row's class; a combination that is none, column by column and evenly."""
        numbers = self.find(table)
        known = numbers >= 0
        drawn = [domain.uniform(table.column(domain.name), rng=rng) for domain in self.domains]
        for values in self.values:
            chosen = choose_within(values.starts, values.counts.astype(float), numbers[known], rng=rng)
            for place, column in enumerate(values.columns):
                drawn[column][known] = values.cells[chosen, place]
        for domain, widths, cells in zip(self.domains, self.widths, drawn, strict=False):
            codes = table.column(domain.name)[known]
            cells[known] = domain.moved(codes, cells[known], widths[numbers[known]], rng=rng)
        return drawn

    def arrays(self) -> dict[str, Any]:
        """Add the values of the classes."""
        found = super().arrays()
        for place, values in enumerate(self.values):
            found |= {f"values{place}_{part}": getattr(values, part) for part in _VALUES}
        return found | {f"widths{place}": widths for place, widths in enumerate(self.widths)}


@dataclass(frozen=True, kw_only=True)
class Conditional:
    """Draw from the values of the rows of the same class: useful, and as telling as these rows are.

    Only rows that take part are counted. ``smoothed`` moves numbers at random around those of the class, by
    the bandwidth that suits a bell curve, within what their generalized value stands for. ``joint`` draws all
    quasi-identifiers of one row together, so that they fit each other, and may be somebody's. A combination
    of generalized values that is no class (a generator may invent it) is drawn column by column, evenly.
    """

    smoothed: bool = False
    joint: bool = False

    name: ClassVar[str] = "conditional"
    asks_rows: ClassVar[bool] = True
    covers: ClassVar[str] = ""

    @property
    def keeps(self) -> str:
        """What a model holds of real rows."""
        what = "combinations of quasi-identifiers" if self.joint else "values of each quasi-identifier"
        return f"for every class, the real {what} of its rows and how many rows have each"

    def learn(self, rows: GeneralizedRows, *, rng: Generator) -> ConditionalWay:
        """Count the values of each class."""
        del rng
        domains = rows.domains()
        classes, numbers = rows.classes()
        n = len(classes)
        cells = np.column_stack([rows.original.column(domain.name) for domain in domains])  # (m, d)
        values = [
            ClassValues.count(group, cells[:, group], numbers, n) for group in self._groups(len(domains))
        ]
        widths = [_bandwidths(column, numbers, n) for column in cells.T] if self.smoothed else []
        return ConditionalWay(domains=domains, classes=classes, values=tuple(values), widths=tuple(widths))

    def open(self, stored: Stored) -> ConditionalWay:
        """Rebuild the way back."""
        domains = stored.domains()
        groups, moved = self._groups(len(domains)), range(len(domains) if self.smoothed else 0)
        expected: dict[str, Expected] = {}
        for place, group in enumerate(groups):
            expected |= {
                f"values{place}_starts": Expected(dtype=np.int64, shape=(None,), low=0),
                f"values{place}_cells": Expected(dtype=np.float64, shape=(None, len(group)), missing=True),
                f"values{place}_counts": Expected(dtype=np.int64, shape=(None,), low=1, high=MOST_ROWS),
            }
        expected |= {f"widths{place}": Expected(dtype=np.float64, shape=(None,), low=0) for place in moved}
        classes, arrays = stored.classes(expected)
        values = []
        for place, group in enumerate(groups):
            parts = {part: arrays[f"values{place}_{part}"] for part in _VALUES}
            require(len(parts["cells"]) == len(parts["counts"]), _NO_VALUES)
            require_starts(parts["starts"], len(classes), len(parts["counts"]), _NO_VALUES)
            for column, cells in zip(group, parts["cells"].T, strict=True):
                what = f"classes must hold values of the column {domains[column].name!r}"
                require(holds(domains[column].column, cells), what)
            values.append(ClassValues(columns=tuple(group), **parts))
        widths = tuple(arrays[f"widths{place}"] for place in moved)
        require(all(len(each) == len(classes) for each in widths), "widths must be those of the classes")
        return ConditionalWay(domains=domains, classes=classes, values=tuple(values), widths=widths)

    def _groups(self, n: int) -> list[list[int]]:
        """Return which columns are drawn together."""
        return [list(range(n))] if self.joint else [[column] for column in range(n)]


def _bandwidths(cells: Floats, classes: Indices, n_classes: int) -> Floats:
    """Return how far the numbers of each class are moved, (c,); 0 where they do not differ."""
    there = ~np.isnan(cells)
    numbers, known = classes[there], cells[there]
    n = np.maximum(np.bincount(numbers, minlength=n_classes), 1)
    means = np.bincount(numbers, weights=known, minlength=n_classes) / n
    squares = np.bincount(numbers, weights=(known - means[numbers]) ** 2, minlength=n_classes) / n
    widths: Floats = _SILVERMAN * np.sqrt(squares) * n.astype(float) ** _POWER
    return widths


BINS = 16
"""Bins of an interval, unless somebody wants others."""


@dataclass(frozen=True, kw_only=True, eq=False)
class HistogramWay(_ClassesWay):
    """The weights of the bins of every class."""

    weights: tuple[Floats, ...]  # (n,) of each domain, the bins of class after class

    def draw(self, table: Table, *, rng: Generator) -> list[Floats]:
        """Draw from a row's class; a combination that is none, column by column and evenly."""
        numbers = self.find(table)
        found = []
        for domain, weights in zip(self.domains, self.weights, strict=True):
            codes = table.column(domain.name)
            bins = domain.choose(codes, domain.sizes, rng=rng)
            known = np.flatnonzero((numbers >= 0) & ~np.isnan(codes))
            cells = ClassCells(domain=domain, codes=self.classes.column(domain.name))
            held = np.flatnonzero(cells.sizes)
            starts = np.append(cells.starts[held], len(weights))
            places = np.searchsorted(held, numbers[known])
            bins[known] = cells.bins[choose_within(starts, weights, places, rng=rng)]
            found.append(domain.draw_bins(bins, rng=rng))
        return found

    def arrays(self) -> dict[str, Any]:
        """Add the weights of the classes."""
        return super().arrays() | {f"weights{place}": each for place, each in enumerate(self.weights)}


_SUM = 1e-6


class _Histograms(ABC):
    """What draws from histograms of the classes: all but what becomes of the counts."""

    bins: int
    asks_rows: ClassVar[bool] = True

    def learn(self, rows: GeneralizedRows, *, rng: Generator) -> HistogramWay:
        """Count the rows of every class in every bin, and make weights of the counts."""
        domains = rows.domains(self.bins)
        classes, numbers = rows.classes()
        weights = []
        for domain in domains:
            cells = ClassCells(domain=domain, codes=classes.column(domain.name))
            bins = domain.locate(rows.table.column(domain.name), rows.original.column(domain.name))
            in_all = np.bincount(bins[bins >= 0], minlength=len(domain.low)).astype(np.float64)
            counts, everywhere = cells.count(numbers, bins), in_all[cells.bins]
            weights.append(self.weigh(cells, counts, everywhere, n_columns=len(domains), rng=rng))
        return HistogramWay(domains=domains, classes=classes, weights=tuple(weights))

    @abstractmethod
    def weigh(
        self, cells: ClassCells, counts: Floats, everywhere: Floats, *, n_columns: int, rng: Generator
    ) -> Floats:
        """Return the weights of the bins (n,) of a column, one of so many that are generalized.

        ``counts`` (n,) are the rows of a class in each, ``everywhere`` (n,) those of all classes.
        """

    def open(self, stored: Stored) -> HistogramWay:
        """Rebuild the way back."""
        domains = stored.domains()
        weight = Expected(dtype=np.float64, shape=(None,), low=0, high=1)
        names = [f"weights{place}" for place in range(len(domains))]
        classes, arrays = stored.classes(dict.fromkeys(names, weight))
        for name, domain in zip(names, domains, strict=True):
            cells = ClassCells(domain=domain, codes=classes.column(domain.name))
            weights, n = arrays[name], len(classes)
            require(len(weights) == len(cells.bins), f"array {name!r} must have a weight for each bin")
            sums = np.bincount(np.repeat(np.arange(n), cells.sizes), weights=weights, minlength=n)
            require(
                bool((np.abs(sums - 1) < _SUM)[cells.sizes > 0].all()),
                f"array {name!r} must have the sum 1 in each class",
            )
        return HistogramWay(domains=domains, classes=classes, weights=tuple(arrays[name] for name in names))


Towards = Literal["population", "uniform"]


@dataclass(frozen=True, kw_only=True)
class SmoothedConditional(_Histograms):
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

    def weigh(
        self, cells: ClassCells, counts: Floats, everywhere: Floats, *, n_columns: int, rng: Generator
    ) -> Floats:
        """Leave out what few have, and mix."""
        del n_columns, rng
        even = cells.domain.sizes[cells.bins]
        coarser = self._supported(everywhere) if self.towards == "population" else np.zeros(len(even))
        weights = self._supported(counts) + self.strength * cells.normalized(coarser, even)
        return cells.normalized(weights, even)

    def _supported(self, counts: Floats) -> Floats:
        return np.where(counts >= self.support, counts, 0.0)


Noise = Literal["geometric", "laplace"]
_COUNTS_MOVED = 2  # by a row that has another value


@dataclass(frozen=True, kw_only=True)
class NoisyConditional(_Histograms):
    """Draw from the class as it was counted with noise: ε bounds what its histograms tell of a row in it.

    Two tables are neighbors if one row has other values in its generalized columns that lie in the same
    class: the classes, and how many rows each has, are taken as given. Then a row leaves one bin and enters
    another in each of these columns, and two counts of a column change by one. So ``epsilon`` is shared
    evenly by the columns, and each count gets noise for half of its column's share: the two-sided geometric
    kind, or Laplace's. Counts below zero are zero, and a class without any is drawn evenly. Numbers are drawn
    evenly within one of ``bins`` parts of their interval; fewer parts have less noise.

    Which classes there are, the generalized rows, all other columns and the generator are not covered by ε.
    """

    epsilon: float = 1.0
    noise: Noise = "geometric"
    bins: int = BINS

    name: ClassVar[str] = "noisy_conditional"

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
            f"The noise of the transition (ε = {self.epsilon:g}) covers the values of a row within its "
            "class: two tables are neighbors if one row has others of the same class, and the classes and "
            "their sizes are taken as given. It does not cover which classes there are, the generalized "
            "rows, other columns or the generator, and it holds while the seed is secret."
        )

    def weigh(
        self, cells: ClassCells, counts: Floats, everywhere: Floats, *, n_columns: int, rng: Generator
    ) -> Floats:
        """Add noise for the column's share of ε: another value is one row less here and one more there."""
        del everywhere
        noisy = counts + self._drawn(len(counts), self.epsilon / n_columns / _COUNTS_MOVED, rng=rng)
        return cells.normalized(np.maximum(noisy, 0.0), cells.domain.sizes[cells.bins])

    def _drawn(self, n: int, epsilon: float, *, rng: Generator) -> Floats:
        if self.noise == "laplace":
            return rng.laplace(scale=1 / epsilon, size=n)
        chance = -np.expm1(-epsilon)
        difference: Floats = (rng.geometric(chance, n) - rng.geometric(chance, n)).astype(np.float64)
        return difference


TRANSITIONS: Registry[Transition] = Registry(
    "transition", (Single, Uniform, Conditional, SmoothedConditional, NoisyConditional)
)
"""Every transition by its name; your own joins by ``TRANSITIONS.add``."""


def read_transition(given: str | Mapping[str, Any]) -> Transition:
    """Read a name, or a name with settings.

    >>> read_transition({"name": "conditional", "joint": True})
    Conditional(smoothed=False, joint=True)
    """
    name, settings = read_named("transition", given)
    return make(TRANSITIONS.find("transition", name), settings)
