"""The cells of a search: each configuration on people of the search, and the chosen one on others.

They are cells of a benchmark, in its store and on its engine. Who is held out is a pure function of the seed.
Trials of the search and of the check have the same sizes, so that their numbers mean the same.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from tabveil.core.rng import stream
from tabveil.core.table import Split, Table
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.utility.one_figure import measure_one
from tabveil.protocols import Dataset, People, Release
from tabveil.workflows.benchmark.answers import Answer
from tabveil.workflows.benchmark.people import load
from tabveil.workflows.benchmark.study import Sizes
from tabveil.workflows.benchmark.trials import Cell, Trial, digest
from tabveil.workflows.tuning.objectives import UtilityChoice


@dataclass(frozen=True, kw_only=True)
class PartOfRows:
    """The rows of a dataset that a search draws its people from, or those that are held out from it."""

    dataset: Dataset
    held_out: float
    seed: int
    checked: bool

    name: ClassVar[str] = "part of rows"

    def load(self) -> Table:
        """Load all rows, and keep this part."""
        table = load(self.dataset)
        n = len(table)
        if n < 2:  # noqa: PLR2004 - one for each part
            raise ParameterError("held_out: one row cannot be parted.")
        n_held = min(max(round(self.held_out * n), 1), n - 1)
        order = stream(self.seed, "held out").permutation(n)
        return table.take(np.sort(order[:n_held] if self.checked else order[n_held:]))


def sizes_of(n_searched: int, n_held: int, rows: int | None, control: float) -> Sizes:
    """Return the rows of a trial: as many as both parts have, or fewer if that is asked for.

    >>> sizes_of(700, 300, None, 0.3)
    Sizes(train=210, control=90, release=210)
    """
    most = min(n_searched, n_held)
    if rows is not None and rows > most:
        raise ParameterError(
            f"rows: a trial cannot have {rows:,} rows: {n_searched:,} are there to search with and "
            f"{n_held:,} are held out; lower it."
        )
    total = most if rows is None else rows
    n_control = round(control * total)
    if min(n_control, total - n_control) < 1:
        raise ParameterError(f"a trial of {total:,} rows cannot be parted into train and control.")
    return Sizes(train=total - n_control, control=n_control, release=total - n_control)


class TuningTrial(Trial):
    """A trial whose release takes no people of its own: a generator is only asked for so many rows."""

    @property
    def description(self) -> dict[str, Any]:
        """All that decides the release, in JSON types."""
        return {**super().description, "kind": "tuning"}

    def people(self, table: Table) -> People:
        """Draw disjoint train and control."""
        order = self.rng("people").permutation(len(table))[: self.sizes.train + self.sizes.control]
        train, control = (table.take(rows) for rows in np.split(order, [self.sizes.train]))
        return People(train=train, control=control, release=train)


@dataclass(frozen=True, kw_only=True)
class UtilityCell(Cell):
    """One figure of usefulness, asked about one trial."""

    metric: None = None
    asked: UtilityChoice

    @cached_property
    def key(self) -> str:
        """Its address."""
        said = {"name": self.name, "target": list(self.asked.target)}
        return digest({"trial": self.trial.key, "figure": said})

    @property
    def name(self) -> str:
        """The figure's name."""
        return self.asked.name

    def answer(self, split: Split, release: Release) -> Answer:
        """Measure it."""
        rng = self.trial.rng("figure", self.name)
        facts = dict(release.facts)
        try:
            value = measure_one(split, self.name, target=self.asked.target or None, rng=rng)
        except NotApplicable as reason:
            return Answer(skipped=str(reason), facts=facts)
        return Answer(figures={self.name: value}, facts=facts)
