"""What stands for rare values is none of the column's own, and can be written in it."""

import numpy as np
import pandas as pd
import pytest

from tabveil.tables.reading import load_table
from tabveil.workflows.synthesizing.standing_in import other_of


def stands(values):
    known = load_table(pd.DataFrame({"c": values, "n": range(len(values))}))
    table = known.table
    return other_of(table.schema["c"], known.layout.columns["c"], table.column("c"))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["a", "b"] * 9, "other"),
        (["a", " OTHER "] * 9, "other labels"),
        (["other", "other labels"] * 9, "other (rare)"),
        (["other", "other labels", "other (rare)", "rare labels together"] * 9, None),
        ([3, 250] * 9, -1.0),
        ([3.0, np.nan] * 9, -1.0),
        ([-1, 250] * 9, 999.0),
        ([-1, 999] * 9, 9999.0),
        (np.array([3, 25] * 9, dtype=np.uint8), 99.0),
        (np.array([3, 250] * 9, dtype=np.uint8), None),  # 999 is too large for it
        (np.array([-5, 127] * 9, dtype=np.int8), None),
        ([0.5, 1.25] * 9, None),
        (pd.Categorical([1, 2] * 9), "-1"),
        (pd.to_datetime(["2020-01-01", "2021-01-01"] * 9), None),
        ([True, False] * 9, None),
    ],
)
def test_by_hand(values, expected):
    assert stands(values) == expected
