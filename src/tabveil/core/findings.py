"""What an attack finds: in one configuration, along a curve, about outliers, single columns, combinations."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from tabveil.core.estimate import Estimate
from tabveil.core.storage.plain import from_plain, to_plain

ESTIMATES = ("risk", "gain", "attack", "control", "baseline")
_ESTIMATE: Any = Estimate | None


@dataclass(frozen=True, kw_only=True)
class Setting:
    """How one configuration of an attack was set. What does not concern an attack stays None.

    ``label`` says it in a few words; ``level`` is the share of guesses a careful attacker acts on, the surest
    ones (1: all).
    """

    label: str
    level: float = 1.0
    target: str | None = None  # the column that is inferred or claimed
    n_columns: int | None = None  # of a description
    columns: tuple[str, ...] | None = None  # of a description, where they were chosen
    width: float | None = None  # of a window, in shares of the column's distinct values
    radius: float | None = None  # how near numeric keys must be, in shares of their range
    n_neighbors: int | None = None
    split: tuple[tuple[str, ...], tuple[str, ...]] | None = None  # the two parts that are linked
    statistic: Literal["area"] | None = None  # what scores are summed up by, if not by a level

    @property
    def name(self) -> str:
        """The configuration in words, by which reports list it.

        >>> Setting(label="age", target="age", level=0.01).name
        'age, 1.0% most confident'
        """
        return self.label if self.level == 1 else f"{self.label}, {self.level:.1%} most confident"


@dataclass(frozen=True, kw_only=True, eq=False)
class Configuration:
    """One configuration of an attack: how it was set and what it found."""

    setting: Setting
    attack: Estimate | None = None
    control: Estimate | None = None
    baseline: Estimate | None = None
    risk: Estimate | None = None
    gain: Estimate | None = None
    p_value: float | None = None
    beats_baseline: bool = True
    facts: Mapping[str, Any] = field(default_factory=dict)  # counts, sizes: what the rates rest on

    @property
    def name(self) -> str:
        """The configuration in words."""
        return self.setting.name

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        set_to = {key: value for key, value in to_plain(self.setting).items() if value is not None}
        return {
            **{name: to_plain(getattr(self, name)) for name in ESTIMATES},
            "p_value": self.p_value,
            "informative": self.beats_baseline,
            **to_plain(self.facts),
            "setting": set_to,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild what :meth:`to_json` wrote."""
        typed = {*ESTIMATES, "p_value", "informative", "setting"}
        return cls(
            setting=from_plain(Setting, data["setting"]),
            p_value=None if data["p_value"] is None else from_plain(float, data["p_value"]),
            beats_baseline=from_plain(bool, data["informative"]),
            facts={key: value for key, value in data.items() if key not in typed},
            **{name: from_plain(_ESTIMATE, data[name]) for name in ESTIMATES},
        )


@dataclass(frozen=True, kw_only=True)
class Curve:
    """How well scores tell members from others: the ROC curve, its area, and readings at low false alarms."""

    points: tuple[tuple[float, float], ...]  # false and true positive rate, from (0, 0) to (1, 1)
    area: Estimate
    readings: tuple[tuple[float, Estimate | None], ...]  # false positive rate, share of members found

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "auc": to_plain(self.area),
            "tpr_at_fpr": {f"{rate:g}": to_plain(found) for rate, found in self.readings},
            "roc": to_plain(self.points),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild what :meth:`to_json` wrote."""
        return cls(
            points=tuple((float(x), float(y)) for x, y in data["roc"]),
            area=from_plain(Estimate, data["auc"]),
            readings=tuple(
                (float(r), from_plain(_ESTIMATE, found)) for r, found in data["tpr_at_fpr"].items()
            ),
        )


@dataclass(frozen=True, kw_only=True)
class OutlierRisk:
    """The same attack on outlying people alone: the ``share`` of people farthest from other real people."""

    share: float
    n_train: int
    n_control: int
    configuration: str
    risk: Estimate | None
    attack: Estimate | None
    control: Estimate | None
    gain: Estimate | None = None


@dataclass(frozen=True, kw_only=True)
class ColumnRisk:
    """The strongest configuration about one column."""

    column: str
    configuration: str
    risk: Estimate | None
    attack: Estimate | None
    gain: Estimate | None = None

    @property
    def measure(self) -> Estimate | None:
        """What is judged and drawn: the gain, or where there is none the risk."""
        return self.risk if self.gain is None else self.gain


@dataclass(frozen=True, kw_only=True)
class Combination:
    """Columns that single people out together: in so many descriptions training people, in so many others."""

    columns: tuple[str, ...]
    train: float
    control: float
