"""Compiled loops over classes of rows: what brings equal rows together, what is lost, what keeps a promise.

Equal rows are found by exact keys of any length in a table of hashes.
"""

# mypy: allow-untyped-defs
import numpy as np
from numba import njit

_MIX = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def _bits_for(n):
    """Return how many bits number at least twice as many slots as there are rows."""
    bits = 3
    while (1 << bits) < 2 * n:
        bits += 1
    return bits


@njit(cache=True, nogil=True)
def _slot(keys, row, bits):
    mixed = np.uint64(0)
    for part in range(keys.shape[1]):
        mixed = (mixed ^ np.uint64(keys[row, part])) * _MIX
        mixed ^= mixed >> np.uint64(29)
    return np.int64((mixed * _MIX) >> np.uint64(64 - bits))


@njit(cache=True, nogil=True)
def number_rows(keys):
    """Give equal keys (n, parts) one number, in the order of their first rows.

    Return the number of each row (n,), and the first row of each number.
    """
    numbers, firsts = np.empty(len(keys), np.int32), np.empty(len(keys), np.int32)
    bits = _bits_for(len(keys))
    mask = (1 << bits) - 1
    slots = np.full(1 << bits, -1, np.int32)
    n = 0
    for row in range(len(keys)):
        slot = _slot(keys, row, bits)
        while True:
            other = slots[slot]
            if other < 0:
                slots[slot] = n
                firsts[n] = row
                numbers[row] = n
                n += 1
                break
            first = firsts[other]
            equal = True
            for part in range(keys.shape[1]):
                if keys[first, part] != keys[row, part]:
                    equal = False
                    break
            if equal:
                numbers[row] = other
                break
            slot = (slot + 1) & mask
    return numbers, firsts[:n]


@njit(cache=True, nogil=True)
def number_single(keys):
    """Do what :func:`number_rows` does for keys (n,) of one part, which nearly all tables have."""
    numbers, firsts = np.empty(len(keys), np.int32), np.empty(len(keys), np.int32)
    bits = _bits_for(len(keys))
    mask = (1 << bits) - 1
    shift = np.uint64(64 - bits)
    slots = np.full(1 << bits, -1, np.int32)
    n = 0
    for row in range(len(keys)):
        key = keys[row]
        slot = np.int64((np.uint64(key) * _MIX) >> shift)
        while True:
            other = slots[slot]
            if other < 0:
                slots[slot] = n
                firsts[n] = row
                numbers[row] = n
                n += 1
                break
            if keys[firsts[other]] == key:
                numbers[row] = other
                break
            slot = (slot + 1) & mask
    return numbers, firsts[:n]


@njit(cache=True, nogil=True)
def roll_up(keys, rows, counts, leaves, changed, parts, before, after, places):
    """Join the groups of a node that a coarser node does not tell apart.

    ``keys`` (g, parts), ``rows`` (g,), a combination that stands for each group, and ``counts`` (g,) are the
    finer node's. ``leaves`` (d, m) are the leaves of every combination; ``changed`` the columns that are
    coarser, ``parts`` (d,) the part of the key that holds each. What leaf x of a column adds to the key is
    ``places`` at ``before[column] + x`` and ``after[column] + x``. Returns the same three for the coarser.
    """
    n_groups, n_parts = keys.shape
    moved = keys.copy()
    for place in range(changed.size):
        column = changed[place]
        part, old, new = parts[column], before[column], after[column]
        for group in range(n_groups):
            leaf = leaves[column, rows[group]]
            moved[group, part] += places[new + leaf] - places[old + leaf]
    numbers, firsts = number_single(moved[:, 0]) if n_parts == 1 else number_rows(moved)
    n = len(firsts)
    new_keys = np.empty((n, n_parts), np.int64)
    new_rows = np.empty(n, np.int32)
    new_counts = np.zeros(n, np.int64)
    for number in range(n):
        first = firsts[number]
        new_rows[number] = rows[first]
        for part in range(n_parts):
            new_keys[number, part] = moved[first, part]
    for group in range(n_groups):
        new_counts[numbers[group]] += counts[group]
    return new_keys, new_rows, new_counts


@njit(cache=True, nogil=True)
def gather(numbers, n_classes, counts):
    """Sort groups by class (counting sort): return their order, where each class begins, and its rows."""
    starts = np.zeros(n_classes + 1, np.int64)
    totals = np.zeros(n_classes, np.int64)
    for group in range(len(numbers)):
        starts[numbers[group] + 1] += 1
        totals[numbers[group]] += counts[group]
    for number in range(n_classes):
        starts[number + 1] += starts[number]
    places = starts[:-1].copy()
    order = np.empty(len(numbers), np.int64)
    for group in range(len(numbers)):
        order[places[numbers[group]]] = group
        places[numbers[group]] += 1
    return order, starts, totals


@njit(cache=True, nogil=True)
def suppressed_shares(rows, counts, keep, leaves, offsets, shares):
    """Return per column what the suppressed classes' rows lack to a share of 1, (d,).

    ``rows`` (c,) is a combination that stands for each class; ``shares`` has at ``offsets[column] + leaf``
    the share of leaves under a leaf's value.
    """
    lacking = np.zeros(len(offsets))
    for number in range(len(rows)):
        if not keep[number]:
            for column in range(len(offsets)):
                share = shares[offsets[column] + leaves[column, rows[number]]]
                lacking[column] += counts[number] * (1.0 - share)
    return lacking


@njit(cache=True, nogil=True)
def suppressed_entropy(rows, counts, keep, leaves, offsets, codes, n_values):
    """Return the entropy, in bits times rows, of the suppressed rows' generalized values over all columns.

    ``codes`` has at ``offsets[column] + leaf`` a leaf's value, one of ``n_values[column]``.
    """
    total = 0
    for number in range(len(rows)):
        if not keep[number]:
            total += counts[number]
    lost = 0.0
    for column in range(len(offsets)):
        held = np.zeros(n_values[column], np.int64)
        for number in range(len(rows)):
            if not keep[number]:
                held[codes[offsets[column] + leaves[column, rows[number]]]] += counts[number]
        for value in range(n_values[column]):
            if held[value] > 0:
                lost -= held[value] * np.log2(held[value] / total)
    return lost


SLACK = 1e-12
"""What rounding may add to a sum that should just reach its limit."""


@njit(cache=True, nogil=True)
def _fill(order, start, stop, counts, values, held, seen):
    """Count the values of one class into ``held`` (v,), and list them in ``seen``.

    Returned are how many are different, and how many rows the class has.
    """
    n, total = 0, 0
    for place in range(start, stop):
        group = order[place]
        value = values[group]
        if held[value] == 0:
            seen[n] = value
            n += 1
        held[value] += counts[group]
        total += counts[group]
    return n, total


@njit(cache=True, nogil=True)
def _empty(held, seen, n):
    for place in range(n):
        held[seen[place]] = 0


@njit(cache=True, nogil=True)
def keep_distinct(order, starts, counts, values, n_values, least, keep):
    """Keep classes with at least ``least`` different values."""
    held, seen = np.zeros(n_values, np.int64), np.empty(n_values, np.int64)
    for number in range(len(keep)):
        if keep[number]:
            n, _ = _fill(order, starts[number], starts[number + 1], counts, values, held, seen)
            _empty(held, seen, n)
            keep[number] = n >= least


@njit(cache=True, nogil=True)
def keep_entropy(order, starts, counts, values, n_values, least, keep):
    """Keep classes whose entropy is at least the logarithm of ``least``."""
    held, seen = np.zeros(n_values, np.int64), np.empty(n_values, np.int64)
    for number in range(len(keep)):
        if keep[number]:
            n, total = _fill(order, starts[number], starts[number + 1], counts, values, held, seen)
            entropy = 0.0
            for place in range(n):
                share = held[seen[place]] / total
                entropy -= share * np.log(share)
            _empty(held, seen, n)
            keep[number] = entropy >= np.log(least) - SLACK


@njit(cache=True, nogil=True)
def keep_recursive(order, starts, counts, values, n_values, least, factor, keep):
    """Keep classes whose most frequent value is below ``factor`` times all from the ``least``-th on."""
    held, seen = np.zeros(n_values, np.int64), np.empty(n_values, np.int64)
    for number in range(len(keep)):
        if keep[number]:
            n, _ = _fill(order, starts[number], starts[number + 1], counts, values, held, seen)
            ranked = np.sort(held[seen[:n]])[::-1]
            _empty(held, seen, n)
            keep[number] = n > 0 and ranked[0] < factor * ranked[least - 1 :].sum()


@njit(cache=True, nogil=True)
def keep_equal(order, starts, counts, values, n_values, most, reference, keep):
    """Keep classes that lie within ``most`` of the reference, all values being equally far apart."""
    held, seen = np.zeros(n_values, np.int64), np.empty(n_values, np.int64)
    for number in range(len(keep)):
        if keep[number]:
            n, total = _fill(order, starts[number], starts[number + 1], counts, values, held, seen)
            more = 0.0
            for place in range(n):
                more += max(held[seen[place]] / total - reference[seen[place]], 0.0)
            _empty(held, seen, n)
            keep[number] = more <= most + SLACK


@njit(cache=True, nogil=True)
def keep_ordered(order, starts, counts, values, n_values, most, reference, keep):
    """Keep classes that lie within ``most`` of the reference, values being as far apart as their ranks."""
    held, seen = np.zeros(n_values, np.int64), np.empty(n_values, np.int64)
    for number in range(len(keep)):
        if keep[number]:
            n, total = _fill(order, starts[number], starts[number + 1], counts, values, held, seen)
            moved, ahead = 0.0, 0.0
            for value in range(n_values):
                ahead += held[value] / total - reference[value]
                moved += abs(ahead)
            _empty(held, seen, n)
            keep[number] = moved <= (most + SLACK) * max(n_values - 1, 1)


@njit(cache=True, nogil=True)
def keep_hierarchical(order, starts, counts, values, n_values, most, reference, parents, sizes, keep):
    """Keep classes that lie within ``most`` of the reference, by the levels at which values meet.

    ``parents`` (height, v) has, for each value of a level, its parent in the next; ``sizes`` (height + 1,)
    how many values each level has.
    """
    height = len(parents)
    held, seen = np.zeros(n_values, np.int64), np.empty(n_values, np.int64)
    extra, over, under = np.empty(sizes.max()), np.empty(sizes.max()), np.empty(sizes.max())
    for number in range(len(keep)):
        if keep[number]:
            n, total = _fill(order, starts[number], starts[number + 1], counts, values, held, seen)
            for value in range(n_values):
                extra[value] = held[value] / total - reference[value]
            _empty(held, seen, n)
            moved = 0.0
            for level in range(height):
                for value in range(sizes[level + 1]):
                    over[value] = under[value] = 0.0
                for value in range(sizes[level]):
                    if extra[value] > 0:
                        over[parents[level, value]] += extra[value]
                    else:
                        under[parents[level, value]] -= extra[value]
                for value in range(sizes[level + 1]):
                    moved += min(over[value], under[value]) * (level + 1) / height
                    extra[value] = over[value] - under[value]
            keep[number] = moved <= most + SLACK


@njit(cache=True, nogil=True)
def lost_to_closeness(order, starts, counts, values, n_values, most, reference, least, lost):
    """Count the rows of each class that no finer classes within ``most`` of the reference can keep.

    Together, finer classes that are kept are as near as each of them. So of K rows that are kept, at most as
    many have a value as the class has, and at most ``most`` K are more than the reference's share: K is at
    most where the sum of min(count, share K) falls below (1 - most) K. Fewer than ``least`` are none.
    """
    held = np.zeros(n_values, np.int64)
    for number in range(len(lost)):
        total = 0
        for place in range(starts[number], starts[number + 1]):
            total += counts[order[place]]
        lost[number] = total
        if total < least:
            continue
        for place in range(starts[number], starts[number + 1]):
            held[values[order[place]]] += counts[order[place]]
        low, high = 0.0, float(total)
        for step in range(16):
            kept = high if step == 0 else (low + high) / 2
            possible = 0.0
            for value in range(n_values):
                possible += min(float(held[value]), kept * reference[value])
            if possible >= (1 - most) * kept - SLACK * total:
                low = kept
                if step == 0:
                    break
            else:
                high = kept
        for value in range(n_values):
            held[value] = 0
        kept_rows = np.int64(np.floor(high + 1e-6))  # the upper end: more cannot be kept
        if kept_rows >= least:
            lost[number] = total - kept_rows
