"""Every chart of an audit by its name: what the page shows and ``report.plot`` hands over."""

from collections.abc import Callable
from functools import partial

from markupsafe import Markup

from tabveil.auditing.report import Report
from tabveil.render import svg
from tabveil.render.audit import evidence
from tabveil.render.audit.view import AuditView
from tabveil.render.plot import Plot, plotted

RELATED = ("associations", "differences")

Charts = dict[str, Callable[[], Markup]]
"""By name, in the order of the page; each is drawn when it is asked for."""


def plot(report: Report, figure: str = "risks") -> Plot:
    """Draw one of the page's charts."""
    view = AuditView(report)
    charts = charts_of(view)
    if report.utility is not None:
        charts |= {
            f"values of {column.name}": partial(svg.marginals, column.bars, title=column.name)
            for column in report.utility.columns
        }
    related = None if view.useful is None else view.useful.related
    numbered = {} if related is None else dict.fromkeys(RELATED, related.key)
    return plotted(figure, charts, numbered)


def charts_of(view: AuditView) -> Charts:
    """Return the charts there are; those of single columns are the page's own."""
    report = view.report
    bars = partial(svg.risk_bars, confidence=report.policy.confidence)
    judged = [item.bar for _, found in view.risks[:3] for item in found]
    charts: Charts = {"risks": partial(bars, judged, title="Risk of every attack against its threshold")}
    if membership := [item.bar for _, found in view.risks[3:] for item in found]:
        charts["membership"] = partial(bars, membership, title="Risk of membership against its threshold")
    if view.curves:
        charts["roc"] = partial(svg.roc, view.curves)
    for item in evidence.inferred(report):
        title = f"Risk of inference by column: {item.title}"
        name = "columns" if "columns" not in charts else f"columns: {item.title}"
        charts[name] = partial(svg.column_bars, item.bars, title=title, confidence=report.policy.confidence)
    if report.power is not None:
        charts["power"] = partial(svg.power, [row for row, _ in view.detections])
    for name, pillar, title in (
        ("diagnostics", "indicator", "Similarity of the release to the training rows"),
        ("replay", "property", evidence.REAPPEARING),
    ):
        if found := [item.bar for item in view.of_pillar(pillar)]:
            charts[name] = partial(bars, found, title=title)
    return charts | _pictures(report) | _useful(view)


def _pictures(report: Report) -> Charts:
    """Return the pictures of rows."""
    charts: Charts = {}
    portrait = report.portrait
    if portrait is None:
        return charts
    if (curves := portrait.distances) is not None:
        charts["distances"] = partial(svg.distributions, curves.grid, curves.synthetic, curves.control)
    if (rows := portrait.map) is not None:
        charts["map"] = partial(svg.heat_map, rows.cells, columns=rows.columns, rows=rows.rows)
    if (learned := portrait.learned) is not None:
        charts["learned map"] = partial(
            svg.heat_map,
            learned.cells,
            columns=learned.columns,
            rows=learned.rows,
            outlying=learned.outlying,
            title="Map of the learned space",
        )
    return charts


def _useful(view: AuditView) -> Charts:
    """Return the charts of two columns."""
    charts: Charts = {}
    if view.useful is None:
        return charts
    if (related := view.useful.related) is not None:
        for name, chart in zip(RELATED, related.charts, strict=True):
            charts[name] = partial(Markup, chart)
    for pair in view.useful.utility.pairs:
        charts[" and ".join(pair.columns)] = partial(svg.two_columns, pair)
    return charts
