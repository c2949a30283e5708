"""Which columns may be quasi-identifiers, with reasons: proposed, never decided.

What makes a column one is that somebody else may know it, which no table tells. But a table tells which
columns, alone or together, set people apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Indices, Table
from tabveil.synthesis.anonymize.grouping_kernels import number_rows
from tabveil.tables.reading import LoadedTable

MOST_TOGETHER = 4
"""Columns of the combination that is grown: who knows more of somebody hardly needs the table."""
LIKELY = 0.05
"""A column that sets so many more rows apart with one other is worth a look."""

TELLING = 0.5
"""A column that sets so many rows apart by itself needs no others, and tells nothing about them."""


@dataclass(frozen=True, kw_only=True)
class ColumnReason:
    """What a column does to tell people apart."""

    name: str
    n_values: int
    alone: float  # share of rows that nobody shares this value with
    separated: float  # share of pairs of rows that it tells apart
    partner: str | None  # the column with which it sets most rows apart that neither does alone
    with_partner: float  # share of rows that both together set apart
    added: float  # and how much of it neither does alone
    naming: bool  # it seems to name people: not to be generalized, but dropped

    @property
    def likely(self) -> bool:
        """Whether it sets people apart, alone or with one other."""
        return not self.naming and max(self.alone, self.added) >= LIKELY


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """All columns with reasons, and the combination that sets most people apart."""

    n_rows: int
    columns: tuple[ColumnReason, ...]
    together: tuple[
        tuple[str, float], ...
    ]  # each column that was added, and the share set apart from then on


def propose(loaded: LoadedTable) -> Proposal:
    """Look at all columns, alone, in pairs, and in a combination grown column by column."""
    table = loaded.table
    names = table.schema.names
    codes = {name: _codes(table, name) for name in names}
    asked = [name for name in names if name not in loaded.identifiers]
    by_themselves = {name: _unique_share([codes[name]]) for name in names}
    pairs = {
        (one, other): _unique_share([codes[one], codes[other]])
        for place, one in enumerate(asked)
        for other in asked[place + 1 :]
    }
    return Proposal(
        n_rows=len(table),
        columns=tuple(
            _reason(name, codes[name], pairs, by_themselves, naming=name not in asked) for name in names
        ),
        together=_grown([name for name in asked if by_themselves[name] < TELLING], codes),
    )


def _codes(table: Table, name: str) -> Indices:
    _, codes = np.unique(table.column(name), return_inverse=True)
    return codes.astype(np.int64)


def _reason(
    name: str,
    codes: Indices,
    pairs: dict[tuple[str, str], float],
    by_themselves: dict[str, float],
    *,
    naming: bool,
) -> ColumnReason:
    counts = np.bincount(codes).astype(np.float64)
    n = len(codes)
    alone = float((counts == 1).sum() / max(n, 1))
    own = {
        other: share - max(alone, by_themselves[other])
        for pair, share in pairs.items()
        if name in pair
        for other in pair
        if other != name
    }
    best = max(own, key=lambda other: own[other], default=None)
    return ColumnReason(
        name=name,
        n_values=len(counts),
        alone=alone,
        separated=float(1 - counts @ (counts - 1) / max(n * (n - 1), 1)),
        partner=best,
        with_partner=0.0 if best is None else own[best] + max(alone, by_themselves[best]),
        added=0.0 if best is None else own[best],
        naming=naming,
    )


def _unique_share(columns: Sequence[NDArray[np.int64]]) -> float:
    """Return the share of rows that are alone with their values."""
    keys = np.ascontiguousarray(np.stack(columns, axis=1))
    numbers, firsts = np.empty(len(keys), np.int32), np.empty(len(keys), np.int32)
    n = number_rows(keys, numbers, firsts)
    return float((np.bincount(numbers, minlength=n) == 1).sum() / max(len(keys), 1))


def _grown(names: Sequence[str], codes: dict[str, Indices]) -> tuple[tuple[str, float], ...]:
    """Add the column that sets most rows apart, again and again, until a few columns or all people are."""
    chosen: list[str] = []
    grown: list[tuple[str, float]] = []
    reached = 0.0
    while len(chosen) < min(MOST_TOGETHER, len(names)) and reached < 1:
        shares = {
            name: _unique_share([codes[other] for other in (*chosen, name)])
            for name in names
            if name not in chosen
        }
        best = max(shares, key=lambda name: shares[name])
        if shares[best] <= reached and grown:
            break
        reached = shares[best]
        chosen.append(best)
        grown.append((best, reached))
    return tuple(grown)
