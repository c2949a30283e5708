"""Numbers on a scale: shares of their column's range, whole numbers of its last decimal place.

Distances and trees need one scale for all columns (single precision is easily lost). Whoever compares
differences, or counts what is possible, needs whole numbers: 0.3 is then exactly as far from 0.2 as that is
from 0.1.
"""

import numpy as np

from tabveil.core.table import Column, Floats, Numeric, Table


def unit(table: Table) -> Floats:
    """Return the cells (n, d) with numbers as shares of their column's range; codes and NaN stay."""
    low, width = np.array([_range(column) for column in table.schema.columns]).reshape(-1, 2).T
    return np.ascontiguousarray((table.values - low) / width)


def shares_of_range(column: Column, cells: Floats) -> Floats:
    """Return the cells of one column as :func:`unit` does.

    >>> shares_of_range(Numeric(name="age", low=20, high=60), np.array([20.0, 30.0, np.nan])).tolist()
    [0.0, 0.25, nan]
    """
    low, width = _range(column)
    return (cells - low) / width


def _range(column: Column) -> tuple[float, float]:
    """Return low end and width; those of a constant column and of labels change nothing but the origin."""
    return (column.low, column.width or 1.0) if isinstance(column, Numeric) else (0.0, 1.0)


def places_a_unit(decimals: int | None) -> float:
    """Return how many last decimal places make 1; numbers without such a place are left as they are."""
    return 10.0 ** (decimals or 0)


def in_last_places(cells: Floats, decimals: int | None) -> Floats:
    """Return numbers as whole numbers of their last decimal place, or as they are if they have none.

    >>> in_last_places(np.array([0.1, 0.2, 0.3]), 1).tolist()
    [1.0, 2.0, 3.0]
    """
    return cells if decimals is None else np.rint(cells * places_a_unit(decimals))


def n_steps(column: Numeric) -> float:
    """Return how many last decimal places the range has: no end of them where any number is legal."""
    return np.inf if column.decimals is None else column.width * places_a_unit(column.decimals)
