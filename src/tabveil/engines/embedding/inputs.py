"""What a network reads of a row: standardized numbers, tokens of categories; and which rows it has placed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tabveil.core import check
from tabveil.core.storage.arrays import require
from tabveil.core.storage.plain import FORBID_OTHERS, require_plain, to_plain
from tabveil.core.table import LARGEST, Categorical, Floats, Indices, Numeric, Schema, Table, mix_bits
from tabveil.errors import ParameterError

MASKED, MISSING, UNSEEN = range(3)
"""Tokens of every column of labels, before those of its labels."""
N_CASES = 3
FARTHEST = 100.0
"""Standard deviations: numbers further out than that are cut, or a network could overflow."""


@dataclass(frozen=True, kw_only=True)
class StandardNumbers:
    """A column of numbers, and what they are standardized by."""

    __pydantic_config__ = FORBID_OTHERS

    name: str
    mean: float
    deviation: float

    @classmethod
    def of(cls, name: str, cells: Floats) -> Self:
        """Look at the cells, of which all may be missing or the same."""
        known = cells[~np.isnan(cells)]
        if not len(known) or known.min() == known.max():
            return cls(name=name, mean=float(known[0]) if len(known) else 0.0, deviation=1.0)
        mean = float(known.mean())
        farthest = float(np.abs(known - mean).max())  # squares of what is very small or large would be lost
        return cls(name=name, mean=mean, deviation=farthest * float(np.std((known - mean) / farthest)))

    def standardized(self, cells: Floats) -> NDArray[np.float32]:
        """Return the cells as standard deviations from the mean; NaN stays."""
        far = FARTHEST * self.deviation
        return (np.clip(cells - self.mean, -far, far) / self.deviation).astype(np.float32)


@dataclass(frozen=True, kw_only=True)
class LabelTokens:
    """A column of labels: those that were seen, in order."""

    __pydantic_config__ = FORBID_OTHERS

    name: str
    seen: tuple[str, ...]

    @classmethod
    def of(cls, column: Categorical, cells: Floats) -> Self:
        """Look at the cells, which are codes of the column."""
        codes = np.unique(cells[~np.isnan(cells)]).astype(np.int64)
        return cls(name=column.name, seen=tuple(sorted(column.labels[code] for code in codes)))

    @property
    def n_tokens(self) -> int:
        """How many tokens the column has."""
        return N_CASES + len(self.seen)

    def tokens(self, column: Categorical, cells: Floats) -> NDArray[np.int64]:
        """Return the token of each cell; the column may have other labels than those that were seen."""
        places = {label: N_CASES + place for place, label in enumerate(self.seen)}
        of_code = np.array([MISSING, *(places.get(label, UNSEEN) for label in column.labels)], dtype=np.int64)
        found: NDArray[np.int64] = of_code[np.where(np.isnan(cells), 0, cells + 1).astype(np.int64)]
        return found


@dataclass(frozen=True, kw_only=True, eq=False)
class Encoded:
    """Rows as a network reads them."""

    numbers: NDArray[np.float32]  # (n, numbers), NaN where missing
    tokens: NDArray[np.int64]  # (n, columns of labels), each counted from the first token of its column

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, rows: Indices) -> Self:
        """Return some of the rows, in this order."""
        return type(self)(numbers=self.numbers[rows], tokens=self.tokens[rows])


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """The columns that a network reads: numbers first, then labels, each by name."""

    __pydantic_config__ = FORBID_OTHERS

    numbers: tuple[StandardNumbers, ...]
    labels: tuple[LabelTokens, ...]

    @classmethod
    def of(cls, table: Table) -> Self:
        """Look at the rows that are learned from."""
        columns = sorted(table.schema.columns, key=lambda column: column.name)
        columns_cells = [(column, table.column(column.name)) for column in columns]
        return cls(
            numbers=tuple(StandardNumbers.of(c.name, x) for c, x in columns_cells if isinstance(c, Numeric)),
            labels=tuple(LabelTokens.of(c, x) for c, x in columns_cells if isinstance(c, Categorical)),
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns, in the order in which they are read."""
        return (*(column.name for column in self.numbers), *(column.name for column in self.labels))

    def encode(self, table: Table) -> Encoded:
        """Return the rows of a table with these columns, in any order, as the network reads them."""
        self._require_columns(table.schema)
        n_rows = len(table)
        numbers = np.empty((n_rows, len(self.numbers)), dtype=np.float32)
        for place, column in enumerate(self.numbers):
            numbers[:, place] = column.standardized(table.column(column.name))
        tokens = np.empty((n_rows, len(self.labels)), dtype=np.int64)
        for place, labels in enumerate(self.labels):
            of_table = table.schema[labels.name]
            assert isinstance(of_table, Categorical), "required above"
            tokens[:, place] = labels.tokens(of_table, table.column(labels.name))
        return Encoded(numbers=numbers, tokens=tokens)

    def mask(self, masked: Sequence[str]) -> NDArray[np.bool_]:
        """Return which columns are among those named, in the order in which they are read."""
        check.known_names("embedding", "column", masked, self.names)
        return np.array([name in masked for name in self.names])

    def _require_columns(self, schema: Schema) -> None:
        if set(schema.names) != set(self.names):
            check.known_names("embedding", "column", [*schema.names], self.names)
            lacking = next(name for name in self.names if name not in schema.names)
            raise ParameterError(
                "embedding", f"the table lacks the column {lacking!r}, which was learned from."
            )
        numbers = {column.name for column in self.numbers}
        for column in schema.columns:
            if isinstance(column, Numeric) != (column.name in numbers):
                kind = "numbers" if column.name in numbers else "labels"
                raise ParameterError(
                    "embedding", f"the column {column.name!r} held {kind} when it was learned."
                )

    def to_json(self) -> dict[str, Any]:
        """Return plain data. It holds labels of the table: guard it like the data."""
        found: dict[str, Any] = to_plain(self)
        return found

    @classmethod
    def from_json(cls, data: object) -> Self:
        """Rebuild what :meth:`to_json` wrote."""
        found = require_plain(cls, data, "inputs")
        require(len(found.names) > 0, "inputs must be at least one column")
        require(len(set(found.names)) == len(found.names), "inputs must be different columns")
        for columns in (found.numbers, found.labels):
            names = [column.name for column in columns]
            require(names == sorted(names), "inputs must stand by name")
        for number in found.numbers:
            sound = abs(number.mean) <= LARGEST and 0 < number.deviation <= LARGEST
            require(sound, "the mean and deviation of a column must be numbers that a column can have")
        for labels in found.labels:
            require(list(labels.seen) == sorted(set(labels.seen)), "labels must be different, and in order")
        return found


Cells = NDArray[np.uint32]
Hashes = NDArray[np.uint64]
Vectors = NDArray[np.float32]

MOST_BYTES = 2**28
"""Kept in memory; of the maskings, those that were asked for last."""


class PlacedRows(NamedTuple):
    """Different rows as a network reads them with some columns masked, and their vectors."""

    hashes: Hashes  # (n,) ascending, all different
    cells: Cells  # (n, columns)
    vectors: Vectors  # (n, dimensions)


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
        hashes = np.zeros(len(cells), dtype=np.uint64)
        for column in cells.T:
            hashes = mix_bits(hashes + column)
        different, first, kinds = np.unique(hashes, return_index=True, return_inverse=True)
        placed = self._placed.get(mask.tobytes())
        if placed is None:
            placed = PlacedRows(hashes=different, cells=cells[first], vectors=place(encoded.take(first)))
        elif (new := ~np.isin(different, placed.hashes, assume_unique=True)).any():
            rows = first[new]
            vectors = np.concatenate([placed.vectors, place(encoded.take(rows))])
            together = np.concatenate([placed.hashes, different[new]])
            order = np.argsort(together)
            cells_of = np.concatenate([placed.cells, cells[rows]])
            placed = PlacedRows(hashes=together[order], cells=cells_of[order], vectors=vectors[order])
        # Forget what nobody asked for in a long time; in a new dictionary, as several threads may look at the
        # old one.
        kept = {key: item for key, item in self._placed.items() if key != mask.tobytes()}
        kept[mask.tobytes()] = placed
        size = sum(part.nbytes for item in kept.values() for part in item)
        while size > MOST_BYTES:
            size -= sum(part.nbytes for part in kept.pop(next(iter(kept))))
        self._placed = kept
        at: Indices = np.searchsorted(placed.hashes, different)[kinds]
        found = placed.vectors[at].astype(np.float64)
        unlike = np.flatnonzero((placed.cells[at] != cells).any(axis=1))
        if len(unlike):  # different rows that share a hash
            found[unlike] = place(encoded.take(unlike))
        return found


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
