"""The compiled count of mismatches with every group: where a tree would have to open most of its leaves.

Counting goes straight through memory. A walk through the tree over groups reads far less where columns hang
together, and more where they do not, or where numbers set rows so far apart that many mismatches are near.
What walks took for the first queries tells which is cheaper for the others; the answers are the same.
"""

# mypy: allow-untyped-defs
from numba import njit, uint8

STRIP = 1024  # groups whose mismatches are counted at once; they stay in the first-level cache
GLANCE = 64  # groups that a few instructions tell to have a level among them or not
TRIALS = 8  # walks after which it is known what they take
# Nanoseconds, about; only their ratio matters.
A_TILE = 100.0  # to find and count a tile of groups
A_GROUP = 3.0  # to list a group that was found so
A_BYTE = 0.015  # of the codes that are counted


@njit(cache=True, nogil=True)
def counting_is_cheaper(codes, taken):
    """Tell whether counting all groups (c, n) takes less than walks: ``taken`` = (walks, tiles, groups)."""
    walks = A_TILE * taken[1] + A_GROUP * taken[2]
    return taken[0] >= TRIALS and walks > taken[0] * A_BYTE * codes.size * codes.itemsize


@njit(cache=True, nogil=True)
def count_mismatches(codes, query, counts, lowest):
    """Count in how many matched columns each group (c, n_groups) differs from the query (c,).

    Also notes the lowest count of every strip, so that a search for one level skips the strips without it.
    """
    n_groups = counts.size
    for s in range(lowest.size):
        start, stop = s * STRIP, min((s + 1) * STRIP, n_groups)
        part = counts[start:stop]
        for i in range(part.size):
            part[i] = 0
        j = 0
        while j + 2 < codes.shape[0]:
            a, b, c = codes[j, start:stop], codes[j + 1, start:stop], codes[j + 2, start:stop]
            x, y, z = query[j], query[j + 1], query[j + 2]
            for i in range(part.size):
                part[i] += uint8(a[i] != x) + uint8(b[i] != y) + uint8(c[i] != z)
            j += 3
        while j < codes.shape[0]:
            a, x = codes[j, start:stop], query[j]
            for i in range(part.size):
                part[i] += uint8(a[i] != x)
            j += 1
        low = part[0]
        for i in range(part.size):
            low = min(low, part[i])
        lowest[s] = low


@njit(cache=True, nogil=True)
def list_counted(mismatches, lowest, unlisted, level, listed, begins):
    """List the groups of every level from ``unlisted`` to ``level``, those of one level after the other.

    Those of level l become ``listed[begins[l] : begins[l + 1]]``; queries of one run share the list. Returns
    the first level that is not listed yet.
    """
    while unlisted <= level:
        start = begins[unlisted]
        begins[unlisted + 1] = start + _list_level(mismatches, lowest, unlisted, listed[start:])
        unlisted += 1
    return unlisted


@njit(cache=True, nogil=True)
def _list_level(mismatches, lowest, level, listed):
    """List the groups with exactly ``level`` mismatches; returns how many there are."""
    n, wanted = 0, mismatches.dtype.type(level)
    for s in range(lowest.size):
        if lowest[s] <= level:
            for start in range(s * STRIP, min((s + 1) * STRIP, mismatches.size), GLANCE):
                part, n_here = mismatches[start : start + GLANCE], uint8(0)
                for i in range(part.size):
                    n_here += uint8(part[i] == wanted)
                if n_here > 0:
                    for i in range(part.size):
                        listed[n] = start + i
                        n += part[i] == wanted
    return n
