"""Which whole numbers are times of day, such as 1430 for half past two?

A generator that takes 1430 for a thousand and more draws minutes that no clock has. Looking at rows to tell
breaks a promise of ε, so this is done for generators without one only.
"""

from collections.abc import Collection

import numpy as np

from tabveil.core.table import Floats, Numeric, Table
from tabveil.tables.reading import Layout
from tabveil.tables.reading.raw_column import Kind

MINUTES, LAST = 60, 2400
FEWEST_MINUTES = 20
"""So many different minutes must be among numbers that are to be times: chance leaves 40 in 100 out."""


def whole_numbers(table: Table, layout: Layout, *, besides: Collection[str]) -> list[int]:
    """Return the columns of whole numbers, dates and times excepted, but for those in ``besides``."""
    return [
        k
        for k, column in enumerate(table.schema.columns)
        if isinstance(column, Numeric)
        and column.integer
        and layout.columns[column.name].kind is Kind.NUMBER
        and column.name not in besides
    ]


def is_clock(cells: Floats) -> bool:
    """Whether numbers are hours and minutes, such as 1430 for half past two.

    >>> is_clock(np.array([60.0 * (minute % 2) + 100 * hour for hour in range(24) for minute in range(60)]))
    False
    >>> is_clock(np.array([100.0 * hour + minute for hour in range(24) for minute in range(60)]))
    True
    """
    held = cells[~np.isnan(cells)]
    minutes = held % 100
    return bool(
        len(held)
        and (held >= 0).all()
        and (held <= LAST).all()
        and (minutes < MINUTES).all()
        and len(np.unique(minutes)) >= FEWEST_MINUTES
        and len(np.unique(held // 100)) > 2  # noqa: PLR2004 - else hundreds of something
    )


def to_minutes(cells: Floats) -> Floats:
    """Return minutes since midnight.

    >>> to_minutes(np.array([1430.0, 5.0])).tolist(), to_clock(np.array([870.0, 5.0])).tolist()
    ([870.0, 5.0], [1430.0, 5.0])
    """
    return cells // 100 * MINUTES + cells % 100


def to_clock(minutes: Floats) -> Floats:
    """Return hours and minutes as one number again."""
    return minutes // MINUTES * 100 + minutes % MINUTES
