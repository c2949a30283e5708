"""The real rows of an attack, read once: those that a release is learned from, and others beside them."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from tabveil.core.result import Input
from tabveil.core.table import Table
from tabveil.errors import ParameterError
from tabveil.metrics.black_box.games import other_kind
from tabveil.tables.reading import Layout, load_split, load_table
from tabveil.tables.reading.raw_column import Kind
from tabveil.tables.reading.wording import listed


@dataclass(frozen=True, kw_only=True, eq=False)
class Sources:
    """Where the real rows come from, and how they are to be read."""

    data: Any  # a path or a table of any dataframe library
    control: Any = None
    schema: Any = None
    missing: tuple[str, ...] = ()

    def beside(self, release: Any) -> tuple[Table, Table]:  # noqa: ANN401 - a path or a table
        """Read a release and all real rows under one schema: the real rows first."""
        loaded = load_split(self.data, release, self.control, schema=self.schema, missing=self.missing)
        return _joined(loaded.split.train, loaded.split.control), loaded.split.synthetic


@dataclass(frozen=True, kw_only=True, eq=False)
class People:
    """All real rows under one schema; the first ``n_data`` are those of the release."""

    real: Table
    n_data: int
    layout: Layout
    declared: frozenset[str]  # columns whose labels a schema lists
    identifiers: tuple[str, ...]  # columns that name people
    declared_identifiers: tuple[str, ...]
    input: Input
    notes: tuple[str, ...]

    @classmethod
    def read(cls, sources: Sources) -> Self:
        """Read them."""
        alone = load_table(sources.data, schema=sources.schema, missing=sources.missing)
        if not len(alone.table):
            raise ParameterError("attack: the data have no rows.")
        real = alone.table if sources.control is None else sources.beside(sources.data)[0]
        if other_kind(alone.table.schema, real.schema) is not None:
            raise ParameterError(
                f"attack: column {other_kind(alone.table.schema, real.schema)!r} is of another kind in "
                "control than in data."
            )
        return cls(
            real=real,
            n_data=len(alone.table),
            layout=alone.layout,
            declared=alone.declared,
            identifiers=alone.identifiers,
            declared_identifiers=tuple(alone.declared_identifiers),
            input=alone.input,
            notes=alone.notes,
        )

    @property
    def n_control(self) -> int:
        """How many rows there are beside those of the release."""
        return len(self.real) - self.n_data

    @property
    def data(self) -> Table:
        """The rows of the release."""
        return self.real.take(np.arange(self.n_data))

    @property
    def kept_labels(self) -> frozenset[str]:
        """Columns whose labels are no secret however rare: those that are listed, and truths."""
        truths = {name for name, place in self.layout.columns.items() if place.kind is Kind.BOOLEAN}
        return self.declared | truths

    def without(self, names: Iterable[str]) -> Self:
        """Leave out columns that name people: a generator is not shown them."""
        gone = set(names)
        if not gone:
            return self
        kept = [name for name in self.real.schema.names if name not in gone]
        if not kept:
            raise ParameterError(f"attack: no columns are left without identifiers ({listed(sorted(gone))}).")
        note = f"Left out as identifiers, which no generator is shown: {listed(sorted(gone))}."
        places = {name: place for name, place in self.layout.columns.items() if name not in gone}
        return replace(
            self,
            real=self.real.select(kept),
            layout=replace(self.layout, columns=places),
            notes=(*self.notes, note),
        )


def _joined(data: Table, control: Table) -> Table:
    return Table(schema=data.schema, values=np.concatenate([data.values, control.values]))
