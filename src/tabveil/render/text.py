"""A report on the terminal, readable at 80 columns and without color.

Everything that comes from outside (column names in notes, reasons) is set as plain text, never as markup.
"""

from collections.abc import Iterable, Mapping

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tabveil.estimate import Estimate
from tabveil.result import Report, Result

LEAK = "leak seen"
NONE_SEEN = "none seen"
UNCLEAR = "unclear"
NO_BETTER = "uninformative"

_HEADINGS = {
    "attack": "Attacks: what an intruder gains from the release",
    "indicator": "Indicators: diagnostics, not evidence of anonymity",
    "property": "Properties of the release",
}
_WIDEST_METRIC = 23
_READING = (
    "Risk: 0 = like fresh data, 1 = worst. Train: the metric's own score, measured with the training rows; "
    "control: the same with real rows the generator never saw. "
    f"“{LEAK}”: the whole interval lies above zero, which happens by chance about once in 40. "
    f"“{NONE_SEEN}” covers these metrics only: other ways to find out about people were not tried. "
    f"“{NO_BETTER}”: the attack does no better than guessing without the release, so it tells nothing."
)


def report_page(report: Report) -> RenderableType:
    """Lay out one report: sizes, a table for each kind of metric, how to read it, what is missing and why."""
    pillars = [pillar for pillar in _HEADINGS if any(r.labels.pillar == pillar for r in report.results)]
    parts: list[RenderableType] = [_inputs(report)]
    for pillar in pillars:
        chosen = [result for result in report.results if result.labels.pillar == pillar]
        parts += [
            Text(),
            Text(_HEADINGS[pillar], style="bold"),
            Text(),
            _results(chosen, compared=_has_control(report)),
        ]
    if pillars:
        parts += [Text(), Text(_READING, style="dim")]
    if report.skipped:
        parts += [Text(), Text("Not computed", style="bold")]
        parts += [
            _item(f"{item.metric}: {item.reason.removeprefix(f'{item.metric}: ')}") for item in report.skipped
        ]
    notes = [*report.notes, *_notes(report.results)]
    if notes:
        parts += [Text(), Text("Notes", style="bold"), *map(_item, notes)]
    return Group(*parts)


def _notes(results: Iterable[Result]) -> list[str]:
    """Say what several metrics note alike only once."""
    who: dict[str, list[str]] = {}
    for result in results:
        for note in result.notes:
            who.setdefault(note, []).append(result.metric)
    return [f"{', '.join(metrics)}: {note}" for note, metrics in who.items()]


def comparison(reports: Mapping[str, Report]) -> RenderableType:
    """Set the risks of several releases side by side: one line a metric, and where it saw a leak."""
    results = [result for report in reports.values() for result in report.results]
    parts: list[RenderableType] = []
    for pillar, heading in _HEADINGS.items():
        metrics = dict.fromkeys(result.metric for result in results if result.labels.pillar == pillar)
        if metrics:
            parts += [Text(heading, style="bold"), Text(), _compared(metrics, reports), Text()]
    return Group(*parts[:-1])


def _compared(metrics: Iterable[str], reports: Mapping[str, Report]) -> Table:
    table = _table("metric")
    table.columns[0].min_width = _WIDEST_METRIC  # so that tables stand under each other
    for name in reports:
        table.add_column(f"{name}: risk, 95%", no_wrap=True)
    table.add_column(LEAK, overflow="fold", min_width=len(LEAK))
    for metric in metrics:
        found = {name: _find(report, metric) for name, report in reports.items()}
        leaking = [name for name, result in found.items() if result and leaks(result)]
        cells = [_cell(result) for result in found.values()]
        table.add_row(metric, *cells, Text(", ".join(leaking) or "-", style="bold red" if leaking else "dim"))
    return table


def _find(report: Report, metric: str) -> Result | None:
    return next((result for result in report.results if result.metric == metric), None)


def _cell(result: Result | None) -> Text:
    if result is None or result.risk is None:
        return Text("not computed", style="dim")
    style = "bold red" if leaks(result) else ""
    return Text(f"{number(result.risk.value):>6}  {_interval(result.risk, '…')}", style=style)


def _inputs(report: Report) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    for role, item in report.inputs.items():
        grid.add_row(Text(role), Text(f"{item.rows:,} rows, {item.columns} columns"))
    if not _has_control(report):
        grid.add_row(Text("control"), Text("none: little can be concluded", style="bold yellow"))
    return Group(Text(f"tabveil {report.version}, seed {report.seed}", style="dim"), grid)


def _has_control(report: Report) -> bool:
    return "control" in report.inputs and report.inputs["control"].rows > 0


def _results(results: Iterable[Result], *, compared: bool) -> Table:
    table = _table("metric")
    for heading in ("risk", "95% interval", "train", "control"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("reading", no_wrap=True)
    for result in results:
        table.add_row(
            result.metric,
            Text(_value(result.risk), style="bold red" if leaks(result) else ""),
            _interval(result.risk) if result.risk else "",
            _value(result.attack),
            _value(result.control),
            _reading(result, compared=compared),
        )
    return table


def _table(first: str) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold"
    )
    table.add_column(first, overflow="fold")
    return table


def _reading(result: Result, *, compared: bool) -> Text:
    """Put a risk into a word; without a control or a working attack, that nothing was seen means nothing."""
    if leaks(result):
        return Text(LEAK, style="bold red")
    if result.risk is None:
        return Text("no answer", style="dim")
    if not result.informative:
        return Text(NO_BETTER, style="dim")
    return Text(NONE_SEEN if compared else UNCLEAR, style="dim")


def leaks(result: Result) -> bool:
    """Tell whether the whole interval of the risk lies above zero."""
    return result.risk is not None and result.risk.low > 0


def _value(estimate: Estimate | None) -> str:
    return "" if estimate is None else number(estimate.value)


def _interval(estimate: Estimate, to: str = " to ") -> str:
    return f"{number(estimate.low)}{to}{number(estimate.high)}"


def number(value: float) -> str:
    """Write a number with three decimals, and never round a leak away.

    >>> number(-0.00004), number(0.0701), number(0.00004)
    ('0.000', '0.070', '<0.001')
    """
    if 0 < value < 0.0005:  # noqa: PLR2004 - what three decimals would show as zero
        return "<0.001"
    return f"{value:.3f}".replace("-0.000", "0.000")


def _item(text: str) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    grid.add_row(Text("-"), Text(" ".join(text.split())))
    return Padding(grid, (0, 0, 0, 1))
