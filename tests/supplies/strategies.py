"""Hypothesis strategies for tables as users have them: small, tied, with missing and constant columns."""

import numpy as np
from hypothesis import strategies as st

from tabveil.core.table import Categorical, Numeric, Schema, Split, Table

NAMES = st.text(min_size=1, max_size=8)


@st.composite
def columns(draw, name):
    if draw(st.booleans()):
        low, width = draw(st.sampled_from([(-5.0, 10.0), (0.0, 0.0), (0.0, 1.0), (1000.0, 100000.0)]))
        decimals = draw(st.sampled_from([0, 2, None]))
        return Numeric(name=name, low=low, high=low + width, decimals=decimals)
    labels = tuple(str(i) for i in range(draw(st.sampled_from([1, 2, 3, 6, 300]))))
    return Categorical(name=name, labels=labels)


@st.composite
def schemas(draw, min_columns=1, max_columns=6):
    names = draw(st.lists(NAMES, min_size=min_columns, max_size=max_columns, unique=True))
    return Schema(tuple(draw(columns(name)) for name in names))


@st.composite
def tables(draw, schema, min_rows=1, max_rows=40):
    n = draw(st.integers(min_rows, max_rows))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    grid = draw(st.sampled_from([2, 5, 1000]))  # a coarse grid makes ties
    missing = draw(st.sampled_from([0.0, 0.0, 0.2, 1.0]))
    values = np.empty((n, len(schema)))
    for position, column in enumerate(schema.columns):
        match column:
            case Numeric():
                cells = column.low + column.width * rng.integers(0, grid + 1, n) / grid
                values[:, position] = cells if column.decimals is None else np.round(cells, column.decimals)
            case Categorical():
                values[:, position] = rng.integers(0, len(column.labels), n)
        values[rng.random(n) < missing, position] = np.nan
    return Table(schema=schema, values=values)


@st.composite
def splits(draw, max_rows=40, min_control=0):
    schema = draw(schemas())
    return Split(
        train=draw(tables(schema, max_rows=max_rows)),
        control=draw(tables(schema, min_rows=min_control, max_rows=max_rows)),
        synthetic=draw(tables(schema, max_rows=max_rows)),
    )
