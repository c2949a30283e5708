"""The way from generalized rows back to concrete ones: what a transition learns, stores and draws.

A transition learns a way back from the rows that take part. Before a generator (*pre*), it is gone once the
generator's rows are drawn with it. After a generator (*post*), it is a part of the model, and stored with it.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.random import Generator

from tabveil.core.sampling import group_equal_rows
from tabveil.core.storage.arrays import Arrays, Expected, require, require_arrays, under
from tabveil.core.table import Categorical, Floats, Indices, Schema, Table, holds
from tabveil.synthesis.anonymize import Anonymization
from tabveil.synthesis.generators.hybrid.domains import Domain, domains_of


@dataclass(frozen=True, kw_only=True, eq=False)
class GeneralizedRows:
    """The rows that take part: generalized, and as they were."""

    found: Anonymization
    chosen: Indices  # (m,) which released rows take part

    @cached_property
    def table(self) -> Table:
        """The rows as they are released."""
        return self.found.table.take(self.chosen)

    @cached_property
    def original(self) -> Table:
        """The same rows as they came in."""
        return self.found.original.take(self.found.rows[self.chosen])

    @property
    def keys(self) -> Table:
        """The quasi-identifiers of the rows: what makes a class."""
        return self.table.select(self.found.quasi_identifiers)

    def domains(self, most_bins: int = 1) -> tuple[Domain, ...]:
        """Return what each generalized column may stand for."""
        return domains_of(self.found, most_bins=most_bins)


@dataclass(frozen=True, kw_only=True, eq=False)
class KeyedClasses:
    """The classes of the rows that take part, by their generalized quasi-identifiers."""

    keys: Table  # (c rows) one for each class

    @classmethod
    def of(cls, keys: Table) -> tuple[Self, Indices]:
        """Return the classes of rows with these quasi-identifiers, and the number of each row's."""
        (numbers,) = group_equal_rows(keys)
        _, firsts, numbers = np.unique(numbers, return_index=True, return_inverse=True)
        return cls(keys=keys.take(firsts)), numbers.reshape(-1).astype(np.int64)

    def find(self, table: Table) -> Indices:
        """Return the class of each row (n,); -1 for a combination that no row that took part has."""
        known, rows = group_equal_rows(self.keys, table.select(self.keys.schema.names))
        numbers = np.full(max(known.max(), rows.max(initial=0)) + 1, -1, dtype=np.int64)
        numbers[known] = np.arange(len(known))
        return numbers[rows]

    def codes(self, column: str) -> Floats:
        """Return the generalized value of each class in a column, (c,)."""
        return self.keys.column(column)


class Transition(Protocol):
    """A way to learn the way back. Fields are settings; learning changes nothing here.

    ``keeps`` says what a model that draws with it holds of real rows, ``asks_rows`` whether anything but
    hierarchies is asked.
    """

    name: ClassVar[str]

    @property
    def asks_rows(self) -> bool:
        """Whether anything is read from the rows."""
        ...

    @property
    def keeps(self) -> str:
        """What is kept of real rows, to be said to whoever fits a model; empty for nothing."""
        ...

    @property
    def covers(self) -> str:
        """What noise that it adds promises, and what not; empty if it adds none. It needs a secret seed."""
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

    def classes(self, cells: Floats) -> KeyedClasses:
        """Rebuild classes from the quasi-identifiers of each, (c, d)."""
        schema = self.generalized.select(self.quasi_identifiers)
        for column, each in zip(schema.columns, cells.T, strict=True):
            require(holds(column, each), f"array 'classes' must hold values of the column {column.name!r}")
        require(len(cells) > 0, "array 'classes' must have classes")
        return KeyedClasses(keys=Table(schema=schema, values=cells))

    def own(self, expected: Mapping[str, Expected]) -> Arrays:
        """Return what is stored beside the domains: exactly what is expected."""
        places = tuple(f"bins{place}_" for place in range(len(self.changed)))
        own = {name: array for name, array in self.arrays.items() if not name.startswith(places)}
        require_arrays(own, expected)
        return own
