"""What is said of utility: every figure beside its reference, and the columns that differ most."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from markupsafe import Markup

from tabveil.core.wording import interval, name, number
from tabveil.metrics.utility import MEANINGS, RULES, ColumnUtility, Figure, Meaning, Utility
from tabveil.render import svg

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


@dataclass(frozen=True)
class ColumnRow:
    """One column: its chart, and its figures by ``BY_COLUMN`` (None where one does not apply)."""

    column: ColumnUtility

    @property
    def name(self) -> str:
        """What the column is called."""
        return name(self.column.name)

    @property
    def chart(self) -> Markup:
        """Its values, real beside synthetic."""
        return svg.marginals(self.column.bars, title=self.column.name)

    @property
    def caption(self) -> str:
        """How far the two are apart."""
        figure = self.column.figures.get("total_variation")
        if figure is None:
            return ""
        reference = "" if figure.reference is None else f"; fresh real rows {number(figure.reference.value)}"
        return f"Total variation {number(figure.value.value)} ({interval(figure.value)}){reference}"

    @property
    def figures(self) -> list[Figure | None]:
        """The figures of its row in the table."""
        return [self.column.figures.get(key) for key in BY_COLUMN]


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


@dataclass(frozen=True)
class Usefulness:
    """The whole section: all figures and targets, but only the columns that differ most."""

    utility: Utility

    @property
    def figures(self) -> list[FigureRow]:
        """Every overall figure that is known, that of rules last."""
        found = [
            FigureRow(meaning=MEANINGS[key], figure=figure)
            for key, figure in self.utility.figures.items()
            if key in MEANINGS
        ]
        rules = self.utility.rules
        if rules is not None and rules.figure is not None:
            found.append(FigureRow(meaning=RULES, figure=rules.figure))
        return found

    @property
    def columns(self) -> list[ColumnRow]:
        """The columns with the largest total variation, the worst first."""

        def variation(column: ColumnUtility) -> float:
            figure = column.figures.get("total_variation")
            return 0.0 if figure is None else figure.value.value

        ordered = sorted(self.utility.columns, key=lambda column: (-variation(column), column.name))
        return list(map(ColumnRow, ordered[:MOST_MARGINALS]))

    @cached_property
    def rules(self) -> list[RuleRow]:
        """Every rule that real rows keep to, those first that are broken most."""
        return [
            RuleRow(sentence=rule.sentence([name(column) for column in rule.columns]), broken=rule.broken)
            for rule in (self.utility.rules.found if self.utility.rules else ())
        ]

    @property
    def shown_rules(self) -> Sequence[RuleRow]:
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
