"""Search among vectors: where many numbers make a row, no tree tells what is far, but a product does.

The squared distance between a and b is |a|² + |b|² − 2·a·b, and all products of two tables are one
multiplication of matrices, far faster than going through the pairs. In single precision, and in whatever
order a library adds up, it is off by a known bound at most: rows that may be nearest by it are measured
exactly, as everywhere else, and so the answers are the same to the last bit.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tabveil.neighbors.index import encode_values
from tabveil.neighbors.space import Space
from tabveil.neighbors.vector_kernels import search_near
from tabveil.table import Table

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

FEWEST_NUMBERS = 16  # in a row: with fewer, a tree passes over most rows
ROWS_AT_ONCE = 16_384  # of the reference, so that the products of a chunk of queries stay in the cache
LONGEST = 1e15  # vectors whose squares single precision can hold
SINGLE = 2.0**-24  # its rounding error


@dataclass(frozen=True, kw_only=True, eq=False)
class Vectors:
    """Rows that are numbers only, none of them missing."""

    values: Floats  # (n, d)
    weights: Floats  # (d,)
    single: NDArray[np.float32]  # (n, d) weighted
    squares: Floats  # (n,) squared lengths of the weighted

    @classmethod
    def of(cls, space: Space, table: Table) -> Self | None:
        """Return the rows of a table as vectors, or None where they are something else, too."""
        if space.matched or space.power != 2 or len(space.measured) < FEWEST_NUMBERS:  # noqa: PLR2004
            return None
        values, weights = encode_values(space, table)
        weighted = values * weights
        squares = np.einsum("ij,ij->i", weighted, weighted)
        if not (squares < LONGEST**2).all():  # too long, or missing
            return None
        return cls(values=values, weights=weights, single=weighted.astype(np.float32), squares=squares)

    def __len__(self) -> int:
        return len(self.values)

    def search(self, queries: "Vectors", start: int, stop: int, best: Floats, index: Indices) -> None:
        """Find the nearest rows of the queries ``start`` … ``stop``; answers go to ``best`` and ``index``."""
        asked = slice(start, stop)
        lengths = np.sqrt(self.squares.max(initial=0.0) * queries.squares[asked].max(initial=0.0))
        # A product of d numbers, themselves rounded, is off by d + 2 roundings; twice that for good measure.
        slack = 4 * (len(self.weights) + 4) * SINGLE * lengths
        for first in range(0, len(self), ROWS_AT_ONCE):
            rows = slice(first, first + ROWS_AT_ONCE)
            search_near(
                queries.single[asked] @ self.single[rows].T,
                queries.values[asked],
                queries.squares[asked],
                self.values[rows],
                self.squares[rows],
                self.weights,
                slack,
                first,
                best,
                index,
            )
