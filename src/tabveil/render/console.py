"""What all texts on the terminal share: readable at 80 columns and without color.

Everything that comes from outside (column names in notes, reasons) is set as plain text, never as markup.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from rich import box
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tabveil.auditing.verdict import State
from tabveil.core import wording
from tabveil.core.estimate import Estimate

STYLES: Mapping[State, str] = {
    "within threshold": "bold",
    "above threshold": "bold red",
    "inconclusive": "bold yellow",
}

_MOST_REASONS = 10

number = partial(wording.number, minus="-")
lower, upper = partial(wording.lower, minus="-"), partial(wording.upper, minus="-")
"""The terminal's minus is the plain one: an old terminal shows "?" for any other."""


def plain_table(first: str, *right: str) -> Table:
    """Start a table without a frame: its first column may fold, those to its right are numbers."""
    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold"
    )
    table.add_column(first, overflow="fold")
    for heading in right:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def section(title: str, *parts: RenderableType) -> list[RenderableType]:
    """Set parts under a title, apart from what stands above."""
    return [Text(), Text(title, style="bold"), *parts]


def listed_item(text: str | Text) -> RenderableType:
    """Write an item of a list."""
    grid = Table.grid(padding=(0, 1))
    grid.add_row(Text("-"), text if isinstance(text, Text) else Text(" ".join(text.split())))
    return Padding(grid, (0, 0, 0, 1))


def reasons_listed(lines: Sequence[str]) -> list[RenderableType]:
    """Write reasons as a list, the first of many and how many more there are."""
    shown = [listed_item(Text(line)) for line in lines[:_MOST_REASONS]]
    more = len(lines) - _MOST_REASONS
    return [*shown, listed_item(f"and {wording.plural(more, 'further reason')}")] if more > 0 else shown


def state_text(state: State) -> Text:
    """Write what a verdict says."""
    return Text(state, style=STYLES[state])


def value(estimate: Estimate | None, missing: str = "") -> str:
    """Write an estimate without its interval."""
    return missing if estimate is None else number(estimate.value)


def interval(estimate: Estimate, to: str = " to ") -> str:
    """Write the interval of an estimate."""
    return f"{lower(estimate.low)}{to}{upper(estimate.high)}"
