"""Properties of train and release side by side, as page and terminal write them: counts and column names."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tabveil.auditing.report import Report
from tabveil.core.wording import name, number, percent
from tabveil.metrics.properties import WEAKNESSES, Properties, SensitiveProperties

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
        ColumnRows(column=name(train.column), rows=tuple(_column_rows(train, release)))
        for train, release in pairs[:MOST_SHOWN]
    )
    return PropertyRows(
        quasi_identifiers=found.train.quasi_identifiers,
        classes=tuple(_class_rows(found.train, found.synthetic)),
        columns=columns,
        n_columns=len(pairs),
        weaknesses={key: WEAKNESSES[key] for key in (("k", "l", "t") if pairs else ("k",))},
    )


def _class_rows(train: Properties, release: Properties) -> Iterator[PropertyRow]:
    def row(label: str, write: Callable[[Properties], str], *, brief: bool = False) -> PropertyRow:
        return PropertyRow(label=label, train=write(train), release=write(release), brief=brief)

    yield row("Rows", lambda table: f"{table.n_rows:,}")
    yield row("Classes of rows with equal quasi-identifiers", lambda table: f"{table.n_classes:,}")
    yield row(
        "k, rows of the smallest class (1/k)",
        lambda table: f"{table.k:,} ({number(table.reidentification)})",
        brief=True,
    )
    yield row("Rows alone in their class", lambda table: f"{table.n_unique:,}", brief=True)
    yield row(
        "Mean chance of naming the right row",
        lambda table: percent(table.mean_reidentification),
        brief=True,
    )


def _column_rows(train: SensitiveProperties, release: SensitiveProperties) -> Iterator[PropertyRow]:
    def row(label: str, write: Callable[[SensitiveProperties], str], *, brief: bool = False) -> PropertyRow:
        return PropertyRow(label=label, train=write(train), release=write(release), brief=brief)

    yield row(
        "Distinct l, values of the least varied class (1/l)",
        lambda own: f"{own.distinct:,} ({number(own.certainty)})",
        brief=True,
    )
    yield row("Entropy l (1/l)", lambda own: f"{number(own.entropy)} ({number(1 / own.entropy)})")
    yield row(
        f"Recursive l, c = {train.factor:g} (1/l)",
        lambda own: f"{own.recursive:,} ({number(1 / own.recursive)})",
    )
    yield row("t, all values equally far apart", lambda own: number(own.equal), brief=True)
    yield row("t, by ranks of values", lambda own: NO_ORDER if own.ordered is None else number(own.ordered))
    yield row("Information gain, mean over rows (bits)", lambda own: _bits(own.information_gain), brief=True)
    yield row("Information gain, largest (bits)", lambda own: _bits(own.largest_gain))


def _bits(gain: float) -> str:
    return INFINITE if gain == math.inf else number(gain)
