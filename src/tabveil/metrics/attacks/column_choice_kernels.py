"""The compiled loop that tells how well one column is guessed from another, for many pairs of columns."""

# mypy: allow-untyped-defs
import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def best_guesses(levels, n_levels, secrets, first, right):
    """Count how many rows are guessed by whoever knows the best other column, for consecutive secrets.

    A guess names, for each level of the other column, the most frequent level of the secret. ``levels``
    (d, n) has the levels of every column, ``n_levels`` (d,) how many there are. The secrets are columns
    ``secrets[first]`` …; ``right`` (m,) gets the counts.
    """
    most = n_levels.max()
    pairs = np.empty((most, most), dtype=np.int64)
    for i in range(right.size):
        secret = levels[secrets[first + i]]
        n_secret = n_levels[secrets[first + i]]
        best = 0
        for j in range(levels.shape[0]):
            if j == secrets[first + i]:
                continue
            other = levels[j]
            for a in range(n_levels[j]):
                for b in range(n_secret):
                    pairs[a, b] = 0
            for row in range(other.size):
                pairs[other[row], secret[row]] += 1
            total = 0
            for a in range(n_levels[j]):
                frequent = 0
                for b in range(n_secret):
                    frequent = max(frequent, pairs[a, b])
                total += frequent
            best = max(best, total)
        right[i] = best
