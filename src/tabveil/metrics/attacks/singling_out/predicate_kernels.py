"""Compiled loops over predicates: draw them, and count the rows and the people they hold for.

The layout is that of :class:`~tabveil.tables.matrices.ranked_tables.RankedTable`: ``codes`` (d, n); ``order``
(d, n), the rows by ascending code of each column; ``starts``, at ``offsets[column] + code``, where the rows
of a code begin in ``order[column]``.
"""

# mypy: allow-untyped-defs
import numpy as np
from numba import njit


@njit(cache=True, nogil=True, inline="always")
def _mixed(x):
    """Spread every bit over all others (the finalizer of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True)
def draw_columns(seed, first, d, columns):
    """Fill ``columns`` (m, k), each row with k of the d columns at random.

    Which ones depends on the seed and the number of the draw, first + row, alone.
    """
    deck = np.arange(d)  # any order will do for the next draw, but its result must not depend on it
    swaps = np.empty(columns.shape[1], np.int64)
    for i in range(columns.shape[0]):
        state = _mixed(np.uint64(seed) ^ _mixed(np.uint64(first + i)))
        for k in range(columns.shape[1]):
            state += np.uint64(0x9E3779B97F4A7C15)
            pick = k + np.int64(((_mixed(state) >> np.uint64(32)) * np.uint64(d - k)) >> np.uint64(32))
            deck[k], deck[pick] = deck[pick], deck[k]
            swaps[k] = pick
            columns[i, k] = deck[k]
        for k in range(columns.shape[1] - 1, -1, -1):
            deck[k], deck[swaps[k]] = deck[swaps[k]], deck[k]


@njit(cache=True, nogil=True)
def _find(codes, order, starts, offsets, predicate, enough, found, near):
    """Count the rows in all ranges, ``enough`` at most; the first of them go to ``found``.

    ``predicate`` (3, k) holds columns, low and high; its two most selective ranges are put first.
    """
    columns, low, high = predicate[0], predicate[1], predicate[2]
    n_columns = columns.size
    for front in range(min(2, n_columns)):
        best, fewest = front, codes.shape[1] + 1
        for k in range(front, n_columns):
            at = offsets[columns[k]]
            size = starts[at + high[k] + 1] - starts[at + low[k]]
            if size < fewest:
                best, fewest = k, size
        columns[front], columns[best] = columns[best], columns[front]
        low[front], low[best] = low[best], low[front]
        high[front], high[best] = high[best], high[front]
    column = columns[0]
    at = offsets[column]
    start, stop = starts[at + low[0]], starts[at + high[0] + 1]
    if n_columns == 1:
        for position in range(start, min(start + found.size, stop)):
            found[position - start] = order[column, position]
        return min(stop - start, enough)
    second, from_low, width = columns[1], low[1], np.uint32(high[1] - low[1])
    count, block = 0, 16
    while start < stop:
        # First the two ranges without a branch, as its outcome could not be predicted; then the others.
        n_near = 0
        for position in range(start, min(start + block, stop)):
            row = order[column, position]
            near[n_near] = row
            n_near += int(np.uint32(codes[second, row] - from_low) <= width)
        start += block
        block = min(2 * block, near.size)
        for candidate in range(n_near):
            row = near[candidate]
            inside = True
            for k in range(2, n_columns):
                code = codes[columns[k], row]
                if code < low[k] or code > high[k]:
                    inside = False
                    break
            if inside:
                if count < found.size:
                    found[count] = row
                count += 1
                if count == enough:
                    return count
    return count


@njit(cache=True, nogil=True)
def isolate(codes, order, starts, offsets, low_of, high_of, rows, columns, most, low, high, isolated):
    """Build a predicate around each of ``rows`` and say whether it holds for ``most`` rows at most.

    Its range in each of ``columns`` (m, k) is the one that ``low_of`` and ``high_of`` give for the row.
    Fills ``low``, ``high`` (m, k) and ``isolated`` (m,).
    """
    nowhere = np.empty(0, np.int32)
    predicate = np.empty((3, columns.shape[1]), np.int32)
    near = np.empty(256, np.int32)
    for i in range(rows.size):
        for k in range(columns.shape[1]):
            at = offsets[columns[i, k]] + codes[columns[i, k], rows[i]]
            low[i, k] = low_of[at]
            high[i, k] = high_of[at]
        predicate[0], predicate[1], predicate[2] = columns[i], low[i], high[i]
        isolated[i] = _find(codes, order, starts, offsets, predicate, most + 1, nowhere, near) <= most


@njit(cache=True, nogil=True)
def count_matches(codes, order, starts, offsets, columns, low, high, counts, rows):
    """Count for each predicate the rows it holds for, and list the first of them in ``rows`` (m, most)."""
    predicate = np.empty((3, columns.shape[1]), np.int32)
    near = np.empty(256, np.int32)
    for i in range(columns.shape[0]):
        predicate[0], predicate[1], predicate[2] = columns[i], low[i], high[i]
        counts[i] = _find(codes, order, starts, offsets, predicate, codes.shape[1] + 1, rows[i], near)


@njit(cache=True, nogil=True)
def count_people(codes, order, starts, offsets, columns, low, high, whose, n_people, counts, people):
    """Count for each predicate the people with a row it holds for; list the first in ``people`` (m, most).

    ``whose`` (n,) is the number of the person that each row is about.
    """
    predicate = np.empty((3, columns.shape[1]), np.int32)
    near = np.empty(256, np.int32)
    rows = np.empty(codes.shape[1], np.int32)
    last = np.full(n_people, -1)  # the last predicate that each person was counted for
    for i in range(columns.shape[0]):
        predicate[0], predicate[1], predicate[2] = columns[i], low[i], high[i]
        n_rows = _find(codes, order, starts, offsets, predicate, codes.shape[1] + 1, rows, near)
        count = 0
        for row in rows[:n_rows]:
            person = whose[row]
            if last[person] == i:
                continue
            last[person] = i
            if count < people.shape[1]:
                people[i, count] = person
            count += 1
        counts[i] = count


@njit(cache=True, nogil=True)
def add_pairs(columns, weights, sums):
    """Add the weight (m,) of each predicate to the pairs of its ``columns`` (m, k), above the diagonal.

    ``sums`` is (d, d). What weighs nothing is passed over.
    """
    for i in range(columns.shape[0]):
        weight = weights[i]
        if weight > 0:
            for k in range(columns.shape[1]):
                for other in range(k):
                    a, b = columns[i, k], columns[i, other]
                    sums[min(a, b), max(a, b)] += weight


@njit(cache=True, nogil=True)
def deal_people(
    counts_a, people_a, counts_b, people_b, n_a, chance_a, chance_b, share, seed, first, sums, squares
):
    """Deal the people of two tables out anew, at random, and add up what the predicates then score.

    Deal number first + i puts a person into table A with probability ``share``; a predicate that holds for x
    people of A and y of B scores chance_a[x] - chance_b[y]. ``sums`` gets the score of all predicates in each
    deal, ``squares`` the sum of their squares. Predicates whose people are not all listed are left out.
    """
    most = people_a.shape[1]
    bar = np.uint64(share * 2.0**32)
    for deal in range(sums.size):
        salt = _mixed(np.uint64(seed) ^ _mixed(np.uint64(first + deal)))
        total, square = 0.0, 0.0
        for i in range(counts_a.size):
            a, b = counts_a[i], counts_b[i]
            if a + b == 0 or a > most or b > most:
                continue
            x = 0
            for k in range(a):
                x += (_mixed(salt + np.uint64(people_a[i, k])) >> np.uint64(32)) < bar
            for k in range(b):
                x += (_mixed(salt + np.uint64(n_a + people_b[i, k])) >> np.uint64(32)) < bar
            score = chance_a[x] - chance_b[a + b - x]
            total += score
            square += score * score
        sums[deal] = total
        squares[deal] = square
