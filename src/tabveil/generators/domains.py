"""Values stay in their column's domain: whole numbers whole, dates dates, nothing outside the range."""

import numpy as np

from tabveil.errors import ParameterError
from tabveil.table import Categorical, Column, Floats, Numeric, Table


def within(column: Column, cells: Floats) -> Floats:
    """Return the cells in the form the column has: rounded to its decimals, cut to its range; NaN stays."""
    match column:
        case Numeric(low=low, high=high, decimals=decimals):
            rounded = cells if decimals is None else np.round(cells, decimals)
            return np.clip(rounded, low, high)
        case Categorical(labels=labels):
            return np.clip(np.round(cells), 0, max(len(labels) - 1, 0))


def require_rows(generator: str, table: Table, n_rows: int = 1) -> None:
    """Refuse a table with too few rows to learn from."""
    if len(table) < n_rows:
        few = f"{n_rows} row{'s'[: n_rows > 1]}"
        raise ParameterError(f"{generator}: needs at least {few} to learn from, got {len(table)}.")
