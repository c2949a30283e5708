"""Compiled loops over sets of columns: which real people are alone with their values, and stand in a release?

Rows are compared by sums of the hashes of their cells: 64 bits tell tables of millions of rows apart. For
every set one hash table is built of the real rows, and all released rows are looked up in it. Real rows whose
hash no released row has are nobody's business; a field of bits passes over most of them, and what is left is
often few enough for the fastest memory.
"""

# mypy: allow-untyped-defs
import numpy as np
from numba import njit

NOBODY, SEVERAL = -1, -2


BITS_A_ROW = 16


@njit(cache=True, nogil=True)
def _met(keys, asked, bits, rows):
    """List in ``rows`` the real rows whose keys may be asked for; return how many, and a table's size."""
    bits[:] = 0
    mask = np.uint64(64 * bits.size - 1)
    for key in asked:
        bit = (key >> np.uint64(32)) & mask
        bits[np.int64(bit >> np.uint64(6))] |= np.uint64(1) << (bit & np.uint64(63))
    n = np.int64(0)
    for row in range(keys.size):
        bit = (keys[row] >> np.uint64(32)) & mask
        rows[n] = row
        n += np.int64((bits[np.int64(bit >> np.uint64(6))] >> (bit & np.uint64(63))) & np.uint64(1))
    size = 16
    while size < 2 * n:
        size *= 2
    return n, size


@njit(cache=True, nogil=True)
def _fill(keys, rows, whose, slot_key, slot_owner, mask):
    """Put real rows into the table: whose a key is, or that several people have it."""
    slot_owner[:] = NOBODY
    for row in rows:
        at = np.int64(keys[row] & mask)
        while slot_owner[at] != NOBODY and slot_key[at] != keys[row]:
            at = (at + 1) & np.int64(mask)
        if slot_owner[at] == NOBODY:
            slot_key[at] = keys[row]
            slot_owner[at] = whose[row]
        elif slot_owner[at] != whose[row]:
            slot_owner[at] = SEVERAL


@njit(cache=True, nogil=True)
def _add(cells, members, total, keys):
    """Add up the members of a set; where there is a total, take them away from it."""
    taken = total.size > 0
    for row in range(keys.size):
        keys[row] = total[row] if taken else np.uint64(0)
    for member in members:
        for row in range(keys.size):
            keys[row] += -cells[member, row] if taken else cells[member, row]


@njit(cache=True, nogil=True)
def count_hits(real, released, totals, whose, n_train, members, starts, counts, people, rows):
    """Count for each set (starts[s]:starts[s+1] of ``members``) whom released rows hit who is alone.

    ``real`` (cells, n) and ``released`` (cells, m) are hashes. Sets name the cells that are left out where
    ``totals`` (n,), (m,) are given, else those that count. ``counts`` (sets, 4) is filled with the people of
    train and of control who are hit, and the released rows that hit the first and the others. ``people``
    (n_people,) are marked by the number of the last set that hits them, beginning at 0, and ``rows`` (m,) by
    whom any set lets them hit: train 1, control 2, both 3.
    """
    size = 16
    while size < 2 * real.shape[1]:
        size *= 2
    slot_key, slot_owner = np.empty(size, np.uint64), np.empty(size, np.int32)
    keys, asked = np.empty(real.shape[1], np.uint64), np.empty(released.shape[1], np.uint64)
    words = 1
    while 64 * words < BITS_A_ROW * asked.size:
        words *= 2
    bits, met = np.empty(words, np.uint64), np.empty(real.shape[1], np.int32)
    for number in range(starts.size - 1):
        chosen = members[starts[number] : starts[number + 1]]
        _add(real, chosen, totals[0], keys)
        _add(released, chosen, totals[1], asked)
        n_met, size = _met(keys, asked, bits, met)
        mask = np.uint64(size - 1)
        _fill(keys, met[:n_met], whose, slot_key, slot_owner[:size], mask)
        counts[number, :] = 0
        for row in range(asked.size):
            at = np.int64(asked[row] & mask)
            while slot_owner[at] != NOBODY and slot_key[at] != asked[row]:
                at = (at + 1) & np.int64(mask)
            owner = slot_owner[at]
            if owner < 0:
                continue
            side = 0 if owner < n_train else 1
            rows[row] |= np.uint8(1 + side)
            counts[number, 2 + side] += 1
            if people[owner] != number:
                people[owner] = number
                counts[number, side] += 1
