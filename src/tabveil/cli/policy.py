"""``tabveil policy``: a release policy to edit."""

import typer

from tabveil.cli.files import write_or_show
from tabveil.cli.options import Force, Shown


def policy(*, out: Shown = None, force: Force = False) -> None:
    """Write a policy."""
    from tabveil.auditing.policy import template

    write_or_show(template(), out, force=force)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        help="Write a release policy to edit: accepted risks, confidence, recipient, required metrics.",
        epilog="Examples:\n\n[cyan]tabveil policy --out policy.yaml[/]\n\n"
        "[cyan]tabveil audit --policy policy.yaml --train t.csv --control c.csv --synthetic s.csv[/]",
    )(policy)
