"""Compiled loops that bring equal rows together, by exact keys of any length in a table of hashes."""

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
def number_rows(keys, numbers, firsts):
    """Give equal keys (n, parts) one number, in the order of their first rows; return how many there are.

    ``numbers`` (n,) gets the number of each row, ``firsts`` (n,) the first row of each number.
    """
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
    return n


@njit(cache=True, nogil=True)
def number_single(keys, numbers, firsts):
    """Do what :func:`number_rows` does for keys (n,) of one part, which nearly all tables have."""
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
    return n


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
    numbers = np.empty(n_groups, np.int32)
    firsts = np.empty(n_groups, np.int32)
    n = number_single(moved[:, 0], numbers, firsts) if n_parts == 1 else number_rows(moved, numbers, firsts)
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
