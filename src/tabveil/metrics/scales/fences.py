"""Values far outside of all others: set just beyond them, so that they do not stretch the scale.

One row with 1e12 makes all other differences in its column nothing, and a full copy behind noise looks like
fresh rows. What is far is told by quantiles of the real rows; where a value lies, not how often, decides.
Values that differ still do afterwards, and in the same order, up to the last decimal place of the column.
"""

from dataclasses import replace

import numpy as np

from tabveil.core.table import Floats, Numeric

TAIL = 0.01
"""The share of real values at either end that does not decide what is far."""
REACH = 20.0
"""Values are far that lie so many times as far from the middle values as these are from each other.

Tails of incomes and costs are shorter: a lognormal distribution with deviation 2 has 6 of 100,000 beyond.
"""
MARGIN = 0.05
"""Far values are set no farther beyond all others than this share of the range."""


def fence(real: Floats) -> tuple[float, float]:
    """Return between which values numbers are not far outside; all, where the real values do not differ.

    >>> fence(np.array([1.0, 2.0, 3.0, 4.0, 1e12]))
    (-38.0, 44.0)
    >>> fence(np.array([0.0] * 99 + [5.0]))
    (-100.0, 105.0)
    """
    present = np.sort(real[~np.isnan(real)])
    if len(present) == 0:
        return -np.inf, np.inf
    low, high = _middle(present)
    if low == high:  # nearly all are equal: then by those that are not
        others = present[present != low]
        ends = (low, *_middle(others)) if len(others) else (low,)
        low, high = min(ends), max(ends)
    reach = REACH * (high - low)
    return (low - reach, high + reach) if reach > 0 else (-np.inf, np.inf)


def _middle(ordered: Floats) -> tuple[float, float]:
    """Return the quantiles at both tails, each the nearest value inwards: no mean with an absurd one."""
    last = len(ordered) - 1
    first = min(int(np.ceil(TAIL * last)), last // 2)
    return float(ordered[first]), float(ordered[last - first])


def fenced(column: Numeric, real: Floats, released: Floats) -> tuple[Numeric, Floats] | None:
    """Set the values of a column that are far outside just beyond all others; None where there are none.

    Returns the column, whose range is the new one, and its cells, real ones first.
    """
    low, high = fence(real)
    if low <= column.low and column.high <= high:  # the range may be wider than the values
        return None
    cells = np.concatenate([real, released])
    far = (cells < low) | (cells > high)
    if not far.any():
        return None
    near = cells[~far & ~np.isnan(cells)]  # the middle of the real values is never far
    least, largest = float(near.min()), float(near.max())
    margin = MARGIN * (largest - least)
    moved = cells.copy()
    above, below = cells > high, cells < low
    moved[above] = _beyond(cells[above], largest, margin, column.decimals)
    moved[below] = -_beyond(-cells[below], -least, margin, column.decimals)
    return replace(column, low=float(np.nanmin(moved)), high=float(np.nanmax(moved))), moved


def _beyond(far: Floats, edge: float, margin: float, decimals: int | None) -> Floats:
    """Spread values over the margin by their ranks; on a grid, over as many places as it has there."""
    values, rank = np.unique(far, return_inverse=True)
    if len(values) == 0:
        return far
    if decimals is None:
        return np.asarray(edge + margin * (rank + 1) / len(values))
    places = max(int(margin * 10.0**decimals), 1)
    step = np.ceil((rank + 1) * min(places / len(values), 1.0))
    return np.asarray(np.round(edge + step * 10.0**-decimals, decimals))
