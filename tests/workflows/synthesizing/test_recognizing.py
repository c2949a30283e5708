"""Times of day are told from quantities."""

import numpy as np
import pytest

from tabveil.workflows.synthesizing.recognizing import is_clock, to_clock, to_minutes


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([100 * hour + minute for hour in range(24) for minute in range(0, 60, 2)], True),
        ([100 * hour + minute for hour in range(24) for minute in range(0, 60, 2)] + [2400], True),
        ([100 * hour + minute for hour in range(24) for minute in range(0, 60, 2)] + [1464], False),
        ([100 * hour + minute for hour in range(24) for minute in range(0, 60, 2)] + [2401], False),
        ([100 * hour + minute for hour in range(24) for minute in range(0, 60, 2)] + [-5], False),
        ([100 * hour for hour in range(24)], False),  # hundreds of something
        (list(range(60)), False),  # less than an hour
        (list(range(2400)), False),
        ([], False),
    ],
)
def test_times_of_day(cells, expected):
    assert is_clock(np.array([*cells, np.nan], dtype=float)) == expected


def test_minutes_and_back():
    every = np.array([100.0 * hour + minute for hour in range(24) for minute in range(60)])
    assert to_minutes(every).tolist() == list(range(1440))
    assert to_clock(to_minutes(every)).tolist() == every.tolist()
