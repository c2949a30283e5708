"""Conditional: values of the rows of the same class, as often as they occur there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.core.storage.arrays import MOST_ROWS, Expected, require
from tabveil.core.table import Floats, Indices, Numeric, Table, holds, within
from tabveil.synthesis.generators.hybrid.domains import Domain, choose_within
from tabveil.synthesis.generators.hybrid.transitions.way_back import (
    GeneralizedRows,
    KeyedClasses,
    Stored,
    WayBack,
)

_SILVERMAN, _POWER = 1.06, -0.2  # the bandwidth that suits a bell curve


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
class ConditionalWay(WayBack):
    """The values of every class."""

    classes: KeyedClasses
    values: tuple[ClassValues, ...]
    widths: tuple[Floats, ...] = ()  # (c,) how far numbers are moved, in each domain; none if they are not

    def draw(self, table: Table, *, rng: Generator) -> list[Floats]:
        """Draw from a row's class; a combination that is none, column by column and evenly."""
        numbers = self.classes.find(table)
        known = numbers >= 0
        drawn = [domain.uniform(table.column(domain.name), rng=rng) for domain in self.domains]
        for values in self.values:
            chosen = choose_within(values.starts, values.counts.astype(float), numbers[known], rng=rng)
            for place, column in enumerate(values.columns):
                drawn[column][known] = values.cells[chosen, place]
        for domain, widths, cells in zip(self.domains, self.widths, drawn, strict=False):
            codes = table.column(domain.name)[known]
            cells[known] = _moved(domain, codes, cells[known], widths[numbers[known]], rng=rng)
        return drawn

    def arrays(self) -> dict[str, Any]:
        """Add the classes and their values."""
        found = super().arrays() | {"classes": self.classes.keys.values}
        for place, values in enumerate(self.values):
            found |= {
                f"values{place}_starts": values.starts,
                f"values{place}_cells": values.cells,
                f"values{place}_counts": values.counts,
            }
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
        classes, numbers = KeyedClasses.of(rows.keys)
        cells = np.column_stack([rows.original.column(domain.name) for domain in domains])  # (m, d)
        return ConditionalWay(
            domains=domains,
            classes=classes,
            values=tuple(
                ClassValues.count(group, cells[:, group], numbers, len(classes.keys))
                for group in self._groups(len(domains))
            ),
            widths=tuple(_bandwidths(column, numbers, len(classes.keys)) for column in cells.T)
            if self.smoothed
            else (),
        )

    def open(self, stored: Stored) -> ConditionalWay:
        """Rebuild the way back."""
        domains = stored.domains()
        n_keys, groups = len(stored.quasi_identifiers), self._groups(len(domains))
        expected = {"classes": Expected(dtype=np.float64, shape=(None, n_keys), missing=True)}
        for place, group in enumerate(groups):
            expected |= {
                f"values{place}_starts": Expected(dtype=np.int64, shape=(None,), low=0),
                f"values{place}_cells": Expected(dtype=np.float64, shape=(None, len(group)), missing=True),
                f"values{place}_counts": Expected(dtype=np.int64, shape=(None,), low=1, high=MOST_ROWS),
            }
        if self.smoothed:
            n = (None,)
            expected |= {
                f"widths{place}": Expected(dtype=np.float64, shape=n, low=0) for place in range(len(domains))
            }
        arrays = stored.own(expected)
        classes = stored.classes(arrays["classes"])
        values = []
        for place, group in enumerate(groups):
            parts = {part: arrays[f"values{place}_{part}"] for part in ("starts", "cells", "counts")}
            _require_values(parts, [domains[column] for column in group], len(classes.keys))
            values.append(ClassValues(columns=tuple(group), **parts))
        widths = tuple(arrays[f"widths{place}"] for place in range(len(domains) if self.smoothed else 0))
        require(all(len(each) == len(classes.keys) for each in widths), "widths must be those of the classes")
        return ConditionalWay(domains=domains, classes=classes, values=tuple(values), widths=widths)

    def _groups(self, n: int) -> list[list[int]]:
        """Return which columns are drawn together."""
        return [list(range(n))] if self.joint else [[column] for column in range(n)]


def _require_values(parts: dict[str, NDArray[Any]], domains: Sequence[Domain], n_classes: int) -> None:
    starts, n = parts["starts"], len(parts["counts"])
    require(
        len(starts) == n_classes + 1
        and starts[0] == 0
        and starts[-1] == n == len(parts["cells"])
        and bool((np.diff(starts) > 0).all()),
        "every class must have values",
    )
    for domain, cells in zip(domains, parts["cells"].T, strict=True):
        require(holds(domain.column, cells), f"classes must hold values of the column {domain.name!r}")


def _bandwidths(cells: Floats, classes: Indices, n_classes: int) -> Floats:
    """Return how far the numbers of each class are moved, (c,); 0 where they do not differ."""
    there = ~np.isnan(cells)
    numbers, known = classes[there], cells[there]
    n = np.maximum(np.bincount(numbers, minlength=n_classes), 1)
    means = np.bincount(numbers, weights=known, minlength=n_classes) / n
    squares = np.bincount(numbers, weights=(known - means[numbers]) ** 2, minlength=n_classes) / n
    widths: Floats = _SILVERMAN * np.sqrt(squares) * n.astype(float) ** _POWER
    return widths


def _moved(domain: Domain, codes: Floats, cells: Floats, widths: Floats, *, rng: Generator) -> Floats:
    """Move numbers by chance, thrown back from the ends of what their generalized value stands for."""
    noise = rng.normal(size=len(cells)) * widths
    if not isinstance(domain.column, Numeric):
        return cells
    low, high = domain.ends()
    movable = np.flatnonzero(~np.isnan(cells) & ~np.isnan(codes))
    movable = movable[(high > low)[codes[movable].astype(np.int64)]]
    numbers = codes[movable].astype(np.int64)
    first, last = low[numbers], high[numbers]
    # Reflected at both ends as often as it takes: a saw with teeth as wide as the range, both ways.
    way = np.mod(cells[movable] + noise[movable] - first, 2 * (last - first))
    moved = cells.copy()
    moved[movable] = first + np.minimum(way, 2 * (last - first) - way)
    return within(domain.column, moved)
