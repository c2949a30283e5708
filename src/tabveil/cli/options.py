"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

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


Schema = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Column types, labels and bounds; begin with 'tabveil schema'."),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(metavar="TEXT", help="A text that stands for a missing value, such as '?'. Repeatable."),
]
