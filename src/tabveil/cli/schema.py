"""``tabveil schema``: the column types of a table, to edit."""

from pathlib import Path
from typing import Annotated

import typer

from tabveil.cli import files
from tabveil.cli.options import Force, Missing, Schema, Shown, Table, option


def schema(
    *,
    file: Table,
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
    from tabveil.tables import reading as frame

    absent = tuple(missing or ())
    if json is not None or schema is not None:
        _overview(file, absent, json, schema, out, force=force)
        return
    if out is not None:
        files.writable("--out", out, force=force, not_over=[file])
    files.write_or_show(frame.describe(file, missing=absent), out, force=force, not_over=[file])


def _overview(
    file: Path,
    missing: tuple[str, ...],
    json: Path | None,
    schema: Path | None,
    out: Path | None,
    *,
    force: bool,
) -> None:
    """Write what one sees of each column, read as a schema says."""
    import json as dialect

    from tabveil.errors import ParameterError
    from tabveil.tables.reading.overview import overview

    if json is None:
        raise ParameterError(
            "--schema", "goes with --json: a file of types is what this command writes else."
        )
    if out is not None:
        raise ParameterError("--out", "and --json write different things; ask for one of them.")
    place = files.destination("--json", json, force=force, not_over=[file, schema])
    found = overview(file, schema=schema, missing=missing)
    files.write_json(dialect.dumps(found, ensure_ascii=False, indent=2), place)


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
