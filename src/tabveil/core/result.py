"""What a metric answers: typed data, to JSON and back.

Every page, sentence and figure is made from these fields; no text is ever read back.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from tabveil.core.check import quoted
from tabveil.core.estimate import Estimate
from tabveil.core.findings import (
    ESTIMATES,
    ColumnRisk,
    Combination,
    Configuration,
    Curve,
    OutlierRisk,
    Setting,
)
from tabveil.core.settings.registry import describe, is_named
from tabveil.core.storage.arrays import require
from tabveil.core.storage.plain import from_plain, to_plain
from tabveil.core.wording import escaped, interval, name, value_of

Role = Literal["train", "control", "synthetic"]
Cost = Literal["quick", "slow", "training"]
"""What a metric costs: seconds; more than that; or the training of a network."""


@dataclass(frozen=True, kw_only=True)
class Labels:
    """Where a metric belongs: part of every result, so that no number stands without its meaning."""

    pillar: Literal["property", "indicator", "attack"]
    wp29: Literal["singling out", "linkability", "inference", "propensity"]
    mechanism: Literal["uniqueness", "distance", "ML", "density"]
    threat_model: Literal["no-box", "black-box"] = "no-box"
    auxiliary: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Scores:
    """One number for each scored row of one table; higher is more at risk. Sensitive: about single rows."""

    table: Role
    rows: NDArray[np.int64]  # (n,) positions in the table as it was given
    values: NDArray[np.float64]  # (n,)


@dataclass(frozen=True, kw_only=True)
class Threat:
    """What the attacker behind a result knows of a person, and what they want."""

    knows: str
    wants: str
    outliers_only: bool = False  # whether only outlying people are attacked


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """A metric's answer. Higher ``risk`` is always worse; the metric's own quantities are in ``details``.

    ``gain`` is what an attack is judged by: the share of people exposed because their data were trained on.
    Its bounds hold for all configurations together, while ``risk``, ``attack``, ``control`` and ``baseline``
    are those of the configuration that leads. ``p_value`` is the chance that a release which leaks nothing
    would show as much in any configuration.

    ``title``, ``sentence`` and ``threat`` are the metric's own words about it
    (:mod:`tabveil.metrics.registry` writes them), so that a page needs no more than the result. ``leading``
    names the configuration that the headline was taken from.
    """

    metric: str
    labels: Labels
    attacker: str | None = None  # the profile that it was run for; None is anybody
    title: str = ""
    sentence: str = ""
    threat: Threat | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    risk: Estimate | None = None
    gain: Estimate | None = None
    p_value: float | None = None
    attack: Estimate | None = None
    control: Estimate | None = None
    baseline: Estimate | None = None
    beats_baseline: bool | None = None  # None: the rates themselves tell
    leading: Setting | None = None
    configurations: tuple[Configuration, ...] = ()
    curve: Curve | None = None
    outliers: OutlierRisk | None = None
    columns: tuple[ColumnRisk, ...] = ()
    combinations: tuple[Combination, ...] = ()  # the surest first
    details: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    sensitive_scores: tuple[Scores, ...] = ()  # of single rows: guard them like the data
    seconds: float = 0.0

    def __repr__(self) -> str:
        """Say what was found in a line; all else is asked for by name, and no score of a row is shown."""
        told = [
            f"{what} {value_of(found)} ({interval(found)})"
            for what, found in (("risk", self.risk), ("gain", self.gain))
            if found is not None
        ]
        return escaped(f"{self.full_title}: {', '.join(told) or 'no risk was measured'}")

    @property
    def key(self) -> str:
        """The name by which a report finds the result: the metric's, and the attacker's if there is one."""
        return key_of(self.metric, self.attacker)

    @property
    def full_title(self) -> str:
        """The metric in words, with its attacker if there is one: what sentences and tables call it."""
        words = name(self.title or self.metric)
        return words if self.attacker is None else f"{words} (attacker “{name(self.attacker)}”)"

    @property
    def lead(self) -> Configuration | None:
        """The configuration that the headline was taken from."""
        return next((item for item in self.configurations if item.setting == self.leading), None)

    @property
    def measure(self) -> Estimate | None:
        """What is judged and drawn: the gain of an attack; the risk of anything that has no gain."""
        return self.risk if self.gain is None else self.gain

    @property
    def shares(self) -> tuple[Estimate | None, Estimate | None]:
        """The rates with train and with control, which give the gain when subtracted.

        None of both where they do not, because the attack's own score is no share of people; metrics that
        have no gain show their scores.
        """
        if self.gain is None or self.attack is None or self.control is None:
            return self.attack, self.control
        apart = abs(self.attack.value - self.control.value - self.gain.value)
        return (self.attack, self.control) if apart <= SAME_DIFFERENCE else (None, None)

    @property
    def facts(self) -> Mapping[str, Any]:
        """What was counted in the configuration that leads."""
        return {} if self.lead is None else self.lead.facts

    def configuration(self, name: str) -> Configuration:
        """Return one configuration by its name."""
        for item in self.configurations:
            if item.name == name:
                return item
        raise KeyError(name)

    @property
    def informative(self) -> bool:
        """Whether the attack does better than its naive baseline; if not, it says nothing about the risk.

        An attack of many configurations says so itself. Where control rows are the naive guesser's rate
        (membership), the risk itself is that comparison.
        """
        if self.beats_baseline is not None:
            return self.beats_baseline
        if self.baseline is None or self.attack is None or self.baseline == self.control:
            return True
        return self.attack.value > self.baseline.value

    def to_json(self) -> dict[str, Any]:
        """Return plain data without the per-row scores, which are about single people."""
        return {
            "metric": self.key,
            "name": self.metric,
            "attacker": self.attacker,
            "title": self.title,
            "sentence": self.sentence,
            "threat": to_plain(self.threat),
            "labels": to_plain(self.labels),
            "params": to_plain(self.params),
            **{name: to_plain(getattr(self, name)) for name in ESTIMATES},
            "p_value": self.p_value,
            "details": {**self._typed_details(), **to_plain(self.details)},
            "notes": list(self.notes),
            "seconds": self.seconds,
        }

    def _typed_details(self) -> dict[str, Any]:
        """Return what stands among the details in JSON though it is a field of its own."""
        found: dict[str, Any] = {}
        if self.leading is not None:
            found["configuration"] = self.leading.name
        if self.beats_baseline is not None:
            found["informative"] = self.beats_baseline
        if self.configurations:
            found["configurations"] = {item.name: item.to_json() for item in self.configurations}
        if self.curve is not None:
            found |= self.curve.to_json()
            found["outliers"] = to_plain(self.outliers)
        if self.combinations:
            found["combinations"] = [to_plain(item) for item in self.combinations]
        if self.columns:
            found["secrets"] = {
                item.column: {key: value for key, value in to_plain(item).items() if key != "column"}
                for item in self.columns
            }
        return found

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild what :meth:`to_json` wrote."""
        details = dict(data["details"])
        typed = {"configuration", "informative", "configurations", *_CURVE}
        typed |= {"outliers", "secrets", "combinations"}
        configurations = tuple(
            Configuration.from_json(item) for item in details.get("configurations", {}).values()
        )
        leading = [item.setting for item in configurations if item.name == details.get("configuration")]
        found = cls(
            metric=from_plain(str, data["name"]),
            **{name: from_plain(kind, data[name]) for name, kind in _STORED.items()},
            beats_baseline=from_plain(bool, details["informative"]) if "informative" in details else None,
            leading=leading[0] if leading else None,
            configurations=configurations,
            curve=Curve.from_json(details) if set(details) >= _CURVE else None,
            outliers=from_plain(OutlierRisk, details["outliers"]) if details.get("outliers") else None,
            combinations=tuple(from_plain(Combination, item) for item in details.get("combinations", ())),
            columns=tuple(
                from_plain(ColumnRisk, {"column": column, **item})
                for column, item in details.get("secrets", {}).items()
            ),
            details={key: value for key, value in details.items() if key not in typed},
        )
        named = quoted(found.key)
        parts: tuple[Result | Configuration, ...] = (found, *configurations)
        for part in parts:
            estimates = (getattr(part, name) for name in ESTIMATES)
            sound = all(item is None or item.sound for item in estimates)
            require(sound, f"{named} has values beyond their bounds")
            require(part.p_value is None or 0 <= part.p_value <= 1, f"{named} has a p beyond 0 and 1")
        return found


_STORED: Mapping[str, Any] = {
    **dict.fromkeys(("title", "sentence"), str),
    "attacker": str | None,
    "threat": Threat | None,
    "labels": Labels,
    "params": dict[str, Any],
    "notes": tuple[str, ...],
    "seconds": float,
    "p_value": float | None,
    **dict.fromkeys(ESTIMATES, Estimate | None),
}
"""Fields that stand in JSON under their own names."""
SAME_DIFFERENCE = 1e-9  # what floating point makes of the same difference
_CURVE = {"auc", "tpr_at_fpr", "roc"}


def key_of(metric: str, attacker: str | None) -> str:
    """Name one run of a metric: in reports, and for its random numbers.

    >>> key_of("inference", "neighbor"), key_of("inference", None)
    ('inference: neighbor', 'inference')
    """
    return metric if attacker is None else f"{metric}: {attacker}"


def params_of(metric: Any) -> dict[str, Any]:  # noqa: ANN401 - any dataclass
    """Return a metric's parameters, as they stand in its result; a generator is its name and settings."""
    values = {item.name: getattr(metric, item.name) for item in fields(metric)}
    return {name: describe(value) if is_named(value) else value for name, value in values.items()}


@dataclass(frozen=True, kw_only=True)
class Omission:
    """A metric, or another part of an audit, that had no answer, and why."""

    metric: str
    reason: str
    attacker: str | None = None

    @property
    def key(self) -> str:
        """The name by which it would have stood in the report."""
        return key_of(self.metric, self.attacker)

    @property
    def why(self) -> str:
        """The reason without the metric's name, which opens every complaint."""
        return self.reason.removeprefix(f"{self.metric}: ")


@dataclass(frozen=True, kw_only=True)
class Input:
    """What identifies an input table: its size and a digest of its content.

    Where columns were left out, ``audited_columns`` and ``audited_sha256`` are those of what was audited.
    ``people`` counts those whose rows they are, where they may have several.
    """

    rows: int
    columns: int
    sha256: str
    audited_columns: int | None = None
    audited_sha256: str | None = None
    people: int | None = None

    @property
    def counted(self) -> int:
        """How many an attack on them counts: people where that is known, else rows."""
        return self.rows if self.people is None else self.people


@dataclass(frozen=True, kw_only=True)
class DroppedColumn:
    """A column that no metric compares: one that names people, or that the user's schema leaves out.

    A ``person`` is one that says whose row it is: it is used to tell people apart.

    ``lacking`` are the tables that did not have it in the first place.
    """

    name: str
    reason: Literal["identifier", "schema", "person"]
    lacking: tuple[Role, ...] = ()
