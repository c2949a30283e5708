"""Hierarchies and tables for tests of anonymization: random ones, and ARX's example where it is at hand."""

import numpy as np
from hypothesis import strategies as st

from supplies.needs import need_table
from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.synthesis.anonymize import Hierarchy
from tabveil.synthesis.anonymize.building import ColumnValues, read_entry
from tabveil.tables import reading as frame

QUASI_IDENTIFIERS = (
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
    "salary-class",
)


def hierarchy(column, *levels):
    """A hierarchy over leaves 0, 1, …; each level lists the group of every leaf."""
    codes = np.array([range(len(levels[0])), *levels]) if levels else np.array([[0]])
    labels = tuple(
        tuple(f"{column}{level}.{value}" for value in range(max(row) + 1)) for level, row in enumerate(codes)
    )
    return Hierarchy(
        column=column,
        leaves=labels[0],
        cells=np.arange(codes.shape[1], dtype=float),
        codes=codes,
        labels=labels,
    )


@st.composite
def hierarchies(draw, column):
    n_leaves = draw(st.integers(1, 4))
    levels = []
    groups = list(range(n_leaves))
    for _ in range(draw(st.integers(0, 2))):
        n_groups = max(groups) + 1
        parents = draw(st.lists(st.integers(0, n_groups - 1), min_size=n_groups, max_size=n_groups))
        numbers = {}
        parents = [numbers.setdefault(parent, len(numbers)) for parent in parents]
        groups = [parents[group] for group in groups]
        levels.append(groups)
    return hierarchy(column, *levels) if levels else hierarchy(column, [0] * n_leaves)


@st.composite
def problems(draw):
    """A table with two or three quasi-identifiers and a sensitive column, and the hierarchies of all."""
    names = ["a", "b", "c"][: draw(st.integers(1, 3))]
    own = [draw(hierarchies(name)) for name in names]
    n_rows = draw(st.integers(1, 14))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cells = [rng.integers(0, len(item.leaves), n_rows) for item in own]
    secret = rng.integers(0, draw(st.integers(1, 3)), n_rows)
    schema = Schema(
        (
            *(Categorical(name=item.column, labels=item.leaves) for item in own),
            Numeric(name="secret", low=0, high=3, decimals=0),
        )
    )
    return Table(schema=schema, values=np.array([*cells, secret], dtype=float).T), own


def arx_adult():
    """The table of ARX's example and its nine hierarchies, by column."""
    loaded = frame.load_table(need_table("hierarchies/adult/arx_adult_30162.parquet"))
    folder = need_table("hierarchies/adult/adult_hierarchy_age.csv").parent
    return loaded.table, {
        name: read_entry(name, {"file": f"adult_hierarchy_{name}.csv"}, folder).build(
            ColumnValues.of(loaded.table, name, loaded.layout)
        )
        for name in QUASI_IDENTIFIERS
    }
