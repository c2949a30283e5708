"""The tables that are timed: Adult, cut and grown, and tables of numbers or categories alone."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.tables.reading import load_split, load_table

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
N_FULL = 32_561


def read(name):
    path = FOLDER / name
    if not path.exists():
        sys.exit(f"benchmarks need {name} in ../shared/data, which is not here.")
    return pd.read_parquet(path)


def full():
    """Return train and synthetic: 32,561 rows of Anonymeter's example each, under one schema."""
    loaded = load_split(read("adult_train.parquet")[:N_FULL], read("adult_ctgan.parquet")[:N_FULL])
    return loaded.split


def thirds():
    """Return Adult in three disjoint sets of 16,280 rows."""
    train, control, release = adult_thirds()
    return load_split(train, release, control, missing=["?"]).split


def adult_thirds():
    """Return the same as dataframes: train, control, release."""
    adult = read("adult.parquet")
    order = np.random.default_rng(0).permutation(len(adult))
    return tuple(adult.iloc[order[i * 16_280 : (i + 1) * 16_280]] for i in range(3))


def adult():
    """Return all of Adult as one table."""
    return load_table(read("adult.parquet")).table


def grown(table, n_rows, seed):
    """Resample and jitter: numbers by a tenth of their deviation, one category in twenty anew."""
    rng = np.random.default_rng(seed)
    values = table.values[rng.integers(0, len(table), n_rows)].copy()
    for j, column in enumerate(table.schema.columns):
        match column:
            case Numeric():
                noise = rng.normal(0, 0.1 * np.nanstd(table.values[:, j]), n_rows) * (values[:, j] != 0)
                values[:, j] = np.clip(np.round(values[:, j] + noise), column.low, column.high)
            case Categorical():
                anew = rng.random(n_rows) < 0.05
                values[anew, j] = rng.integers(0, len(column.labels), anew.sum())
    return Table(schema=table.schema, values=values)


def numbers(n_rows, *, correlated, seed=0):
    """Return two tables of ten real columns; correlated ones have four factors, as real tables have few."""
    rng = np.random.default_rng(seed)
    if correlated:
        values = rng.normal(size=(2 * n_rows, 4)) @ rng.normal(size=(4, 10)) + 0.3 * rng.normal(
            size=(2 * n_rows, 10)
        )
    else:
        values = rng.normal(size=(2 * n_rows, 10))
    schema = Schema(
        tuple(Numeric(name=f"x{j}", low=values[:, j].min(), high=values[:, j].max()) for j in range(10))
    )
    return Table(schema=schema, values=values[:n_rows]), Table(schema=schema, values=values[n_rows:])


def categories(n_rows, seed=0):
    """Return two tables of thirty categorical columns of fifty levels."""
    values = np.random.default_rng(seed).integers(0, 50, (2 * n_rows, 30)).astype(float)
    schema = Schema(tuple(Categorical(name=f"c{j}", labels=tuple(map(str, range(50)))) for j in range(30)))
    return Table(schema=schema, values=values[:n_rows]), Table(schema=schema, values=values[n_rows:])
