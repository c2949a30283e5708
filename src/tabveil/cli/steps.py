"""What can be asked on the command line beside a generator: filter, deduplicate, pseudonymize.

The work itself is in ``step_files``, imported when a command runs: ``--help`` must not wait for pandas.
"""
# ruff: noqa: PLC0415 - see above

from pathlib import Path
from typing import Annotated

import typer

from tabveil.cli.files import Force
from tabveil.cli.options import Missing
from tabveil.cli.synthesize import Out, Seed, Threads
from tabveil.errors import ParameterError

FILE, COLUMN, N, SHARE = "FILE", "COLUMN", "N", "SHARE"
Data = Annotated[Path, typer.Option(metavar=FILE, help="The real rows.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No summary, no progress; warnings stay.")]


def filter_release(
    *,
    train: Annotated[Path, typer.Option(metavar=FILE, help="The real rows the generator learned from.")],
    synthetic: Annotated[Path, typer.Option(metavar=FILE, help="The rows to be filtered.")],
    control: Annotated[
        Path, typer.Option(metavar=FILE, help="Real rows the generator never saw: they set the bar.")
    ],
    out: Out,
    near: Annotated[
        float,
        typer.Option(
            metavar=SHARE,
            help="Drop rows nearer to a training row than this share of control rows are; 0 drops none.",
        ),
    ] = 0.02,
    outliers: Annotated[
        float,
        typer.Option(metavar=SHARE, help="Then drop this share of the rest: what stands apart most."),
    ] = 0.0,
    utility: Annotated[
        bool, typer.Option("--utility/--no-utility", help="Measure what dropping them costs.")
    ] = True,
    target: Annotated[
        list[str] | None,
        typer.Option(metavar=COLUMN, help="A column models should predict (for usefulness). Repeatable."),
    ] = None,
    schema: Annotated[
        Path | None, typer.Option(metavar=FILE, help="Column types, as written by 'tabveil schema'.")
    ] = None,
    missing: Missing = None,
    drop_identifiers: Annotated[
        bool,
        typer.Option(
            "--drop-identifiers/--keep-all",
            help="Do not compare columns that look like identifiers; the rows keep them.",
        ),
    ] = False,
    seed: Seed = 0,
    threads: Threads = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Filter a file."""
    from tabveil.cli import step_files

    step_files.filter_release(
        train=train,
        synthetic=synthetic,
        control=control,
        out=out,
        near=near,
        outliers=outliers,
        utility=utility,
        target=tuple(target or ()),
        schema=schema,
        missing=tuple(missing or ()),
        drop_identifiers=drop_identifiers,
        seed=seed,
        threads=threads,
        force=force,
        quiet=quiet,
    )


def deduplicate(
    *,
    data: Data,
    out: Out,
    person: Annotated[
        str | None, typer.Option(metavar=COLUMN, help="The column that says whose row it is.")
    ] = None,
    most: Annotated[
        int | None, typer.Option(metavar=N, min=1, help="How many rows of a person are kept.")
    ] = None,
    equal: Annotated[
        bool, typer.Option("--drop-equal/--keep-equal", help="Keep rows that are equal in all columns once.")
    ] = True,
    seed: Seed = 0,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Deduplicate a file."""
    from tabveil.cli import step_files

    step_files.deduplicate(
        data=data, out=out, person=person, most=most, equal=equal, seed=seed, force=force, quiet=quiet
    )


def pseudonymize(
    *,
    data: Data,
    key: Annotated[
        Path,
        typer.Option(metavar=FILE, help="The file of the key; made if there is none, for its owner alone."),
    ],
    out: Out,
    column: Annotated[
        list[str] | None, typer.Option(metavar=COLUMN, help="A column that names people. Repeatable.")
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(
            metavar=COLUMN,
            help="A column of free text, in which people are named. Repeatable; if left out, those that look "
            "like it.",
        ),
    ] = None,
    no_text: Annotated[bool, typer.Option("--no-text", help="Leave all free text as it is.")] = False,
    style: Annotated[
        str,
        typer.Option(
            metavar="hash|invented",
            help="A keyed hash, the same in every file; or an identifier of the same form that nobody has.",
        ),
    ] = "hash",
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Pseudonymize a file."""
    from tabveil.cli import step_files

    if no_text and text:
        raise ParameterError("--no-text", "--text names columns in which something is to be replaced.")
    step_files.pseudonymize(
        data=data,
        columns=tuple(column or ()),
        texts=() if no_text else text,
        key=key,
        out=out,
        style=style,  # type: ignore[arg-type] # checked where it is used
        force=force,
        quiet=quiet,
    )


def register(app: typer.Typer) -> None:
    """Add the three commands."""
    app.command(
        "filter",
        help="Drop rows of a release that are too near to training rows, judged by rows never seen.\n\n"
        "The bar is how near control rows come: all rows of the release below it are dropped, and exact "
        "copies beyond what control has. With [bold]--outliers[/] also rows that stand apart. Says what it "
        "costs. It voids a promise of differential privacy, and holes are hints: audit what is left.",
        epilog="Examples:\n\n"
        "[cyan]tabveil filter --train t.csv --control c.csv --synthetic s.csv --out filtered.csv[/]\n\n"
        "[cyan]tabveil filter --train t.csv --control c.csv --synthetic s.csv --outliers 0.01 "
        "--no-utility --out filtered.csv[/]",
    )(filter_release)
    app.command(
        help="Keep equal rows once, and at most so many rows of a person, before a generator learns them.\n\n"
        "Which rows of a person are kept is chosen at random, by the seed and by what they hold. "
        "A row that is left can still be learned by heart.",
        epilog="Examples:\n\n[cyan]tabveil deduplicate --data patients.csv --out once.csv[/]\n\n"
        "[cyan]tabveil deduplicate --data visits.csv --person patient --most 3 --out fewer.csv[/]",
    )(deduplicate)
    app.command(
        help="Replace identifiers by pseudonyms that only the holder of a key can find again.\n\n"
        "A pseudonym is a keyed hash (HMAC-SHA256): the same value has the same one in every file, as long "
        "as the key is the same. In free text, people are named by the same pseudonyms: what the columns "
        "hold, names after a title, and e-mail addresses, phone and account numbers by their form. Other "
        "names stay. People can still be found by the other columns and by the story: what is left is "
        "personal data. The key is never shown; keep it away from the table.",
        epilog="Examples:\n\n"
        "[cyan]tabveil pseudonymize --data patients.csv --column name --key secret.key --out p.csv[/]\n\n"
        "[cyan]tabveil pseudonymize --data l.csv --column name --text letter --key k --out p.csv[/]\n\n"
        "[cyan]tabveil pseudonymize --data p.csv --column case --style invented --key k --out q.csv[/]",
    )(pseudonymize)
