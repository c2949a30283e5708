"""Search by going through all pairs, on a GPU: it does not mind how hard the data are.

Every query is compared with every row in single precision, and of each block of rows only the nearest is kept
(:mod:`tabveil.engines.neighbors.fused`). That is off by a known bound at most, so it tells which blocks may
hold an answer. Those few are measured in double precision, in the order of columns that all searches have:
the answers are those of the other searches to the last bit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Categorical, Floats, Indices, Table
from tabveil.core.workers import current, tell
from tabveil.engines.neighbors.fused import BLOCK, QUERIES, Compared, Formula, Tensor, block_minima
from tabveil.engines.neighbors.index import (
    NOBODY,
    SortedRows,
    encode_codes,
    encode_values,
    lowest_ranks,
    missing_in,
    of_copies,
)
from tabveil.engines.neighbors.space import Space
from tabveil.engines.neighbors.vector_kernels import spread_copies
from tabveil.engines.networks import gpu_at_hand, load_torch

Bools = NDArray[np.bool_]

_SINGLE = 2.0**-24  # the rounding error of single precision
_LARGEST = 1e12  # numbers whose squares single precision can hold
_MOST_ONES = 256  # labels that are compared by products
_FEWEST_ONES = 16  # that tiles are multiplied by; it must be a power of two
_MINIMA_AT_ONCE = 1 << 28  # of blocks and queries, held on the device
_CELLS_AT_ONCE = 1 << 25  # rows measured exactly
_FEWEST_PAIRS = {"cuda": 1 << 28, "auto": 1 << 32}
"""Of a query and a row. Measured beside 16 cores: a GPU is as fast at 8,000 rows and twice as fast at 16,000;
but where nobody asked for it, it also has to make up for what it takes to start, about 5 seconds."""
_FEWEST_AT_ONCE = 8 * QUERIES


class TooFarApartError(ValueError):
    """Single precision does not hold the squares of these numbers: they are to be searched another way."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _Asked:
    """Queries as they are compared with the reference, column by column."""

    compared: Compared
    values: Tensor  # (d, q), NaN where missing
    absent: Tensor  # (a + 1, q) cells that are missing where the reference never lacks one; the last: none
    absent_names: tuple[str, ...]
    reach: Tensor  # (q,) how far numbers are from the middle, in units of what costs 1: sums over the columns


@dataclass(frozen=True, kw_only=True, eq=False)
class _Left:
    """What each of several searches leaves out: which of values, codes and absent cells, -1 is none; (s,)."""

    values: Tensor
    codes: Tensor
    absent: Tensor
    counting: Tensor | None = None  # (s, n) which of the different rows count; None: all
    anything: bool = True


@dataclass(frozen=True, kw_only=True, eq=False)
class _Blocks:
    """Blocks that may hold an answer: of which query, in which search, and how near it must be; (p,) each."""

    query: Tensor
    search: Tensor
    block: Tensor
    bar: Tensor


@dataclass(frozen=True, kw_only=True, eq=False)
class _NearEnough:
    """Rows that may be answers, and their exact distances, (e,) each."""

    query: Tensor
    search: Tensor
    total: Tensor
    row: Tensor  # of the different rows


def gpu_for(n_queries: int, n_rows: int, n_searches: int = 1) -> str | None:
    """Say where pairs are to be gone through; None where it is not allowed, or not faster than trees are."""
    asked = current().device
    if asked == "cpu" or n_queries * n_rows * n_searches < _FEWEST_PAIRS[asked]:
        return None
    return "cuda" if gpu_at_hand() else None


class BruteIndex:
    """Rows on a device, and the search among them."""

    def __init__(self, space: Space, reference: Table, device: str) -> None:
        self.torch = load_torch("Neighbors")
        self.space, self.device = space, device
        if device != "cpu":
            current().used.add(self.torch.cuda.get_device_name(device))
        self.flagged = missing_in(space, reference)
        codes = encode_codes(space, reference, self.flagged)
        values, self.weights = encode_values(space, reference)
        self.rows = SortedRows.of(codes, values)
        kinds = self._put(self.rows.representatives[None])
        self.first = kinds[0]  # where the first copy of each stands
        self.values = self._put(values.T)[:, self.first]
        self._middle = self._medians()
        labels = [
            column for name in space.matched if isinstance(column := reference.schema[name], Categorical)
        ]
        self._n_labels = [*(len(column.labels) + 1 for column in labels), *([2] * len(self.flagged))]
        self._by_ones = _few_labels(self._n_labels)
        self.compared = self._compare(
            self._put(codes)[:, self.first], self.values, len(self.rows.row_start) - 1
        )
        self._widest = float(self.compared.numbers.abs().nan_to_num(nan=0.0).max()) if values.size else 0.0
        self.measured = tuple(column.name for column in space.measured if column.weight > 0)

    def search(self, queries: Table, n_neighbors: int) -> tuple[Floats, Indices]:
        """Find the nearest rows of every query: sums over the columns and rows, (m, k) each."""
        few = min(n_neighbors, self.compared.n)
        asked, left = self._ask(queries), self._left(())
        nearest = self.torch.full((len(queries), few), float("inf"), dtype=self.torch.float64)
        first = self.torch.full((len(queries), few), NOBODY)
        for blocks in self._candidates(asked, left, few):
            found = self._measure(asked, left, blocks)
            rank = self.first[found.row]
            chosen, place = self._nearest(found.query, found.total, rank, few)
            nearest[found.query[chosen].cpu(), place.cpu()] = found.total[chosen].cpu()
            first[found.query[chosen].cpu(), place.cpu()] = rank[chosen].cpu()
        if self.compared.n == len(self.rows.order) and few == n_neighbors:
            return nearest.numpy(), first.numpy()
        shape = len(queries), n_neighbors
        best, copies = np.empty(shape), np.empty(shape, dtype=np.int64)
        spread_copies(
            nearest.numpy(),
            first.numpy(),
            self.rows.kind_of,
            self.rows.row_start,
            self.rows.order,
            best,
            copies,
        )
        return best, copies

    def search_without(
        self, queries: Table, left_out: Sequence[str | None], among: Sequence[Bools] | None = None
    ) -> tuple[Floats, "RowsTied"]:
        """Find how near the nearest row is without each of some columns: (m, s), and who is as near as that.

        ``among`` says for each search which reference rows (n,) count.
        """
        asked = self._ask(queries)
        left = self._left(left_out, asked.absent_names, among)
        shape = len(queries), len(left_out)
        total = self.torch.full(shape, float("inf"), dtype=self.torch.float64)
        tied = []
        for blocks in self._candidates(asked, left, 1):
            found = self._measure(asked, left, blocks)
            chosen, _ = self._nearest(found.query * shape[1] + found.search, found.total, found.row, 1)
            query, search = found.query[chosen].cpu(), found.search[chosen].cpu()
            total[query, search] = found.total[chosen].cpu()
            as_near = found.total == total.to(self.device)[found.query, found.search]
            tied.append([part[as_near].cpu().numpy() for part in (found.query, found.search, found.row)])
        query, search, row = (np.concatenate(part) for part in zip(*tied, strict=True))
        return total.numpy(), RowsTied(index=self, shape=shape, query=query, search=search, row=row)

    def _ask(self, queries: Table) -> _Asked:
        absent_names = tuple(name for name in missing_in(self.space, queries) if name not in self.flagged)
        codes = encode_codes(self.space, queries, self.flagged + absent_names)
        values, _ = encode_values(self.space, queries)
        n_codes = len(self._n_labels)
        on_device = self._put(values.T)
        compared = self._compare(self._put(codes[:n_codes]), on_device, len(queries))
        never = np.zeros((1, len(queries)), dtype=bool)
        places = compared.numbers.abs().nan_to_num(nan=0.0).double()
        if self.space.saturated:  # farther than that from anywhere, what a place is rounded by costs 1
            places = places.clamp(max=1 / _SINGLE)
        return _Asked(
            compared=compared,
            values=on_device,
            absent=self._put(np.concatenate([codes[n_codes:].astype(bool), never])),
            absent_names=absent_names,
            reach=places.sum(dim=0),
        )

    def _left(
        self,
        names: Sequence[str | None],
        absent_names: tuple[str, ...] = (),
        among: Sequence[Bools] | None = None,
    ) -> _Left:
        """Say where the columns left out stand; without any there is one search, by all columns."""
        torch = self.torch
        places = [
            torch.tensor(
                [of.index(name) if name in of else -1 for name in names or (None,)], dtype=torch.int32
            )
            for of in (self.measured, (*self.space.matched, *self.flagged), absent_names)
        ]
        counting = None
        if among is not None:
            copies = self.rows.row_start, self.rows.order
            counting = self._put(np.stack([of_copies(np.logical_or, rows, *copies) for rows in among]))
        values, codes, absent = (place.to(self.device) for place in places)
        return _Left(values=values, codes=codes, absent=absent, counting=counting, anything=bool(names))

    def _candidates(self, asked: _Asked, left: _Left, n_neighbors: int) -> Iterator[_Blocks]:
        """Yield the blocks that may hold one of the nearest rows, for some of the queries at a time."""
        torch, n_searches = self.torch, len(left.values)
        formula = Formula(
            by_ones=len(self._by_ones),
            one_by_one=tuple(j for j in range(len(self._n_labels)) if j not in self._by_ones),
            power=self.space.power,
            saturated=self.space.saturated,
            missing=bool(
                torch.isnan(self.compared.numbers).any() or torch.isnan(asked.compared.numbers).any()
            ),
        )
        at_once = _MINIMA_AT_ONCE // (self.compared.n_blocks * n_searches) // QUERIES * QUERIES
        at_once = max(at_once, _FEWEST_AT_ONCE)
        for start in range(0, asked.compared.n, at_once):
            stop = min(start + at_once, asked.compared.n)
            some = asked.compared.part(start, stop)
            minima = block_minima(some, self.compared, formula, (left.values, left.codes), left.counting)
            if n_neighbors == 1:
                least = minima.amin(dim=1)  # (s, q)
            elif n_neighbors <= self.compared.n_blocks:
                least = minima.kthvalue(n_neighbors, dim=1).values
            else:
                least = torch.full((n_searches, stop - start), float("inf"), device=self.device)
            bar = least.double() + self._slack(
                least.double(), asked.reach[start:stop], left_out=left.anything
            )
            above = torch.nextafter(bar.float(), torch.full_like(least, float("inf")))
            search, block, query = torch.nonzero(minima <= above[:, None], as_tuple=True)
            yield _Blocks(query=query + start, search=search, block=block, bar=bar[search, query])
            tell("comparing rows", stop / asked.compared.n)

    def _slack(self, least: Tensor, reach: Tensor, *, left_out: bool) -> Tensor:
        """Return how far what is computed may be from what it is, for the nearest row and for another.

        Places are rounded, so are gaps, their squares, and each of the sums. What is left out was in the sum
        before, and may be as large as a gap can be.
        """
        torch, power = self.torch, self.space.power
        whole = torch.where(torch.isinf(least), 0.0, least)
        if left_out:
            widest = self._widest + reach
            whole = whole + 1 + (widest.clamp(max=1.0) if self.space.saturated else widest**power)
        n_terms = len(self.weights) + len(self._n_labels) + 8
        gaps = 2 * _SINGLE * (reach + n_terms * whole.clamp(min=whole.sqrt()))
        if power == 2:  # noqa: PLR2004
            gaps = 2 * gaps * (1 + whole).sqrt() + gaps**2
        return 4 * (gaps + n_terms * _SINGLE * whole)

    def _measure(self, asked: _Asked, left: _Left, blocks: _Blocks) -> _NearEnough:
        """Measure the rows of some blocks exactly, and keep those that are near enough."""
        torch = self.torch
        within, kept = torch.arange(BLOCK, device=self.device), []
        for some in torch.arange(len(blocks.query), device=self.device).split(_CELLS_AT_ONCE // BLOCK):
            query, search = blocks.query[some], blocks.search[some]
            rows = blocks.block[some, None] * BLOCK + within  # (p, BLOCK)
            floor = asked.absent[:, query].sum(dim=0) - asked.absent[left.absent[search].long(), query].long()
            level, out = floor[:, None].expand(rows.shape), left.codes[search][:, None]
            for j, column in enumerate(self.compared.codes):
                level = level + ((column[rows] != asked.compared.codes[j][query][:, None]) & (out != j))
            costs, out = torch.zeros(rows.shape, dtype=torch.float64, device=self.device), left.values[search]
            for j, weight in enumerate(self.weights):
                gap = (self.values[j][rows] - asked.values[j][query][:, None]).abs() * float(weight)
                cost = gap if self.space.power == 1 else gap * gap
                cost = cost.clamp(max=1.0) if self.space.saturated else cost
                costs += cost.where(~(torch.isnan(cost) | (out == j)[:, None]), 0.0)
            total = level.double() + costs
            near = (rows < self.compared.n) & (total <= (blocks.bar[some] + floor)[:, None])
            if left.counting is not None:
                near &= left.counting[search[:, None], rows]
            pair, place = torch.nonzero(near, as_tuple=True)
            kept.append((query[pair], search[pair], total[pair, place], rows[pair, place]))
        query, search, total, row = (torch.cat(part) for part in zip(*kept, strict=True))
        return _NearEnough(query=query, search=search, total=total, row=row)

    def _nearest(self, owner: Tensor, total: Tensor, rank: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Choose the nearest k of each owner, of equals those of lowest rank: which, and in which place."""
        order = rank.argsort(stable=True)
        order = order[total[order].argsort(stable=True)]
        order = order[owner[order].argsort(stable=True)]
        owned = owner[order]
        begins = self.torch.searchsorted(owned, owned)
        place = self.torch.arange(len(owned), device=self.device) - begins
        return order[place < k], place[place < k]

    def _compare(self, codes: Tensor, values: Tensor, n: int) -> Compared:
        """Return rows, of which there are ``n``, as they are compared in single precision."""
        torch, codes = self.torch, codes.int()
        n_ones = sum(self._n_labels[j] for j in self._by_ones)
        width = max(1 << (n_ones - 1).bit_length(), _FEWEST_ONES) if n_ones else 0
        kind = torch.float32 if self.device == "cpu" else torch.bfloat16
        ones, offset = torch.zeros((codes.shape[1], width), dtype=kind, device=self.device), 0
        for j in self._by_ones:
            ones.scatter_(1, (codes[j].long() + offset)[:, None], 1.0)
            offset += self._n_labels[j]
        places = (values - self._middle[:, None]) * self.torch.from_numpy(self.weights).to(self.device)[
            :, None
        ]
        if places.numel() and float(places.abs().nan_to_num(nan=0.0).max()) > _LARGEST:
            raise TooFarApartError
        return Compared(numbers=places.float(), codes=codes.contiguous(), ones=ones, n=n)

    def _medians(self) -> Tensor:
        """Return where numbers are counted from, (d,)."""
        return (
            self.values.nanmedian(dim=1).values.nan_to_num(nan=0.0)
            if len(self.weights)
            else self.values[:, 0]
        )

    def _put(self, columns: NDArray[Any]) -> Tensor:
        """Put columns (j, n) on the device, with zeros up to whole tiles."""
        kind = columns.dtype.newbyteorder("=")
        if kind.kind == "u" and kind.itemsize > 1:  # which few devices have operations for
            columns = columns.astype(np.int64)
        on_device = self.torch.from_numpy(np.ascontiguousarray(columns)).to(self.device)
        missing = -columns.shape[1] % QUERIES if columns.shape[1] else QUERIES
        return self.torch.nn.functional.pad(on_device, (0, missing))


@dataclass(frozen=True, kw_only=True, eq=False)
class RowsTied:
    """Which of the different rows are nearest to each query in each search: all that are equally near."""

    index: BruteIndex
    shape: tuple[int, int]  # (m, s)
    query: Indices  # (e,)
    search: Indices  # (e,)
    row: Indices  # (e,)

    def first(self, orders: Sequence[Indices]) -> Indices:
        """Return the place of the nearest row in each search's order of rows (n,), of equals the first."""
        ranks = lowest_ranks(orders, self.index.rows.row_start, self.index.rows.order)
        found = np.full(self.shape, NOBODY)
        np.minimum.at(found, (self.query, self.search), ranks[self.search, self.row])
        return found


def _few_labels(n_labels: Sequence[int]) -> tuple[int, ...]:
    """Choose the columns of fewest labels, as many as have room."""
    chosen, taken = [], 0
    for j in np.argsort(n_labels, kind="stable"):
        taken += n_labels[j]
        if taken > _MOST_ONES:
            break
        chosen.append(int(j))
    return tuple(sorted(chosen))
