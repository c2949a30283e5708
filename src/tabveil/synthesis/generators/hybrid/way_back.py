"""The way from generalized rows back to concrete ones: what a transition learns, stores and draws.

A transition learns a way back from the rows that take part. Before a generator (*pre*), it is gone once the
generator's rows are drawn with it. After a generator (*post*), it is a part of the model, and stored with it.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Literal, Protocol, get_args

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.sampling import group_equal_rows
from tabveil.core.storage.arrays import Arrays, Expected, require, require_arrays, under
from tabveil.core.table import Categorical, Floats, Indices, Schema, Table, holds, within
from tabveil.synthesis.anonymize import Anonymization
from tabveil.synthesis.generators.hybrid.domains import Domain, domains_of


@dataclass(frozen=True, kw_only=True, eq=False)
class GeneralizedRows:
    """The rows that take part: generalized, and as they were.

    Where ``blind``, no row decides whether a generalized value stands for a missing one beside others: it
    does not.
    """

    found: Anonymization
    chosen: Indices  # (m,) which released rows take part
    blind: bool = False

    @cached_property
    def table(self) -> Table:
        """The rows as they are released."""
        return self.found.table.take(self.chosen)

    @cached_property
    def original(self) -> Table:
        """The same rows as they came in."""
        return self.found.original.take(self.found.rows[self.chosen])

    def classes(self) -> tuple[Table, Indices]:
        """Return the generalized quasi-identifiers of each class, and the number of each row's class."""
        keys = self.table.select(self.found.quasi_identifiers)
        (numbers,) = group_equal_rows(keys)
        _, firsts, numbers = np.unique(numbers, return_index=True, return_inverse=True)
        return keys.take(firsts), numbers.reshape(-1).astype(np.int64)

    def domains(self, most_bins: int = 1) -> tuple[Domain, ...]:
        """Return what each generalized column may stand for."""
        return domains_of(self.found, most_bins=most_bins, with_missing=not self.blind)


class Transition(Protocol):
    """A way to learn the way back. Fields are settings; learning changes nothing here."""

    name: ClassVar[str]

    @property
    def asks_rows(self) -> bool:
        """Whether anything but hierarchies is asked, that is, read from the rows."""
        ...

    @property
    def keeps(self) -> str:
        """What is kept of real rows, to be said to whoever fits a model; empty for nothing."""
        ...

    @property
    def covers(self) -> str:
        """What noise that it adds promises, and what not; empty if it adds none. It needs a secret seed.

        Its ε is then the setting ``epsilon``.
        """
        ...

    def learn(self, rows: GeneralizedRows, *, rng: Generator) -> "WayBack":
        """Learn from the rows that take part."""
        ...

    def open(self, stored: "Stored") -> "WayBack":
        """Rebuild what :meth:`learn` returned; everything is checked."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class WayBack(ABC):
    """What was learned: draws concrete values for generalized rows."""

    domains: tuple[Domain, ...]

    def concrete(self, table: Table, schema: Schema, *, rng: Generator) -> Table:
        """Return the rows under the schema that they had before: generalized columns drawn, others kept."""
        drawn = dict(zip((domain.name for domain in self.domains), self.draw(table, rng=rng), strict=True))
        columns = [drawn[name] if name in drawn else table.column(name) for name in schema.names]
        return Table(schema=schema, values=np.column_stack(columns))

    @abstractmethod
    def draw(self, table: Table, *, rng: Generator) -> list[Floats]:
        """Draw the cells (n,) of each domain's column."""

    def arrays(self) -> dict[str, Any]:
        """Return what is stored beside the domains; a class with more adds to it."""
        return {
            f"bins{place}_{name}": array
            for place, domain in enumerate(self.domains)
            for name, array in domain.arrays().items()
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class Stored:
    """What a folder holds of a way back, and the schemas that it leads between."""

    schema: Schema  # of the original
    generalized: Schema
    quasi_identifiers: tuple[str, ...]
    changed: tuple[str, ...]  # those of them that hold generalized values
    arrays: Arrays

    def domains(self) -> tuple[Domain, ...]:
        """Rebuild the domains of the columns that are generalized."""
        found = []
        for place, name in enumerate(self.changed):
            column = self.generalized[name]
            require(isinstance(column, Categorical), f"column {name!r} must be generalized to labels")
            assert isinstance(column, Categorical)
            arrays, _ = under(self.arrays, f"bins{place}_")
            found.append(Domain.from_arrays(self.schema[name], len(column.labels), arrays))
        return tuple(found)

    def own(self, expected: Mapping[str, Expected]) -> Arrays:
        """Return what is stored beside the domains: exactly what is expected."""
        places = tuple(f"bins{place}_" for place in range(len(self.changed)))
        own = {name: array for name, array in self.arrays.items() if not name.startswith(places)}
        require_arrays(own, expected)
        return own

    def classes(self, expected: Mapping[str, Expected]) -> tuple[Table, Arrays]:
        """Rebuild the quasi-identifiers of each class; return them, and what else is expected."""
        schema = self.generalized.select(self.quasi_identifiers)
        cells = Expected(dtype=np.float64, shape=(None, len(schema)), missing=True)
        arrays = self.own({"classes": cells, **expected})
        return stored_rows(arrays, "classes", schema), arrays


def stored_rows(arrays: Arrays, name: str, schema: Schema) -> Table:
    """Return the rows that are stored under a name; there must be some, with values of their columns."""
    cells = arrays[name]
    require(len(cells) > 0, f"array {name!r} must have {name}")
    for column, each in zip(schema.columns, cells.T, strict=True):
        require(holds(column, each), f"array {name!r} must hold values of the column {column.name!r}")
    return Table(schema=schema, values=cells)


Numbers = Literal["mean", "median"]
Labels = Literal["mode", "leaf"]


@dataclass(frozen=True, kw_only=True, eq=False)
class SingleWay(WayBack):
    """One cell for every generalized value."""

    cells: tuple[Floats, ...]  # (n_labels,) of each domain

    def draw(self, table: Table, *, rng: Generator) -> list[Floats]:
        """Look every value up."""
        del rng
        drawn = []
        for domain, cells in zip(self.domains, self.cells, strict=True):
            codes = table.column(domain.name)
            there = ~np.isnan(codes)
            found = np.full(len(codes), np.nan)
            found[there] = cells[codes[there].astype(np.int64)]
            drawn.append(found)
        return drawn

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
        weights = np.where(np.isnan(domain.low), -1, weights)  # missing only if alone
        firsts = [start + int(np.argmax(weights[start:end])) for start, end in pairwise(domain.starts)]
        return domain.low[np.array(firsts, dtype=np.int64)]


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
