"""What reappears of people, as traces of them that a verdict judges: texts, identifying values, numbers.

A name or a letter in a release needs no attacker. Whether as much of people reappears whom the generator
never saw is asked of whole people, exactly: parts of names, which count a tenth of one, are left to the
metric.

A generator that makes its own identifiers may meet real ones: if it numbers its rows from one, it meets those
that are numbered low. It meets those of people it never saw as well. So of all identifiers that one real
person alone has, those in the release are counted: how many are of train, how many of control? That compares
like with like as long as both tables have their people from all over the numbers. Where train has the first
thousand and control those after it, rows numbered from one meet train alone, and nothing leaks. Then only
people are compared who stand beside each other in the order of numbers, one of each table.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from tabveil.core.estimate import CONFIDENCE, chance_of_at_least, difference, probit, sidak
from tabveil.core.estimate.risk import exact_chance
from tabveil.core.findings import Configuration
from tabveil.core.people import Flags, numbered
from tabveil.core.result import Result
from tabveil.core.table import Categorical, Indices, Split, Table
from tabveil.core.wording import UNSEEN, listed, percent, plural
from tabveil.metrics.properties.replay.patterns import PLURALS
from tabveil.metrics.properties.replay.pii import PART, PiiReplay
from tabveil.metrics.properties.replay.text import TextReplay
from tabveil.metrics.traces import Trace

IDENTIFYING, TEXTS, IDENTIFIERS = "identifying values", "texts", "identifiers"
NUMBERS = frozenset({"identifier", "account number", "national identifier", "phone number"})
"""Kinds of values that somebody may count up."""
MIXED = 0.1
"""Tables whose people stand in the order of numbers as after a shuffle less often than this are not mixed."""


@dataclass(frozen=True, kw_only=True)
class _Occurrence:
    """The people of whom something reappears, looked for in one way."""

    label: str
    column: str | None
    p_value: float
    train: int
    n_train: int
    control: int
    n_control: int
    rows: int | None = None
    rows_expected: float | None = None
    paired: bool = False

    def trace(
        self,
        name: str,
        title: str,
        *,
        n_tried: int,
        level: float,
        n_rows: int = 0,
        columns: tuple[str, ...] = (),
    ) -> Trace:
        """Put it into words; the p-value pays for all ways that were tried."""
        people = plural(self.n_train, "training person", "training people")
        sentence = (
            f"{title} ({self.label}) of {self.train:,} of {people} ({percent(self.train / self.n_train)}) "
            f"stand in the release, and of {self.control:,} of {self.n_control:,} {UNSEEN} "
            f"({percent(self.control / self.n_control)})"
        )
        if self.paired:
            sentence += "; compared were those next to each other in order"
        return Trace(
            name=name,
            title=title,
            sentence=f"{sentence}.",
            p_value=min(1.0, n_tried * self.p_value),
            people=self.train,
            n_people=self.n_train,
            people_control=self.control,
            n_control=self.n_control,
            gain=difference(self.train, self.n_train, self.control, self.n_control, level),
            rows=self.rows,
            rows_expected=self.rows_expected,
            n_rows=n_rows,
            columns=columns or (() if self.column is None else (self.column,)),
        )


def replayed(results: Iterable[Result], *, apart: Collection[str] = ()) -> tuple[Trace, ...]:
    """Return a trace for each metric of what reappears that ran, and had people to compare.

    ``apart`` are columns that number the people of train and of control apart. A release that numbers its own
    rows meets those of one table more often, and nothing leaks: numbers there are left to ``case_numbers``.

    The p-value is that of Fisher's exact test (1935) of the people who have such values or texts: if nothing
    was learned by heart, those of train and of control are equally likely to reappear. It is multiplied by
    the number of kinds, columns and lengths that were tried.
    """
    named = {PiiReplay.name: (IDENTIFYING, "Identifying values"), TextReplay.name: (TEXTS, "Texts")}
    traces: dict[str, Trace] = {}
    for result in results:
        if result.metric not in named or result.metric in traces:
            continue
        found = list(_counted(result.configurations, apart))
        if found:
            lead = min(found, key=lambda item: (item.p_value, -item.train / item.n_train, item.label))
            level = float(result.details.get("confidence_of_each", CONFIDENCE))
            traces[result.metric] = lead.trace(*named[result.metric], n_tried=len(found), level=level)
    return tuple(traces.values())


def _counted(configurations: Sequence[Configuration], apart: Collection[str]) -> Iterator[_Occurrence]:
    """Count people exactly; those of whom a part of a name reappears are none."""
    left_out = {
        item.setting.target
        for item in configurations
        if item.facts.get("kind") in NUMBERS and item.setting.target in apart
    }
    for item in configurations:
        facts, target = item.facts, item.setting.target
        if item.attack is None or item.control is None or facts.get("kind") == PART:
            continue
        if left_out and (target in left_out or (target is None and "words" not in facts)):
            continue  # and all kinds together have it among them
        train, control = int(facts["train_people"]), int(facts["control_people"])
        of_train, of_control = int(facts["train_holding"]), int(facts["control_holding"])
        if not (of_train and of_control):
            continue  # nobody of control could be found
        label = "all kinds together"
        if "kind" in facts or "words" in facts:
            what = PLURALS[facts["kind"]] if "kind" in facts else f"passages of {facts['words']} words"
            label = what if target is None else f"{what} in {listed([target])}"
        yield _Occurrence(
            label=label,
            column=target,
            p_value=exact_chance(train, of_train, control, of_control),
            train=train,
            n_train=item.attack.n,
            control=control,
            n_control=item.control.n,
        )


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
    found = [item for name in sorted(split.schema.names) if (item := _identifiers(split, name)) is not None]
    if not found:
        return None
    seen = sorted(
        (item for item in found if item.p_value * len(found) <= 1 - confidence), key=lambda item: item.p_value
    )
    lead = min(found, key=lambda item: (item.p_value, -item.train))
    return lead.trace(
        IDENTIFIERS,
        "Identifiers",
        n_tried=len(found),
        level=sidak(confidence, len(found)),
        n_rows=len(split.synthetic),
        columns=tuple(item.column for item in seen if item.column is not None),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _IdentifierHolders:
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
        hit = np.bincount(person, weights=released[values[kept]], minlength=len(people)) > 0
        return cls(n_people=n_people, place=place, released=hit, n_rows=int(released[own].sum()))


def numbered_apart(split: Split) -> frozenset[str]:
    """Return the columns in whose order the people of train and of control are not mixed."""
    sides = {name: _owners(split, name) for name in split.schema.names}
    return frozenset(name for name, both in sides.items() if both and not _are_mixed(_along(both)[0]))


def _identifiers(split: Split, name: str) -> _Occurrence | None:
    """Compare the people of both tables by one column, if both have identifiers there."""
    sides = _owners(split, name)
    if not sides:
        return None
    train, control = sides
    of_train, released = _along(sides)
    if not _are_mixed(of_train):
        return _neighbors(name, of_train, released)
    hits, others = int(train.released.sum()), int(control.released.sum())
    return _Occurrence(
        label=listed([name]),
        column=name,
        p_value=exact_chance(hits, len(train.place), others, len(control.place)),
        train=hits,
        n_train=train.n_people,
        control=others,
        n_control=control.n_people,
        rows=train.n_rows,
        rows_expected=control.n_rows * len(train.place) / len(control.place),
    )


def _owners(split: Split, name: str) -> list[_IdentifierHolders]:
    """Return the people of train and of control who alone have an identifier; none where one table has none.

    Values are numbered in their order, labels by length first, so that P-9 comes before P-10.
    """
    cells = [table.column(name) for table in (split.train, split.control, split.synthetic)]
    known = np.unique(np.concatenate([each[~np.isnan(each)] for each in cells]))
    rank, column = np.arange(len(known)), split.schema[name]
    if isinstance(column, Categorical):
        labels = [column.labels[code] for code in known.astype(np.int64).tolist()]
        rank[sorted(rank.tolist(), key=lambda place: (len(labels[place]), labels[place]))] = rank.copy()
    # A missing one stands after all others.
    values = [np.append(rank, -1)[np.searchsorted(known, each)] for each in cells]
    counts = [np.bincount(each[each >= 0], minlength=len(known)) for each in values]
    sides = [
        _IdentifierHolders.of(table, values[own], (counts[own] > 0) & (counts[1 - own] == 0), counts[2])
        for own, table in enumerate((split.train, split.control))
    ]
    return sides if all(len(side.place) for side in sides) else []


def _along(sides: list[_IdentifierHolders]) -> tuple[Flags, Flags]:
    """Return who is of train, and whose identifier is released, in the order of the identifiers."""
    place = np.concatenate([side.place for side in sides])
    order = np.argsort(place, kind="stable")
    of_train = np.arange(len(place)) < len(sides[0].place)
    return of_train[order], np.concatenate([side.released for side in sides])[order]


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


def _neighbors(name: str, of_train: Flags, released: Flags) -> _Occurrence:
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
    return _Occurrence(
        label=listed([name]),
        column=name,
        p_value=chance_of_at_least(more, more + less, 0.5),
        train=int(train.sum()),
        n_train=len(pairs),
        control=int(control.sum()),
        n_control=len(pairs),
        paired=True,
    )
