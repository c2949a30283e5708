"""Several tables in one numbering, their rows sorted by each column."""

import numpy as np

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.tables.matrices.ordinal import MISSING
from tabveil.tables.matrices.ranked_tables import ValueRanks

NAN = np.nan
SCHEMA = Schema((Numeric(name="x", low=0, high=99), Categorical(name="c", labels=("O'Brien", '"', "b", ""))))


def table(*rows):
    return Table(schema=SCHEMA, values=np.array(rows, dtype=float).reshape(-1, 2))


def test_codes_are_ranks_over_all_tables_and_zero_is_missing():
    synthetic = table([5, 0], [-0.0, 3], [NAN, NAN])
    encoded = ValueRanks.of(synthetic, table([0, 1], [3, 1])).encode(synthetic)
    # Columns stand by name: c, x. The values of x are 0, 3 and 5; c has four labels.
    assert encoded.codes.tolist() == [[1, 4, MISSING], [3, 1, MISSING]]
    assert encoded.counts(0).tolist() == [1, 1, 0, 0, 1]
    assert encoded.counts(1).tolist() == [1, 1, 0, 1]
    assert [encoded.codes[c][encoded.order[c]].tolist() for c in (0, 1)] == [[0, 1, 4], [0, 1, 3]]


def test_rows_of_one_code_stay_in_their_order():
    tied = table([1, 2], [7, 2], [1, 0], [7, 2])
    encoded = ValueRanks.of(tied).encode(tied)
    assert encoded.order.tolist() == [[2, 0, 1, 3], [0, 2, 1, 3]]
