"""Rows hashed to the cells of a partition and counted there, compiled: the same for every partition."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tabveil.core.table import Floats, Indices


@njit(cache=True, nogil=True)
def hash_bins(cells: Floats, slope: Floats, offset: Floats, factor: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash the bins of every row to one number."""
    keys = np.zeros(cells.shape[1], np.uint64)
    for j in range(cells.shape[0]):
        if slope[j] > 0:
            for i in range(cells.shape[1]):
                keys[i] += np.uint64(np.int64(np.floor(cells[j, i] * slope[j] + offset[j]))) * factor[j]
    for i in range(cells.shape[1]):
        key = (keys[i] ^ (keys[i] >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
        keys[i] = key ^ (key >> np.uint64(29))
    return keys


@njit(cache=True, nogil=True)
def add_counts(keys: NDArray[np.uint64], roles: NDArray[np.uint8], shared: Indices) -> None:
    """Add to each row of ``shared`` (n, 3) how many rows of each role have its key."""
    size = 2
    while size < 2 * len(keys):
        size *= 2
    mask = np.uint64(size - 1)
    held = np.empty(size, np.uint64)
    counts = np.zeros((size, 3), np.int32)
    slots = np.empty(len(keys), np.int64)
    for i in range(len(keys)):
        slot = keys[i] & mask
        while counts[slot, 0] + counts[slot, 1] + counts[slot, 2] > 0 and held[slot] != keys[i]:
            slot = (slot + np.uint64(1)) & mask
        held[slot] = keys[i]
        counts[slot, roles[i]] += 1
        slots[i] = slot
    for i in range(len(keys)):
        for role in range(3):
            shared[i, role] += counts[slots[i], role]
