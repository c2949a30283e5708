"""Linked tables on a report: how they hang together, how many rows people have, what shows each risk."""

from collections.abc import Sequence
from dataclasses import dataclass

from tabveil.auditing.overview import QUANTILES, LinkedOverview, SetSizes, TableOverview
from tabveil.auditing.report import Report
from tabveil.core.result import Result
from tabveil.core.wording import begin, joined, name, plural

TITLE = "Linked tables"
UNKNOWN = "too few people"
PEOPLE = {"train": "Training people", "control": "Control people", "synthetic": "Synthetic people"}
ABOUT = (
    "A person is their own row and all rows that belong to them in linked tables; people are attacked and "
    "counted. A row that belongs to several people counts for each. Nothing is told of fewer than ten people."
)


@dataclass(frozen=True, kw_only=True)
class TreeRow:
    """One table in the picture of how they hang together."""

    name: str
    depth: int
    how: str


@dataclass(frozen=True, kw_only=True)
class SizesRow:
    """How many rows of a table people have, in words."""

    table: str
    role: str
    rows: str
    without: str
    quantiles: tuple[str, ...]
    shared: str


@dataclass(frozen=True, kw_only=True)
class LeadRow:
    """What shows most of a risk: the attack, and what it did with which tables."""

    risk: str
    attack: str
    how: str


def tree(linked: LinkedOverview) -> list[TreeRow]:
    """Draw the tables, each after the one it hangs on."""
    children: dict[str, list[TableOverview]] = {}
    for table in linked.tables[1:]:
        children.setdefault(table.through or "", []).append(table)

    def walk(table: TableOverview) -> list[TreeRow]:
        below = [row for child in children.get(table.name, []) for row in walk(child)]
        return [TreeRow(name=name(table.name), depth=table.depth, how=_how(table)), *below]

    return walk(linked.tables[0])


def _how(table: TableOverview) -> str:
    told = [plural(len(table.columns), "column") if table.columns else "keys alone"]
    if table.key is None:
        return ", ".join(["a row for each person", *told])
    told.insert(0, f"by {name(table.key)}")
    if table.order is not None:
        told.append(f"events in the order of {name(table.order)}")
    return ", ".join(told)


def sizes(linked: LinkedOverview) -> list[SizesRow]:
    """Tell how many rows people have in each linked table."""
    return [_sizes(table.name, each) for table in linked.tables for each in table.sizes]


def _sizes(table: str, found: SetSizes) -> SizesRow:
    return SizesRow(
        table=name(table),
        role=found.role,
        rows=f"{found.rows:,}",
        without=_known(found.without),
        quantiles=tuple(map(_known, found.quantiles)),
        shared=_known(found.shared),
    )


def _known(count: int | None) -> str:
    return UNKNOWN if count is None else f"{count:,}"


def quantile_titles() -> list[str]:
    """Return the headings of the quantiles: of ten people, how many have no more."""
    return [f"{round(10 * quantile)} of 10 have at most" for quantile in QUANTILES]


def leads(report: Report) -> list[LeadRow]:
    """Say for each risk which attack measures most, and how that attack looked at people."""
    if report.linked is None:
        return []
    found = []
    for risk in report.verdict.risks:
        strongest = risk.strongest
        result = None
        if strongest is not None:
            result = next((item for item in report.results if item.key == strongest.metric), None)
        if result is not None:
            found.append(
                LeadRow(risk=risk.risk, attack=result.full_title, how=how_it_looked(result, report.linked))
            )
    return found


def how_it_looked(result: Result, linked: LinkedOverview) -> str:
    """Say by what the configuration that leads attacked people: a view, tables, or a column it guessed."""
    view, setting = result.details.get("leading_view"), result.leading
    if isinstance(view, str):
        return f"compared people by their {name(view)}"
    if setting is not None and setting.split is not None:
        return _parts_linked(*setting.split, linked=linked)
    if setting is not None and setting.target is not None:
        table = linked.table_of(setting.target)
        return f"guessed {_column(setting.target, table)}, of the table {name(table)}"
    if setting is not None and setting.columns is not None:
        return f"knew columns of {joined(_tables(setting.columns, linked))}"
    return "looked at own rows and at what sums up linked rows"


def _column(column: str, table: str) -> str:
    """Return what a column is called without its table: “amount, last” of “loans: amount, last”."""
    return f"“{name(column.removeprefix(f'{table}: '))}”"


def _parts_linked(one: Sequence[str], other: Sequence[str], *, linked: LinkedOverview) -> str:
    """Say which two parts of a person were linked: whole tables, or columns of the same tables."""
    first, second = (_tables(side, linked) for side in (one, other))
    if not set(first) & set(second):
        return f"linked {joined(first)} with {joined(second)}"
    both = joined(list(dict.fromkeys([*first, *second])))
    more = plural(len(other), "other column")
    return f"linked {plural(len(one), 'column')} of {both} with {more} of these tables"


def _tables(columns: Sequence[str], linked: LinkedOverview) -> list[str]:
    return [name(table) for table in dict.fromkeys(linked.table_of(column) for column in columns)]


def in_words(report: Report) -> list[str]:
    """Tell all of it in lines of text."""
    linked = report.linked
    if linked is None:
        return []
    lines = [f"{'  ' * row.depth}{'└ ' if row.depth else ''}{row.name}: {row.how}" for row in tree(linked)]
    for table in linked.tables[1:]:
        train = next((each for each in table.sizes if each.role == "train"), None)
        release = next((each for each in table.sizes if each.role == "synthetic"), None)
        known = [
            f"{_spread(each)} in {role}"
            for role, each in (("train", train), ("the release", release))
            if each is not None
        ]
        most = " (8 of 10 people or more)" if any(" to " in each for each in known) else ""
        lines.append(f"Rows of {name(table.name)} for each person: {joined(known)}{most}.")
    lines += [f"{begin(row.risk)}: most was measured by {row.attack}. It {row.how}." for row in leads(report)]
    return lines


def _spread(found: SetSizes) -> str:
    known = [f"{size:,}" for size in found.quantiles if size is not None]
    if len(known) < 2 or known[0] == known[-1]:  # noqa: PLR2004 - both ends
        return f"{found.mean:.1f} on average"
    return f"{known[0]} to {known[-1]}"
