"""What the utility of a release is reported as: plain data, to JSON and back.

No number stands alone. Beside each figure stands its *reference*: what as many fresh real rows score on the
same statistic. A distance of 0.02 is perfect where real people differ by 0.02 from other real people.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from tabveil.core.estimate import Estimate
from tabveil.core.result import Omission
from tabveil.core.settings.plain import WITHOUT_NULLS, Number, PlainData


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One number about the release, and what fresh real rows score (None where there are none)."""

    value: Estimate
    reference: Estimate | None


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

    statistic: Number
    dof: int
    p_value: Number


@dataclass(frozen=True, kw_only=True)
class ColumnUtility:
    """How one column of the release differs from the real one."""

    name: str
    numeric: bool
    figures: Mapping[str, Figure]
    chi_squared: ChiSquared | None  # None where there is only one level, so nothing can differ
    bars: tuple[Annotated[Bar, WITHOUT_NULLS], ...]


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


@dataclass(frozen=True, kw_only=True)
class Associations:
    """How strongly each column goes with each other one, 1 on the diagonal: in real and in synthetic rows.

    Between numbers Pearson's correlation, between labels Cramér's V, between the two the correlation ratio.
    Single cells have no interval: among hundreds of them some would stand out by chance.
    """

    names: tuple[str, ...]
    real: tuple[tuple[Number, ...], ...]
    synthetic: tuple[tuple[Number, ...], ...]


RuleKind = Literal["constant", "determines", "equal", "order", "sum"]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule that holds among real rows, by the names of its columns, and how many rows break it.

    ``broken`` is the share of the rows that the rule says something about; its ``reference`` is that of real
    rows which had no part in finding it. ``unrelated`` is the share that would break it if its columns had
    nothing to do with each other.
    """

    kind: RuleKind
    columns: tuple[str, ...]
    broken: Figure
    unrelated: float

    def sentence(self, names: Sequence[str] | None = None) -> str:
        """Say the rule in words; ``names`` are the columns' names as they may be shown.

        >>> one = Figure(value=Estimate(value=0, low=0, high=0, n=1), reference=None)
        >>> Rule(kind="sum", columns=("a", "b", "c"), broken=one, unrelated=1.0).sentence()
        'a + b = c'
        """
        return _SENTENCES[self.kind].format(*(self.columns if names is None else names))


_SENTENCES: Mapping[RuleKind, str] = {
    "constant": "{} is the same in all rows",
    "determines": "{} determines {}",
    "equal": "{} = {}",
    "order": "{} ≤ {}",
    "sum": "{} + {} = {}",
}


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The rules that were found, those that are broken most first; ``figure`` counts rows that break any.

    There is no figure where no rule was found.
    """

    figure: Figure | None
    found: tuple[Rule, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Utility(PlainData):
    """Everything found about the utility of a release: overall, by column, by target."""

    params: Mapping[str, Any]
    figures: Mapping[str, Figure]  # overall, by the names in MEANINGS
    columns: tuple[ColumnUtility, ...]  # by name
    targets: tuple[TargetUtility, ...] = ()
    associations: Associations | None = None
    rules: Rules | None = None
    skipped: tuple[Omission, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = field(default=0.0, compare=False)
