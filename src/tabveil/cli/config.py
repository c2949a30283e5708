"""``tabveil config``: the file that repeats an audit."""

from pathlib import Path
from typing import Annotated

import typer

from tabveil.cli import files
from tabveil.cli.options import Force, Shown
from tabveil.cli.screen import show


def config(
    *,
    report: Annotated[Path, typer.Argument(metavar="REPORT", help="A JSON report.", show_default=False)],
    out: Shown = None,
    force: Force = False,
) -> None:
    """Write what an audit was asked for."""
    from tabveil.auditing.report import Report
    from tabveil.core.storage.files import write_text

    if out is not None:
        out = files.writable("--out", out, force=force, not_over=[report])
    stored = Report.read(report)
    if out is None:
        show(stored.config())
    else:
        write_text(out, stored.config(folder=out.parent))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        help="Write the file that repeats an audit, from its JSON report.\n\n"
        "It says all that was asked for: tables, metrics, attackers, policy, seed. Edit it, keep it beside "
        "the data, and give it to [bold]tabveil audit --config[/].",
        epilog="Examples:\n\n[cyan]tabveil config report.json --out audit.yaml[/]\n\n"
        "[cyan]tabveil audit --config audit.yaml[/]",
    )(config)
