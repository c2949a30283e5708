"""Labels that no row holds, left out of what is handed over.

The labels of a column are read from real rows. A categorical column lists all of them, also those that only
one person has and no synthetic row holds: a release would name them. An ordered column is left whole: its
labels are a scale (or an enumeration of polars), which its author listed and which says little in parts.
"""

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow.types as pt

from tabveil.core.table import Categorical, Schema, Table
from tabveil.tables.reading.layout import ColumnLayout, Layout
from tabveil.tables.reading.raw_column import Kind


def without_unused_labels(table: Table, layout: Layout, *, keep: Collection[str]) -> tuple[Table, Layout]:
    """Return the same rows with only the labels in use, but for the columns in ``keep``, and their layout."""
    values, columns, places = np.array(table.values), list(table.schema.columns), dict(layout.columns)
    for position, (column, place) in enumerate(layout.of(table)):
        whole = column.name in keep or (pt.is_dictionary(place.type) and place.type.ordered)
        if whole or place.kind is not Kind.LABELS or not isinstance(column, Categorical):
            continue
        cells = values[:, position]
        held = ~np.isnan(cells)
        used, codes = np.unique(cells[held].astype(np.int64), return_inverse=True)
        values[held, position] = codes
        columns[position] = replace(column, labels=tuple(column.labels[code] for code in used))
        if isinstance(place.dtype, pd.CategoricalDtype):  # it lists them too; Arrow's column brings its own
            places[column.name] = replace(place, dtype=None)
    return Table(schema=Schema(tuple(columns)), values=values), replace(layout, columns=places)


def without_labels(place: ColumnLayout) -> ColumnLayout:
    """Return how a column stands without the labels that its type lists: those of pandas and enumerations."""
    lists = isinstance(place.dtype, pd.CategoricalDtype)
    enumerated = pt.is_dictionary(place.type) and place.type.ordered
    return replace(place, dtype=None) if lists or enumerated else place
