"""Rows keep what is known of them when some are taken, and no more."""

import numpy as np
import pytest

from tabveil.core.table import Numeric, Schema, Table

SCHEMA = Schema(tuple(Numeric(name=name, low=0, high=9) for name in "abc"))


@pytest.mark.parametrize("known", [False, True])
def test_hashes_of_rows_that_are_taken_are_those_of_new_rows(known):
    table = Table(schema=SCHEMA, values=np.random.default_rng(0).integers(0, 10, (50, 3)) * 1.0)
    if known:
        table.row_hash()
    for rows in (np.array([3, 3, 49]), np.arange(50) % 2 == 0, table.content_order):
        taken = table.take(rows)
        anew = Table(schema=SCHEMA, values=table.values[rows].copy())
        np.testing.assert_array_equal(taken.row_hash(), anew.row_hash())
        assert not taken.row_hash().flags.writeable


def test_selected_columns_have_hashes_of_their_own():
    table = Table(schema=SCHEMA, values=np.random.default_rng(1).integers(0, 10, (50, 3)) * 1.0)
    table.row_hash()
    fewer = Table(schema=SCHEMA.select("ab"), values=table.values[:, :2].copy())
    np.testing.assert_array_equal(table.select("ab").row_hash(), fewer.row_hash())
    assert table.select("abc") is table
    assert table.select("cba").schema.names == ("c", "b", "a")
    np.testing.assert_array_equal(table.select("cba").row_hash(), table.row_hash())
