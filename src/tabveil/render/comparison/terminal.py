"""Several audits on the terminal: the order of concern, and their metrics side by side."""

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tabveil.auditing.comparing import compare, warnings
from tabveil.auditing.findings import ABOVE_ZERO, LEAK, finding
from tabveil.auditing.policy import RISKS
from tabveil.auditing.report import Report
from tabveil.auditing.verdict import ABOVE, CopiesVerdict, RiskVerdict
from tabveil.render.audit.terminal import HEADINGS, WIDEST_METRIC, level_of, measured, with_interval
from tabveil.render.console import STYLES, number, plain_table, state_text, upper

_READING = (
    "For each risk the largest upper bound over all attacks, what verdicts call “at most”; for copies "
    "that of their share of the release, beyond chance. Told apart: "
    "how often a model tells synthetic from real rows (0.5 best). The order is one of concern, not a score."
)
_SHORT = {"singling out": "singling", "linkability": "linking", "inference": "infer", "membership": "member"}


def ranking(reports: Mapping[str, Report]) -> RenderableType:
    """Set the releases under each other, the largest concern first, and warn where they do not compare."""
    table = plain_table("release")
    table.add_column("verdict", no_wrap=True)
    for heading in (*(_SHORT[risk] for risk in RISKS), "copies", "told apart"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in compare(reports):
        verdict, told_apart = row.report.verdict, row.figures[0]
        table.add_row(
            Text(row.name),
            state_text(verdict.state),
            *(_upper(item) for item in (*row.risks, verdict.copies)),
            "-" if told_apart is None else number(told_apart.value.value),
        )
    warned = [Text(f"- {text}", style="yellow") for text in warnings(reports)]
    return Group(table, Text(), Text(_READING, style="dim"), *([Text()] if warned else []), *warned)


def _upper(judged: RiskVerdict | CopiesVerdict | None) -> Text:
    if judged is None or judged.high is None:
        return Text("-")
    return Text(upper(judged.high), style=STYLES[ABOVE] if judged.state == ABOVE else "")


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
    for name, report in reports.items():
        table.add_column(f"{name}: {measured(attacks=attacks)}, {level_of(report)}", no_wrap=True)
    seen = LEAK if attacks else ABOVE_ZERO
    table.add_column(seen, overflow="fold", min_width=len(ABOVE_ZERO))
    for metric, title in metrics.items():
        leaking = [name for name, report in reports.items() if finding(report, metric) == seen]
        cells = []
        for name, report in reports.items():
            found = next((result.measure for result in report.results if result.key == metric), None)
            cells.append(with_interval(found, style="bold red" if name in leaking else ""))
        table.add_row(title, *cells, Text(", ".join(leaking) or "-", style="bold red" if leaking else "dim"))
    return table
