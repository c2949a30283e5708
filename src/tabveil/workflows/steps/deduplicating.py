"""Drop what a table says twice before a generator learns it: equal rows, and too many rows of one person."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tabveil.core import check
from tabveil.core.rng import stream
from tabveil.core.table import Indices
from tabveil.core.wording import escaped, plural
from tabveil.errors import ParameterError, SchemaError
from tabveil.tables.holdout import coincide
from tabveil.tables.reading import native_parts, raw_rows
from tabveil.tables.reading.hashing import Hashes, RawTable, hash_cells, hash_rows, missing_cells

COINCIDENCE = (
    "Equal rows seem to be different people who coincide, as many others differ in one column only: "
    "keeping one of each changes how common things are in the table."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Deduplicated:
    """The rows that were kept, where they stood, and how many were not.

    ``n_equal`` counts rows that equal an earlier one, ``n_beyond`` those that people have beyond the limit,
    and ``n_people`` these people; ``n_persons`` all people, None where no column names them.
    """

    source: Any  # what was given
    kept: Indices  # (k,) positions, ascending
    n_rows: int
    n_equal: int = 0
    n_beyond: int = 0
    n_people: int = 0
    n_persons: int | None = None
    notes: tuple[str, ...] = ()

    @cached_property
    def rows(self) -> Any:  # noqa: ANN401 - see below
        """The rows themselves, in the kind of table that came in; those of a file as an Arrow table."""
        return native_parts(self.source, [self.kept])[0]

    @property
    def sentences(self) -> tuple[str, ...]:
        """How many rows are left, and why the others are not."""
        kept = (
            f"{plural(len(self.kept), 'row')} of {self.n_rows:,}; {self.n_equal:,} equal to another row "
            "dropped."
        )
        if self.n_persons is None:
            return (kept,)
        beyond = (
            f"{plural(self.n_beyond, 'row')} of {plural(self.n_people, 'person', 'people')} (of "
            f"{self.n_persons:,}) dropped beyond the limit."
        )
        return kept, beyond

    def __repr__(self) -> str:
        """Say how many rows are left, and why the others are not."""
        return escaped(
            f"{plural(len(self.kept), 'row')} of {self.n_rows:,}: {self.n_equal:,} equal to another, "
            f"{self.n_beyond:,} beyond a person's limit"
        )


def require_limits(
    owner: str, *, person: str | None = None, most: int | None = None, equal: bool = True
) -> None:
    """Refuse settings by which nothing would be dropped, or nobody knows whose rows."""
    if (person is None) != (most is None):
        raise ParameterError(f"{owner}: person and most go together: whose rows, and how many of them.")
    if person is None and not equal:
        raise ParameterError(f"{owner}: nothing is to be dropped; keep equal rows once, or name a person.")
    if most is not None:
        check.at_least(owner, "most", most, 1)


def deduplicate(
    data: Any,  # noqa: ANN401 - a path or a table of any dataframe library
    *,
    person: str | None = None,
    most: int | None = None,
    equal: bool = True,
    seed: int = 0,
) -> Deduplicated:
    """Keep equal rows once, and at most so many rows of a person, as ``tabveil deduplicate`` does.

    Do it before a generator is trained: what stands in a table a hundred times is learned by heart first.
    What is left stands there once, and may be learned by heart all the same.

    Parameters
    ----------
    data
        The real rows: a path, or a table of pandas, polars or Arrow, which stays as it is.
    person
        The column that says whose row it is; every row must have a value there.
    most
        How many rows of a person are kept, 1 or more; goes with ``person``.
    equal
        Keep rows that are equal in every column once. False keeps them all.
    seed
        Which rows of a person are kept depends on the seed and on what they hold, not on their order.

    Examples
    --------
    >>> import pandas as pd
    >>> visits = pd.DataFrame({"person": [1, 1, 1, 1, 2], "ward": ["A", "A", "B", "C", "A"]})
    >>> deduplicate(visits)
    4 rows of 5: 1 equal to another, 0 beyond a person's limit
    >>> deduplicate(visits, person="person", most=2).rows["person"].tolist()
    [1, 1, 2]
    """
    check.at_least("deduplicate", "seed", seed, 0)
    require_limits("deduplicate", person=person, most=most, equal=equal)
    table = raw_rows(data)
    if table.num_rows == 0:
        raise SchemaError("deduplicate: the table has no rows.")
    cells = hash_cells("deduplicate", table)
    content = hash_rows(cells, table.num_rows)
    kept = np.arange(table.num_rows)
    if equal:
        kept = np.sort(np.unique(content, return_index=True)[1])
    n_equal = table.num_rows - len(kept)
    notes = (COINCIDENCE,) if n_equal and coincide(cells) else ()
    if person is None or most is None:
        return Deduplicated(source=data, kept=kept, n_rows=table.num_rows, n_equal=n_equal, notes=notes)
    owner = cells[_place(table, person)][kept]
    fewer = kept[_limited(owner, content[kept], most, seed)]
    counts = np.unique(owner, return_counts=True)[1]
    return Deduplicated(
        source=data,
        kept=fewer,
        n_rows=table.num_rows,
        n_equal=n_equal,
        n_beyond=len(kept) - len(fewer),
        n_people=int(np.sum(counts > most)),
        n_persons=len(counts),
        notes=notes,
    )


def _place(table: RawTable, person: str) -> int:
    """Return where the column of people stands, once it is fit to name them."""
    check.known_names("deduplicate", "column", [person], table.column_names)
    if table.column_names.count(person) > 1:
        raise SchemaError(f"deduplicate: several columns are called {person!r}. Rename them.")
    n_missing = int(missing_cells(table, person).sum())
    if n_missing:
        raise SchemaError(
            f"deduplicate: {plural(n_missing, 'row')} of {table.num_rows:,} have no value in {person!r}, so "
            "nobody knows whose they are. Fill it in or leave them out."
        )
    place: int = table.column_names.index(person)
    return place


def _limited(owner: Hashes, content: Hashes, most: int, seed: int) -> Indices:
    """Return which rows are kept, ascending: of each owner's rows some at random, by what they hold."""
    salt = stream(seed, "deduplicate").integers(np.iinfo(np.uint64).max, dtype=np.uint64)
    chance = hash_rows([content, np.full(len(content), salt)], len(content))
    order = np.lexsort((chance, owner))  # stable: equal rows of a person in their order
    first = np.flatnonzero(np.diff(owner[order], prepend=~owner[order][:1]))
    rank = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    return np.sort(order[rank < most])
