"""The compiled loops that compare sets of rows, each with many others."""

# mypy: allow-untyped-defs
import numpy as np
from numba import njit

CHUNK = 8192  # rows of candidates that stay near the processor while all queries pass


@njit(cache=True, nogil=True)
def _of(values, rows):
    """Return the values of some rows, (k, rows), side by side."""
    found = np.empty((values.shape[0], rows.size), dtype=values.dtype)
    for k in range(values.shape[0]):
        for b in range(rows.size):
            found[k, b] = values[k, rows[b]]
    return found


@njit(cache=True, nogil=True)
def compare_sets(numbers, codes, times, own, starts, others, starts_of_others, weights, found):
    """Compare the sets of some people with those of others: the mean over rows of the nearest, both ways.

    ``numbers`` (k, n) and ``codes`` (c, n) hold all rows, ``own`` and ``others`` the places of people's rows
    there, person by person: those of person i are ``own[starts[i]:starts[i + 1]]``. ``times`` (t, n) are more
    numbers. ``found`` (1 + 2 t', people, others) gets a distance for each of the ``weights`` (v, 1 + t): how
    much the numbers and codes, and each of the times, count.
    """
    n_people, n_others, n_ways = starts.size - 1, starts_of_others.size - 1, weights.shape[0]
    first = 0
    while first < n_others:
        last = first + 1
        begin = starts_of_others[first]
        while last < n_others and starts_of_others[last + 1] - begin <= CHUNK:
            last += 1
        size = starts_of_others[last] - begin
        rows = others[begin : begin + size]
        n_numbers, n_codes, n_times = numbers.shape[0], codes.shape[0], times.shape[0]
        near_numbers, near_codes, near_times = _of(numbers, rows), _of(codes, rows), _of(times, rows)
        values = np.empty(size, dtype=np.float32)
        cost = np.empty(size, dtype=np.float32)
        least = np.empty((n_ways, size), dtype=np.float32)
        sums = np.empty((n_ways, last - first), dtype=np.float32)
        for person in range(n_people):
            n_own = starts[person + 1] - starts[person]
            least[:] = np.float32(np.inf)
            sums[:] = np.float32(0)
            for at in range(starts[person], starts[person + 1]):
                row = own[at]
                values[:] = np.float32(0)
                for k in range(n_numbers):
                    number = numbers[k, row]
                    column = near_numbers[k]
                    for b in range(size):
                        values[b] += min(abs(number - column[b]), np.float32(1))
                for k in range(n_codes):
                    code = codes[k, row]
                    labels = near_codes[k]
                    for b in range(size):
                        values[b] += np.float32(1) if labels[b] != code else np.float32(0)
                for way in range(n_ways):
                    share = weights[way, 0]
                    for b in range(size):
                        cost[b] = share * values[b]
                    for k in range(n_times):
                        share = weights[way, 1 + k]
                        if share > 0:
                            number = times[k, row]
                            column = near_times[k]
                            for b in range(size):
                                cost[b] += share * min(abs(number - column[b]), np.float32(1))
                    smallest = least[way]
                    for b in range(size):
                        smallest[b] = min(smallest[b], cost[b])
                    for other in range(first, last):
                        nearest = np.float32(np.inf)
                        for b in range(starts_of_others[other] - begin, starts_of_others[other + 1] - begin):
                            nearest = min(nearest, cost[b])
                        sums[way, other - first] += nearest
            for other in range(first, last):
                low, high = starts_of_others[other] - begin, starts_of_others[other + 1] - begin
                for way in range(n_ways):
                    if n_own == 0 or high == low:
                        found[way, person, other] = np.float32(0) if n_own == high - low else np.float32(1)
                        continue
                    total = np.float32(0)
                    for b in range(low, high):
                        total += least[way, b]
                    found[way, person, other] = (sums[way, other - first] / n_own + total / (high - low)) / 2
        first = last
