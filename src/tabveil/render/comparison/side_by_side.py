"""Several reports side by side: in Python, as a page, and on the terminal; those of most concern first."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import takewhile
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from tabveil.auditing import comparing
from tabveil.auditing.findings import ABOVE_ZERO, LEAK, finding
from tabveil.auditing.policy import RISKS
from tabveil.auditing.report import Report
from tabveil.auditing.verdict import ABOVE, CopiesVerdict
from tabveil.core.storage.files import write_text
from tabveil.core.wording import escaped, most_people, name, plural, upper_percent
from tabveil.errors import ParameterError
from tabveil.render.audit.terminal import HEADINGS, WIDEST_METRIC, level_of, measured, with_interval
from tabveil.render.comparison.names import ShortNames, fitted, shortened
from tabveil.render.console import STYLES, number, plain_table
from tabveil.render.html import laid_out
from tabveil.render.svg import ReleasePoint, RiskBar, state_key
from tabveil.tables.reading import dataframes

KIND = "Privacy audits of synthetic tables"
MOST_POINTS = 20

_WIDTH = 100
_READING = (
    "For each risk: of 100 people at most so many are exposed, by any attack. Copies: at most this share of "
    "the release, beyond chance; “near”: the rows that nearly equal a training row are more than those that "
    "equal one. Apart: how well a model tells synthetic from real rows (0: not at all, 1: always). "
    "Releases of most concern come first; this is an order, not a score."
)
_SHORT = {"singling out": "single", "linkability": "link", "inference": "infer", "membership": "member"}
_NAME = 17
"""So wide is a name on a terminal of 80 columns."""

ReportSource = Report | str | Path


def compare(reports: Mapping[str, ReportSource] | Sequence[ReportSource]) -> "ComparedReports":
    """Set several reports side by side, those of most concern first.

    Parameters
    ----------
    reports
        Reports, or paths of the JSON files that audits wrote: by the names to show them under, or one after
        the other. Then a file is called by its name, with folders where it takes them to tell files apart,
        and a report by its title, or by its place where it has none.
    """
    named = reports if isinstance(reports, Mapping) else _named(reports)
    if not named:
        raise ParameterError("compare", "there is no report to compare.")
    return ComparedReports(
        reports={key: item if isinstance(item, Report) else Report.read(item) for key, item in named.items()}
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparedReports:
    """Reports by name; printed, they stand in an order of concern, which is not a score."""

    reports: Mapping[str, Report]

    @property
    def warnings(self) -> list[str]:
        """What makes these reports hard to compare, such as other training rows."""
        return comparing.warnings(self.reports)

    def to_frame(self) -> dataframes.DataFrame:
        """Return one row a release, the largest concern first.

        Each risk is the upper bound it is judged by; the figures of utility are those of the page.
        """
        rows = []
        for row in comparing.compare(self.reports):
            bounds = {risk.risk: risk.high for risk in row.risks if risk.high is not None}
            figures = zip(comparing.FIGURES, row.figures, strict=True)
            cells: dict[str, object] = {"release": row.name, "verdict": row.report.verdict.state}
            cells |= {risk: bounds.get(risk, float("nan")) for risk in RISKS}
            cells |= {key: figure.value.value if figure else float("nan") for key, figure in figures}
            rows.append(cells)
        return dataframes.from_rows(rows)

    def to_html(self, path: str | Path) -> None:
        """Write the page that ``tabveil compare --html`` writes, whole or not at all."""
        write_text(Path(path), page(self.reports))

    def _repr_html_(self) -> str:
        """Show the comparison in a notebook."""
        return dataframes.to_html([self.to_frame(), dataframes.from_columns({"warnings": self.warnings})])

    def __repr__(self) -> str:
        """Say what the terminal says."""
        text = StringIO()
        screen = Console(file=text, width=_WIDTH, color_system=None, markup=False, emoji=False)
        screen.print(ranking(self.reports))
        return "\n".join(line.rstrip() for line in escaped(text.getvalue()).rstrip().splitlines())


def _named(reports: Sequence[ReportSource]) -> dict[str, ReportSource]:
    """Name reports by their titles, and files by what tells them apart."""
    of_files = iter(_distinct_names([Path(item) for item in reports if not isinstance(item, Report)]))
    names = [
        (item.title or f"release {place}") if isinstance(item, Report) else next(of_files)
        for place, item in enumerate(reports, start=1)
    ]
    return dict(zip(_each_once(names), reports, strict=True))


def _distinct_names(paths: Sequence[Path]) -> Sequence[str]:
    """Name reports by their file, and where files are called alike by the folders that tell them apart."""
    names = [path.stem for path in paths]
    if len(set(names)) < len(names):
        places = [path.with_suffix("").parts for path in paths]
        steps = zip(*(place[:-1] for place in places), strict=False)
        shared = sum(1 for _ in takewhile(lambda step: len(set(step)) == 1, steps))
        names = [str(Path(*place[shared:])) for place in places]
    return _each_once(names)


def _each_once(names: Sequence[str]) -> Sequence[str]:
    for each in names:
        if names.count(each) > 1:
            raise ParameterError("compare", f"{name(each)} is named twice.")
    return names


def page(
    reports: Mapping[str, Report], *, title: str = "Releases compared", made: dt.date | None = None
) -> str:
    """Set several reports side by side, those of most concern first."""
    names, reports = _with_short_names(reports)
    compared = comparing.compare(reports)
    return laid_out(
        "comparison.html.j2",
        title,
        kind=KIND,
        made=made,
        bars=bars(compared)[:MOST_POINTS],
        compared=compared,
        copied={row.name: copied_rows(row.report.verdict.copies) for row in compared},
        leading={row.name: leading(row) for row in compared},
        names=names,
        points=points(compared)[:MOST_POINTS],
        thresholds=_shared_thresholds(compared),
        warnings=comparing.warnings(reports),
        FIGURES=comparing.FIGURES,
    )


def _with_short_names(reports: Mapping[str, Report]) -> tuple[ShortNames, dict[str, Report]]:
    """Call each release by what tells it from the others."""
    names = shortened(list(reports))
    return names, dict(zip(names.names, reports.values(), strict=True))


def _shared_thresholds(rows: Sequence[comparing.ComparedRelease]) -> dict[str, float]:
    """Return what is accepted, for those risks of which all policies accept the same."""
    accepted = {
        risk: {item.threshold for row in rows for item in row.risks if item.risk == risk} for risk in RISKS
    }
    return {risk: found.pop() for risk, found in accepted.items() if len(found) == 1}


@dataclass(frozen=True, kw_only=True)
class CopiedRows:
    """The copies that count: exact ones, or near ones where these are more."""

    rows: int
    near: bool
    n_synthetic: int

    @property
    def words(self) -> str:
        """Write them."""
        return plural(
            self.rows, "near copy" if self.near else "copy", "near copies" if self.near else "copies"
        )


def copied_rows(copies: CopiesVerdict | None) -> CopiedRows | None:
    """Say which copies are judged: near ones hide where only equal rows are counted."""
    if copies is None:
        return None
    found, near = copies.found, copies.found.near
    exact = -1.0 if found.share is None else found.share.high
    if near is not None and near.near_train and near.share.high > exact:
        return CopiedRows(rows=near.near_train, near=True, n_synthetic=found.n_synthetic)
    return CopiedRows(rows=found.equal_train, near=False, n_synthetic=found.n_synthetic)


def leading(row: comparing.ComparedRelease) -> str:
    """Name what lies farthest above its threshold; nothing where nothing is above."""
    verdict = row.report.verdict
    over: dict[str, float] = {
        item.risk: item.value / item.threshold
        for item in row.risks
        if item.state == ABOVE and item.value is not None
    }
    over |= {
        trace.found.title[:1].lower() + trace.found.title[1:]: trace.found.share / trace.threshold
        for trace in verdict.traces
        if trace.state == ABOVE and trace.threshold > 0
    }
    copies, counted = verdict.copies, copied_rows(verdict.copies)
    if copies is not None and counted is not None and copies.state == ABOVE and copies.threshold > 0:
        over["near copies" if counted.near else "copies"] = (copies.value or 0.0) / copies.threshold
    return max(over, key=over.__getitem__) if over else ""


def bars(rows: Sequence[comparing.ComparedRelease]) -> list[RiskBar]:
    """Return a bar a release, its largest gain: the chart where usefulness was not measured."""
    found = []
    for place, row in enumerate(rows, start=1):
        judged = [risk.leading for risk in row.risks if risk.leading and risk.leading.gain]
        worst = max(judged, key=lambda item: item.gain.high if item.gain else 0.0, default=None)
        found.append(
            RiskBar(
                label=f"{place}. {row.name}",
                risk=None if worst is None else worst.gain,
                control=None,
                attack=None,
                threshold=None,
                state=state_key(row.report.verdict.state),
                note="" if worst is None else worst.title,
            )
        )
    return found


def points(rows: Sequence[comparing.ComparedRelease]) -> list[ReleasePoint]:
    """Return what the chart of risk against lost utility can show, by its number in this order."""
    return [
        ReleasePoint(
            number=number,
            label=row.name,
            x=row.loss,
            y=row.largest,
            state=state_key(row.report.verdict.state),
        )
        for number, row in enumerate(rows, start=1)
        if row.loss is not None and row.largest is not None
    ]


def ranking(reports: Mapping[str, Report]) -> RenderableType:
    """Set the releases under each other, the largest concern first, and warn where they do not compare."""
    names, reports = _with_short_names(reports)
    compared = comparing.compare(reports)
    table = plain_table("release")
    table.add_column("verdict", no_wrap=True)
    for heading in (*(_SHORT[risk] for risk in RISKS), "copies", "apart"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row, label in zip(compared, fitted([row.name for row in compared], _NAME), strict=True):
        verdict = row.report.verdict
        state = Text(state_key(verdict.state), style=STYLES[verdict.state])
        bounds = [
            _dash() if risk.high is None else _bound(most_people(risk.high), above=risk.state == ABOVE)
            for risk in row.risks
        ]
        apart = "-" if row.loss is None else number(row.loss.value)
        table.add_row(Text(label), state, *bounds, _copies(verdict.copies), apart)
    warned = [Text(f"- {text}", style="yellow") for text in comparing.warnings(reports)]
    shared = [Text(names.note), Text()] if names.note else []
    return Group(*shared, table, Text(), Text(_READING, style="dim"), *([Text()] if warned else []), *warned)


def _copies(copies: CopiesVerdict | None) -> Text:
    counted = copied_rows(copies)
    if copies is None or counted is None or copies.high is None:
        return _dash()
    return _bound(f"{upper_percent(copies.high)}{' near' * counted.near}", above=copies.state == ABOVE)


def _bound(written: str, *, above: bool) -> Text:
    return Text(written.replace("−", "-"), style=STYLES[ABOVE] if above else "")


def _dash() -> Text:
    return Text("-")


def comparison(reports: Mapping[str, Report]) -> RenderableType:
    """Set the risks of several releases side by side: one line a metric, and where it saw a leak."""
    results = [result for report in reports.values() for result in report.results]
    parts: list[RenderableType] = []
    for pillar, heading in HEADINGS.items():
        metrics = {item.key: item.full_title for item in results if item.labels.pillar == pillar}
        if metrics:
            table = _compared(metrics, reports, attacks=pillar == "attack")
            parts += [Text(heading, style="bold"), Text(), table, Text()]
    return Group(*parts[:-1])


def _compared(metrics: Mapping[str, str], reports: Mapping[str, Report], *, attacks: bool) -> Table:
    table = plain_table("metric")
    table.columns[0].min_width = WIDEST_METRIC  # so that tables stand under each other
    for title, report in reports.items():
        table.add_column(f"{title}: {measured(attacks=attacks)}, {level_of(report)}", no_wrap=True)
    seen = LEAK if attacks else ABOVE_ZERO
    table.add_column(seen, overflow="fold", min_width=len(ABOVE_ZERO))
    for metric, title in metrics.items():
        leaking = [release for release, report in reports.items() if finding(report, metric) == seen]
        cells = []
        for release, report in reports.items():
            found = next((result.measure for result in report.results if result.key == metric), None)
            cells.append(with_interval(found, style="bold red" if release in leaking else ""))
        table.add_row(title, *cells, Text(", ".join(leaking) or "-", style="bold red" if leaking else "dim"))
    return table
