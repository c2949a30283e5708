"""The compiled sum of a kernel density: how much of a table lies around each query?

For a query x and a row y the exponent is ``slope · Σ min((x − y)², most) + cost · mismatches``: a Gaussian
over numbers, down to a floor, times a factor for every category that differs (Aitchison and Aitken 1976).
Queries and rows go in tiles, and every inner loop runs over the queries of a tile, so that one instruction
works on several queries and no sum is ever reordered. Sums are kept relative to the nearest row so far: no
density is too small for a float.
"""

# mypy: allow-untyped-defs
import math

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

QUERIES = 64  # in a tile
ROWS = 32  # in a tile; 64 x 32 exponents stay in the first-level cache
NEGLIGIBLE = 40.0  # what is below e^-40 of a sum does not move its last digit

_ONE, _ZERO = np.int32(1), np.int32(0)
_LOG2_E = math.log2(math.e)
_LN_2_HIGH = 0.693145751953125  # ln 2 in two parts: whole multiples of the first are exact
_LN_2_LOW = 1.42860682030941723212e-6
_TO_INTEGER = 1.5 * 2.0**52  # added to a number, leaves its integer part in the lowest bits
_LEAST = -700.0
_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11 = (1 / math.factorial(k) for k in range(2, 12))


@intrinsic
def _bits(_context, _number):
    """Read a float's bits as an integer."""

    def generate(context, builder, _signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.int64))

    return types.int64(types.float64), generate


@intrinsic
def _from_bits(_context, _bits):
    """Read an integer's bits as a float."""

    def generate(context, builder, _signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.int64), generate


@njit(cache=True, nogil=True, inline="always", fastmath={"contract"})
def exponential(z):
    """Return e^z for z <= 0 to 1e-14, in a form the compiler can vectorize (below -700 it is e^-700).

    z = n ln 2 + r with a whole n; e^r by its series to the 11th power (|r| < 0.35), 2^n by its exponent bits.
    """
    z = z if z > _LEAST else _LEAST
    shifted = z * _LOG2_E + _TO_INTEGER
    n = shifted - _TO_INTEGER
    r = (z - n * _LN_2_HIGH) - n * _LN_2_LOW
    p = r * _C11 + _C10
    p = p * r + _C9
    p = p * r + _C8
    p = p * r + _C7
    p = p * r + _C6
    p = p * r + _C5
    p = p * r + _C4
    p = p * r + _C3
    p = p * r + _C2
    p = p * r + 1.0
    p = p * r + 1.0
    power = (_bits(shifted) + 1023) << 52  # type: ignore[call-arg] # Numba passes the context
    return p * _from_bits(power)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _measure(numbers, codes, row_numbers, row_codes, n_complete, most, gaps, mismatches, counts):
    """Fill in the squared gaps and the mismatches of a tile; columns past ``n_complete`` may hold NaN."""
    d = numbers.shape[0]
    for r in range(row_numbers.shape[0]):
        gap = gaps[r]
        for q in range(QUERIES):
            gap[q] = 0.0
        j = 0
        while j + 3 < n_complete:
            a, b, c, e = (
                row_numbers[r, j],
                row_numbers[r, j + 1],
                row_numbers[r, j + 2],
                row_numbers[r, j + 3],
            )
            at, bt, ct, et = numbers[j], numbers[j + 1], numbers[j + 2], numbers[j + 3]
            for q in range(QUERIES):
                s, t, u, v = at[q] - a, bt[q] - b, ct[q] - c, et[q] - e
                s, t, u, v = min(s * s, most), min(t * t, most), min(u * u, most), min(v * v, most)
                gap[q] = (((gap[q] + s) + t) + u) + v
            j += 4
        while j < n_complete:
            a, at = row_numbers[r, j], numbers[j]
            for q in range(QUERIES):
                s = at[q] - a
                gap[q] += min(s * s, most)
            j += 1
        while j < d:
            a, at = row_numbers[r, j], numbers[j]
            for q in range(QUERIES):
                s = at[q] - a
                gap[q] += min(s * s, most) if s == s else 0.0  # noqa: PLR0124 - NaN: one is missing, a mismatch
            j += 1
        for q in range(QUERIES):
            counts[q] = _ZERO
        for k in range(codes.shape[0]):
            code, tile = row_codes[r, k], codes[k]
            for q in range(QUERIES):
                counts[q] = counts[q] + (_ONE if tile[q] != code else _ZERO)
        mismatch = mismatches[r]
        for q in range(QUERIES):
            mismatch[q] = counts[q]


@njit(cache=True, nogil=True, fastmath={"contract"})
def _weigh(gaps, mismatches, n_rows, slope, cost, exponents, least):
    """Turn a tile's gaps and mismatches into exponents, and find each query's least."""
    for q in range(QUERIES):
        least[q] = np.inf
    for r in range(n_rows):
        gap, mismatch, exponent = gaps[r], mismatches[r], exponents[r]
        for q in range(QUERIES):
            e = slope * gap[q] + cost * mismatch[q]
            exponent[q] = e
            least[q] = e if e < least[q] else least[q]


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add(exponents, n_rows, base, total):
    """Add a tile's terms, relative to each query's base."""
    for r in range(n_rows):
        exponent = exponents[r]
        for q in range(QUERIES):
            total[q] += exponential(base[q] - exponent[q])


@njit(cache=True, nogil=True)
def _lower(least, base, total, cutoff):
    """Move the bases to new nearest rows. Tell whether the tile holds any term that counts."""
    counts = False
    for q in range(QUERIES):
        counts |= least[q] < base[q] + cutoff
    if counts:
        for q in range(QUERIES):
            if least[q] < base[q]:
                total[q] *= math.exp(least[q] - base[q])  # 0 the first time, when the base is infinite
                base[q] = least[q]
    return counts


@njit(cache=True, nogil=True)
def log_sums(numbers, codes, row_numbers, row_codes, n_complete, most, slopes, costs, out):
    """Write log Σ_y exp(−exponent(x, y)) for every query x and every pair of slope and cost.

    ``numbers`` (d, m) and ``codes`` (c, m) hold the queries, ``row_numbers`` (n, d) and ``row_codes`` (n, c)
    the rows, ``most`` is what a squared gap may be, ``out`` is (k, m). Terms that together are below e^-40 of
    the sum are left out.
    """
    d, m = numbers.shape
    n, k = row_numbers.shape[0], slopes.size
    cutoff = NEGLIGIBLE + math.log(n)
    tile, code_tile = np.zeros((d, QUERIES)), np.zeros((codes.shape[0], QUERIES), codes.dtype)
    gaps, mismatches = np.empty((ROWS, QUERIES)), np.empty((ROWS, QUERIES))
    exponents = np.empty((ROWS, QUERIES))
    counts, least = np.zeros(QUERIES, np.int32), np.empty(QUERIES)
    base, total = np.empty((k, QUERIES)), np.empty((k, QUERIES))
    for first in range(0, m, QUERIES):
        size = min(QUERIES, m - first)
        tile[:, :size] = numbers[:, first : first + size]
        code_tile[:, :size] = codes[:, first : first + size]
        base[:] = np.inf
        total[:] = 0.0
        for start in range(0, n, ROWS):
            stop = min(start + ROWS, n)
            _measure(
                tile, code_tile, row_numbers[start:stop], row_codes[start:stop], n_complete, most,
                gaps, mismatches, counts,
            )  # fmt: skip
            for i in range(k):
                _weigh(gaps, mismatches, stop - start, slopes[i], costs[i], exponents, least)
                if _lower(least, base[i], total[i], cutoff):
                    _add(exponents, stop - start, base[i], total[i])
        for i in range(k):
            for q in range(size):
                out[i, first + q] = math.log(total[i, q]) - base[i, q]
