"""The innermost step of the search among vectors, in vector instructions.

A compiler finds such instructions in a loop by itself, but not without checks each time that the arrays do
not overlap, and not for the largest of many numbers; for the few rows of a block that takes twice as long.
Written for 16 numbers at once, it becomes whatever a processor has, down to one number at a time.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

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
