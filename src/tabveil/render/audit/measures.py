"""What is said beside attacks: utility and its reference, and properties of train and release side by side.

Of properties, counts and names of columns are written, and no value of anybody.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from markupsafe import Markup

from tabveil.auditing.report import Report
from tabveil.core.wording import interval, listed, name, number, percent
from tabveil.metrics.properties import WEAKNESSES, Properties, SensitiveProperties
from tabveil.metrics.utility import FIDELITY, MEANINGS, RULES, ColumnUtility, Figure, Meaning, Utility
from tabveil.render import svg

Table = TypeVar("Table")

MOST_MARGINALS = 24
MOST_RELATED = 30
MOST_RULES = 30
BY_COLUMN = tuple(key for key, meaning in MEANINGS.items() if meaning.per_column)
"""The figures that every column has, if they apply to it."""

SCORES = {"accuracy": "accuracy", "r2": "R²"}


@dataclass(frozen=True, kw_only=True)
class ColumnRow:
    """One column: its values, real beside synthetic, in a chart, and its figures."""

    name: str
    chart: Markup
    caption: str
    figures: Sequence[Figure | None]  # by ``BY_COLUMN``; None where one does not apply


@dataclass(frozen=True, kw_only=True)
class RelationCharts:
    """How columns go together: the charts, and the names of the columns where they are numbered there."""

    charts: tuple[Markup, ...]
    key: tuple[str, ...]
    n_drawn: int
    n_columns: int


@dataclass(frozen=True, kw_only=True)
class PairRow:
    """Two columns that differ together: the picture, and what is said below it."""

    chart: Markup
    caption: str


FIDELITY_PARTS = {
    "columns": ("Columns one by one", "1 minus the mean total variation of the columns"),
    "pairs": ("Columns two by two", "1 minus the mean total variation of all pairs of columns"),
    "rows": ("Whole rows", "two times the share of rows that the discriminator guesses wrong, at most 1"),
}
"""What each part of fidelity is called, and what it is."""


@dataclass(frozen=True)
class Usefulness:
    """The whole section: all figures and targets, but only the columns that differ most."""

    utility: Utility
    called: str = "rows"  # what a row of the tables stands for

    @property
    def figures(self) -> list[tuple[Meaning, Figure]]:
        """Every overall figure that is known, with its meaning; that of rules last."""
        figures, rules = self.utility.figures, self.utility.rules
        found = [(MEANINGS[key], figure) for key, figure in figures.items() if key in MEANINGS]
        return found if rules is None or rules.figure is None else [*found, (RULES, rules.figure)]

    @property
    def fidelity(self) -> list[tuple[str, str, Figure]]:
        """The one figure, then its parts: what each is called, what it is, and how much."""
        found = self.utility.fidelity
        if found is None:
            return []
        parts = [
            (*FIDELITY_PARTS[part], figure) for part, figure in found.parts.items() if part in FIDELITY_PARTS
        ]
        return [(FIDELITY.title, "the mean of its three parts", found.figure), *parts]

    @property
    def left_out(self) -> str:
        """Name the columns that these figures are not about."""
        names = self.utility.left_out
        if not names:
            return ""
        them = "it" if len(names) == 1 else "them"
        return (
            f"Left out of all figures but the rules, as identifiers or free text: "
            f"{listed(list(map(name, names)))}. Hardly two rows share a value in {them}, so new values alone "
            "would tell that a row is synthetic."
        )

    @property
    def told_by(self) -> str:
        """Say which columns tell synthetic from real, and what is left without them."""
        figure = self.utility.figures.get("discriminator")
        if figure is None:
            return ""
        right = (
            f"A model that sees all columns is right for {percent(figure.value.value)} of the {self.called}"
        )
        if figure.value.low <= MEANINGS["discriminator"].best or (
            figure.reference is not None and figure.value.value <= figure.reference.high
        ):
            return f"{right}, not clearly more than among real rows alone: no column tells."
        right += " (guessing: 50%)"
        if not self.utility.telling:
            return f"{right}. That is not due to few columns: without those that tell most it hardly changes."
        steps = [
            f"{'also ' if place else ''}without {name(item.column)} for {percent(item.left.value)}"
            for place, item in enumerate(self.utility.telling)
        ]
        most = listed([name(item.column) for item in self.utility.telling])
        return f"Most is told by {most}. {right}, {', '.join(steps)}."

    @cached_property
    def pairs(self) -> list[PairRow]:
        """The pairs of columns that differ most together, in pictures."""
        found = []
        for pair in self.utility.pairs:
            worse = f"the worse of the two columns alone {number(pair.alone)}"
            caption = f"{_variation(pair.variation, ' of the pair')}; {worse}"
            found.append(PairRow(chart=svg.two_columns(pair), caption=caption))
        return found

    @cached_property
    def columns(self) -> list[ColumnRow]:
        """The columns with the largest total variation, the worst first."""

        def variation(column: ColumnUtility) -> float:
            figure = column.figures.get("total_variation")
            return 0.0 if figure is None else figure.value.value

        ordered = sorted(self.utility.columns, key=lambda column: (-variation(column), column.name))
        return list(map(_column_row, ordered[:MOST_MARGINALS]))

    @cached_property
    def rules(self) -> list[tuple[str, Figure]]:
        """Every rule that real rows keep to, and how many rows break it; those first that are broken most."""
        found = () if self.utility.rules is None else self.utility.rules.found
        return [(rule.sentence(list(map(name, rule.columns))), rule.broken) for rule in found]

    @property
    def shown_rules(self) -> Sequence[tuple[str, Figure]]:
        """As many of them as the page shows."""
        return self.rules[:MOST_RULES]

    @cached_property
    def related(self) -> RelationCharts | None:
        """How columns go together, for those whose associations changed most where there are many."""
        found = self.utility.associations
        if found is None or len(found.names) < 2:  # noqa: PLR2004 - a pair
            return None
        changes = [
            sum(abs((made or 0.0) - (real or 0.0)) for real, made in zip(reals, mades, strict=True))
            for reals, mades in zip(found.real, found.synthetic, strict=True)
        ]
        most = sorted(range(len(changes)), key=lambda place: (-changes[place], place))[:MOST_RELATED]
        kept = sorted(most)
        names = [found.names[i] for i in kept]
        real = [[found.real[i][j] for j in kept] for i in kept]
        synthetic = [[found.synthetic[i][j] for j in kept] for i in kept]
        return RelationCharts(
            charts=(svg.associations(names, real, synthetic), svg.differences(names, real, synthetic)),
            key=tuple(map(name, names)) if len(names) > svg.MOST_NAMED else (),
            n_drawn=len(kept),
            n_columns=len(found.names),
        )


def _column_row(column: ColumnUtility) -> ColumnRow:
    figure = column.figures.get("total_variation")
    return ColumnRow(
        name=name(column.name),
        chart=svg.marginals(column.bars, title=column.name),
        caption="" if figure is None else _variation(figure),
        figures=[column.figures.get(key) for key in BY_COLUMN],
    )


def _variation(figure: Figure, of: str = "") -> str:
    reference = f"; fresh real rows {number(figure.reference.value)}" if figure.reference else ""
    return f"Total variation{of} {number(figure.value.value)} ({interval(figure.value)}){reference}"


TITLE = "Properties of the tables"
NO_ATTACK = "A property is no attack and gives no verdict."
INVENTED = (
    "The rows of a synthetic release are invented, and so are its classes: its k says nothing about real "
    "people by itself."
)
REFERENCE = "The distribution that t and information gain compare with is that of train, for both tables."
INFINITE = "infinite"
WHY_INFINITE = "Infinite: a class of the release has a value that train does not have."
NO_ORDER = "no order"
MOST_SHOWN = 20
"""Sensitive columns on the page; all are in the JSON report."""


@dataclass(frozen=True, kw_only=True)
class PropertyRow:
    """One property of both tables; the terminal shows those that are ``brief``."""

    label: str
    train: str
    release: str
    brief: bool = False


@dataclass(frozen=True, kw_only=True)
class ColumnRows:
    """What classes tell about one sensitive column."""

    column: str
    rows: tuple[PropertyRow, ...]

    @property
    def infinite(self) -> bool:
        """Tell whether a gain has no bound, which needs a word of explanation."""
        return any(INFINITE in (row.train, row.release) for row in self.rows)


@dataclass(frozen=True, kw_only=True)
class PropertyRows:
    """What is said about properties."""

    quasi_identifiers: tuple[str, ...]
    classes: tuple[PropertyRow, ...]
    columns: tuple[ColumnRows, ...]
    n_columns: int
    weaknesses: Mapping[str, str]


def properties(report: Report) -> PropertyRows | None:
    """Return what is said, if quasi-identifiers were declared."""
    found = report.properties
    if found is None:
        return None
    pairs = list(zip(found.train.sensitive, found.synthetic.sensitive, strict=True))
    columns = tuple(
        ColumnRows(column=name(train.column), rows=_rows(_of_column(train.factor), train, release))
        for train, release in pairs[:MOST_SHOWN]
    )
    return PropertyRows(
        quasi_identifiers=found.train.quasi_identifiers,
        classes=_rows(_OF_CLASSES, found.train, found.synthetic),
        columns=columns,
        n_columns=len(pairs),
        weaknesses={key: WEAKNESSES[key] for key in (("k", "l", "t") if pairs else ("k",))},
    )


Written = tuple[str, bool, Callable[[Table], str]]
"""A property: what it is called, whether it is ``brief``, and how it is written."""


def _rows(asked: Sequence[Written[Table]], train: Table, release: Table) -> tuple[PropertyRow, ...]:
    return tuple(
        PropertyRow(label=label, train=write(train), release=write(release), brief=brief)
        for label, brief, write in asked
    )


_OF_CLASSES: Sequence[Written[Properties]] = (
    ("Rows", False, lambda table: f"{table.n_rows:,}"),
    ("Classes of rows with equal quasi-identifiers", False, lambda table: f"{table.n_classes:,}"),
    (
        "k, rows of the smallest class (1/k)",
        True,
        lambda table: f"{table.k:,} ({number(table.reidentification)})",
    ),
    ("Rows alone in their class", True, lambda table: f"{table.n_unique:,}"),
    ("Mean chance of naming the right row", True, lambda table: percent(table.mean_reidentification)),
)


def _of_column(factor: float) -> Sequence[Written[SensitiveProperties]]:
    """Return what is written of a sensitive column; ``factor`` is the c of recursive l."""

    def bits(gain: float) -> str:
        return INFINITE if gain == math.inf else number(gain)

    return (
        (
            "Distinct l, values of the least varied class (1/l)",
            True,
            lambda own: f"{own.distinct:,} ({number(own.certainty)})",
        ),
        ("Entropy l (1/l)", False, lambda own: f"{number(own.entropy)} ({number(1 / own.entropy)})"),
        (
            f"Recursive l, c = {factor:g} (1/l)",
            False,
            lambda own: f"{own.recursive:,} ({number(1 / own.recursive)})",
        ),
        ("t, all values equally far apart", True, lambda own: number(own.equal)),
        (
            "t, by ranks of values",
            False,
            lambda own: NO_ORDER if own.ordered is None else number(own.ordered),
        ),
        ("Information gain, mean over rows (bits)", True, lambda own: bits(own.information_gain)),
        ("Information gain, largest (bits)", False, lambda own: bits(own.largest_gain)),
    )
