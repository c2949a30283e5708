"""How the rows of linked tables hang together: what is learned of it, and how it is drawn anew.

The rows of a table that have the same value in the column ``on`` are a hub; on it hang the rows of the next
table that have this key. Mostly each row is a hub of its own. Where several are one, such as two rights to
one account, each row learns how many it has and which of them it is, in the order of what the rows hold.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from tabveil.core.linked import Linkage
from tabveil.core.people import LEAST_SHARED
from tabveil.core.table import Categorical, Column, Floats, Indices, Numeric, Table

NOBODY = "none"
"""Of a row that names no row of the next table."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Hubs:
    """The hub of each row of a table (n_rows,), -1 for none, and the row that each hub begins with."""

    of_row: Indices
    first: Indices  # (n_hubs,)

    @classmethod
    def of(cls, of_row: Indices, place: Indices) -> "Hubs":
        """Give hubs the numbers 0, 1 …; ``place`` is where each row stands in its hub."""
        order = np.lexsort((place, of_row))
        order = order[of_row[order] >= 0]
        hubs, first = np.unique(of_row[order], return_index=True)
        numbered = np.where(of_row >= 0, np.searchsorted(hubs, of_row), -1)
        return cls(of_row=numbered, first=order[first])

    @property
    def sizes(self) -> Indices:
        """How many rows each hub has."""
        return np.bincount(self.of_row[self.of_row >= 0], minlength=len(self.first))


@dataclass(frozen=True, kw_only=True, eq=False)
class Joint:
    """One column on which other tables hang: whether its hubs are single rows, and what is learned else."""

    table: str
    on: str
    kind: str  # "own": each row is one; "parent": the hubs that the table itself hangs on; "shared"
    hubs: Hubs  # of the rows learned from
    labels: tuple[str, ...] = ()  # of shared ones: how many rows, and which of them
    codes: Floats | None = None  # of each row
    within: bool = False  # whether only rows of one person share a hub

    @property
    def column(self) -> Categorical:
        """What is learned of shared hubs."""
        return Categorical(name=f"{self.on}: shared by", labels=self.labels)

    def drawn(self, rows: Table, parents: Indices, whose: Indices, *, rng: Generator) -> Hubs:
        """Return hubs of rows that were drawn; ``parents`` is the hub that each hangs on."""
        if self.kind == "own":
            return Hubs.of(np.arange(len(rows)), np.zeros(len(rows), dtype=np.int64))
        if self.kind == "parent":
            return Hubs.of(parents, np.arange(len(rows)))
        codes = rows.column(self.column.name)
        codes = np.where(np.isnan(codes), 0, codes).astype(np.int64)
        told = [_size_and_place(label) for label in self.labels]
        size = np.array([each[0] for each in told])[codes]
        place = np.array([each[1] for each in told])[codes]
        group = whose if self.within else np.zeros(len(rows), dtype=np.int64)
        alike = np.unique(np.column_stack([group, size, place]), axis=0, return_inverse=True)[1].reshape(-1)
        order = rng.permutation(len(rows))
        order = order[np.argsort(alike[order], kind="stable")]
        begins = np.searchsorted(alike[order], alike[order])
        rank = np.empty(len(rows), dtype=np.int64)
        rank[order] = np.arange(len(rows)) - begins
        alone = np.where(size == 1, np.arange(len(rows)), -1)
        met = np.column_stack([group, size, rank, alone])
        hub = np.unique(met, axis=0, return_inverse=True)[1].reshape(-1)
        return Hubs.of(np.where(size > 0, hub, -1), place)


def _size_and_place(label: str) -> tuple[int, int]:
    if label == NOBODY:
        return 0, 0
    place, size = label.split(" of ")
    return int(size), int(place)


def joint_of(
    linkage: Linkage, table: str, on: str, *, keys: Mapping[str, Indices], rows: Table, whose: Indices
) -> Joint:
    """Find out how the rows of a table meet in a column; ``whose`` is a person of each."""
    codes = keys[on]
    n_rows = len(codes)
    content = [rows.values[:, k] for k in reversed(range(len(rows.schema)))]
    others = [keys[name] for name in sorted(keys)]  # equal rows: their keys decide, and no file does
    rank = np.argsort(np.lexsort((*others, *content)))
    if table != linkage.person and linkage[table].key == on:
        return Joint(table=table, on=on, kind="parent", hubs=Hubs.of(codes, rank))
    if (codes >= 0).all() and len(np.unique(codes)) == n_rows:
        return Joint(table=table, on=on, kind="own", hubs=Hubs.of(np.arange(n_rows), rank))
    hubs = Hubs.of(codes, rank)
    order = np.lexsort((rank, hubs.of_row))
    begins = np.searchsorted(hubs.of_row[order], hubs.of_row[order])
    place = np.empty(n_rows, dtype=np.int64)
    place[order] = np.arange(n_rows) - begins + 1
    size = hubs.sizes[hubs.of_row]
    told = np.array([f"{p} of {s}" for p, s in zip(place.tolist(), size.tolist(), strict=True)], dtype=object)
    told[hubs.of_row < 0] = NOBODY
    _, at, counts = np.unique(told.astype(str), return_inverse=True, return_counts=True)
    rare = (counts < LEAST_SHARED)[at.reshape(-1)]
    told[rare & (hubs.of_row >= 0)] = "1 of 1"
    labels = tuple(sorted(set(told.tolist())))
    lone = np.full(len(hubs.first), -1, dtype=np.int64)
    lone[hubs.of_row[hubs.of_row >= 0]] = whose[hubs.of_row >= 0]
    within = bool((lone[hubs.of_row] == whose)[hubs.of_row >= 0].all())
    return Joint(
        table=table,
        on=on,
        kind="shared",
        hubs=hubs,
        labels=labels,
        codes=np.array([float(labels.index(each)) for each in told]),
        within=within,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Counted:
    """How many rows of a linked table hang on each row of another: a column to learn, if that differs."""

    table: str
    counts: Floats  # of each row learned from

    @classmethod
    def of(cls, table: str, hubs: Hubs, hung: Indices) -> "Counted":
        """Count the rows of a table whose key is that of each row's hub; ``hung`` is the hub of each."""
        per_hub = np.bincount(hung, minlength=len(hubs.first)).astype(np.float64)
        return cls(table=table, counts=np.where(hubs.of_row >= 0, per_hub[hubs.of_row], 0.0))

    @property
    def always(self) -> int | None:
        """How many every row has, if that is one number."""
        different = np.unique(self.counts)
        return int(different[0]) if len(different) == 1 else None

    @property
    def column(self) -> Column:
        """What is learned."""
        return Numeric(
            name=f"{self.table}: rows", low=0.0, high=float(self.counts.max(initial=0)), decimals=0
        )

    def drawn(self, rows: Table, hubs: Hubs) -> Indices:
        """Return how many rows hang on each hub that was drawn."""
        if self.always is not None:
            return np.full(len(hubs.first), self.always, dtype=np.int64)
        counts = np.nan_to_num(rows.column(self.column.name)[hubs.first])
        return np.maximum(np.rint(counts), 0).astype(np.int64)
