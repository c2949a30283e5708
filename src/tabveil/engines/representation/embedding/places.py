"""Where rows were placed before: equal rows are placed once, whoever asks for them.

Whoever knows little of people sees many of them as equal, and several attacks look at the same rows with the
same columns masked. A way through a network takes far longer than to look up that it was gone before.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Floats, Indices, mix_bits
from tabveil.engines.representation.embedding.inputs import MASKED, Encoded

Cells = NDArray[np.uint32]
Hashes = NDArray[np.uint64]
Vectors = NDArray[np.float32]

MOST_BYTES = 2**28
"""Kept in memory; of the maskings, those that were asked for last."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PlacedRows:
    """Different rows as a network reads them with some columns masked, and their vectors."""

    hashes: Hashes  # (n,) ascending, all different
    cells: Cells  # (n, columns)
    vectors: Vectors  # (n, dimensions)

    @property
    def n_bytes(self) -> int:
        """What they take in memory."""
        return self.hashes.nbytes + self.cells.nbytes + self.vectors.nbytes

    def lacking(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Tell which of the hashes no row has, (k,)."""
        return ~np.isin(hashes, self.hashes, assume_unique=True)

    def with_more(self, hashes: Hashes, cells: Cells, vectors: Vectors) -> "PlacedRows":
        """Return these rows and others, whose hashes must be new."""
        together = np.concatenate([self.hashes, hashes])
        order = np.argsort(together)
        return PlacedRows(
            hashes=together[order],
            cells=np.concatenate([self.cells, cells])[order],
            vectors=np.concatenate([self.vectors, vectors])[order],
        )


class Places:
    """The rows that a network placed, for one masking after the other."""

    def __init__(self) -> None:
        self._placed: dict[bytes, PlacedRows] = {}  # by masking; asked for last, at the end

    def find(self, encoded: Encoded, mask: NDArray[np.bool_], place: Callable[[Encoded], Vectors]) -> Floats:
        """Return the vectors of rows with these columns masked, (n, dimensions).

        ``place`` is called for rows that were not placed before, once for all that are equal where they are
        seen; its answer about a row must not depend on the other rows.
        """
        cells = _cells(encoded, mask)
        hashes = _hashes(cells)
        different, first, kinds = np.unique(hashes, return_index=True, return_inverse=True)
        placed = self._placed.get(mask.tobytes())
        if placed is None:
            placed = PlacedRows(hashes=different, cells=cells[first], vectors=place(encoded.take(first)))
        elif (new := placed.lacking(different)).any():
            rows = first[new]
            placed = placed.with_more(different[new], cells[rows], place(encoded.take(rows)))
        self._keep(mask.tobytes(), placed)
        at: Indices = np.searchsorted(placed.hashes, different)[kinds]
        vectors = placed.vectors[at].astype(np.float64)
        unlike = np.flatnonzero((placed.cells[at] != cells).any(axis=1))
        if len(unlike):  # different rows that share a hash
            vectors[unlike] = place(encoded.take(unlike))
        return vectors

    def _keep(self, key: bytes, placed: PlacedRows) -> None:
        """Remember what was placed, and forget what nobody asked for in a long time."""
        # A new dictionary each time: several threads may look at the old one.
        kept = {**{other: item for other, item in self._placed.items() if other != key}, key: placed}
        size = sum(item.n_bytes for item in kept.values())
        while size > MOST_BYTES:
            size -= kept.pop(next(iter(kept))).n_bytes
        self._placed = kept


def _cells(encoded: Encoded, mask: NDArray[np.bool_]) -> Cells:
    """Return what the network sees of each row, bit by bit, (n, columns): numbers first, then tokens."""
    n_numbers = encoded.numbers.shape[1]
    numbers = encoded.numbers + np.float32(0)  # -0.0 and 0.0 are one number
    numbers[np.isnan(numbers)] = np.nan  # and so are all NaNs
    cells = np.empty((len(encoded), len(mask)), dtype=np.uint32)
    cells[:, :n_numbers] = numbers.view(np.uint32)
    cells[:, n_numbers:] = encoded.tokens
    cells[:, mask] = MASKED
    return cells


def _hashes(cells: Cells) -> Hashes:
    """Hash every row of cells (n, c)."""
    hashes = np.zeros(len(cells), dtype=np.uint64)
    for column in cells.T:
        hashes = mix_bits(hashes + column)
    return hashes
