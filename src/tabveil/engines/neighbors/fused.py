"""The nearest row of each block of rows for each query, in single precision: one pass over all pairs.

On a GPU it is one kernel, written in Triton (which comes with PyTorch for Linux): a tile of pairs stays in
registers while column after column is added to it. Labels of few kinds are compared all at once: rows as ones
and zeros, a product of which counts the columns that agree. Elsewhere the same sums are formed by PyTorch's
own operations, which is slower and needs nothing else.
"""

import importlib
from dataclasses import dataclass
from functools import cache
from typing import Any

from tabveil.engines.networks import load_torch

Tensor = Any
"""An array of PyTorch."""

BLOCK = 64  # rows of which only the nearest is kept
QUERIES = 128  # compared with a block at once
_TILES = 32  # blocks that one program goes through
_WARPS = 4
_EAGER_CELLS = 1 << 24  # pairs at once where no kernel holds them in registers


@dataclass(frozen=True, kw_only=True, eq=False)
class Compared:
    """Rows in single precision, whole blocks of them."""

    numbers: Tensor  # (d, blocks * BLOCK) in units of what costs 1, NaN where missing
    codes: Tensor  # (c, blocks * BLOCK) all that is compared by equality
    ones: Tensor  # (blocks * BLOCK, k) a one for each label that a row has, of columns of few labels
    n: int  # rows that are none of the padding

    @property
    def n_blocks(self) -> int:
        """How many blocks the rows fill."""
        return int(self.codes.shape[1]) // BLOCK

    def part(self, start: int, stop: int) -> "Compared":
        """Keep some rows, from the first of a block on."""
        end = -(-stop // QUERIES) * QUERIES
        return Compared(
            numbers=self.numbers[:, start:end].contiguous(),
            codes=self.codes[:, start:end].contiguous(),
            ones=self.ones[start:end],
            n=stop - start,
        )


@dataclass(frozen=True, kw_only=True)
class Formula:
    """What a pair costs."""

    by_ones: int  # columns that the ones stand for
    one_by_one: tuple[int, ...]  # which of the codes are compared by themselves
    power: int
    saturated: bool
    missing: bool  # whether any number is missing


def block_minima(
    asked: Compared,
    reference: Compared,
    formula: Formula,
    left_out: tuple[Tensor, Tensor],
    counting: Tensor | None,
) -> Tensor:
    """Return (s, blocks, q): the least that any row of a block costs, without each column in turn.

    ``left_out`` says which of the numbers and which of the codes have no part in it, -1 for none, (s,) each.
    ``counting`` (s, blocks * BLOCK) says which rows count.
    """
    if asked.codes.is_cuda and _kernel() is not None:
        return _by_kernel(asked, reference, formula, left_out, counting)
    return _by_operations(asked, reference, formula, left_out, counting)


def _by_operations(
    asked: Compared,
    reference: Compared,
    formula: Formula,
    left_out: tuple[Tensor, Tensor],
    counting: Tensor | None,
) -> Tensor:
    torch = load_torch("Neighbors")
    n_searches = len(left_out[0])
    found = torch.empty((n_searches, reference.n_blocks, asked.n), device=asked.codes.device)
    a_step = max(_EAGER_CELLS // (BLOCK * asked.n), 1)
    for block in range(0, reference.n_blocks, a_step):
        rows = slice(block * BLOCK, min(block + a_step, reference.n_blocks) * BLOCK)

        def number(j: int, rows: slice = rows) -> Tensor:
            gap = (reference.numbers[j, rows, None] - asked.numbers[j, None, : asked.n]).abs()
            cost = torch.nan_to_num(gap if formula.power == 1 else gap * gap, nan=0.0, posinf=float("inf"))
            return cost.clamp(max=1.0) if formula.saturated else cost

        def code(j: int, rows: slice = rows) -> Tensor:
            return (reference.codes[j, rows, None] != asked.codes[j, None, : asked.n]).float()

        total = torch.zeros((rows.stop - rows.start, asked.n), device=found.device)
        for j in range(len(reference.codes)):
            total += code(j)
        for j in range(len(reference.numbers)):
            total += number(j)
        total[max(reference.n - rows.start, 0) :] = float("inf")
        for s in range(n_searches):
            value, label = int(left_out[0][s]), int(left_out[1][s])
            without = (
                total.clone() if counting is None else total.where(counting[s, rows, None], float("inf"))
            )
            if value >= 0:
                without -= number(value)
            if label >= 0:
                without -= code(label)
            found[s, block : rows.stop // BLOCK] = without.reshape(-1, BLOCK, asked.n).amin(dim=1)
    return found


def _by_kernel(
    asked: Compared,
    reference: Compared,
    formula: Formula,
    left_out: tuple[Tensor, Tensor],
    counting: Tensor | None,
) -> Tensor:
    torch = load_torch("Neighbors")
    n_searches, device = len(left_out[0]), asked.codes.device
    found = torch.empty((n_searches, reference.n_blocks, asked.n), device=device)
    singly = torch.tensor(formula.one_by_one or (0,), dtype=torch.int32, device=device)
    nothing = counting is None and n_searches == 1 and int(left_out[0][0]) < 0 and int(left_out[1][0]) < 0
    grid = (-(-asked.n // QUERIES), -(-reference.n_blocks // _TILES))
    with torch.cuda.device(device):
        _kernel()[grid](
            asked.numbers, reference.numbers, asked.codes, reference.codes, asked.ones, reference.ones,
            singly, left_out[0], left_out[1], found if counting is None else counting, found,
            asked.n, reference.n, asked.codes.shape[1], reference.codes.shape[1], reference.n_blocks,
            n_searches, len(reference.numbers), len(formula.one_by_one), float(formula.by_ones),
            n_ones=reference.ones.shape[1], power=formula.power, saturated=formula.saturated,
            missing=formula.missing, whole=nothing, some_count=counting is not None,
            a_tile=QUERIES, a_block=BLOCK, a_program=_TILES, num_warps=_WARPS,
        )  # fmt: skip
    return found


@cache
def _kernel() -> Any:  # noqa: ANN401 - a function compiled by Triton
    """Return the kernel, or None where there is no Triton."""
    try:
        importlib.import_module("triton")
    except ImportError:
        return None
    return importlib.import_module("tabveil.engines.neighbors.fused_kernels").block_minima
