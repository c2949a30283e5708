"""What can be asked about anonymization on the command line: generalize a table, propose what that needs.

The work itself is in ``anonymizing``, imported when a command runs: ``--help`` must not wait for pandas.
"""
# ruff: noqa: PLC0415 - see above

from pathlib import Path
from typing import Annotated

import typer

from tabveil.cli.files import Force, Html, Json
from tabveil.cli.options import Missing

FILE = "FILE"
Table = Annotated[Path, typer.Argument(metavar=FILE, help="A table.", show_default=False)]


def anonymize(
    *,
    data: Annotated[Path, typer.Option(metavar=FILE, help="The real rows.")],
    config: Annotated[Path, typer.Option(metavar=FILE, help="What is asked for (YAML, JSON).")],
    out: Annotated[
        Path, typer.Option(metavar=FILE, help="Where to write the generalized rows (.csv, .parquet ...).")
    ],
    html: Html = None,
    json: Json = None,
    force: Force = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No summary, no progress.")] = False,
) -> None:
    """Anonymize a file."""
    from tabveil.cli import anonymizing

    anonymizing.anonymize(data=data, config=config, out=out, html=html, json=json, force=force, quiet=quiet)


def hierarchies(
    *,
    file: Table,
    column: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A quasi-identifier. Repeatable; all columns if left out."),
    ] = None,
    missing: Missing = None,
    out: Annotated[Path | None, typer.Option(metavar=FILE, help="Write it here, not to the screen.")] = None,
    force: Force = False,
) -> None:
    """Propose hierarchies."""
    from tabveil.cli import anonymizing

    anonymizing.hierarchies(
        file=file, columns=tuple(column or ()), missing=tuple(missing or ()), out=out, force=force
    )


def quasi_identifiers(
    *, file: Table, missing: Missing = None, json: Json = None, force: Force = False
) -> None:
    """Propose quasi-identifiers."""
    from tabveil.cli import anonymizing

    anonymizing.quasi_identifiers(file=file, missing=tuple(missing or ()), json=json, force=force)


def register(app: typer.Typer) -> None:
    """Add the three commands."""
    app.command(
        help="Generalize a table as little as its promises allow (k-anonymity, l-diversity, t-closeness).\n\n"
        "The file says which columns are quasi-identifiers, what their values may be generalized to, what "
        "every group of equal rows must promise, and how many rows may be left out; "
        "[bold]tabveil hierarchies[/] proposes one. The optimum is exact, or said not to be proven. "
        "A promise about groups is a property, no proof against every attacker.",
        epilog="Examples:\n\n"
        "[cyan]tabveil anonymize --data patients.csv --config anonymize.yaml --out released.csv[/]\n\n"
        "[cyan]tabveil anonymize --data p.csv --config a.yaml --out r.csv --html how.html --json how.json[/]",
    )(anonymize)
    app.command(
        help="Propose a file to edit for [bold]tabveil anonymize[/]: a hierarchy for each column.\n\n"
        "Numbers get rounded quantile cuts, dates calendar units, codes prefixes, labels their frequency. "
        "Labels that fewer than ten rows share are not written into it.",
        epilog="Examples:\n\n[cyan]tabveil hierarchies patients.csv --out anonymize.yaml[/]\n\n"
        "[cyan]tabveil hierarchies patients.csv --column age --column sex[/]",
    )(hierarchies)
    app.command(
        "quasi-identifiers",
        help="Show which columns set people apart, alone and together: candidates for quasi-identifiers.\n\n"
        "Whether somebody else knows a column no table tells. So this proposes, and you decide.",
        epilog="Examples:\n\n[cyan]tabveil quasi-identifiers patients.csv[/]\n\n"
        "[cyan]tabveil quasi-identifiers patients.csv --missing '?' --json -[/]",
    )(quasi_identifiers)
