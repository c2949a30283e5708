"""What the page shows of utility: every figure beside its reference, and the columns that differ most."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tabveil.core.wording import interval, name, number
from tabveil.metrics.utility import (
    MEANINGS,
    RULES,
    Associations,
    ColumnUtility,
    Figure,
    Meaning,
    Rule,
    TargetUtility,
    Utility,
)
from tabveil.render import svg
from tabveil.render.svg.matrix import MOST_NAMED

MOST_MARGINALS = 24
MOST_RELATED = 30
MOST_RULES = 30
BY_COLUMN = tuple(key for key, meaning in MEANINGS.items() if meaning.per_column)
"""The figures that every column has, if they apply to it."""

SCORES = {"accuracy": "accuracy", "r2": "R²"}


@dataclass(frozen=True, kw_only=True)
class FigureRow:
    """One figure with its meaning."""

    meaning: Meaning
    figure: Figure


@dataclass(frozen=True, kw_only=True)
class ColumnRow:
    """One column: its chart, and its figures by ``BY_COLUMN`` (None where one does not apply)."""

    name: str
    chart: Markup
    caption: str
    figures: tuple[Figure | None, ...]


@dataclass(frozen=True, kw_only=True)
class RelationCharts:
    """How columns go together: the charts, and the names of the columns where they are numbered there."""

    charts: tuple[Markup, ...]
    key: tuple[str, ...]
    n_drawn: int
    n_columns: int


@dataclass(frozen=True, kw_only=True)
class RuleRow:
    """One rule in words, and how many rows break it."""

    sentence: str
    broken: Figure


@dataclass(frozen=True, kw_only=True)
class Usefulness:
    """The whole section."""

    figures: tuple[FigureRow, ...]
    targets: tuple[TargetUtility, ...]
    columns: tuple[ColumnRow, ...]
    n_columns: int
    related: RelationCharts | None
    rules: tuple[RuleRow, ...]
    n_rules: int
    looked_for_rules: bool


def usefulness(utility: Utility) -> Usefulness:
    """Choose what is shown: all figures and targets, but only the columns that differ most."""
    return Usefulness(
        figures=(
            *(
                FigureRow(meaning=MEANINGS[key], figure=figure)
                for key, figure in utility.figures.items()
                if key in MEANINGS
            ),
            *(
                ()
                if utility.rules is None or utility.rules.figure is None
                else (FigureRow(meaning=RULES, figure=utility.rules.figure),)
            ),
        ),
        targets=utility.targets,
        columns=tuple(map(_column, _most_different(utility.columns))),
        n_columns=len(utility.columns),
        related=_related(utility.associations),
        rules=() if utility.rules is None else tuple(map(_rule, utility.rules.found[:MOST_RULES])),
        n_rules=0 if utility.rules is None else len(utility.rules.found),
        looked_for_rules=utility.rules is not None,
    )


def _rule(rule: Rule) -> RuleRow:
    return RuleRow(sentence=rule.sentence([name(column) for column in rule.columns]), broken=rule.broken)


def _most_different(columns: Sequence[ColumnUtility]) -> list[ColumnUtility]:
    """Return the columns with the largest total variation, the worst first."""

    def variation(column: ColumnUtility) -> float:
        figure = column.figures.get("total_variation")
        return 0.0 if figure is None else figure.value.value

    return sorted(columns, key=lambda column: (-variation(column), column.name))[:MOST_MARGINALS]


def _column(column: ColumnUtility) -> ColumnRow:
    figure = column.figures.get("total_variation")
    return ColumnRow(
        name=name(column.name),
        chart=svg.marginals(column.bars, title=column.name),
        caption="" if figure is None else _variation(figure),
        figures=tuple(column.figures.get(key) for key in BY_COLUMN),
    )


def _variation(figure: Figure) -> str:
    reference = "" if figure.reference is None else f"; fresh real rows {number(figure.reference.value)}"
    return f"Total variation {number(figure.value.value)} ({interval(figure.value)}){reference}"


def _related(found: Associations | None) -> RelationCharts | None:
    """Draw how columns go together, for those whose associations changed most where there are many."""
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
        key=tuple(map(name, names)) if len(names) > MOST_NAMED else (),
        n_drawn=len(kept),
        n_columns=len(found.names),
    )
