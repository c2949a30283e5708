"""``tabveil schema``: the column types of a table, or of linked ones, to edit."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tabveil.cli import databases, files
from tabveil.cli.options import (
    Drop,
    Force,
    Metadata,
    Missing,
    PersonTable,
    Schema,
    Shown,
    Tables,
    option,
)
from tabveil.errors import ParameterError


def schema(
    *,
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="A table.", show_default=False)
    ] = None,
    tables: Tables = None,
    metadata: Metadata = None,
    data: Annotated[Path | None, option("FOLDER", "With --metadata: the folder of the tables.")] = None,
    person_table: PersonTable = None,
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
    """Describe a file, or linked tables."""
    from tabveil.tables import reading as frame
    from tabveil.tables.linked.describing import described

    words, gone = tuple(missing or ()), drop or ()
    read = [path for path in (file, tables, metadata, schema) if path is not None]
    if file is not None and (tables, metadata, data, person_table) != (None, None, None, None):
        raise ParameterError("FILE", "is one table; linked tables are named by --tables or --metadata alone.")
    if file is None and data is not None and metadata is None:
        raise ParameterError("--data", "goes with --metadata; one table is named without it.")
    if file is None and tables is None and metadata is None:
        raise ParameterError("FILE", "is missing: name a table; linked tables by --tables.")
    if json is None and schema is not None:
        raise ParameterError(
            "--schema", "goes with --json: a file of types is what this command writes else."
        )
    if json is not None and out is not None:
        raise ParameterError("--out", "and --json write different things; ask for one of them.")
    if out is not None:
        files.writable("--out", out, force=force, not_over=read)
    if file is None:
        databases.refuse("it looks at one table.", json=json)
        databases.refuse(databases.NOT_DROPPED, drop=drop or None)
        database = databases.asked_database(tables, metadata, person_table, data)
        assert database is not None
        text = described(database, words, Path() if out is None else out.parent)
    elif json is not None:
        place = files.destination("--json", json, force=force, not_over=read)
        files.write_json(_overview(file, schema, gone, words), place)
        return
    else:
        text = frame.describe(file, missing=words, drop=gone)
    files.write_or_show(text, out, force=force, not_over=read)


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
        "that at least ten rows share. Of linked tables ([bold]--tables[/]) the whole database file is "
        "written, with how many people and rows there are.",
        epilog="Examples:\n\n[cyan]tabveil schema patients.csv --missing '?' --out schema.yaml[/]\n\n"
        "[cyan]tabveil schema patients.csv --schema schema.yaml --json -[/]\n\n"
        "[cyan]tabveil audit --schema schema.yaml --train train.csv --synthetic out.csv[/]\n\n"
        "[cyan]tabveil schema --tables db.yaml --out described.yaml[/]",
    )(schema)
