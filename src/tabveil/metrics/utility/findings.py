"""What the utility of a release is reported as, plain data to JSON and back, and what each figure says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from tabveil.core.estimate import Estimate
from tabveil.core.result import Omission
from tabveil.core.storage.plain import WITHOUT_NULLS, Number, PlainData


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One number about the release, and what fresh real rows score (None where there are none)."""

    value: Estimate
    reference: Estimate | None


@dataclass(frozen=True, kw_only=True)
class Telling:
    """A column by which a model tells synthetic from real rows.

    ``left`` is its accuracy when it sees neither this column nor those named before.
    """

    column: str
    left: Estimate


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
class PairTable:
    """Two columns that differ together, as a table: shares of all rows, real and synthetic.

    ``variation`` is the total variation of the pair, ``alone`` the larger one of its columns by themselves.
    Cells that are not shown are no number: fewer than ten real people are in them, or they would tell how
    many are in such a cell.
    """

    columns: tuple[str, str]
    variation: Figure
    alone: float
    down: tuple[Annotated[Bar, WITHOUT_NULLS], ...]  # the levels of the first column
    across: tuple[Annotated[Bar, WITHOUT_NULLS], ...]  # of the second
    real: tuple[tuple[Number, ...], ...]
    synthetic: tuple[tuple[Number, ...], ...]


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
class Fidelity:
    """How much real and synthetic rows overlap, 0 to 1: the mean of its parts.

    The parts are ``columns``, ``pairs`` and ``rows``: one column, two, and all columns at once.
    """

    figure: Figure
    parts: Mapping[str, Figure]


@dataclass(frozen=True, kw_only=True)
class Utility(PlainData):
    """Everything found about the utility of a release: overall, by column, by target.

    ``left_out`` are the columns of identifiers and of free text, which none of it but the rules is about.
    """

    params: Mapping[str, Any]
    figures: Mapping[str, Figure]  # overall, by the names in MEANINGS
    fidelity: Fidelity | None = None
    telling: tuple[Telling, ...] = ()  # those that tell most first
    pairs: tuple[PairTable, ...] = ()
    left_out: tuple[str, ...] = ()
    columns: tuple[ColumnUtility, ...]  # by name
    targets: tuple[TargetUtility, ...] = ()
    associations: Associations | None = None
    rules: Rules | None = None
    skipped: tuple[Omission, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, kw_only=True)
class Meaning:
    """How to read one figure. ``per_column`` figures are given by column, and overall as their mean."""

    title: str
    question: str
    best: float = 0.0
    worst: float | None = 1.0  # None where there is no fixed end
    definition: str
    interval: str = (
        "Delta method, in closed form; the lower end also takes off what two samples of the same people are "
        "expected to score."
    )
    source: str
    per_column: bool = False


MEANINGS: Mapping[str, Meaning] = {
    "discriminator": Meaning(
        title="Discriminator accuracy",
        question="Can a model tell synthetic rows from real rows it has never seen?",
        best=0.5,
        definition="Accuracy of XGBoost on equally many synthetic and control rows; two models, each "
        "learns from one half and guesses the other. In tables of more than 64 columns each tree is shown 32 "
        "of them, drawn at random.",
        interval="Wilson's score for as many rows as one half has.",
        source="Lopez-Paz and Oquab 2017",
    ),
    "correlation": Meaning(
        title="Correlation difference",
        question="Do columns go together as they do among real people?",
        worst=None,
        definition="Mean absolute difference over all pairs of columns of Pearson's correlation (numbers), "
        "Cramér's V (labels) or the correlation ratio (one of each), the last two corrected for chance.",
        source="Bergsma 2013; Kelley 1935",
    ),
    "mmd": Meaning(
        title="Maximum mean discrepancy (MMD²)",
        question="Do real and synthetic rows lie in the same places, all columns at once?",
        worst=2.0,
        definition="Mean kernel within either table minus twice that between them; the kernel is "
        "exp(-d / median d) with d Gower's distance, averaged over blocks of rows. Unbiased, so it may be "
        "slightly negative.",
        interval="Student's, from the scatter between blocks.",
        source="Gretton et al. 2012; Zaremba et al. 2013",
    ),
    "total_variation": Meaning(
        title="Total variation",
        question="Which share of the rows would have to change their value?",
        definition="½ Σ |p - q| over labels, or over about 20 equally full bins of numbers; missing values "
        "are a level of their own.",
        source="Gibbs and Su 2002",
        per_column=True,
    ),
    "pair_variation": Meaning(
        title="Total variation of pairs",
        question="Which share of the rows would have to change their values in two columns at once?",
        definition="½ Σ |p - q| over the cells of the two-way table of two columns, mean over all pairs; "
        "numbers in about 10 equally full ranges, labels but the 9 most frequent taken together; missing "
        "values are one more label or range.",
        source="Gibbs and Su 2002",
    ),
    "jensen_shannon": Meaning(
        title="Jensen–Shannon distance",
        question="How much does a value tell whether its row is synthetic?",
        definition="Root of the Jensen–Shannon divergence in bits, over the levels of total variation.",
        source="Lin 1991; Endres and Schindelin 2003",
        per_column=True,
    ),
    "cramers_v": Meaning(
        title="Chi-squared, as Cramér's V",
        question="How strongly does a column go together with being synthetic?",
        definition="Root of chi-squared over the number of rows. The test itself (statistic, degrees of "
        "freedom, p-value; levels expected less than five times taken together) stands beside it and has no "
        "interval: with many rows it finds any difference, however small.",
        source="Cramér 1946",
        per_column=True,
    ),
    "wasserstein": Meaning(
        title="Wasserstein distance",
        question="How far would numbers have to move, as a share of their range?",
        definition="Area between the two distribution functions over the column's range; a missing value is "
        "a whole range away from any number.",
        source="Kantorovich 1942; Vallender 1974",
        per_column=True,
    ),
    "kolmogorov_smirnov": Meaning(
        title="Kolmogorov–Smirnov distance",
        question="How large is the largest difference between the two distribution functions?",
        definition="max |F - G|; rows with a missing value on one side only count in full.",
        source="Kolmogorov 1933; Smirnov 1939",
        per_column=True,
    ),
}
"""Every figure by its name, in the order of a report."""

FIDELITY = Meaning(
    title="Fidelity",
    question="How much do real and synthetic rows overlap, in one figure?",
    best=1.0,
    worst=0.0,
    definition="Mean of three overlaps, each from 0 (nothing in common) to 1: of columns, 1 - total "
    "variation; of pairs, 1 - total variation of pairs; of whole rows, 2 (1 - a) with a the discriminator's "
    "accuracy, below one half counted as one half.",
    interval="Means of the bounds of the three; wide enough whatever their errors have in common.",
    source="Gibbs and Su 2002; Lopez-Paz and Oquab 2017",
)
"""The one figure; its parts are those of :class:`Fidelity`."""

DOWNSTREAM = Meaning(
    title="Train on synthetic, test on real (TSTR)",
    question="Is a model learned from the release as good as one learned from real people?",
    worst=None,
    definition="XGBoost predicts one column of the control rows from all others (in wide tables from the 64 "
    "most strongly associated with it in train), learned once from synthetic rows (TSTR) and once from as "
    "many train rows (TRTR): accuracy for labels, R² and 1 - RMSE / range for numbers. The gap is TRTR minus "
    "TSTR.",
    interval="Wilson's score, or the delta method; that of the gap is paired by row. They count the chance "
    "in which rows are tested, not that another training set would give another model.",
    source="Esteban, Hyland and Rätsch 2017",
)
"""What the targets say; ``best`` is that of the gap."""

RULES = Meaning(
    title="Rules broken",
    question="Which share of the rows breaks a rule that real people keep to?",
    definition="Looked for are columns that never vary, columns whose value determines another one's, equal "
    "columns, numbers or dates of which one is never above the other, and numbers that are the sum of two "
    "others. A rule is kept if all train rows and one half of the control rows obey it (of a sum, all but "
    "one in a thousand, and one in a hundred), and if at least 5 % of the rows would break it were its "
    "columns unrelated. Counted are the rows that break any rule, and for each rule those that break it "
    "among those it says something about: a value that train does not have determines nothing. The "
    "reference is the other half of the control.",
    interval="Wilson's score.",
    source="Papenbrock and Naumann 2016",
)
"""What the rules say."""
