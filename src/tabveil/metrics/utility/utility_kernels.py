"""Compiled loops of usefulness: association of two columns, a kernel over pairs of rows, columns in order."""

import math

import numpy as np
from numba import njit

# mypy: allow-untyped-defs


@njit(cache=True, nogil=True)
def pearson(a, b, influence):
    """Return Pearson's correlation of two columns (n,), NaN for missing; fill in the influences (n,)."""
    n = len(a)
    rows = np.empty(n, np.int64)
    m = 0
    for i in range(n):
        if not (np.isnan(a[i]) or np.isnan(b[i])):
            rows[m] = i
            m += 1
    first, second = np.empty(m), np.empty(m)
    if not (_standardize(a, rows[:m], first) and _standardize(b, rows[:m], second)):
        return 0.0
    value = 0.0
    for k in range(m):
        value += first[k] * second[k]
    value /= m
    for k in range(m):
        x, y = first[k], second[k]
        influence[rows[k]] = (x * y - value * (x * x + y * y) / 2) * (n / m)
    return value


@njit(cache=True, nogil=True)
def correlation_ratio(cells, codes, n_levels, influence):
    """Return Kelley's corrected correlation ratio of numbers on labels; fill in the influences (n,)."""
    n = len(cells)
    rows = np.empty(n, np.int64)
    m = 0
    for i in range(n):
        if not np.isnan(cells[i]):
            rows[m] = i
            m += 1
    scores = np.empty(m)
    if not _standardize(cells, rows[:m], scores):
        return 0.0
    sizes, means = np.zeros(n_levels), np.zeros(n_levels)
    for k in range(m):
        sizes[codes[rows[k]]] += 1
        means[codes[rows[k]]] += scores[k]
    n_seen = 0
    for level in range(n_levels):
        if sizes[level] > 0:
            n_seen += 1
            means[level] /= sizes[level]
    if n_seen < 2 or n_seen == m:  # noqa: PLR2004 - one label, or one row each, tell nothing
        return 0.0
    rest = 0.0  # 1 - eta²
    for k in range(m):
        rest += (scores[k] - means[codes[rows[k]]]) ** 2
    rest /= m
    stretch = (m - 1) / (m - n_seen)
    square = 1 - rest * stretch
    if square <= 0:
        return 0.0
    for k in range(m):
        within = (scores[k] - means[codes[rows[k]]]) ** 2
        influence[rows[k]] = stretch * (rest * scores[k] ** 2 - within)
    return _root(square, 2 * (n_seen - 1) / m**2, rows[:m], influence)


@njit(cache=True, nogil=True)
def cramers_v(a, b, a_levels, b_levels, influence):
    """Return Bergsma's corrected Cramér's V of two columns of codes (n,); fill in the influences (n,)."""
    n = len(a)
    joint, rows, columns = np.zeros((a_levels, b_levels)), np.zeros(a_levels), np.zeros(b_levels)
    for i in range(n):
        joint[a[i], b[i]] += 1
    for i in range(a_levels):
        for j in range(b_levels):
            joint[i, j] /= max(n, 1)
            rows[i] += joint[i, j]
            columns[j] += joint[i, j]
    r, c = np.count_nonzero(rows), np.count_nonzero(columns)
    if n < 2 or r < 2 or c < 2:  # noqa: PLR2004 - a column that does not vary
        return 0.0
    most = min(a_levels - (a_levels - 1) ** 2 / (n - 1), b_levels - (b_levels - 1) ** 2 / (n - 1)) - 1
    if most <= 0:
        return 0.0
    total, by_row, by_column = 0.0, np.zeros(a_levels), np.zeros(b_levels)
    for i in range(a_levels):
        for j in range(b_levels):
            if joint[i, j] > 0:
                product = joint[i, j] / rows[i] * (joint[i, j] / columns[j])  # p² / (p_row p_column)
                total += product
                by_row[i] += product / rows[i]
                by_column[j] += product / columns[j]
    square = (total - 1 - (r - 1) * (c - 1) / (n - 1)) / most
    if square <= 0:
        return 0.0
    for i in range(n):
        lift = joint[a[i], b[i]] / rows[a[i]] / columns[b[i]]
        influence[i] = (2 * lift - by_row[a[i]] - by_column[b[i]]) / most
    return _root(square, 2 * (r - 1) * (c - 1) / (n * most) ** 2, np.arange(n), influence)


@njit(cache=True, nogil=True)
def _standardize(cells, rows, scores):
    """Give the cells of these rows mean 0 and variance 1; False where nothing varies."""
    m = len(rows)
    if m == 0:
        return False
    low = high = cells[rows[0]]
    for k in range(m):
        low, high = min(low, cells[rows[k]]), max(high, cells[rows[k]])
    if low == high:
        return False
    largest = max(abs(low), abs(high))  # squares must stay finite
    mean, variance = 0.0, 0.0
    for k in range(m):
        scores[k] = cells[rows[k]] / largest
        mean += scores[k]
    mean /= m
    for k in range(m):
        scores[k] -= mean
        variance += scores[k] ** 2
    deviation = math.sqrt(variance / m)
    if deviation <= 0:
        return False
    for k in range(m):
        scores[k] /= deviation
    return True


@njit(cache=True, nogil=True)
def _root(square, noise, rows, influence):
    """Take the root of a strength squared, and of what each row adds to it; rows left out add nothing.

    The slope of the root has no bound near zero, but the error of the root has: that of a square is never
    more than its root away. ``noise`` is the variance of the square where columns are independent.
    """
    n, m = len(influence), len(rows)
    value, variance = math.sqrt(square), 0.0
    for k in range(m):
        variance += influence[rows[k]] ** 2
    variance = variance / m**2 + noise
    scale = n / m / (2 * max(value, variance**0.25))
    for k in range(m):
        influence[rows[k]] *= scale
    return value


@njit(cache=True, nogil=True)
def kernel_sum(a, b, numeric, width):
    """Add up ``exp(-Gower sum / width)`` over all pairs of rows of a (n, d) and b (m, d), missing as NaN."""
    columns = b.T.copy()  # (d, m): a row of a meets all rows of b column by column, several at once
    total = 0.0
    for i in range(a.shape[0]):
        distances = np.zeros(b.shape[0])
        for c in range(a.shape[1]):
            x, cells = a[i, c], columns[c]
            if np.isnan(x):
                for j in range(b.shape[0]):
                    distances[j] += 0.0 if np.isnan(cells[j]) else 1.0
            elif numeric[c]:
                for j in range(b.shape[0]):
                    gap = abs(x - cells[j])
                    distances[j] += 1.0 if np.isnan(gap) else gap
            else:
                for j in range(b.shape[0]):
                    distances[j] += 1.0 if x != cells[j] else 0.0
        for j in range(b.shape[0]):
            total += np.exp(-distances[j] / width)
    return total


@njit(cache=True, nogil=True)
def find_ordered(cells, kinds, least):
    """Return (d, d) whether column a is nowhere above column b; ``cells`` are (d, n), NaN for missing.

    Columns of one of the ``kinds`` (d,) are compared, where at least so many rows have both.
    """
    d, n = cells.shape
    holds = np.zeros((d, d), dtype=np.bool_)
    for a in range(d):
        for b in range(d):
            if a == b or kinds[a] < 0 or kinds[a] != kinds[b]:
                continue
            both = 0
            fine = True
            for row in range(n):
                low, high = cells[a, row], cells[b, row]
                if low > high:
                    fine = False
                    break
                if low <= high:
                    both += 1
            holds[a, b] = fine and both >= least
    return holds
