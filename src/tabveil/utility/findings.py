"""What the utility of a release is reported as: plain data, to JSON and back.

No number stands alone. Beside each figure stands its *reference*: what as many fresh real rows score on the
same statistic. A distance of 0.02 is perfect where real people differ by 0.02 from other real people.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from tabveil.estimate import Estimate
from tabveil.result import Skipped, plain


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One number about the release, and what fresh real rows score (None where there are none)."""

    value: Estimate
    reference: Estimate | None

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {"value": plain(self.value), "reference": plain(self.reference)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild what :meth:`to_json` wrote."""
        return cls(value=Estimate(**data["value"]), reference=_estimate(data["reference"]))


def _estimate(data: Mapping[str, Any] | None) -> Estimate | None:
    return None if data is None else Estimate(**data)


def _figures(data: Mapping[str, Mapping[str, Any]]) -> dict[str, Figure]:
    return {name: Figure.from_json(item) for name, item in data.items()}


@dataclass(frozen=True, kw_only=True)
class Bar:
    """The share of real and of synthetic rows in one bar of a column's chart.

    ``kind`` says what it counts: a ``label``, a ``range`` of numbers (``low`` included, ``high`` not; None is
    an open end), ``other`` labels pooled, or ``missing`` values. ``low_text`` and ``high_text`` are the ends
    of a range of dates, as people write them.
    """

    kind: Literal["label", "range", "other", "missing"]
    real: float
    synthetic: float
    label: str | None = None
    low: float | None = None
    high: float | None = None
    low_text: str | None = None
    high_text: str | None = None


@dataclass(frozen=True, kw_only=True)
class ChiSquared:
    """The test that two columns have one distribution. No interval: it is a statistic, not a quantity."""

    statistic: float
    dof: int
    p_value: float


@dataclass(frozen=True, kw_only=True)
class ColumnUtility:
    """How one column of the release differs from the real one."""

    name: str
    numeric: bool
    figures: Mapping[str, Figure]
    chi_squared: ChiSquared | None  # None where there is only one level, so nothing can differ
    bars: tuple[Bar, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "name": self.name,
            "numeric": self.numeric,
            "figures": {name: figure.to_json() for name, figure in self.figures.items()},
            "chi_squared": None if self.chi_squared is None else plain(vars(self.chi_squared)),
            "bars": [
                plain({key: item for key, item in vars(bar).items() if item is not None}) for bar in self.bars
            ],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild what :meth:`to_json` wrote."""
        return cls(
            name=data["name"],
            numeric=data["numeric"],
            figures=_figures(data["figures"]),
            chi_squared=None if data["chi_squared"] is None else ChiSquared(**data["chi_squared"]),
            bars=tuple(Bar(**bar) for bar in data["bars"]),
        )


@dataclass(frozen=True, kw_only=True)
class TargetUtility:
    """How well a model predicts one column of real people, by what it learned from.

    ``score`` says what is measured: ``accuracy`` or ``r2``. ``range_score`` (numbers only) is ``1 - RMSE /
    range``. In both, ``value`` is the model trained on synthetic rows (TSTR) and ``reference`` the model
    trained on real rows (TRTR). ``gap`` is TRTR minus TSTR, ``baseline`` what naming the most frequent label
    or the mean of the real rows scores.
    """

    name: str
    score: Literal["accuracy", "r2"]
    figure: Figure
    gap: Estimate | None
    baseline: Estimate
    range_score: Figure | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "name": self.name,
            "score": self.score,
            "figure": self.figure.to_json(),
            "gap": plain(self.gap),
            "baseline": plain(self.baseline),
            "range_score": None if self.range_score is None else self.range_score.to_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild what :meth:`to_json` wrote."""
        return cls(
            name=data["name"],
            score=data["score"],
            figure=Figure.from_json(data["figure"]),
            gap=_estimate(data["gap"]),
            baseline=Estimate(**data["baseline"]),
            range_score=None if data["range_score"] is None else Figure.from_json(data["range_score"]),
        )


@dataclass(frozen=True, kw_only=True)
class Associations:
    """How strongly each column goes with each other one, 1 on the diagonal: in real and in synthetic rows.

    Between numbers Pearson's correlation, between labels Cramér's V, between the two the correlation ratio.
    Single cells have no interval: among hundreds of them some would stand out by chance.
    """

    names: tuple[str, ...]
    real: tuple[tuple[float, ...], ...]
    synthetic: tuple[tuple[float, ...], ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {"names": list(self.names), "real": plain(self.real), "synthetic": plain(self.synthetic)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild what :meth:`to_json` wrote."""
        return cls(
            names=tuple(data["names"]),
            real=tuple(map(tuple, data["real"])),
            synthetic=tuple(map(tuple, data["synthetic"])),
        )


@dataclass(frozen=True, kw_only=True)
class Utility:
    """Everything found about the utility of a release: overall, by column, by target."""

    params: Mapping[str, Any]
    figures: Mapping[str, Figure]  # overall, by the names in MEANINGS
    columns: tuple[ColumnUtility, ...]  # by name
    targets: tuple[TargetUtility, ...] = ()
    associations: Associations | None = None
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = field(default=0.0, compare=False)

    def to_json(self) -> dict[str, Any]:
        """Return plain data; ``seconds`` is the only field that differs between equal runs."""
        return {
            "params": plain(self.params),
            "figures": {name: figure.to_json() for name, figure in self.figures.items()},
            "columns": [column.to_json() for column in self.columns],
            "targets": [target.to_json() for target in self.targets],
            "associations": None if self.associations is None else self.associations.to_json(),
            "skipped": [vars(item) for item in self.skipped],
            "notes": list(self.notes),
            "seconds": self.seconds,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild what :meth:`to_json` wrote."""
        related = data["associations"]
        return cls(
            params=data["params"],
            figures=_figures(data["figures"]),
            columns=tuple(ColumnUtility.from_json(item) for item in data["columns"]),
            targets=tuple(TargetUtility.from_json(item) for item in data["targets"]),
            associations=None if related is None else Associations.from_json(related),
            skipped=tuple(Skipped(**item) for item in data["skipped"]),
            notes=tuple(data["notes"]),
            seconds=data["seconds"],
        )
