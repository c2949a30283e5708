"""``tabveil compare``: several releases side by side."""

from pathlib import Path
from typing import Annotated

import typer

from tabveil.cli import files
from tabveil.cli.options import Force, option
from tabveil.cli.screen import Screen


def compare(
    *,
    reports: Annotated[
        list[Path], typer.Argument(metavar="REPORT...", help="JSON reports.", show_default=False)
    ],
    html: Annotated[Path | None, option("FILE", "Write the comparison as a page.")] = None,
    force: Force = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No table, no progress.")] = False,
) -> None:
    """Compare reports."""
    from tabveil.render.comparison import side_by_side

    if html is not None:
        html = files.writable("--html", html, force=force, not_over=reports)
    compared = side_by_side.compare(reports)
    if html is not None:
        compared.to_html(html)
    if not quiet:
        Screen().print(side_by_side.ranking(compared.reports))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        help="Set several releases side by side: risks, verdicts, usefulness.\n\n"
        "Takes the JSON reports that [bold]tabveil audit --json[/] wrote. The order is one of concern, "
        "not a score.",
        epilog="Examples:\n\n[cyan]tabveil compare ctgan.json trees.json --html compare.html[/]",
    )(compare)
