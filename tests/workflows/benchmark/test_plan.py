"""Stored benchmarks are found again: what names their cells does not change unnoticed."""

import numpy as np

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.workflows.cells.store import content


def test_the_digest_of_a_table_is_the_one_that_stores_have():
    columns = (
        Categorical(name="sex", labels=("f", "m")),
        Numeric(name="age", low=0, high=99, decimals=0),
    )
    table = Table(schema=Schema(columns), values=np.array([[0.0, 31.0], [1.0, np.nan]]))
    assert content(table) == "6db4273c537768eacbf86aaeb812148c39f2670ad21df7e0083a22c50db69eb3"
