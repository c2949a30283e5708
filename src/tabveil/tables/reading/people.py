"""Whose rows are whose: the numbers of people, from the column that names them.

The column itself is shown to no attack: that a release repeats it is for those to say who look for values
that reappear.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Floats, Indices, Numeric, Table
from tabveil.core.wording import plural
from tabveil.errors import SchemaError
from tabveil.tables.reading.encode import EncodedColumn
from tabveil.tables.reading.raw_column import Kind
from tabveil.tables.reading.sources import Source
from tabveil.tables.reading.wording import nearest, quoted

FEWEST_VALUES = 20
"""With fewer different values it is chance, or a group, that train and control share none."""
SEVERAL = 1.2
"""Rows of a value, on average, from which on people would have several."""
_GLANCE = 100  # values of control that are looked for first: nearly every column shares one


def require_person(came: Mapping[str, Source], person: str, dropped: Collection[str]) -> None:
    """Refuse a column of people that the real tables lack, or that is dropped; a release may well lack it."""
    if person in dropped:
        raise SchemaError(f"person: column {quoted(person)} is dropped by the schema; it cannot name people.")
    for role in ("train", "control"):
        if role in came and person not in came[role].data.column_names:
            close = nearest(person, came[role].data.column_names)
            hint = f" Did you mean {quoted(close)}?" if close else ""
            raise SchemaError(f"person: {role} has no column {quoted(person)}.{hint}")


@dataclass(frozen=True, kw_only=True, eq=False)
class People:
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

    def number(self, train: Table, control: Table) -> tuple[Table, Table]:
        """Return the tables with their people, without the control rows of people who are in train."""
        new = np.flatnonzero(~self.known)
        if len(self.known) and not len(new):
            raise SchemaError(
                "person: everybody in control has rows in train, too, so nobody in it is new to the "
                "generator. Split by person before training: tabveil split --by."
            )
        whole = Table(schema=control.schema, values=control.values, people=self.control)
        return (
            Table(schema=train.schema, values=train.values, people=self.train),
            whole if len(new) == len(control) else whole.take(new),
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
