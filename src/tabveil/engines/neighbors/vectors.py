"""Search among vectors: where many numbers make a row, no tree tells what is far, but products do.

The squared distance between a and b is |a|² + |b|² − 2·a·b, and the products of one vector with a block of
others are far faster than going through the pairs. Axes are turned so that the first ones tell most; what the
rest can add to a product is bounded by its lengths, so most blocks are done with after a few axes. All of it
runs in single precision, off by a known bound at most. Rows that may be nearest by it are measured exactly,
as everywhere else, and so the answers are the same to the last bit.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Floats, Indices, Table
from tabveil.engines.neighbors.index import BlockForest, SortedRows, encode_values
from tabveil.engines.neighbors.space import Space
from tabveil.engines.neighbors.vector_kernels import BLOCK, STEP, measure_all, search_blocks

Singles = NDArray[np.float32]

FEWEST_NUMBERS = 16  # in a row: with fewer, a tree passes over most rows
MOST_TURNED = 512  # axes: to find those that tell most takes the third power of their number
ROWS_TURNED_BY = 4096  # that say which axes tell most
LONGEST = 1e15  # vectors whose squares single precision can hold
SINGLE = 2.0**-24  # its rounding error


@dataclass(frozen=True, kw_only=True, eq=False)
class Vectors:
    """Rows that are numbers only, none of them missing."""

    values: Floats  # (n, d) the different rows
    weights: Floats  # (d,)
    rows: SortedRows  # where the copies of each stand
    kind_of: Indices  # (m,) which of the different rows each row is

    @classmethod
    def of(cls, space: Space, table: Table) -> Self | None:
        """Return the rows of a table as vectors, or None where they are something else, too."""
        n_numbers = sum(column.weight > 0 for column in space.measured)
        if space.matched or space.power != 2 or n_numbers < FEWEST_NUMBERS:  # noqa: PLR2004
            return None
        values, weights = encode_values(space, table)
        widest = np.maximum(values.max(axis=0, initial=0.0), -values.min(axis=0, initial=0.0))  # (d,)
        if not np.linalg.norm(widest * weights) < LONGEST:  # may be too long, or some are missing
            return None
        rows = SortedRows.of(np.empty((0, len(values)), dtype=np.uint8), values)
        return cls(values=values[rows.representatives], weights=weights, rows=rows, kind_of=rows.kind_of)

    def __len__(self) -> int:
        return len(self.values)


Axes = tuple[Floats, Floats | None]
"""The middle of vectors (d,), and orthonormal axes through it (d, d); None leaves the axes as they are."""


def turn_axes(vectors: Vectors) -> Axes:
    """Return axes for the differences between vectors, those along which some of them differ most first.

    Some of the vectors are looked at; which ones, and how well, has no part in the answers.
    """
    middle = vectors.values.mean(axis=0)
    if len(vectors.weights) > MOST_TURNED:
        return middle, None
    some = vectors.values[:: -(-len(vectors) // ROWS_TURNED_BY)]
    gaps = (some - middle) * vectors.weights
    spread = gaps.T @ gaps
    largest = np.abs(spread).max(initial=0.0)
    return middle, np.linalg.eigh(spread / largest if largest > 0 else spread)[1][:, ::-1]


class Turned:
    """Vectors along axes, near ones together, in single precision; axes of zeros fill the last step."""

    def __init__(self, vectors: Vectors, axes: Axes) -> None:
        middle, turned = axes
        gaps = (vectors.values - middle) * vectors.weights
        along = gaps if turned is None else gaps @ turned
        n, d = along.shape
        telling = np.ascontiguousarray(along[:, :FEWEST_NUMBERS])
        # Which of the different rows each one is, (n,), and what they were, (n, d).
        self.order = BlockForest(telling, np.ones(FEWEST_NUMBERS), np.array([0, n])).order
        self.values = vectors.values[self.order]
        self.places, n_steps = along[self.order], -(-d // STEP)
        self.singles = np.zeros((n, n_steps * STEP), dtype=np.float32)
        self.singles[:, :d] = self.places
        a_step = np.square(self.singles, dtype=np.float64).reshape(n, n_steps, STEP).sum(axis=2)
        left = np.cumsum(a_step[:, ::-1], axis=1)[:, ::-1]  # from each step on
        self.rests = np.zeros((n, n_steps), dtype=np.float32)  # the length of what is left after each step
        self.rests[:, :-1] = np.sqrt(left[:, 1:])
        self.squares = np.einsum("ij,ij->i", self.places, self.places)  # (n,) squared lengths


class VectorIndex:
    """Reference vectors in blocks of such as are near each other, axis after axis within a block."""

    def __init__(self, vectors: Vectors) -> None:
        """Arrange vectors, of which there must be one."""
        self.vectors, self.axes = vectors, turn_axes(vectors)
        rows = Turned(vectors, self.axes)
        starts = np.arange(0, len(vectors), BLOCK)
        sizes = np.diff(starts, append=len(vectors))
        self.values = rows.values  # (n, d) in the order of the blocks
        self.first = vectors.rows.representatives[rows.order]  # (n,) where the first copy of each stands
        self.blocks = _in_blocks(rows.singles)  # (b, steps * STEP, BLOCK)
        self.rests = _in_blocks(rows.rests)  # (b, steps, BLOCK)
        # Minus half the squared lengths, (b, BLOCK).
        self.halves = _in_blocks((-rows.squares / 2).astype(np.float32)[:, None])[:, 0]
        self.centers = np.add.reduceat(rows.places, starts) / sizes[:, None]  # (b, d)
        apart = np.linalg.norm(rows.places - np.repeat(self.centers, sizes, axis=0), axis=1)
        self.radii = np.maximum.reduceat(apart, starts)  # (b,)
        self.lengths = np.sqrt(np.maximum.reduceat(rows.squares, starts))  # (b,) of the longest

    def search(self, asked: Turned, some: slice, best: Floats, found: Indices) -> None:
        """Find the nearest of some of the queries; answers go to ``best`` and ``found`` (m, k).

        What is found are the first copies of different rows.
        """
        lengths = np.sqrt(asked.squares[some])
        to_centers = np.empty((len(self.centers), len(lengths)))
        measure_all(self.centers, np.ascontiguousarray(asked.places[some].T), to_centers)
        # A product of d numbers, themselves rounded, is off by d + 2 roundings; squares and sums of them by
        # a few more. Four times that for good measure.
        slack = 4 * (self.blocks.shape[1] + 8) * SINGLE * (self.lengths[:, None] + lengths) ** 2
        search_blocks(
            (self.blocks, self.rests, self.halves),
            (self.values, self.first, self.vectors.weights),
            np.argsort(to_centers.sum(axis=1)),
            np.maximum(to_centers - self.radii[:, None], 0.0),
            slack,
            (asked.values[some], asked.singles[some], asked.rests[some], asked.squares[some]),
            best,
            found,
        )


def _in_blocks(numbers: Singles) -> Singles:
    """Return numbers (n, j) of rows as (blocks, j, BLOCK); zeros fill the last block."""
    n, width = numbers.shape
    padded = np.zeros((-(-n // BLOCK) * BLOCK, width), dtype=np.float32)
    padded[:n] = numbers
    return np.ascontiguousarray(padded.reshape(-1, BLOCK, width).transpose(0, 2, 1))
