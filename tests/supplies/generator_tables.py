"""Small tables that tests of several generators learn from."""

import numpy as np

from tabveil.core.table import Categorical, Numeric, Schema, Table


def rng(seed=0):
    return np.random.default_rng(seed)


def labels(name, n):
    return Categorical(name=name, labels=tuple(map(str, range(n))))


def patients(n=200, seed=0, *, with_constant=False):
    """A label with one of five unused, a whole number with missing values, a real number; or a constant."""
    random = rng(seed)
    age = np.where(random.random(n) < 0.25, np.nan, random.integers(18, 100, n))
    ward = random.choice(4, n, p=[0.5, 0.3, 0.15, 0.05])
    columns = {
        labels("ward", 5): ward,
        Numeric(name="age", low=0, high=120, decimals=0): age,
        Numeric(name="dose", low=-50, high=50): random.normal(20, 5, n),
        **({labels("site", 1): np.zeros(n)} if with_constant else {}),
    }
    return Table(schema=Schema(tuple(columns)), values=np.column_stack(list(columns.values())))
