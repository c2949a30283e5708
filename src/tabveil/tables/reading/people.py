"""Whose rows are whose: the numbers of people, from the column that names them, or from one that must.

The column itself is shown to no attack: that a release repeats it is for those to say who look for values
that reappear.

Where nobody said whose rows they are, rows of one person may stand on both sides. A split by rows puts some
rows of a patient into train and others into control. Then nobody in control is new to the generator, and any
leak looks like chance. Values of such a column repeat, and many of them stand in both tables. So do those of
ordinary columns: weights, incomes, dates, zip codes. Two things tell them apart:

- the name, or a schema, says that the column numbers people;
- or rows with the same value agree in most other columns more than rows with the next value do, and in one of
  them always, as a person's sex and year of birth stay. Rows of one zip code agree in the state, but not in
  most columns; rows of equal survey weight in most that the weight is made of, but in none always.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tabveil.core.check import nearest, quoted
from tabveil.core.table import Floats, Indices, Numeric, Split
from tabveil.core.wording import plural
from tabveil.errors import SchemaError
from tabveil.tables.reading.arrow import hash_rows
from tabveil.tables.reading.encode import EncodedColumn
from tabveil.tables.reading.files import Source
from tabveil.tables.reading.identifiers import FOUR_DIGITS, NUMBERS, is_named_so, numbers_people
from tabveil.tables.reading.raw_column import Kind

FEWEST_VALUES = 20
"""With fewer different values it is chance, or a group, that train and control share none."""
SEVERAL = 1.2
"""Rows of a value, on average, from which on people would have several."""
_GLANCE = 100  # values of control that are looked for first: nearly every column shares one


def require_person(tables: Mapping[str, Source], person: str, dropped: Collection[str]) -> None:
    """Refuse a column of people that the real tables lack, or that is dropped; a release may well lack it."""
    if person in dropped:
        raise SchemaError(
            "person", f"column {quoted(person)} is dropped by the schema; it cannot name people."
        )
    for role in ("train", "control"):
        if role in tables and person not in tables[role].data.column_names:
            close = nearest(person, tables[role].data.column_names)
            hint = f" Did you mean {quoted(close)}?" if close else ""
            raise SchemaError("person", f"{role} has no column {quoted(person)}.{hint}")


@dataclass(frozen=True, kw_only=True, eq=False)
class RowOwners:
    """Whose row each row of the real tables is, and which control rows are of training people."""

    train: Indices  # (n,)
    control: Indices  # (m,)
    known: NDArray[np.bool_]  # (m,) of somebody in train, who is nobody new

    @classmethod
    def of(cls, encoded: EncodedColumn) -> Self:
        """Give people numbers; a row that does not say whose it is belongs to somebody who has no other."""
        cells = [encoded.cells.get(role, np.empty(0)) for role in ("train", "control")]
        values = np.concatenate(cells)
        named = ~np.isnan(values)
        people = np.empty(len(values), dtype=np.int64)
        found, people[named] = np.unique(values[named], return_inverse=True)
        people[~named] = len(found) + np.arange(np.count_nonzero(~named))
        train, control = people[: len(cells[0])], people[len(cells[0]) :]
        return cls(train=train, control=control, known=np.isin(control, train))

    def number(self, split: Split) -> Split:
        """Return the tables with their people, without the control rows of people who are in train."""
        new = np.flatnonzero(~self.known)
        if len(self.known) and not len(new):
            raise SchemaError(
                "person",
                "everybody in control has rows in train, too, so nobody in it is new to the "
                "generator. Split by person before training: tabveil split --by.",
            )
        control = replace(split.control, people=self.control)
        return replace(
            split,
            train=replace(split.train, people=self.train),
            control=control if len(new) == len(control) else control.take(new),
        )

    def notes(self, person: str) -> tuple[str, ...]:
        """Say what was left out, and what looks wrong."""
        found = []
        if n_known := int(self.known.sum()):
            who = plural(len(np.unique(self.control[self.known])), "person", "people")
            found.append(
                f"Left out: {plural(n_known, 'control row')} of {who} (column {quoted(person)}) with rows in "
                "train, too. Split by person before training: tabveil split --by."
            )
        for role, people in (("train", self.train), ("control", self.control[~self.known])):
            if len(people) > 1 and len(np.unique(people)) == 1:
                found.append(
                    f"All rows of {role} belong to one person (column {quoted(person)}): nothing can be "
                    "concluded from one. Is it the right column?"
                )
        everybody = np.concatenate([self.train, self.control])
        if len(everybody) > 1 and len(np.unique(everybody)) == len(everybody):
            found.append(f"Nobody has more than one row: column {quoted(person)} changes nothing.")
        return tuple(found)


def suspects(read: Mapping[str, EncodedColumn]) -> tuple[str, ...]:
    """Return the columns that may name people with several rows, though nobody said so.

    Their values stand in several rows, but none in train and in control, as after a split by person. After a
    split of rows many would.
    """
    return tuple(
        name
        for name, encoded in read.items()
        if {"train", "control"} <= encoded.cells.keys()
        and (
            encoded.place.kind is Kind.LABELS
            or (isinstance(encoded.column, Numeric) and encoded.column.integer)
        )
        and _parted(encoded.cells["train"], encoded.cells["control"])
    )


def _parted(train: Floats, control: Floats) -> bool:
    """Whether values repeat within both tables, but not from one to the other."""
    sides = [cells[~np.isnan(cells)] for cells in (train, control)]
    if min(map(len, sides)) == 0 or np.isin(sides[1][:_GLANCE], sides[0]).any():
        return False
    values = [np.unique(cells) for cells in sides]
    return (
        all(len(each) >= FEWEST_VALUES for each in values)
        and sum(map(len, sides)) >= SEVERAL * sum(map(len, values))
        and not np.isin(values[1], values[0]).any()
    )


FEWEST_ROWS, LEAST_SHARE = 10, 0.02
"""So many rows, and such a share of control, must be of people in train: fewer move no risk that matters."""
MOST_ROWS_EACH = 20
"""Rows of a value on average: people have few, groups of people many."""
LEAST_DIFFERENT = 0.2
"""The share of different values, where a name says no more than that something is numbered."""
PAIRS = 50
"""So many pairs of rows must tell that rows of a value agree."""
COLUMNS = 4
"""And so many columns."""
USUAL, MOSTLY, ALWAYS = 0.9, 0.2, 0.97
"""Columns that agree anyway tell nothing; in half of the others so much more must, and in one nearly all."""

_MOST_PAIRS = 2000


def people_on_both_sides(
    read: Mapping[str, EncodedColumn], identifiers: Collection[str] = (), passed: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the columns by which rows of one person stand in train and in control.

    ``identifiers`` are columns that a schema declares to name people, ``passed`` those of free text, which
    name nobody. Of one table (``data``) it returns those by which they would after a split of its rows.
    """
    rows = _Rows.of(read)
    return tuple(
        name
        for name, encoded in read.items()
        if name not in passed
        and (cells := _shared(encoded)) is not None
        and (name in identifiers or _named_so(name, cells, encoded) or rows.agree_by(name, cells))
    )


def _shared(encoded: EncodedColumn) -> Floats | None:
    """Return the cells of a column that may number people, if enough rows of several people's are parted."""
    column, kind = encoded.column, encoded.place.kind
    if isinstance(column, Numeric):
        may_number = column.integer and kind is Kind.NUMBER
    else:
        may_number = not column.ordered and kind is Kind.LABELS
    if not may_number:
        return None
    if "data" in encoded.cells:
        cells = encoded.cells["data"]
        held = cells[~np.isnan(cells)]
        values, counts = np.unique(held, return_counts=True)
        shared, among = int(counts[counts > 1].sum()), len(cells)
    elif "train" in encoded.cells and "control" in encoded.cells:
        train, control = encoded.cells["train"], encoded.cells["control"]
        cells = np.concatenate([train, control])
        held = cells[~np.isnan(cells)]
        values = np.unique(held)
        shared, among = int(np.isin(control, train[~np.isnan(train)]).sum()), len(control)
    else:
        return None
    few_each = len(values) >= FEWEST_VALUES and len(held) <= MOST_ROWS_EACH * len(values)
    return cells if few_each and shared >= max(FEWEST_ROWS, LEAST_SHARE * among) else None


def _named_so(name: str, cells: Floats, encoded: EncodedColumn) -> bool:
    held = cells[~np.isnan(cells)]
    small = encoded.place.kind is Kind.NUMBER and float(np.median(held)) < FOUR_DIGITS
    return numbers_people(name) or (
        is_named_so(name, NUMBERS) and not small and len(np.unique(held)) >= LEAST_DIFFERENT * len(held)
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Rows:
    """All rows of the real tables, in whatever order the files have them."""

    names: tuple[str, ...]
    parts: Mapping[str, list[Floats]]  # the cells of each column, by table
    n_rows: int

    @classmethod
    def of(cls, read: Mapping[str, EncodedColumn]) -> "_Rows":
        parts = {
            name: [encoded.cells[role] for role in ("data", "train", "control") if role in encoded.cells]
            for name, encoded in read.items()
        }
        sizes = {name: sum(map(len, each)) for name, each in parts.items() if each}
        n_rows = max(sizes.values(), default=0)
        names = tuple(sorted(name for name, size in sizes.items() if size == n_rows))
        return cls(names=names, parts=parts, n_rows=n_rows)

    def keys(self, name: str, rows: Indices | None = None) -> NDArray[np.uint64]:
        """Return what is equal where cells of a column are, all or of some rows; missing equals missing."""
        whole = np.concatenate(self.parts[name])
        cells = (whole if rows is None else whole[rows]) + 0.0
        cells[np.isnan(cells)] = np.nan
        return cells.view(np.uint64)

    @cached_property
    def hashes(self) -> NDArray[np.uint64]:
        """Hash the rows (n,), a column at a time."""
        return hash_rows((self.keys(name) for name in self.names), self.n_rows)

    def _columns(self, names: Sequence[str], *rows: Indices) -> list[NDArray[np.uint64]]:
        """Return the keys of some rows, and of others, in some columns (m, d)."""
        ends = np.cumsum([len(each) for each in rows])[:-1]
        columns = [self.keys(name, np.concatenate(rows)) for name in names]
        return np.split(
            np.column_stack(columns) if columns else np.empty((sum(map(len, rows)), 0), np.uint64), ends
        )

    def agree_by(self, name: str, cells: Floats) -> bool:
        """Tell whether rows of the same value are as alike as those of one person."""
        if name not in self.names or len(cells) != self.n_rows:
            return False
        known = np.flatnonzero(~np.isnan(cells))
        order = known[np.lexsort((self.hashes[known], cells[known]))]
        new = np.flatnonzero(np.diff(cells[order], prepend=np.nan) != 0)  # where each value begins
        if len(new) < FEWEST_VALUES:
            return False
        ends = np.append(new[1:], len(order))
        first = np.flatnonzero(np.diff(cells[order]) == 0)
        if len(first) > _MOST_PAIRS:  # those whose rows have the smallest hashes are asked
            first = first[np.argsort(self.hashes[order[first]], kind="stable")[:_MOST_PAIRS]]
        end = ends[np.searchsorted(new, first, side="right") - 1]
        stranger = np.where(end < len(order), end, new[-1] - 1)  # of the next value, or of the last but one
        others = [each for each in self.names if each != name]
        one, same, other = self._columns(others, order[first], order[first + 1], order[stranger])
        alike = one == same
        told = ~alike.all(axis=1)  # a record that is stored twice tells nothing about its columns
        if np.count_nonzero(told) < PAIRS:
            return False
        usual = np.mean(one[told] == other[told], axis=0)
        asked = usual < USUAL
        if np.count_nonzero(asked) < COLUMNS:
            return False
        more = (alike[told].mean(axis=0)[asked] - usual[asked]) / (1 - usual[asked])
        return bool(np.median(more) >= MOSTLY and more.max() >= ALWAYS)
