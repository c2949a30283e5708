"""Rows as sequences of tokens: a fixed vocabulary for every position, and only valid rows on the way back.

A cell becomes a whole number (:mod:`~tabveil.tables.matrices.numbering`), the number a few groups of decimal
digits, each group one position of the sequence. A position knows only what was seen there, and missing is a
token of its own, before all others. While a row is drawn, :class:`Drawing` says which tokens may still
follow: those that can be completed to a number between the smallest and the largest that was seen.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.core.storage.arrays import require
from tabveil.core.storage.plain import FORBID_OTHERS, require_plain
from tabveil.core.table import Column, Floats, Indices, Schema, Table, within
from tabveil.tables.matrices.numbering import Numbering, SeenLabels, numbering_from_json, numbering_of

DIGITS_A_PLACE = 2
NO_DIGITS = -1
"""What stands at the positions of a missing cell, before all digits."""

Booleans = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class DigitGroup:
    """One position of the sequence: a group of digits of one column.

    ``weight`` is what the group's last digit is worth, ``base`` the number of values the group can have,
    ``seen`` those it had, ascending; a token is a position in ``seen``. Missing stands first, if it was seen.
    """

    column: int
    weight: int
    base: int
    seen: tuple[int, ...]

    def fits(self, digits: Collection[int]) -> bool:
        """Whether these are digits that can stand here, and all of ``digits`` among them."""
        known = set(self.seen)
        return (
            list(self.seen) == sorted(known)
            and known >= set(digits)
            and self.seen[0] >= NO_DIGITS
            and self.seen[-1] < self.base
        )

    @cached_property
    def digits(self) -> Indices:
        """What the tokens stand for."""
        return np.array(self.seen, dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class ColumnTokens:
    """How the cells of one column are written: their numbers, and the part of those that never changes."""

    numbering: Numbering
    low: int
    high: int
    fixed: int
    places: tuple[DigitGroup, ...]

    @classmethod
    def of(cls, position: int, column: Column, cells: Floats) -> Self:
        """Read the vocabulary off the cells."""
        known = cells[~np.isnan(cells)]
        if not len(known):
            return cls(numbering=SeenLabels(codes=()), low=0, high=-1, fixed=0, places=())
        numbering = numbering_of(column, known)
        numbers = numbering.numbers(known)
        low, high = int(numbers.min()), int(numbers.max())
        groups = groups_of(numbering, high)
        has_missing = len(known) < len(cells)
        fixed = 0
        places: list[DigitGroup] = []
        for weight, base in groups:
            seen = np.unique(numbers // weight % base).tolist()
            if len(seen) == 1 and not (has_missing and weight == 1 and not places):
                fixed += seen[0] * weight
            else:
                seen = [NO_DIGITS, *seen] if has_missing else seen
                places.append(DigitGroup(column=position, weight=weight, base=base, seen=tuple(seen)))
        return cls(numbering=numbering, low=low, high=high, fixed=fixed, places=tuple(places))

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        places = [[place.weight, place.base, list(place.seen)] for place in self.places]
        return {
            "numbering": self.numbering.to_json(),
            "low": self.low,
            "high": self.high,
            "fixed": self.fixed,
            "places": places,
        }

    @classmethod
    def from_json(cls, position: int, column: Column, data: object) -> Self:
        """Rebuild what :meth:`to_json` wrote, for this column."""
        what = f"the tokens of {column.name!r}"
        known = require_plain(_Stored, data, what)
        places = tuple(
            DigitGroup(column=position, weight=weight, base=base, seen=seen)
            for weight, base, seen in known.places
        )
        if known.low > known.high:
            empty = cls(numbering=SeenLabels(codes=()), low=0, high=-1, fixed=0, places=())
            require(data == empty.to_json(), f"{what} must be none where all cells are missing")
            return empty
        numbering = numbering_from_json(column, known.numbering, low=known.low, high=known.high)
        found = cls(numbering=numbering, low=known.low, high=known.high, fixed=known.fixed, places=places)
        require(found.fits, f"{what} must be those of the digits of its numbers")
        return found

    @property
    def fits(self) -> bool:
        """Whether the smallest and the largest number can be written, and every number that is drawn ends so.

        Then at least one token is always allowed (:meth:`Drawing.allowed`).
        """
        groups = groups_of(self.numbering, self.high)
        written = {(place.weight, place.base): place for place in self.places}
        if [group for group in groups if group in written] != [(p.weight, p.base) for p in self.places]:
            return False
        for weight, base in groups:
            digits = {number // weight % base for number in (self.low, self.high)}
            place = written.get((weight, base))
            if place is None and digits != {self.fixed // weight % base}:
                return False
            if place is not None and (self.fixed // weight % base or not place.fits(digits)):
                return False
        missing = {place.seen[0] == NO_DIGITS for place in self.places}
        return len(missing) < 2 and 0 <= self.fixed <= self.high  # noqa: PLR2004 - all have it, or none


@dataclass(frozen=True, kw_only=True)
class _Stored:
    """What stands in a file of one column."""

    __pydantic_config__ = FORBID_OTHERS

    numbering: dict[str, Any]
    low: int
    high: int
    fixed: int
    places: tuple[tuple[int, int, tuple[int, ...]], ...]


def groups_of(numbering: Numbering, high: int) -> list[tuple[int, int]]:
    """Return the groups of digits of numbers up to ``high``, (weight, base) each; a label is one group."""
    return [(1, high + 1)] if isinstance(numbering, SeenLabels) else digit_groups(high)


def digit_groups(largest: int) -> list[tuple[int, int]]:
    """Divide the digits of numbers up to ``largest`` into groups, the first digits first: (weight, base).

    >>> digit_groups(99999)
    [(1000, 100), (10, 100), (1, 10)]
    """
    left = len(str(largest))
    groups = []
    while left > 0:
        size = min(DIGITS_A_PLACE, left)
        left -= size
        groups.append((10**left, 10**size))
    return groups


@dataclass(frozen=True, kw_only=True)
class TokenScheme:
    """How rows are written as tokens, and read back."""

    schema: Schema
    columns: tuple[ColumnTokens, ...]

    @classmethod
    def of(cls, table: Table) -> Self:
        """Read the vocabulary off a table."""
        columns = enumerate(zip(table.schema.columns, table.values.T, strict=True))
        return cls(
            schema=table.schema,
            columns=tuple(ColumnTokens.of(i, column, cells) for i, (column, cells) in columns),
        )

    @cached_property
    def places(self) -> tuple[DigitGroup, ...]:
        """The positions of the sequence; what is the same in every row has none."""
        return tuple(place for column in self.columns for place in column.places)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of tokens at each position."""
        return tuple(len(place.seen) for place in self.places)

    def encode(self, table: Table) -> Indices:
        """Write rows of the table the scheme was read off as tokens (n, positions)."""
        tokens = np.empty((len(table), len(self.places)), dtype=np.int64)
        position = 0
        for column, cells in zip(self.columns, table.values.T, strict=True):
            known = ~np.isnan(cells)
            numbers = np.zeros(len(cells), dtype=np.int64)
            numbers[known] = column.numbering.numbers(cells[known])
            for place in column.places:
                digits = np.where(known, numbers // place.weight % place.base, NO_DIGITS)
                tokens[:, position] = np.searchsorted(place.digits, digits)
                position += 1
        return tokens

    def decode(self, tokens: Indices, *, rng: Generator) -> Table:
        """Read tokens back; ``rng`` places numbers inside the intervals that stand for them."""
        drawing = Drawing(self, len(tokens))
        for position in range(len(self.places)):
            drawing.take(position, tokens[:, position])
        return drawing.table(rng=rng)

    def to_json(self) -> list[dict[str, Any]]:
        """Return plain data. It holds values of the table: guard it like the data."""
        return [column.to_json() for column in self.columns]

    @classmethod
    def from_json(cls, schema: Schema, data: object) -> Self:
        """Rebuild what :meth:`to_json` wrote."""
        known = require_plain(list[Any], data, "columns")
        require(len(known) == len(schema), "columns must be those of the schema")
        pairs = enumerate(zip(schema.columns, known, strict=True))
        columns = tuple(ColumnTokens.from_json(i, column, item) for i, (column, item) in pairs)
        return cls(schema=schema, columns=columns)


class Drawing:
    """Rows under construction, position by position: which tokens may follow, and what came of them."""

    def __init__(self, scheme: TokenScheme, n_rows: int) -> None:
        self.scheme = scheme
        self.numbers = np.tile([column.fixed for column in scheme.columns], (n_rows, 1)).astype(np.int64)
        no_value = [column.low > column.high for column in scheme.columns]
        self.missing = np.tile(no_value, (n_rows, 1))

    def allowed(self, position: int) -> Booleans | None:
        """Say which tokens each row may take (n, tokens); None if each may take all.

        A prefix of digits can be completed if it lies between the prefixes of the smallest and the largest
        number seen. Those two are written in digits that were seen, and a prefix strictly between theirs may
        be followed by anything: so at least one token is always allowed.
        """
        place = self.scheme.places[position]
        column = self.scheme.columns[place.column]
        if len(column.places) == 1:
            return None
        before = self.numbers[:, place.column] // (place.weight * place.base) * place.base
        prefix = before[:, None] + place.digits  # (n, tokens)
        allowed = (prefix >= column.low // place.weight) & (prefix <= column.high // place.weight)
        if place.seen[0] == NO_DIGITS:
            if place is column.places[0]:
                allowed[:, 0] = True
            else:
                allowed[:, 0] = self.missing[:, place.column]
                allowed[:, 1:] &= ~self.missing[:, [place.column]]
        return allowed

    def take(self, position: int, tokens: Indices) -> None:
        """Add a token to every row."""
        place = self.scheme.places[position]
        digits = place.digits[tokens]
        self.missing[:, place.column] |= digits == NO_DIGITS
        self.numbers[:, place.column] += np.maximum(digits, 0) * place.weight

    def table(self, *, rng: Generator) -> Table:
        """Return the finished rows."""
        values = np.full(self.numbers.shape, np.nan)
        pairs = zip(self.scheme.schema.columns, self.scheme.columns, strict=True)
        for i, (column, tokens) in enumerate(pairs):
            known = ~self.missing[:, i]
            values[known, i] = within(column, tokens.numbering.cells(self.numbers[known, i], rng=rng))
        return Table(schema=self.scheme.schema, values=values)


def draw_tokens(logits: NDArray[np.float32], allowed: Booleans | None, uniforms: Floats) -> Indices:
    """Draw a token for each row from its logits (n, tokens), among the allowed ones: invert its CDF."""
    scores = logits.astype(np.float64)
    if allowed is not None:
        scores[~allowed] = -np.inf
    scores -= scores.max(axis=1, keepdims=True)
    heights = np.cumsum(np.exp(scores), axis=1)
    reached = uniforms * (1 - 1e-12) * heights[:, -1]  # strictly below the top, whatever is rounded
    return np.asarray(np.sum(heights <= reached[:, None], axis=1))
