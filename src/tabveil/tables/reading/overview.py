"""What one sees of a table before an audit: kind, range and missing values of each column, and no rare value.

A label is told where at least ten rows share it, and how many rows have others unless they are fewer. The
range of numbers and dates leaves out the ten lowest and the ten highest rows, and ends at round numbers, so
that it is nobody's value.
"""

import math
from typing import Any

import numpy as np

from tabveil.core.people import LEAST_SHARED
from tabveil.core.table import Categorical, Column, Floats
from tabveil.tables.reading.describe import type_name
from tabveil.tables.reading.layout import Layout, edges_in_words
from tabveil.tables.reading.load import SchemaSource, load_table
from tabveil.tables.reading.raw_column import Kind

MOST_LABELS = 6
"""The commonest, of each column."""

_DIGITS = 1  # behind the first one: 37, 3700, 0.37


def overview(source: Any, *, schema: SchemaSource = None, missing: tuple[str, ...] = ()) -> dict[str, Any]:  # noqa: ANN401 - a path or a table
    """Return plain data: the number of rows, what to look at first, and an entry for each column."""
    loaded = load_table(source, schema=schema, missing=missing)
    columns = []
    for column, place in loaded.layout.of(loaded.table):
        cells = loaded.table.column(column.name)
        kind: str = type_name(column, place)
        if column.name in loaded.texts:
            kind = "text"
        elif column.name in loaded.identifiers:
            kind = "identifier"
        told = {} if kind in {"text", "identifier"} else _values(column, cells, loaded.layout)
        n_missing = int(np.isnan(cells).sum())
        columns.append({"name": column.name, "kind": kind, "missing": n_missing, **told})
    return {"rows": len(loaded.table), "notes": list(loaded.notes), "columns": columns}


def _values(column: Column, cells: Floats, layout: Layout) -> dict[str, Any]:
    """Tell the range of a column, or its common labels and how many rows have others."""
    there = cells[~np.isnan(cells)]
    if isinstance(column, Categorical):
        counts = np.bincount(there.astype(np.int64), minlength=len(column.labels))
        order = [code for code in np.argsort(-counts, kind="stable") if counts[code] >= LEAST_SHARED]
        shown = order[:MOST_LABELS]
        others = len(there) - sum(int(counts[code]) for code in shown)
        told = [{"label": str(column.labels[code]), "rows": int(counts[code])} for code in shown]
        return {"labels": told, "others": None if 0 < others < LEAST_SHARED else others}
    if len(there) < 2 * LEAST_SHARED:
        return {}
    ordered = np.sort(there)
    low, high = float(ordered[LEAST_SHARED - 1]), float(ordered[-LEAST_SHARED])
    if layout.columns[column.name].kind in {Kind.TIME, Kind.DURATION}:
        return {}
    if layout.columns[column.name].kind is Kind.MOMENT:
        edges = edges_in_words(np.array([low, high]), column, layout) or ["", ""]
        return {"low": edges[0], "high": edges[1]}
    return {"low": f"{_round(low):,.10g}", "high": f"{_round(high):,.10g}"}


def _round(value: float) -> float:
    """Leave two digits of a number.

    >>> _round(3744.0), _round(-0.0123), _round(0.0)
    (3700.0, -0.012, 0.0)
    """
    if value == 0:
        return 0.0
    return round(value, _DIGITS - math.floor(math.log10(abs(value))))
