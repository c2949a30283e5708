"""Options that several commands share."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tabveil.auditing.options import OPTIONS

Force = Annotated[
    bool,
    typer.Option(
        "--force", help="Replace files that are already there; behind a link, the file it leads to."
    ),
]
Html = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page to read and print.")]
Json = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write all numbers as JSON; '-' is standard output.")
]
Shown = Annotated[Path | None, typer.Option(metavar="FILE", help="Write it here, not to the screen.")]

# What cells of tables mean.
Schema = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Column types, labels and bounds; begin with 'tabveil schema'."),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(metavar="TEXT", help="A text that stands for a missing value, such as '?'. Repeatable."),
]

# Rows that are made.
Out = Annotated[
    Path, typer.Option(metavar="FILE", help="Where to write the rows (.csv, .parquet, .feather ...).")
]
Save = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Keep the model here, to draw more rows later. Sensitive."),
]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="Same seed, same rows.")]
NumbersSeed = Annotated[int, typer.Option(metavar="N", min=0, help="Same seed, same numbers.")]
Threads = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="How many threads to use; all cores if left out.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting of the generator. Repeatable."),
]

# Many cells: on how many processes, where, and with whose code.
Workers = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="How many processes to use; one for each core if left out."),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", help="A Dask scheduler to use instead; its workers must reach store and data."
    ),
]
OwnCode = Annotated[
    list[Path] | None,
    typer.Option("--with", metavar="FILE.py", help="Code of your own to import first. Repeatable."),
]
Retry = Annotated[bool, typer.Option("--retry", help="Run again what failed before.")]

FailAbove = Annotated[
    float | None,
    typer.Option(metavar="RISK", help="One threshold for all risks, such as 0.05. Sets the exit code."),
]


def asked(field: str) -> Any:  # noqa: ANN401 - what the parser takes for an option
    """Offer an option of the audit as it is declared."""
    option = OPTIONS[field]
    if option.switches:
        return typer.Option(option.switches, help=option.help)
    return typer.Option(metavar=option.metavar, min=option.least, help=option.help)
