"""Spaces of every kind, and tables whose structure sends a search down every road."""

import numpy as np

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.engines.neighbors import Space

KINDS = ["gower", "onehot", "ordinal", "tolerant"]


def make_space(kind, train):
    match kind:
        case "gower":
            return Space.gower(train.schema)
        case "tolerant":
            return Space.tolerant(train, 0.4)
        case encoding:
            return Space.euclidean(train, encoding)


def population(shape, n, seed):
    """Tables whose structure sends the search down one road or another."""
    rng = np.random.default_rng(seed)
    many, few, numbers, grid, holes = shape
    columns, cells = [], []
    for j in range(many):
        columns.append(Categorical(name=f"m{j}", labels=tuple(map(str, range(50)))))
        cells.append(rng.integers(0, 50, n))
    for j in range(few):
        columns.append(Categorical(name=f"f{j}", labels=("a", "b")))
        cells.append(rng.integers(0, 2, n))
    for j in range(numbers):
        columns.append(Numeric(name=f"n{j}", low=0, high=grid, decimals=0))
        cells.append(rng.integers(0, grid + 1, n))
    values = np.column_stack(cells).astype(float)
    values[rng.random(values.shape) < holes] = np.nan
    return Table(schema=Schema(tuple(columns)), values=values)


SHAPES = {
    "numbers only: one tree": (0, 0, 5, 10**6, 0.0),
    "few combinations: a tree each": (0, 3, 4, 10**6, 0.0),
    "many combinations: groups of one": (12, 0, 3, 1000, 0.0),
    "categories only": (4, 2, 0, 1, 0.0),
    "heavy ties": (0, 2, 3, 3, 0.0),
    "holes everywhere": (2, 2, 3, 50, 0.2),
    "twenty numbers": (0, 0, 20, 10**6, 0.01),
    "three hundred columns": (0, 270, 30, 5, 0.05),
}
