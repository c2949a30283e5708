"""What is attacked: something that makes releases, again and again, and the real rows it learns from.

A registered generator is run as ``tabveil synthesize`` runs it; anything else is a command of the user's own.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, Self

import numpy as np
from numpy.random import Generator

from tabveil.core.check import listed
from tabveil.core.result import Input
from tabveil.core.settings.registry import describe
from tabveil.core.storage.plain import to_plain
from tabveil.core.table import Table
from tabveil.errors import ParameterError
from tabveil.metrics.black_box.games import other_kind
from tabveil.protocols import Model, Synthesizer
from tabveil.synthesis.generators.dependencies import dependencies_of
from tabveil.synthesis.generators.rare_values import pool_rare_labels
from tabveil.synthesis.risks.generated import fit_and_draw
from tabveil.tables.reading import Layout, load_split, load_table
from tabveil.tables.reading.raw_column import Kind
from tabveil.workflows.cells.store import identified
from tabveil.workflows.synthesizing.learning import named_labels, needing_extra, pools_labels


@dataclass(frozen=True, kw_only=True, eq=False)
class RealSources:
    """Where the real rows come from, and how they are to be read."""

    data: Any  # a path or a table of any dataframe library
    control: Any = None
    schema: Any = None
    missing: tuple[str, ...] = ()

    def beside(self, release: Any) -> tuple[Table, Table]:  # noqa: ANN401 - a path or a table
        """Read a release and all real rows under one schema: the real rows first."""
        loaded = load_split(self.data, release, self.control, schema=self.schema, missing=self.missing)
        return loaded.split.train.joined(loaded.split.control), loaded.split.synthetic


@dataclass(frozen=True, kw_only=True, eq=False)
class RealPeople:
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
    def read(cls, sources: RealSources) -> Self:
        """Read them."""
        alone = load_table(sources.data, schema=sources.schema, missing=sources.missing)
        if not len(alone.table):
            raise ParameterError("attack", "the data have no rows.")
        real = alone.table if sources.control is None else sources.beside(sources.data)[0]
        if other_kind(alone.table.schema, real.schema) is not None:
            raise ParameterError(
                "attack",
                f"column {other_kind(alone.table.schema, real.schema)!r} is of another kind in "
                "control than in data.",
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
            raise ParameterError(
                "attack", f"no columns are left without identifiers ({listed(sorted(gone))})."
            )
        note = f"Left out as identifiers, which no generator is shown: {listed(sorted(gone))}."
        places = {name: place for name, place in self.layout.columns.items() if name not in gone}
        return replace(
            self,
            real=self.real.select(kept),
            layout=replace(self.layout, columns=places),
            notes=(*self.notes, note),
        )


RareLabels = Literal["pool", "keep"]


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleaseBesideReal:
    """Rows of a release, and all real rows in their order, under the schema that both were read by."""

    real: Table
    rows: Table


@dataclass(frozen=True, kw_only=True, eq=False)
class _ToldOfLayout:
    """A synthesizer that is told how columns are written as it learns."""

    synthesizer: Synthesizer
    layout: Layout
    declared: frozenset[str]

    @property
    def name(self) -> str:
        return str(self.synthesizer.name)

    def fit(self, table: Table, *, rng: Generator) -> Model:
        return self.synthesizer.fit_written(table, self.layout, declared=self.declared, rng=rng)


class Releasing(Protocol):
    """A way to make releases."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """How it is set, as plain data."""
        ...

    @property
    def identity(self) -> Mapping[str, Any]:
        """All that decides its releases, as plain data."""
        ...

    def __call__(self, train: Table, real: Table, n_drawn: int, *, rng: Generator) -> ReleaseBesideReal:
        """Learn from train, which are some of the real rows, and draw rows."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class GeneratorReleases:
    """A registered generator, with what is done before it learns: labels that few rows share are pooled.

    Types, labels and ranges are those of all real rows, whoever is in.
    """

    synthesizer: Synthesizer
    rare_labels: RareLabels
    kept_labels: frozenset[str]
    layout: Layout
    declared: frozenset[str]

    @property
    def name(self) -> str:
        """The generator's name."""
        return str(self.synthesizer.name)

    @property
    def settings(self) -> Mapping[str, Any]:
        """Its settings, and what becomes of rare labels."""
        own: dict[str, Any] = to_plain(describe(self.synthesizer)["settings"])
        return {**own, "rare_labels": self.rare_labels} if pools_labels(self.synthesizer) else own

    @property
    def identity(self) -> Mapping[str, Any]:
        """Name, settings, and the code of one that is the user's own."""
        return {
            **identified(self.synthesizer),
            "rare_labels": self.rare_labels,
            "kept": sorted(self.kept_labels),
            "declared": sorted(self.declared),
        }

    def __call__(self, train: Table, real: Table, n_drawn: int, *, rng: Generator) -> ReleaseBesideReal:
        """Fit and draw."""
        if self.rare_labels == "pool" and pools_labels(self.synthesizer):
            followed = dependencies_of(train) if self.synthesizer.keeps_dependencies else ()
            kept = self.kept_labels | named_labels(self.synthesizer)
            train = pool_rare_labels(train, keep=kept, dependencies=followed, rng=rng).table
        asked = Table(schema=train.schema, values=np.empty((n_drawn, len(train.schema))))
        with needing_extra(self.name):
            made, _ = fit_and_draw("attack", self._told, train, asked, rng=rng)
        return ReleaseBesideReal(real=real, rows=made.rows)

    @property
    def _told(self) -> Any:  # noqa: ANN401 - what is fitted
        return _ToldOfLayout(synthesizer=self.synthesizer, layout=self.layout, declared=self.declared)
