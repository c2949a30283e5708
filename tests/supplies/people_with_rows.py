"""Populations of people with several rows each, nearly the same ones, and a known truth."""

from dataclasses import replace

import numpy as np

from tabveil.core.table import Categorical, Numeric, Schema, Split, Table

VISITS = Schema(
    (
        *(Numeric(name=f"x{j}", low=-6, high=6) for j in range(3)),
        Categorical(name="c", labels=tuple("abcde")),
    )
)


def people(n, rng, *, spread=0.1, most=20, first=0):
    """Draw n people with 1 to ``most`` rows, which lie around what is theirs."""
    sizes = rng.integers(1, most + 1, n)
    whose = np.repeat(np.arange(n), sizes)
    numbers = rng.normal(size=(n, 3))[whose] + spread * rng.normal(size=(len(whose), 3))
    values = np.column_stack([np.clip(numbers, -6, 6), rng.integers(0, 5, n)[whose]])
    return Table(schema=VISITS, values=values, people=whose + first)


def visits(n_train, n_control, *, leak=0.0, n_rows=None, seed=0, **given):
    """Draw people, and a release of rows of others; all rows of a share ``leak`` of train stand in it."""
    rng = np.random.default_rng(seed)
    train, control = people(n_train, rng, **given), people(n_control, rng, first=n_train, **given)
    n_rows = n_rows or len(train)
    others = people(n_rows, rng, **given)
    values = others.values[rng.choice(len(others), n_rows, replace=False)]
    leaked = np.flatnonzero(train.people < round(leak * n_train))
    values[: len(leaked)] = train.values[leaked]
    return Split(train=train, control=control, synthetic=Table(schema=VISITS, values=values))


def unknown(split):
    """Forget whose the rows are."""
    return Split(
        train=replace(split.train, people=None),
        control=replace(split.control, people=None),
        synthetic=split.synthetic,
    )


def one_row_each(split, rng):
    """Say that every row is another person, with numbers in no order."""
    numbers = rng.permutation(len(split.train) + len(split.control)) + 7
    train, control = np.split(numbers, [len(split.train)])
    return Split(
        train=replace(split.train, people=train),
        control=replace(split.control, people=control),
        synthetic=split.synthetic,
    )


def repeated(table, times=2):
    """Give everybody all of their rows several times."""
    return table.take(np.repeat(np.arange(len(table)), times))
