"""The range of a column: what the user declared, or else what the rows hold."""

import datetime as dt
from collections.abc import Sequence

import numpy as np

from tabveil.tables.reading import parsing
from tabveil.tables.reading.infer import Declaration
from tabveil.tables.reading.moments import STEPS
from tabveil.tables.reading.raw_column import RawColumn
from tabveil.tables.reading.text import Floats

DOMAIN_HINT = "Correct them, or what the schema declares."


def found(cells: Sequence[Floats]) -> tuple[float, float]:
    """Return the smallest and the largest value of all tables; zeros if there is none."""
    held = [each[~np.isnan(each)] for each in cells]
    lows = [float(each.min()) for each in held if len(each)]
    highs = [float(each.max()) for each in held if len(each)]
    return (min(lows), max(highs)) if lows else (0.0, 0.0)


def declared_or_found(
    name: str,
    pieces: Sequence[RawColumn],
    cells: Sequence[Floats],
    declared: Declaration | None,
    *,
    step: int = 1,
) -> tuple[float, float]:
    """Return the declared range, in units of ``step``; a bound that is not declared comes from the rows.

    Rows outside are refused by their numbers: a value may be shown only where many rows share it.
    """
    if declared is None or not declared.bounds:
        return found(cells)
    low = -np.inf if declared.low is None else declared.low / step
    high = np.inf if declared.high is None else declared.high / step
    for piece, each in zip(pieces, cells, strict=True):
        outside = (each < low) | (each > high)
        if outside.any():
            raise parsing.offending(name, piece, outside, _expected(declared), DOMAIN_HINT)
    held = found([*cells, np.array([bound / step for bound in declared.bounds])])
    return (held[0] if declared.low is None else low, held[1] if declared.high is None else high)


def _expected(declared: Declaration) -> str:
    what, write = ("dates", _date) if declared.type in ("date", "datetime") else ("numbers", _number)
    if declared.high is None:
        return f"{what} from {write(declared.low or 0)} on"
    if declared.low is None:
        return f"{what} up to {write(declared.high)}"
    return f"{what} from {write(declared.low)} to {write(declared.high)}"


def _number(bound: float) -> str:
    return f"{bound:.15g}"


def _date(bound: float) -> str:
    moment = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=bound)  # noqa: DTZ001 - as it was written
    return moment.date().isoformat() if bound % STEPS["days"] == 0 else moment.isoformat(" ")
