"""Options that several commands share."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tabveil.auditing.options import OPTIONS


def option(metavar: str | None, text: str, **more: Any) -> Any:  # noqa: ANN401 - the parser's own settings
    """Offer an option that takes a value, with its line in the help."""
    return typer.Option(metavar=metavar, help=text, **more)


def asked(field: str) -> Any:  # noqa: ANN401 - what the parser takes for an option
    """Offer an option of the audit as it is declared."""
    found = OPTIONS[field]
    if found.switches:
        return typer.Option(found.switches, help=found.help)
    return option(found.metavar, found.help, min=found.least)


Force = Annotated[
    bool,
    typer.Option(
        "--force", help="Replace files that are already there; behind a link, the file it leads to."
    ),
]
Html = Annotated[Path | None, option("FILE", "Write a page to read and print.")]
Json = Annotated[Path | None, option("FILE", "Write all numbers as JSON; '-' is standard output.")]
Table = Annotated[Path, typer.Argument(metavar="FILE", help="A table.", show_default=False)]
Shown = Annotated[Path | None, option("FILE", "Write it here, not to the screen.")]

# What cells of tables mean.
Schema = Annotated[
    Path | None, option("FILE", "Column types, labels and bounds; begin with 'tabveil schema'.")
]
Drop = Annotated[list[str] | None, asked("drop")]
Missing = Annotated[
    list[str] | None, option("TEXT", "A text that stands for a missing value, such as '?'. Repeatable.")
]

# Linked tables.
Tables = Annotated[
    Path | None,
    option("FILE", "Linked tables: a YAML file that says how they hang together, and where they are."),
]
Metadata = Annotated[
    Path | None, option("FILE", "SDV's metadata.json of linked tables instead; --data is their folder.")
]
PersonTable = Annotated[
    str | None, option("TABLE", "With --metadata, if it does not tell: the table with a row for each person.")
]

# Rows that are made.
Out = Annotated[Path, option("FILE", "Where to write the rows (.csv, .parquet, .feather ...).")]
Save = Annotated[Path | None, option("FOLDER", "Keep the model here, to draw more rows later. Sensitive.")]
Seed = Annotated[int, option("N", "Same seed, same rows.", min=0)]
NumbersSeed = Annotated[int, option("N", "Same seed, same numbers.", min=0)]
Threads = Annotated[int | None, option("N", "How many threads to use; all cores if left out.", min=1)]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting of the generator. Repeatable."),
]

# Many cells: on how many processes, where, and with whose code.
Workers = Annotated[
    int | None, option("N", "How many processes to use; one for each core if left out.", min=1)
]
Scheduler = Annotated[
    str | None,
    option(
        "ADDRESS",
        "A Dask scheduler to use instead, tls:// beyond this machine; its workers must reach store and data.",
    ),
]
OwnCode = Annotated[
    list[Path] | None,
    typer.Option("--with", metavar="FILE.py", help="Code of your own to import first. Repeatable."),
]
Retry = Annotated[bool, typer.Option("--retry", help="Run again what failed before.")]

FailAbove = Annotated[
    float | None, option("RISK", "One threshold for all risks, such as 0.05. Sets the exit code.")
]
