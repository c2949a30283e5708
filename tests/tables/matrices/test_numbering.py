"""Numbers on scales: shares of the range, last decimal places, and back into the column's domain."""

import numpy as np
import pytest

from tabveil.core.table import Categorical, Numeric, Schema, Table, within
from tabveil.tables.matrices.ordinal import in_last_places, n_steps, places_a_unit, shares_of_range, unit

NAN = np.nan
AGE = Numeric(name="age", low=20, high=60, decimals=0)
YEAR = Numeric(name="year", low=7, high=7)
SEX = Categorical(name="sex", labels=("f", "m"))


def test_shares_of_the_range_by_hand():
    table = Table(
        schema=Schema((AGE, YEAR, SEX)), values=np.array([[30.0, 7, 1], [60, NAN, 0], [NAN, 7, NAN]])
    )
    expected = np.array([[0.25, 0, 1], [1, NAN, 0], [NAN, 0, NAN]])  # a constant column is 0, labels stay
    np.testing.assert_array_equal(unit(table), expected)
    for column, cells in zip(table.schema.columns, expected.T, strict=True):
        np.testing.assert_array_equal(shares_of_range(column, table.column(column.name)), cells)


def test_a_table_without_columns_has_no_cells():
    assert unit(Table(schema=Schema(()), values=np.empty((3, 0)))).shape == (3, 0)


def test_equal_gaps_of_decimals_are_equal():
    cells = np.array([0.1, 0.2, 0.3, NAN])
    assert len(set(np.diff(cells[:3]))) == 2  # as they stand they are not
    assert len(set(np.diff(in_last_places(cells, 1)[:3]))) == 1
    assert np.isnan(in_last_places(cells, 1)[3])
    np.testing.assert_array_equal(in_last_places(cells, None), cells)


@pytest.mark.parametrize(
    ("decimals", "unit_of", "steps"), [(0, 1.0, 40.0), (2, 100.0, 4000.0), (None, 1.0, np.inf)]
)
def test_last_places_are_counted(decimals, unit_of, steps):
    assert places_a_unit(decimals) == unit_of
    assert n_steps(Numeric(name="x", low=20, high=60, decimals=decimals)) == steps


def test_cells_return_to_their_domain():
    np.testing.assert_array_equal(within(AGE, np.array([19.0, 33.4, 70.0, NAN])), [20, 33, 60, NAN])
    np.testing.assert_array_equal(within(YEAR, np.array([6.9, 7.0])), [7, 7])
    np.testing.assert_array_equal(within(SEX, np.array([-1.0, 0.6, 3.0, NAN])), [0, 1, 1, NAN])
