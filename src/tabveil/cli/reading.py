"""Options of commands that read tables: what their cells mean."""

from pathlib import Path
from typing import Annotated

import typer

Schema = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Column types, labels and bounds; begin with 'tabveil schema'."),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(metavar="TEXT", help="A text that stands for a missing value, such as '?'. Repeatable."),
]
