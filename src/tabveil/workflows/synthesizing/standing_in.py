"""What stands for all rare values of a column together: a label, or a number, that none of its rows has."""

import numpy as np

from tabveil.core.table import Column, Floats, Numeric
from tabveil.tables.reading.layout import ColumnLayout, room_for_others
from tabveil.tables.reading.raw_column import Kind
from tabveil.workflows.synthesizing.linked import Value

OTHER = ("other", "other labels", "other (rare)", "rare labels together")
"""The first of these that is no label of the column."""


def other_of(column: Column, place: ColumnLayout, cells: Floats) -> Value:
    """Return what can stand there, in a column of labels or of codes; None where nothing can."""
    room = room_for_others(place)
    if isinstance(column, Numeric):
        held = cells[~np.isnan(cells)]
        return _other_number(held, room or (-np.inf, np.inf)) if column.integer and len(held) else None
    if place.kind is not Kind.LABELS:
        return None
    if room is None:
        known = {label.strip().casefold() for label in column.labels}
        return next((label for label in OTHER if label not in known), None)
    try:
        number = _other_number(np.array([float(label) for label in column.labels]), room)
    except ValueError:  # no numbers
        return None
    return None if number is None else f"{number:.0f}"


def _other_number(held: Floats, room: tuple[float, float]) -> float | None:
    """Return -1 where all are larger and it can be written; else as many nines as it takes.

    >>> _other_number(np.array([3.0, 250.0]), (-(2**31), 2**31)), _other_number(np.array([3.0]), (0, 255))
    (-1.0, 9.0)
    """
    low, high = room
    if held.min(initial=0) >= 0 > low:
        return -1.0
    largest = max(float(np.abs(held).max(initial=0)), 1.0)
    nines = float(10 ** len(f"{largest:.0f}") - 1)
    nines = nines if nines > largest else nines * 10 + 9
    return nines if nines <= high else None
