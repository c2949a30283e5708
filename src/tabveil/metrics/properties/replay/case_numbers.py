"""Numbers and other identifiers of training people in a release, whatever else is fresh in it.

A generator that makes its own identifiers may meet real ones: if it numbers its rows from one, it meets those
that are numbered low. It meets those of people it never saw as well. So of all identifiers that one real
person alone has, those in the release are counted: how many are of train, how many of control?

That compares like with like as long as both tables have their people from all over the numbers. Where train
has the first thousand and control those after it, rows numbered from one meet train alone, and nothing leaks.
Then only people are compared who stand beside each other in the order of numbers, one of each table.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tabveil.core.estimate import CONFIDENCE, chance_of_at_least, difference, probit, sidak
from tabveil.core.estimate.risk import exact_chance
from tabveil.core.people import numbered
from tabveil.core.table import Categorical, Column, Floats, Indices, Split, Table
from tabveil.core.wording import UNSEEN, listed, percent, plural
from tabveil.metrics.traces import Trace

Flags = NDArray[np.bool_]

NAME = "identifiers"
MIXED = 0.1
"""Tables whose people stand in the order of numbers as after a shuffle less often than this are not mixed."""


def case_numbers(split: Split, *, confidence: float = CONFIDENCE) -> Trace | None:
    """Look for identifiers of training people; ``split`` holds the columns that name people, and no others.

    Fisher's exact test (1935) of the people who alone have an identifier; where train and control are not
    mixed in the order of the numbers, the sign test of neighbors. The p-value is multiplied by the columns.
    None without people of both tables to compare.

    >>> from tabveil.core.table import Numeric, Schema
    >>> schema = Schema((Numeric(name="case", low=0, high=999, decimals=0),))
    >>> people = np.random.default_rng(0).permutation(400)[:, None]
    >>> train, control = (Table(schema=schema, values=part) for part in (people[:200], people[200:]))
    >>> found = case_numbers(Split(train=train, control=control, synthetic=train))
    >>> found.people, found.people_control, found.gain.value, found.p_value < 1e-9
    (200, 0, 1.0, True)
    >>> rows = Table(schema=schema, values=np.arange(200.0)[:, None])
    >>> case_numbers(Split(train=train, control=control, synthetic=rows)).p_value > 0.05
    True
    """
    found = [item for name in sorted(split.schema.names) for item in _column(split, name)]
    if not found:
        return None
    lead = min(found, key=lambda item: (item.p_value, -item.train))
    seen = sorted(
        (item for item in found if item.p_value * len(found) <= 1 - confidence), key=lambda item: item.p_value
    )
    level = sidak(confidence, len(found))
    return Trace(
        name=NAME,
        title="Identifiers",
        sentence=_sentence(lead),
        p_value=min(1.0, len(found) * lead.p_value),
        people=lead.train,
        n_people=lead.n_train,
        people_control=lead.control,
        n_control=lead.n_control,
        gain=difference(lead.train, lead.n_train, lead.control, lead.n_control, level),
        rows=lead.rows,
        rows_expected=lead.rows_expected,
        n_rows=len(split.synthetic),
        columns=tuple(item.column for item in seen) or (lead.column,),
    )


@dataclass(frozen=True, kw_only=True)
class _Found:
    """How many people of each table have an identifier that is theirs alone and stands in the release."""

    column: str
    p_value: float
    train: int
    n_train: int
    control: int
    n_control: int
    rows: int | None = None
    rows_expected: float | None = None
    paired: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class _Owners:
    """The people of one table who alone have an identifier: its place in order, and if it is released."""

    n_people: int
    place: Indices  # (n,)
    released: Flags  # (n,)
    n_rows: int  # of the release with an identifier of theirs

    @classmethod
    def of(cls, table: Table, values: Indices, alone: Flags, released: Indices) -> Self:
        """``values`` (n_rows,) are places in the order of all values, -1 for missing."""
        held = values >= 0
        if table.people is None:  # nobody says whose rows are whose but the identifier itself
            n_people = len(np.unique(values[held])) + int((~held).sum())
            owner = values
        else:
            n_people, owner = table.n_people, numbered(table)
            pairs = np.unique(np.stack([values[held], owner[held]], axis=1), axis=0)
            alone = alone & (np.bincount(pairs[:, 0], minlength=len(alone)) == 1)
        kept = held & alone[values]
        own, whose = np.unique(values[kept]), owner[kept]
        people, person = np.unique(whose, return_inverse=True)
        place = np.full(len(people), len(alone), dtype=np.int64)
        np.minimum.at(place, person, values[kept])
        hit = np.zeros(len(people), dtype=np.bool_)
        np.logical_or.at(hit, person, released[values[kept]] > 0)
        return cls(n_people=n_people, place=place, released=hit, n_rows=int(released[own].sum()))


def numbered_apart(split: Split) -> frozenset[str]:
    """Return the columns in whose order the people of train and of control are not mixed."""
    apart = set()
    for name in split.schema.names:
        sides = _owners(split, name)
        if all(len(side.place) for side in sides) and not _are_mixed(_along(sides)[0]):
            apart.add(name)
    return frozenset(apart)


def _column(split: Split, name: str) -> Iterator[_Found]:
    sides = _owners(split, name)
    if not all(len(side.place) for side in sides):
        return
    of_train, released = _along(sides)
    yield _mixed(name, sides) if _are_mixed(of_train) else _neighbors(name, of_train, released)


def _owners(split: Split, name: str) -> list[_Owners]:
    values, n_values = _in_order(split, name)
    counts = [np.bincount(each[each >= 0], minlength=n_values) for each in values]
    return [
        _Owners.of(table, each, (own > 0) & (other == 0), counts[2])
        for table, each, own, other in (
            (split.train, values[0], counts[0], counts[1]),
            (split.control, values[1], counts[1], counts[0]),
        )
    ]


def _along(sides: list[_Owners]) -> tuple[Flags, Flags]:
    """Return who is of train, and whose identifier is released, in the order of the identifiers."""
    place = np.concatenate([side.place for side in sides])
    order = np.argsort(place, kind="stable")
    of_train = np.arange(len(place)) < len(sides[0].place)
    return of_train[order], np.concatenate([side.released for side in sides])[order]


def _in_order(split: Split, name: str) -> tuple[list[Indices], int]:
    """Give all values numbers in their order; labels by length first, so that P-9 comes before P-10."""
    tables = (split.train, split.control, split.synthetic)
    cells = [table.column(name) for table in tables]
    known = np.unique(np.concatenate([each[~np.isnan(each)] for each in cells]))
    rank = _ranks(split.schema[name], known)
    return [_numbers(each, known, rank) for each in cells], len(known)


def _ranks(column: Column, known: Floats) -> Indices:
    if not isinstance(column, Categorical):
        return np.arange(len(known))
    labels = [column.labels[code] for code in known.astype(np.int64).tolist()]
    order = sorted(range(len(labels)), key=lambda place: (len(labels[place]), labels[place]))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank


def _numbers(cells: Floats, known: Floats, rank: Indices) -> Indices:
    numbers = np.full(len(cells), -1, dtype=np.int64)
    held = ~np.isnan(cells)
    numbers[held] = rank[np.searchsorted(known, cells[held])]
    return numbers


def _mixed(name: str, sides: list[_Owners]) -> _Found:
    train, control = sides
    hits, others = int(train.released.sum()), int(control.released.sum())
    return _Found(
        column=name,
        p_value=exact_chance(hits, len(train.place), others, len(control.place)),
        train=hits,
        n_train=train.n_people,
        control=others,
        n_control=control.n_people,
        rows=train.n_rows,
        rows_expected=control.n_rows * len(train.place) / len(control.place),
    )


def _are_mixed(of_train: Flags) -> bool:
    """Whether people of both tables follow each other as after a shuffle: in runs, and all over.

    Neither looks at the release, so that the choice of a test does not favor either answer. Runs tell tables
    apart that take turns (Wald and Wolfowitz 1940), the largest distance of their shares those that drift
    apart (Smirnov 1948).
    """
    n, of_one = len(of_train), int(of_train.sum())
    of_other = n - of_one
    runs = 1 + int((of_train[1:] != of_train[:-1]).sum())
    expected = 1 + 2 * of_one * of_other / n
    variance = (expected - 1) * (expected - 2) / max(n - 1, 1)
    if runs < expected - probit(1 - 2 * MIXED) * np.sqrt(max(variance, 0.0)):
        return False
    apart = np.cumsum(np.where(of_train, 1 / of_one, -1 / of_other))
    largest = float(np.abs(apart).max())
    return bool(2 * np.exp(-2 * largest**2 * of_one * of_other / n) >= MIXED)


def _neighbors(name: str, of_train: Flags, released: Flags) -> _Found:
    """Compare neighbors of different tables, each with one other at most."""
    pairs, after = [], -1
    for place in np.flatnonzero(of_train[1:] != of_train[:-1]).tolist():
        if place > after:
            pairs.append(place)
            after = place + 1
    first = np.array(pairs, dtype=np.int64)
    of_first = of_train[first]
    train, control = (
        np.where(of_first == side, released[first], released[first + 1]) for side in (True, False)
    )
    more, less = int((train & ~control).sum()), int((control & ~train).sum())
    return _Found(
        column=name,
        p_value=chance_of_at_least(more, more + less, 0.5),
        train=int(train.sum()),
        n_train=len(pairs),
        control=int(control.sum()),
        n_control=len(pairs),
        paired=True,
    )


def _sentence(lead: _Found) -> str:
    people = plural(lead.n_train, "training person", "training people")
    told = (
        f"Identifiers ({listed([lead.column])}) of {lead.train:,} of {people} "
        f"({percent(lead.train / lead.n_train)}) stand in the release, and of {lead.control:,} of "
        f"{lead.n_control:,} {UNSEEN} ({percent(lead.control / lead.n_control)})"
    )
    return f"{told}; compared were those next to each other in order." if lead.paired else f"{told}."
