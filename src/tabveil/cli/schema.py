"""``tabveil schema``: the column types of a table, or of linked ones, to edit."""

from pathlib import Path
from typing import Annotated

import typer

from tabveil.cli import databases, files
from tabveil.cli.options import Force, Metadata, Missing, PersonTable, Shown, Tables, option
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
    missing: Missing = None,
    out: Shown = None,
    force: Force = False,
) -> None:
    """Describe a file, or linked tables."""
    from tabveil.tables import reading as frame
    from tabveil.tables.linked.describing import described

    words = tuple(missing or ())
    read = [path for path in (file, tables, metadata) if path is not None]
    if file is not None and (tables, metadata, data, person_table) != (None, None, None, None):
        raise ParameterError("FILE", "is one table; linked tables are named by --tables or --metadata alone.")
    if file is None and data is not None and metadata is None:
        raise ParameterError("--data", "goes with --metadata; one table is named without it.")
    if out is not None:
        files.writable("--out", out, force=force, not_over=read)
    if file is not None:
        text = frame.describe(file, missing=words)
    else:
        database = databases.asked_database(tables, metadata, person_table, data)
        assert database is not None
        text = described(database, words, Path() if out is None else out.parent)
    files.write_or_show(text, out, force=force, not_over=read)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        help="Write down the column types found in a table, to be edited and given to an audit.\n\n"
        "Comments say what to look at first: columns that may be meant in several ways, and how to say "
        "which. Of linked tables ([bold]--tables[/]) the whole database file is written, with how many "
        "people and rows there are.",
        epilog="Examples:\n\n[cyan]tabveil schema patients.csv --missing '?' --out schema.yaml[/]\n\n"
        "[cyan]tabveil audit --schema schema.yaml --train train.csv --synthetic out.csv[/]\n\n"
        "[cyan]tabveil schema --tables db.yaml --out described.yaml[/]",
    )(schema)
