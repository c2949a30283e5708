"""Tables as matrices: numbers on one scale, for distances and for trees (single precision is easily lost)."""

import numpy as np

from tabveil.table import Floats, Numeric, Table


def unit(table: Table) -> Floats:
    """Return the cells (n, d) with numbers as shares of their column's range; codes and NaN stay."""
    low, width = np.zeros(len(table.schema)), np.ones(len(table.schema))
    for position, column in enumerate(table.schema.columns):
        if isinstance(column, Numeric):
            low[position], width[position] = column.low, column.width or 1.0
    return np.ascontiguousarray((table.values - low) / width)
