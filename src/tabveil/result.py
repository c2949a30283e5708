"""What a metric answers and what an audit hands over: plain data, to JSON and back."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
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

        Where control rows are the naive guesser's rate (membership), the risk itself is that comparison.
        """
        if self.baseline is None or self.attack is None or self.baseline == self.control:
            return True
        return self.attack.value > self.baseline.value

    def to_json(self) -> dict[str, Any]:
        """Return plain data without the per-row scores, which are about single people."""
        return {
            "metric": self.metric,
            "labels": self.labels.to_json(),
            "params": plain(self.params),
            **{name: _estimate_to_json(getattr(self, name)) for name in _ESTIMATES},
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


_ESTIMATES = ("risk", "attack", "control", "baseline")


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


@dataclass(frozen=True, kw_only=True, eq=False)
class Report:
    """Everything an audit found, ready to be rendered or stored."""

    version: str
    seed: int
    inputs: Mapping[str, Input]
    results: tuple[Result, ...]
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()

    def __getitem__(self, metric: str) -> Result:
        for result in self.results:
            if result.metric == metric:
                return result
        raise KeyError(metric)

    def to_json(self) -> str:
        """Return the report as JSON text; ``seconds`` is the only field that differs between equal runs."""
        return json.dumps(
            {
                "tabveil": self.version,
                "seed": self.seed,
                "inputs": {name: vars(item) for name, item in self.inputs.items()},
                "results": [result.to_json() for result in self.results],
                "skipped": [vars(item) for item in self.skipped],
                "notes": list(self.notes),
            },
            indent=2,
            allow_nan=False,
            ensure_ascii=False,
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Rebuild what :meth:`to_json` wrote (per-row scores are not part of it)."""
        data = json.loads(text)
        return cls(
            version=data["tabveil"],
            seed=data["seed"],
            inputs={name: Input(**item) for name, item in data["inputs"].items()},
            results=tuple(Result.from_json(item) for item in data["results"]),
            skipped=tuple(Skipped(**item) for item in data["skipped"]),
            notes=tuple(data["notes"]),
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row a metric: its risk, interval, rates and labels."""
        return pd.DataFrame(
            [
                {
                    "metric": result.metric,
                    "risk": result.risk.value if result.risk else math.nan,
                    "low": result.risk.low if result.risk else math.nan,
                    "high": result.risk.high if result.risk else math.nan,
                    **{
                        name: estimate.value if (estimate := getattr(result, name)) else math.nan
                        for name in _ESTIMATES[1:]
                    },
                    **result.labels.to_json(),
                    "seconds": result.seconds,
                }
                for result in self.results
            ]
        )

    def _repr_html_(self) -> str:
        """Show the report in a notebook; pandas escapes every text on the way."""
        columns = ["metric", "risk", "low", "high", "attack", "control", "pillar"]
        tables = [
            self.to_frame()[columns] if self.results else pd.DataFrame(),
            pd.DataFrame([{"not computed": item.metric, "reason": item.reason} for item in self.skipped]),
            pd.DataFrame({"notes": self.notes}),
        ]
        with pd.option_context("display.max_colwidth", None):
            shown = [
                table.to_html(index=False, border=0, na_rep="", float_format="{:.3f}".format, justify="left")
                for table in tables
                if len(table)
            ]
        return "<p>Indicators are diagnostics, not evidence of anonymity.</p>" + "".join(shown)

    def records(self) -> pd.DataFrame:
        """Return the per-row scores of every metric: metric, table, row, score. Sensitive."""
        parts = [
            pd.DataFrame(
                {"metric": result.metric, "table": scores.table, "row": scores.rows, "score": scores.values}
            )
            for result in self.results
            for scores in result.scores
        ]
        columns = ["metric", "table", "row", "score"]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
