"""``tabveil schema``: the column types of a table, to edit."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tabveil.cli import files
from tabveil.cli.options import Drop, Force, Missing, Schema, Shown, Table, option


def schema(
    *,
    file: Table,
    drop: Drop = None,
    missing: Missing = None,
    out: Shown = None,
    json: Annotated[
        Path | None,
        option(
            "FILE", "Write kind, range and missing values of each column as JSON instead; '-' is the screen."
        ),
    ] = None,
    schema: Schema = None,
    force: Force = False,
) -> None:
    """Describe a file."""
    from tabveil.errors import ParameterError
    from tabveil.tables import reading as frame

    absent, gone = tuple(missing or ()), drop or ()
    if json is None and schema is not None:
        raise ParameterError(
            "--schema", "goes with --json: a file of types is what this command writes else."
        )
    if json is not None and out is not None:
        raise ParameterError("--out", "and --json write different things; ask for one of them.")
    if json is not None:
        place = files.destination("--json", json, force=force, not_over=[file, schema])
        files.write_json(_overview(file, schema, gone, absent), place)
        return
    if out is not None:
        files.writable("--out", out, force=force, not_over=[file])
    text = frame.describe(file, missing=absent, drop=gone)
    files.write_or_show(text, out, force=force, not_over=[file])


def _overview(file: Path, schema: Path | None, drop: Sequence[str], missing: tuple[str, ...]) -> str:
    """Return what one sees of each column, read as a schema says, as JSON."""
    import json as dialect

    from tabveil.tables.reading import declare
    from tabveil.tables.reading.overview import overview

    found = overview(file, schema=declare.read(schema, drop=drop), missing=missing)
    return dialect.dumps(found, ensure_ascii=False, indent=2)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        help="Write down the column types found in a table, to be edited and given to an audit.\n\n"
        "Comments say what to look at first: columns that may be meant in several ways, and how to say "
        "which. [bold]--json[/] tells more of each column, for a program or a quick look: its kind, its "
        "range without the ten lowest and the ten highest rows, how many values are missing, and the labels "
        "that at least ten rows share.",
        epilog="Examples:\n\n[cyan]tabveil schema patients.csv --missing '?' --out schema.yaml[/]\n\n"
        "[cyan]tabveil schema patients.csv --schema schema.yaml --json -[/]\n\n"
        "[cyan]tabveil audit --schema schema.yaml --train train.csv --synthetic out.csv[/]",
    )(schema)
