"""The compiled loops that deal labels anew and count them.

The random numbers are those of NumPy's PCG64, drawn as its ``Generator.permuted`` draws them: the same deals
come of the same generator, in less than half of the time.
"""

# mypy: allow-untyped-defs
import numpy as np
from numba import njit, types
from numba.extending import intrinsic

_MULTIPLIER_HIGH, _MULTIPLIER_LOW = np.uint64(0x2360ED051FC65DA4), np.uint64(0x4385DF649FCCF645)
_HALF, _ROTATION, _WORD = np.uint64(32), np.uint64(58), np.uint64(63)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)


@intrinsic
def _high_product(_context, _a, _b):
    """Return the upper 64 bits of a product of two words."""

    def generate(context, builder, signature, arguments):
        wide = context.get_value_type(signature.return_type).__class__(128)
        a, b = (builder.zext(argument, wide) for argument in arguments)
        upper = builder.lshr(builder.mul(a, b), wide(64))
        return builder.trunc(upper, context.get_value_type(signature.return_type))

    return types.uint64(types.uint64, types.uint64), generate


@njit(cache=True, nogil=True)
def shuffle_rows(state, rows):
    """Shuffle every row of ``rows`` (m, n), one after the other (Fisher and Yates).

    ``state`` is the generator's: high and low word, high and low word of its increment, whether half a word
    is left over, and that half. It is moved on as far as numbers are drawn.
    """
    high, low, step_high, step_low = state[0], state[1], state[2], state[3]
    has_half, half = state[4] != 0, state[5]
    for i in range(rows.shape[0]):
        row = rows[i]
        mask = np.uint64(0)
        while mask < np.uint64(row.size - 1):
            mask = (mask << _ONE) | _ONE
        for last in range(row.size - 1, 0, -1):
            if np.uint64(last) <= mask >> _ONE:
                mask >>= _ONE
            pick = np.uint64(last) + _ONE
            while pick > np.uint64(last):
                if has_half:
                    pick, has_half = half & mask, False
                else:
                    upper = _high_product(low, _MULTIPLIER_LOW)  # type: ignore[call-arg,var-annotated] # Numba's
                    upper += high * _MULTIPLIER_LOW + low * _MULTIPLIER_HIGH + step_high
                    low = low * _MULTIPLIER_LOW + step_low
                    high = upper + np.uint64(low < step_low)
                    turn, word = high >> _ROTATION, high ^ low
                    word = (word >> turn) | (word << ((np.uint64(64) - turn) & _WORD))
                    pick, half, has_half = word & _LOW_HALF & mask, word >> _HALF, True
            row[last], row[pick] = row[pick], row[last]
    state[0], state[1], state[4], state[5] = high, low, np.uint64(has_half), half


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def sum_ranks(dealt, ranks, sums):
    """Add up the ranks (n,) of those with the first label, in each deal (m, n).

    Ranks are whole or half numbers, whose sums are exact in whatever order is fastest.
    """
    for i in range(dealt.shape[0]):
        row, total = dealt[i], 0.0
        for j in range(row.size):
            total += ranks[j] if row[j] else 0.0
        sums[i] = total


@njit(cache=True, nogil=True)
def count_hits(dealt, order, depths, hits):
    """Count those with the first label among the first of an order, for each deal (m, n): ``hits`` (m, k)."""
    for i in range(dealt.shape[0]):
        row, found, start = dealt[i], 0, 0
        for k in range(depths.size):
            for j in range(start, depths[k]):
                found += row[order[j]]
            hits[i, k] = found
            start = depths[k]
