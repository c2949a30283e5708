"""``tabveil schema``: the column types of a table, to edit."""

import typer

from tabveil.cli import files
from tabveil.cli.options import Drop, Force, Missing, Shown, Table


def schema(
    *, file: Table, drop: Drop = None, missing: Missing = None, out: Shown = None, force: Force = False
) -> None:
    """Describe a file."""
    from tabveil.tables import reading as frame

    if out is not None:
        files.writable("--out", out, force=force, not_over=[file])
    text = frame.describe(file, missing=tuple(missing or ()), drop=drop or ())
    files.write_or_show(text, out, force=force, not_over=[file])


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        help="Write down the column types found in a table, to be edited and given to an audit.\n\n"
        "Comments say what to look at first: columns that may be meant in several ways, and how to say "
        "which.",
        epilog="Examples:\n\n[cyan]tabveil schema patients.csv --missing '?' --out schema.yaml[/]\n\n"
        "[cyan]tabveil audit --schema schema.yaml --train train.csv --synthetic out.csv[/]",
    )(schema)
