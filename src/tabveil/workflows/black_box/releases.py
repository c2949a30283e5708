"""What is attacked: something that makes a release of a table, again and again.

A registered generator is run as ``tabveil synthesize`` runs it; anything else is a command of the user's own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.random import Generator

from tabveil.core.result import plain
from tabveil.core.settings.naming import describe
from tabveil.core.table import Table
from tabveil.protocols import Model, Synthesizer
from tabveil.synthesis.generators.dependencies import dependencies_of
from tabveil.synthesis.generators.rare_labels import pool_rare_labels
from tabveil.synthesis.risks.fitting import fit_and_draw
from tabveil.tables.reading import Layout
from tabveil.workflows.benchmark.trials import identified
from tabveil.workflows.synthesizing.choice import keeps_dependencies, named_labels, pools_labels
from tabveil.workflows.synthesizing.learning import needing_extra

RareLabels = Literal["pool", "keep"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Released:
    """Rows of a release, and all real rows in their order, under the schema that both were read by."""

    real: Table
    rows: Table


@dataclass(frozen=True, kw_only=True, eq=False)
class _ToldOfLayout:
    """A synthesizer that is told how columns are written as it learns."""

    synthesizer: Any  # one that has fit_written
    layout: Layout
    declared: frozenset[str]

    @property
    def name(self) -> str:
        return str(self.synthesizer.name)

    def fit(self, table: Table, *, rng: Generator) -> Model:
        model: Model = self.synthesizer.fit_written(table, self.layout, declared=self.declared, rng=rng)
        return model


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

    def __call__(self, train: Table, real: Table, n_drawn: int, *, rng: Generator) -> Released:
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
        own: dict[str, Any] = plain(describe(self.synthesizer)["settings"])
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

    def __call__(self, train: Table, real: Table, n_drawn: int, *, rng: Generator) -> Released:
        """Fit and draw."""
        if self.rare_labels == "pool" and pools_labels(self.synthesizer):
            followed = dependencies_of(train) if keeps_dependencies(self.synthesizer) else ()
            kept = self.kept_labels | named_labels(self.synthesizer)
            train = pool_rare_labels(train, keep=kept, dependencies=followed, rng=rng).table
        asked = Table(schema=train.schema, values=np.empty((n_drawn, len(train.schema))))
        with needing_extra(self.name):
            made, _ = fit_and_draw("attack", self._told, train, asked, rng=rng)
        return Released(real=real, rows=made.rows)

    @property
    def _told(self) -> Any:  # noqa: ANN401 - what is fitted
        if not hasattr(self.synthesizer, "fit_written"):
            return self.synthesizer
        return _ToldOfLayout(synthesizer=self.synthesizer, layout=self.layout, declared=self.declared)
