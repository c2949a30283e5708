"""What a metric answers: plain data, to JSON and back."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from tabveil.estimate import Estimate

Role = Literal["train", "control", "synthetic"]


@dataclass(frozen=True, kw_only=True)
class Labels:
    """Where a metric belongs: part of every result, so that no number stands without its meaning."""

    pillar: Literal["property", "indicator", "attack"]
    wp29: Literal["singling out", "linkability", "inference", "propensity"]
    mechanism: Literal["uniqueness", "distance", "ML", "density"]
    threat_model: Literal["no-box", "black-box"] = "no-box"
    auxiliary: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {item.name: getattr(self, item.name) for item in fields(self)}


@dataclass(frozen=True, kw_only=True, eq=False)
class Scores:
    """One number for each scored row of one table; higher is more at risk. Sensitive: about single rows."""

    table: Role
    rows: NDArray[np.int64]  # (n,) positions in the table as it was given
    values: NDArray[np.float64]  # (n,)


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """A metric's answer. Higher ``risk`` is always worse; the metric's own quantities are in ``details``."""

    metric: str
    labels: Labels
    params: Mapping[str, Any] = field(default_factory=dict)
    risk: Estimate | None = None
    attack: Estimate | None = None
    control: Estimate | None = None
    baseline: Estimate | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    scores: tuple[Scores, ...] = ()
    seconds: float = 0.0

    @property
    def informative(self) -> bool:
        """Whether the attack does better than its naive baseline; if not, it says nothing about the risk.

        An attack of many configurations says so itself. Where control rows are the naive guesser's rate
        (membership), the risk itself is that comparison.
        """
        if "informative" in self.details:
            return bool(self.details["informative"])
        if self.baseline is None or self.attack is None or self.baseline == self.control:
            return True
        return self.attack.value > self.baseline.value

    def to_json(self) -> dict[str, Any]:
        """Return plain data without the per-row scores, which are about single people."""
        return {
            "metric": self.metric,
            "labels": self.labels.to_json(),
            "params": plain(self.params),
            **{name: _estimate_to_json(getattr(self, name)) for name in ESTIMATES},
            "details": plain(self.details),
            "notes": list(self.notes),
            "seconds": self.seconds,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild what :meth:`to_json` wrote."""
        return cls(
            metric=data["metric"],
            labels=Labels(**data["labels"]),
            params=data["params"],
            details=data["details"],
            notes=tuple(data["notes"]),
            seconds=data["seconds"],
            risk=_estimate_from_json(data["risk"]),
            attack=_estimate_from_json(data["attack"]),
            control=_estimate_from_json(data["control"]),
            baseline=_estimate_from_json(data["baseline"]),
        )


ESTIMATES = ("risk", "attack", "control", "baseline")


def _estimate_to_json(estimate: Estimate | None) -> Any:  # noqa: ANN401 - JSON
    return None if estimate is None else plain(estimate.to_json())


def _estimate_from_json(data: Mapping[str, Any] | None) -> Estimate | None:
    return None if data is None else Estimate(**data)


def params_of(metric: Any) -> dict[str, Any]:  # noqa: ANN401 - any dataclass
    """Return a metric's parameters, as they stand in its result."""
    return {item.name: getattr(metric, item.name) for item in fields(metric)}


def plain(value: Any) -> Any:  # noqa: ANN401 - JSON in, JSON out
    """Turn what metrics store into JSON types; a number that is not finite becomes null, never NaN."""
    match value:
        case Estimate():
            return plain(value.to_json())
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case np.ndarray():
            return plain(value.tolist())
        case list() | tuple():
            return [plain(item) for item in value]
        case bool() | np.bool_():
            return bool(value)
        case int() | np.integer():
            return int(value)
        case float() | np.floating():
            return float(value) if math.isfinite(value) else None
        case _:
            return value


@dataclass(frozen=True, kw_only=True)
class Skipped:
    """A metric that had no answer, and why."""

    metric: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Input:
    """What identifies an input table: its size and a digest of its content."""

    rows: int
    columns: int
    sha256: str
