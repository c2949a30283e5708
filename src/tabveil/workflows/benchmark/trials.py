"""One trial: people drawn from a dataset, a release of known risk, and what a metric says about it.

Everything here is a pure function of the seed, the repeat and what the trial is made of. Random numbers
depend on neither level nor metric: for one repeat, all levels and all models have the same people, a higher
leak plants the rows of a lower one and more, and adding a metric changes no other's numbers.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from tabveil.core.estimate import Estimate
from tabveil.core.linked import LinkedTables, people_behind
from tabveil.core.result import Result
from tabveil.core.rng import stream
from tabveil.core.settings.registry import describe
from tabveil.core.storage.arrays import require
from tabveil.core.storage.files import Unreadable
from tabveil.core.storage.plain import PlainData, require_plain, to_plain
from tabveil.core.table import Split, Table
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.utility import measure as measure_utility
from tabveil.protocols import Metric, Modifier, People, Release, RiskModel
from tabveil.version import __version__
from tabveil.workflows.benchmark.databases import dealt, planted
from tabveil.workflows.benchmark.study import RiskChoice, Sizes
from tabveil.workflows.cells.store import digest, identified

_LATER = {"attack", "control"}
"""Parts of an answer that earlier versions did not store."""


@dataclass(frozen=True, kw_only=True)
class MetricAnswer(PlainData):
    """The headline of a result, or why there is none.

    ``largest`` is the largest risk over all configurations, which the papers report; ``figures`` are other
    numbers of interest by name: the utility's, and how many members are found at few false alarms. ``facts``
    are those of the release, such as the ratio of overfitting that was reached. ``attack`` and ``control``
    are the scores that the risk lies between; stores of earlier versions have none.
    """

    risk: Estimate | None = None
    gain: Estimate | None = None
    p_value: float | None = None
    informative: bool | None = None
    largest: float | None = None
    attack: float | None = None
    control: float | None = None
    figures: Mapping[str, float] = field(default_factory=dict)
    facts: Mapping[str, float] = field(default_factory=dict)
    skipped: str | None = None

    @classmethod
    def of(cls, result: Result) -> Self:
        """Take from a result what is kept."""
        found = result.details.get("largest_point_estimate")
        readings = () if result.curve is None else result.curve.readings
        return cls(
            risk=result.risk,
            gain=result.gain,
            p_value=result.p_value,
            informative=result.informative,
            largest=float(found["risk"]) if found else None,
            attack=None if result.attack is None else result.attack.value,
            control=None if result.control is None else result.control.value,
            figures={f"found at {rate:.1%} false alarms": item.value for rate, item in readings if item},
        )

    @classmethod
    def stored(cls, data: Any) -> Self:  # noqa: ANN401 - JSON types
        """Rebuild what :meth:`to_json` wrote, and require it to be an answer."""
        require(isinstance(data, dict), "the answer is none")
        names = {item.name for item in fields(cls)}
        require(
            names - _LATER <= set(data) <= names, "the answer does not have the parts that it is stored with"
        )
        found = require_plain(cls, data, "answer")
        found.require_sound()
        return found

    def require_sound(self) -> None:
        """Require numbers that can be an answer: of a metric, that it says something at all."""
        for name in ("risk", "gain"):
            estimate: Estimate | None = getattr(self, name)
            require(estimate is None or estimate.sound, f"{name} must lie between its bounds")
        require(self.p_value is None or 0 <= self.p_value <= 1, "p_value must lie from 0 to 1")
        numbers = (
            *self.figures.values(),
            *self.facts.values(),
            *(value for value in (self.largest, self.attack, self.control) if value is not None),
        )
        require(all(map(math.isfinite, numbers)), "numbers must be finite")
        said = (self.risk, self.gain, self.informative, self.skipped, self.figures or None)
        require(any(item is not None for item in said), "the answer is empty")

    @property
    def measure(self) -> Estimate | None:
        """What is judged: the gain of an attack, the risk of anything that has no gain."""
        return self.risk if self.gain is None else self.gain

    @property
    def seen(self) -> bool:
        """Whether the metric sees a risk: its whole interval lies above zero."""
        return self.measure is not None and bool(self.measure.low > 0)


FORMAT = 1
"""Raised when stored cells mean something else than before."""

UTILITY = "utility"


@dataclass(frozen=True, kw_only=True)
class RiskTrial:
    """A dataset's people under a risk of one level, in one repeat."""

    sha256: str  # of the dataset's rows
    sizes: Sizes
    seed: int
    repeat: int
    model: RiskModel
    level: float
    modifier: Modifier | None = None
    modifier_level: float | None = None

    @property
    def description(self) -> dict[str, Any]:
        """All that decides the release, in JSON types."""
        return {
            "format": FORMAT,
            "version": __version__,
            "dataset": self.sha256,
            "rows": vars(self.sizes),
            "seed": self.seed,
            "repeat": self.repeat,
            "risk": identified(self.model),
            "level": self.level,
            "modifier": None if self.modifier is None else identified(self.modifier),
            "modifier_level": self.modifier_level,
        }

    @cached_property
    def key(self) -> str:
        """The address of the release."""
        return digest(self.description)

    def rng(self, *names: str) -> np.random.Generator:
        """Return the random numbers for one purpose."""
        return stream(self.seed, f"repeat {self.repeat}", *names)

    def people(self, table: Table) -> People:
        """Draw disjoint people."""
        order = self.rng("people").permutation(len(table))[: self.sizes.total]
        ends = np.cumsum([self.sizes.train, self.sizes.control])
        train, control, release = (table.take(rows) for rows in np.split(order, ends))
        return People(train=train, control=control, release=release)

    def split(self, table: Table, kept: Release | None = None) -> tuple[Split, Release]:
        """Make the tables that metrics are asked about, and the release; one that was kept is taken as is."""
        behind = people_behind(table)
        if behind is not None:
            return self._of_people(behind)
        people = self.people(table)
        made: list[Release] = [] if kept is None else [kept]

        def make(train: Table, release: Table) -> Table:
            if not made:
                found = self.model(train, release, self.level, rng=self.rng("risk"))
                made.append(found if isinstance(found, Release) else Release(rows=found))
            return made[0].rows

        if self.modifier is None or self.modifier_level is None:
            synthetic = make(people.train, people.release)
            split = Split(train=people.train, control=people.control, synthetic=synthetic)
        else:
            split = self.modifier(people, self.modifier_level, make, rng=self.rng("modifier"))
        return split.with_own_labels().with_own_ranges(), made[0]

    def _of_people(self, everybody: LinkedTables) -> tuple[Split, Release]:
        """Make tables of people with what is linked to them."""
        if self.modifier is not None:
            raise ParameterError(self.modifier.name, "changes rows of one table; not with linked tables.")
        sizes = (self.sizes.train, self.sizes.control, self.sizes.release)
        parts = dealt(everybody, sizes, rng=self.rng("people"))
        split = planted(parts, self.model, self.level, rng=self.rng("risk"))
        return split, Release(rows=split.synthetic)


def address_of(trial: str, asked: Mapping[str, Any]) -> str:
    """Return the address of a cell: of what is asked about the trial that has an address of its own."""
    return digest({"trial": trial, **asked})


@dataclass(frozen=True, kw_only=True)
class MetricCell:
    """One metric, asked about one trial; None is the utility."""

    trial: RiskTrial
    metric: Metric | None

    @cached_property
    def key(self) -> str:
        """Its address."""
        return address_of(self.trial.key, self.asked_for)

    @property
    def asked_for(self) -> dict[str, Any]:
        """All that decides the answer beside the trial, in JSON types."""
        return {"metric": {"name": UTILITY} if self.metric is None else identified(self.metric)}

    @property
    def name(self) -> str:
        """The metric's name."""
        return UTILITY if self.metric is None else self.metric.name

    def answer(self, split: Split, release: Release) -> MetricAnswer:
        """Ask the metric, unless it is not applicable."""
        try:
            found = self.asked_about(split)
        except NotApplicable as reason:
            found = MetricAnswer(skipped=str(reason))
        answer = replace(found, facts=dict(release.facts))
        try:
            answer.require_sound()
        except Unreadable as error:  # nobody could read it again, either
            raise ParameterError(self.name, f"{error}.") from None
        return answer

    def asked_about(self, split: Split) -> MetricAnswer:
        """Ask the metric."""
        settings = None if self.metric is None else to_plain(describe(self.metric)["settings"])
        rng = self.trial.rng("metric", self.name, json.dumps(settings, sort_keys=True))
        if self.metric is not None:
            return MetricAnswer.of(self.metric(split, rng=rng))
        figures = measure_utility(split, explained=False, rng=rng).figures
        return MetricAnswer(figures={name: figure.value.value for name, figure in figures.items()})


def trials(risk: RiskChoice, sha256: str, sizes: Sizes, *, seed: int, repeats: int) -> list[RiskTrial]:
    """Return the trials of one risk model on one dataset: repeat by repeat, level by level."""
    choice = risk.modifier
    modified: list[tuple[Modifier | None, float | None]] = (
        [(None, None)] if choice is None else [(choice.modifier, level) for level in choice.levels]
    )
    return [
        RiskTrial(
            sha256=sha256,
            sizes=sizes,
            seed=seed,
            repeat=repeat,
            model=risk.model,
            level=level,
            modifier=modifier,
            modifier_level=strength,
        )
        for repeat in range(repeats)
        for level in risk.levels
        for modifier, strength in modified
    ]
