"""``tabveil metrics``: every metric there is."""

import typer
from rich.text import Text

from tabveil.cli.screen import Screen


def metrics() -> None:
    """List the metrics."""
    from rich.padding import Padding

    from tabveil.metrics.registry import METRICS

    console = Screen()
    for name, metric in METRICS.items():
        question = (metric.__doc__ or "").strip().partition("\n")[0]
        labels = metric.labels
        auxiliary = "with auxiliary data" if labels.auxiliary else "without auxiliary data"
        where = f"{labels.pillar}, {labels.wp29}, by {labels.mechanism}, {labels.threat_model}, {auxiliary}"
        title = metric.title
        console.print(Text.assemble((name, "bold"), "" if title == name else f": {title}"))
        console.print(Padding(Text(question), (0, 0, 0, 2)))
        console.print(Padding(Text(where, style="dim"), (0, 0, 0, 2)))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(help="List every metric: the question it answers and where it belongs.")(metrics)
