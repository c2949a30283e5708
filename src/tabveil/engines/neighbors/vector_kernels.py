"""The compiled part of the search among vectors: which of many rows are worth an exact distance?"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

# mypy: allow-untyped-defs, allow-untyped-calls


BLOCK = 128  # rows that are compared with a query together
STEP = 8  # axes after which it is asked whether any row of a block may still be near
_LANES = 16

_INDEX, _PLACE = ir.IntType(64), ir.IntType(32)
_NUMBERS = ir.VectorType(ir.FloatType(), _LANES)
_LOOSE = ("contract",)  # a product and a sum may be one instruction


def _add_step(_, block, step, query, rests, rest, start, products):
    """Add the products along one step of axes to ``start`` (BLOCK,), into ``products`` (BLOCK,).

    Returns the largest of what they may come to when the axes after this step are added, too: the lengths of
    what is left are ``rests`` (steps, BLOCK) of the block's rows and ``rest`` of the query. ``block`` is
    (axes, BLOCK) and ``query`` (axes,). All are of single precision and without gaps.
    """
    return types.float32(block, step, query, rests, rest, start, products), _write


add_step: Any = intrinsic(_add_step)


def _write(context, builder, signature, arguments):
    """Write the instructions, one after the other: nothing is left to loop over."""
    block, step, query, rests, rest, start, products = (
        context.make_array(kind)(context, builder, item).data if isinstance(kind, types.Array) else item
        for kind, item in zip(signature.args, arguments, strict=True)
    )
    code = _Code(builder)
    block = code.moved(block, builder.mul(step, _INDEX(STEP * BLOCK)))
    query = code.moved(query, builder.mul(step, _INDEX(STEP)))
    rests = code.moved(rests, builder.mul(step, _INDEX(BLOCK)))
    along = [code.spread(builder.load(code.moved(query, _INDEX(axis)))) for axis in range(STEP)]
    rest, most = code.spread(rest), None
    for row in range(0, BLOCK, _LANES):
        total = code.load(start, row)
        for axis in range(STEP):
            total = code.add_product(code.load(block, axis * BLOCK + row), along[axis], total)
        code.store(total, products, row)
        reach = code.add_product(code.load(rests, row), rest, total)
        most = reach if most is None else code.larger(most, reach)
    return code.largest(most)


@dataclass(frozen=True)
class _Code:
    """The few instructions that are needed."""

    builder: Any

    def moved(self, pointer, by):
        return self.builder.gep(pointer, [by])

    def load(self, pointer, at):
        loaded = self.builder.load(self._vector(pointer, at))
        loaded.align = 4
        return loaded

    def store(self, numbers, pointer, at):
        self.builder.store(numbers, self._vector(pointer, at)).align = 4

    def spread(self, number):
        """Return 16 times the same number."""
        one = self.builder.insert_element(_NUMBERS(ir.Undefined), number, _PLACE(0))
        return self._shuffled(one, [0] * _LANES)

    def add_product(self, one, other, total):
        return self.builder.fadd(self.builder.fmul(one, other, flags=_LOOSE), total, flags=_LOOSE)

    def larger(self, one, other):
        return self.builder.select(self.builder.fcmp_ordered(">", one, other), one, other)

    def largest(self, numbers):
        """Return the largest of 16 numbers, comparing one half with the other."""
        half = _LANES // 2
        while half:
            numbers = self.larger(
                numbers, self._shuffled(numbers, [(i + half) % _LANES for i in range(_LANES)])
            )
            half //= 2
        return self.builder.extract_element(numbers, _PLACE(0))

    def _shuffled(self, numbers, places):
        wanted = ir.Constant(ir.VectorType(_PLACE, _LANES), places)
        return self.builder.shuffle_vector(numbers, _NUMBERS(ir.Undefined), wanted)

    def _vector(self, pointer, at):
        return self.builder.bitcast(self.moved(pointer, _INDEX(at)), ir.PointerType(_NUMBERS))


@njit(cache=True, nogil=True)
def measure_all(centers, queries, apart):
    """Write how far each of ``centers`` (b, d) is from each of ``queries`` (d, m) into ``apart`` (b, m)."""
    for b in range(apart.shape[0]):
        row = apart[b]
        row[:] = 0
        for j in range(queries.shape[0]):
            place, column = centers[b, j], queries[j]
            for q in range(row.size):
                gap = place - column[q]
                row[q] += gap * gap
        for q in range(row.size):
            row[q] = np.sqrt(row[q])


@njit(cache=True, nogil=True)
def search_blocks(index, rows, order, apart, slack, asked, best, found):
    """Offer the rows of all blocks, block by block in this order, to the lists of the queries.

    ``index`` holds the blocks in single precision: numbers along the axes (b, axes, BLOCK), the lengths of
    what is left after each step (b, steps, BLOCK), minus half the squared lengths (b, BLOCK). ``rows`` are
    their exact values (n, d) in this order, the first copies (n,), and the weights (d,). No row of a block is
    nearer to a query than ``apart`` (b, m); squared distances by products are off by ``slack`` (b, m) at
    most. ``asked`` are the queries: exact values (m, d), numbers along the axes (m, axes), what is left after
    each step (m, steps), squared lengths (m,). ``best`` and ``found`` (m, k) hold squared distances and first
    copies, nearest first, of equals the first. Sums run in the order of the columns, as in all searches.
    """
    blocks, rests, halves = index
    values, first, weights = rows
    queries, singles, query_rests, squares = asked
    products = np.empty(BLOCK, dtype=np.float32)
    last = best.shape[1] - 1
    for b in order:
        n_rows = min(BLOCK, first.size - b * BLOCK)
        for q in range(best.shape[0]):
            if apart[b, q] * apart[b, q] > best[q, last] + slack[b, q]:
                continue
            # A row is near where its product with the query, less half its square, reaches this.
            bar = (squares[q] - best[q, last] - slack[b, q]) / 2
            reach = add_step(blocks[b], 0, singles[q], rests[b], query_rests[q, 0], halves[b], products)
            for step in range(1, rests.shape[1]):
                if reach < bar:
                    break
                reach = add_step(
                    blocks[b], step, singles[q], rests[b], query_rests[q, step], products, products
                )
            if reach < bar:
                continue
            for r in range(n_rows):
                if products[r] < bar:
                    continue
                at = b * BLOCK + r
                distance = 0.0
                for j in range(weights.size):
                    gap = (values[at, j] - queries[q, j]) * weights[j]
                    distance += gap * gap
                if _comes_before(distance, first[at], best[q, last], found[q, last]):
                    _insert(distance, first[at], best[q], found[q])
                    bar = (squares[q] - best[q, last] - slack[b, q]) / 2


@njit(cache=True, nogil=True)
def _comes_before(distance, row, other_distance, other_row):
    return distance < other_distance or (distance == other_distance and row < other_row)


@njit(cache=True, nogil=True)
def _insert(distance, row, best, found):
    """Insert a row into a sorted list, whose last one goes."""
    at = best.size - 1
    while at > 0 and _comes_before(distance, row, best[at - 1], found[at - 1]):
        best[at], found[at] = best[at - 1], found[at - 1]
        at -= 1
    best[at], found[at] = distance, row


@njit(cache=True, nogil=True)
def spread_copies(nearest, first, kind_of, row_start, rows, best, found):
    """Replace the nearest different rows of each query, ``nearest`` and ``first`` (m, c), by their copies.

    Those of kind ``kind_of[first]`` stand in ``rows`` from ``row_start`` on, in their order; ``best`` and
    ``found`` (m, k) get the distances and the rows, nearest first, of equals the first.
    """
    m, k = best.shape
    for q in range(m):
        done, at = 0, 0
        while done < k:
            end = at + 1
            while end < nearest.shape[1] and nearest[q, end] == nearest[q, at]:
                end += 1
            filled = done  # of equally near rows those that stand first, whatever they are copies of
            for place in range(at, end):
                kind = kind_of[first[q, place]]
                for copy in range(row_start[kind], row_start[kind + 1]):
                    row = rows[copy]
                    if filled == k and row > found[q, k - 1]:
                        break
                    spot = min(filled, k - 1)
                    while spot > done and found[q, spot - 1] > row:
                        found[q, spot] = found[q, spot - 1]
                        spot -= 1
                    found[q, spot] = row
                    filled = min(filled + 1, k)
            best[q, done:filled] = nearest[q, at]
            done, at = filled, end
