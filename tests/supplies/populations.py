"""Populations with a known truth: fresh rows, planted leaks and Adult, for tests of what a metric can see."""

from dataclasses import replace

import numpy as np
import pandas as pd

from supplies.needs import need_adult
from tabveil.core.table import Categorical, Numeric, Schema, Split, Table
from tabveil.errors import NotApplicable

SCHEMAS = {
    "normal": Schema(tuple(Numeric(name=f"x{i}", low=-6, high=6) for i in range(4))),
    "levels": Schema(tuple(Categorical(name=f"c{i}", labels=tuple("abcdef")) for i in range(4))),
    "mixed": Schema(
        (
            Numeric(name="age", low=0, high=90, decimals=0),
            Categorical(name="region", labels=tuple("abcdefgh")),
            Numeric(name="income", low=-6, high=9),
            Categorical(name="sex", labels=("f", "m")),
            Numeric(name="visits", low=0, high=10, decimals=0),
        )
    ),
}


def rows(kind, n, rng):
    """Draw n people of a population."""
    if kind == "normal":
        return np.clip(rng.normal(size=(n, 4)), -6, 6)
    if kind == "levels":
        return rng.integers(0, 6, (n, 4)).astype(float)
    age = np.clip(np.round(rng.gamma(4, 10, n)), 0, 90)
    income = np.clip(rng.normal(size=n) + age / 40, -6, 9)
    income[rng.random(n) < 0.1] = np.nan
    region = np.minimum(rng.geometric(0.4, n) - 1, 7)
    visits = np.where(rng.random(n) < 0.6, 0, np.minimum(rng.poisson(3, n), 10))
    return np.column_stack([age, region, income, rng.integers(0, 2, n), visits]).astype(float)


def population(kind, sizes, *, leak=0.0, seed=0):
    """Draw train, control and synthetic rows independently, then overwrite a share of synthetic by train."""
    rng = np.random.default_rng(seed)
    train, control, synthetic = (rows(kind, n, rng) for n in sizes)
    n_leaked = round(leak * len(synthetic))
    synthetic[:n_leaked] = train[rng.permutation(len(train))[:n_leaked]]
    return split(SCHEMAS[kind], train, control, synthetic)


def split(schema, train, control, synthetic):
    width = len(schema)
    return Split(
        **{
            role: Table(schema=schema, values=np.asarray(values, dtype=float).reshape(-1, width))
            for role, values in (("train", train), ("control", control), ("synthetic", synthetic))
        }
    )


def split_keeping_equal_rows(values, share, rng):
    """Hold back a share of the different rows, with all that equal them."""
    _, group = np.unique(values, axis=0, return_inverse=True)
    held_back = (rng.random(len(values)) < share)[group.ravel()]
    return values[~held_back], values[held_back]


def risks(metric, kind, sizes, *, leak=0.0, seeds, of="risk"):
    """Return (n_seeds, 3): value, low and high of the risk, or the gain, in independent draws."""
    found = []
    for seed in range(seeds):
        try:
            result = metric(
                population(kind, sizes, leak=leak, seed=seed), rng=np.random.default_rng([7, seed])
            )
        except NotApplicable:
            continue
        risk = getattr(result, of)
        found.append((risk.value, risk.low, risk.high))
    assert len(found) > seeds * 0.9
    return np.array(found)


def adult_thirds():
    """Return Adult cut in three disjoint thirds: train, control, release (as matrices) and the schema."""
    frame = pd.read_parquet(need_adult())
    columns, values = [], []
    for name, cells in frame.items():
        if pd.api.types.is_numeric_dtype(cells):
            numbers = cells.to_numpy(dtype=float)
            low, high = float(np.nanmin(numbers)), float(np.nanmax(numbers))
            columns.append(Numeric(name=name, low=low, high=high, decimals=0))
        else:
            codes, labels = pd.factorize(cells)
            numbers = np.where(codes < 0, np.nan, codes)
            columns.append(Categorical(name=name, labels=tuple(map(str, labels))))
        values.append(numbers)
    order = np.random.default_rng(0).permutation(len(frame))
    matrix = np.column_stack(values)
    return Schema(tuple(columns)), [matrix[order[i * 16280 : (i + 1) * 16280]] for i in range(3)]


VISITS = Schema(
    (
        *(Numeric(name=name, low=-60, high=60, decimals=1) for name in ("weight", "pressure", "sugar")),
        Categorical(name="job", labels=tuple("abcdef")),
        Categorical(name="sex", labels=("f", "m")),
        Categorical(name="ward", labels=tuple("abcd")),
    )
)


def visits(n_people, rng, *, most=20):
    """Draw people with 1 to ``most`` rows that are nearly equal: the rows, and whose they are."""
    whose = np.repeat(np.arange(n_people), rng.integers(1, most + 1, n_people))
    measured = rng.normal(0, 10, (n_people, 3))
    measured[:, 1] += measured[:, 0] / 2
    told = np.column_stack([rng.integers(n, size=n_people) for n in (6, 2, 4)])
    found = np.column_stack([measured, told])[whose]
    found[:, :3] = np.clip(np.round(found[:, :3] + rng.normal(0, 0.3, (len(whose), 3)), 1), -60, 60)
    moved = rng.random(len(whose)) < 0.1
    found[moved, 5] = rng.integers(4, size=moved.sum())
    return found, whose


def patients(sizes, *, leak=0.0, seed=0, most=20):
    """Draw people with several rows for all tables; add all rows of a share of train's to the release."""
    rng = np.random.default_rng([seed, 77])
    (train, of_train), (control, of_control), (release, _) = (visits(n, rng, most=most) for n in sizes)
    release = np.concatenate([release, train[of_train < round(leak * sizes[0])]])
    return with_people(split(VISITS, train, control, release), of_train, of_control + sizes[0])


def with_people(tables, of_train, of_control):
    """Say whose rows they are."""
    return Split(
        train=replace(tables.train, people=np.asarray(of_train, dtype=np.int64)),
        control=replace(tables.control, people=np.asarray(of_control, dtype=np.int64)),
        synthetic=tables.synthetic,
    )


def ignoring_people(tables):
    """Take every row for another person."""
    train, control = (replace(side, people=None) for side in (tables.train, tables.control))
    return Split(train=train, control=control, synthetic=tables.synthetic)
