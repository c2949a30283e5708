"""The compiled loops that weigh what sets of rows have in common."""

# mypy: allow-untyped-defs
import numpy as np
from numba import njit

from tabveil.engines.set_distance_kernels import CHUNK, _of

AT_ONCE = 4  # factors that are multiplied before their logarithm is taken: more may leave single precision


@njit(cache=True, nogil=True)
def _weigh(
    row, numbers, ties, shares, codes, gains, near_numbers, near_codes, chance, least, product, values
):
    """Weigh what one row has in common with each of others, in logarithms, and at least so much."""
    size, miss = values.size, np.float32(np.log(chance))
    values[:] = np.float32(0)
    for k in range(numbers.shape[0]):
        if k % AT_ONCE == 0:
            product[:] = np.float32(1)
        number, tie, share, column = numbers[k, row], ties[k, row], shares[k, row], near_numbers[k]
        for b in range(size):
            apart = abs(number - column[b])
            near = min(apart + apart + tie, np.float32(1))
            product[b] *= (share / near if apart < 1 else np.float32(0)) + chance
        if k % AT_ONCE == AT_ONCE - 1 or k == numbers.shape[0] - 1:
            for b in range(size):
                values[b] += np.log(product[b])
    for k in range(codes.shape[0]):
        code, gain, labels = codes[k, row], gains[k, row], near_codes[k]
        for b in range(size):
            values[b] += gain if labels[b] == code else miss
    for b in range(size):
        values[b] = max(values[b], least)


@njit(cache=True, nogil=True)
def weigh_sets(
    numbers, ties, shares, codes, gains, chance, own, starts, others, starts_of_others, found
):  # fmt: skip
    """Add to ``found`` (people, others) the weight of rows: each with the likest, both ways, halved.

    As in ``compare_sets`` the rows of person i are ``own[starts[i]:starts[i + 1]]``. A row without a
    counterpart in either direction weighs as much as a cell that differs.
    """
    n_people, n_others = starts.size - 1, starts_of_others.size - 1
    miss = np.float32(np.log(chance))
    first = 0
    while first < n_others:
        last = first + 1
        begin = starts_of_others[first]
        while last < n_others and starts_of_others[last + 1] - begin <= CHUNK:
            last += 1
        size = starts_of_others[last] - begin
        rows = others[begin : begin + size]
        near_numbers, near_codes = _of(numbers, rows), _of(codes, rows)
        values, product = np.empty(size, dtype=np.float32), np.empty(size, dtype=np.float32)
        most = np.empty(size, dtype=np.float32)
        for person in range(n_people):
            most[:] = miss
            for at in range(starts[person], starts[person + 1]):
                _weigh(
                    own[at],
                    numbers,
                    ties,
                    shares,
                    codes,
                    gains,
                    near_numbers,
                    near_codes,
                    chance,
                    miss,
                    product,
                    values,
                )
                for b in range(size):
                    most[b] = max(most[b], values[b])
                for other in range(first, last):
                    likest = miss
                    for b in range(starts_of_others[other] - begin, starts_of_others[other + 1] - begin):
                        likest = max(likest, values[b])
                    found[person, other] += likest / 2
            for other in range(first, last):
                for b in range(starts_of_others[other] - begin, starts_of_others[other + 1] - begin):
                    found[person, other] += most[b] / 2
        first = last


@njit(cache=True, nogil=True)
def weigh_orders(
    numbers, ties, shares, codes, gains, chance, least, own, starts, others, starts_of_others, found
):  # fmt: skip
    """Add to ``found`` (people, others) the weight of rows in their order, the first with the first.

    Two rows weigh at least ``least``. A row without a counterpart weighs as much as a cell that differs.
    """
    n_people, n_others = starts.size - 1, starts_of_others.size - 1
    miss = np.float32(np.log(chance))
    longest = 0
    for person in range(n_people):
        longest = max(longest, starts[person + 1] - starts[person])
    for person in range(n_people):
        for other in range(n_others):
            sizes = starts[person + 1] - starts[person], starts_of_others[other + 1] - starts_of_others[other]
            found[person, other] += miss * abs(sizes[0] - sizes[1])
    for place in range(longest):
        there = np.empty(n_others, dtype=np.int64)
        n_there = 0
        for other in range(n_others):
            if starts_of_others[other + 1] - starts_of_others[other] > place:
                there[n_there] = other
                n_there += 1
        there = there[:n_there]
        if n_there == 0:
            break
        rows = others[starts_of_others[there] + place]
        for low in range(0, n_there, CHUNK):
            part = rows[low : low + CHUNK]
            near_numbers, near_codes = _of(numbers, part), _of(codes, part)
            values, product = np.empty(part.size, dtype=np.float32), np.empty(part.size, dtype=np.float32)
            for person in range(n_people):
                if starts[person + 1] - starts[person] <= place:
                    continue
                row = own[starts[person] + place]
                _weigh(
                    row,
                    numbers,
                    ties,
                    shares,
                    codes,
                    gains,
                    near_numbers,
                    near_codes,
                    chance,
                    least,
                    product,
                    values,
                )
                for b in range(part.size):
                    found[person, there[low + b]] += values[b]
