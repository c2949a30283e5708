"""The kernel of :mod:`tabveil.engines.neighbors.fused`; imported only where Triton is there."""

# mypy: ignore-errors
import triton
import triton.language as tl


@triton.jit
def _number(asked, reference, j, q, r, asked_width, width, power, saturated, missing):
    """Return what one number costs each pair of a tile."""
    x = tl.load(asked + j.to(tl.int64) * asked_width + q)
    y = tl.load(reference + j.to(tl.int64) * width + r)
    cost = tl.abs(x[:, None] - y[None, :])
    if power > 1:
        cost = cost * cost
    if missing:
        cost = tl.maximum(cost, 0.0)  # of a number and NaN the number
    if saturated:
        cost = tl.minimum(cost, 1.0)
    return cost


@triton.jit
def _differ(asked, reference, j, q, r, asked_width, width):
    """Return whether one label differs in each pair of a tile, as 0 and 1."""
    x = tl.load(asked + j.to(tl.int64) * asked_width + q)
    y = tl.load(reference + j.to(tl.int64) * width + r)
    return (x[:, None] != y[None, :]).to(tl.float32)


@triton.jit(do_not_specialize=["n_asked", "n_rows", "n_blocks", "n_searches", "n_numbers", "n_singly"])
def block_minima(
    asked_numbers, numbers, asked_codes, codes, asked_ones, ones, singly, value_of, code_of, counting, found,
    n_asked, n_rows, asked_width, width, n_blocks, n_searches, n_numbers, n_singly, by_ones,
    n_ones: tl.constexpr, power: tl.constexpr, saturated: tl.constexpr, missing: tl.constexpr,
    whole: tl.constexpr, some_count: tl.constexpr, a_tile: tl.constexpr, a_block: tl.constexpr,
    a_program: tl.constexpr,
):  # fmt: skip
    """Write the least cost of each block for a tile of queries, for ``a_program`` blocks in turn."""
    q = tl.program_id(0) * a_tile + tl.arange(0, a_tile)
    if n_ones > 0:
        labels = tl.arange(0, n_ones)
        mine = tl.load(asked_ones + q.to(tl.int64)[:, None] * n_ones + labels[None, :])
    first = tl.program_id(1) * a_program
    for block in range(first, min(first + a_program, n_blocks)):
        r = block * a_block + tl.arange(0, a_block)
        if n_ones > 0:
            theirs = tl.load(ones + r.to(tl.int64)[None, :] * n_ones + labels[:, None])
            total = by_ones - tl.dot(mine, theirs)
        else:
            total = tl.zeros((a_tile, a_block), dtype=tl.float32)
        for j in range(n_singly):
            at = tl.load(singly + j)
            total += _differ(asked_codes, codes, at, q, r, asked_width, width)
        for j in range(n_numbers):
            total += _number(asked_numbers, numbers, j, q, r, asked_width, width, power, saturated, missing)
        if (block + 1) * a_block > n_rows:
            total = tl.where((r < n_rows)[None, :], total, float("inf"))
        if whole:
            place = found + block.to(tl.int64) * n_asked + q
            tl.store(place, tl.min(total, axis=1), mask=q < n_asked)
        else:
            for s in range(n_searches):
                without = total
                value, label = tl.load(value_of + s), tl.load(code_of + s)
                if value >= 0:
                    without -= _number(
                        asked_numbers, numbers, value, q, r, asked_width, width, power, saturated, missing
                    )
                if label >= 0:
                    without -= _differ(asked_codes, codes, label, q, r, asked_width, width)
                if some_count:
                    here = tl.load(counting + s.to(tl.int64) * width + r)
                    without = tl.where(here[None, :], without, float("inf"))
                place = found + (s.to(tl.int64) * n_blocks + block) * n_asked + q
                tl.store(place, tl.min(without, axis=1), mask=q < n_asked)
