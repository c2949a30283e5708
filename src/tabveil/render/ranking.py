"""Several releases on the terminal: the order of concern, and what each risks and keeps."""

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.text import Text

from tabveil.auditing.report import Report
from tabveil.auditing.verdict import RISKS, CopiesVerdict, RiskVerdict
from tabveil.render import comparison
from tabveil.render.text import STYLES, number, plain_table, upper

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
    for risk in RISKS:
        table.add_column(_SHORT[risk], justify="right", no_wrap=True)
    for heading in ("copies", "told apart"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in comparison.compare(reports):
        told_apart = row.figures[0]
        table.add_row(
            Text(row.name),
            Text(row.report.verdict.state, style=STYLES[row.report.verdict.state]),
            *map(_upper, row.risks),
            _copied(row.report.verdict.copies),
            "-" if told_apart is None else number(told_apart.value.value),
        )
    warnings = [Text(f"- {text}", style="yellow") for text in comparison.warnings(reports)]
    return Group(table, Text(), Text(_READING, style="dim"), *([Text()] if warnings else []), *warnings)


def _upper(risk: RiskVerdict) -> Text:
    text = "-" if risk.high is None else upper(risk.high)
    return Text(text, style=STYLES[risk.state] if risk.state == "above threshold" else "")


def _copied(copies: CopiesVerdict | None) -> Text:
    if copies is None or copies.high is None:
        return Text("-")
    return Text(upper(copies.high), style=STYLES[copies.state] if copies.state == "above threshold" else "")
