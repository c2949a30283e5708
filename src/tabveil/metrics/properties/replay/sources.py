"""Where the tables hold values that identify people, and which of them stand in the release.

A source is a column (or a pair of columns, first names and surnames) with values of one kind. Names are known
from columns that are called after them and from titles in texts; they are then looked for in every label and
text of the release. Everything else is known by its form wherever it stands, or by the name of its column.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tabveil.core.people import Flags
from tabveil.core.table import Categorical, Indices, Split, Table
from tabveil.metrics.properties.replay.numbers import phone_key
from tabveil.metrics.properties.replay.patterns import (
    Kind,
    RecognizedValue,
    compact,
    kind_called,
    name_part,
    titled_names,
    values_in,
)
from tabveil.metrics.properties.replay.reappearance import Reappearance
from tabveil.tables.words import Words, found_phrases

MOST_WORDS = 10
"""Of a name, an address or an identifier that is looked for in texts."""
_FEWEST_DIGITS = 6  # of a number that belongs to one person
FEWEST_CHARACTERS = 6
"""Of an identifier that means the same in a text."""
_PHONE_DIGITS = range(6, 16)
_TITLES = frozenset(
    {"mr", "mrs", "ms", "miss", "dr", "prof", "herr", "herrn", "frau", "mme", "mlle", "sr", "sra", "jr"}
    | {"signor", "signora", "md", "phd"}
)
_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")


@dataclass(frozen=True, kw_only=True, eq=False)
class ValueSource:
    """Values of one kind in one place: which rows hold one, and of which rows one stands in the release."""

    kind: Kind
    columns: tuple[str, ...]
    holds: Reappearance
    found: Reappearance
    different: int  # values of training people that stand in the release


def sources(split: Split) -> list[ValueSource]:
    """Find all sources that hold a value of a training person, in the order of the columns' names."""
    columns = sorted(
        (column for column in split.schema.columns if isinstance(column, Categorical)),
        key=lambda column: column.name,
    )
    looked_at = [_Column.of(column, split) for column in columns]
    firsts, lasts = (
        [column for column in looked_at if name_part(column.name) == part] for part in ("first", "last")
    )
    pairs = list(zip(firsts, lasts, strict=False))
    release = _Release.of(looked_at, pairs, split.synthetic)
    found = [source for column in looked_at for source in _of_column(column, release, split)]
    found += [_of_pair(pair, release, split) for pair in pairs]
    return [source for source in found if source.holds.train.any()]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Column:
    """A column, with the values that are found in each of its labels."""

    column: Categorical
    released: Flags  # (n_labels,)
    found: tuple[tuple[RecognizedValue, ...], ...]  # of each label
    names: tuple[tuple[str, ...], ...]  # of each label, names that a column or a title tells

    @classmethod
    def of(cls, column: Categorical, split: Split) -> "_Column":
        used = [_used(column, table) for table in (split.synthetic, split.train, split.control)]
        read = [
            label if use else None for label, use in zip(column.labels, np.any(used, axis=0), strict=True)
        ]
        return cls(
            column=column,
            released=used[0],
            found=tuple(() if label is None else tuple(_values(column, label)) for label in read),
            names=tuple(() if label is None else tuple(_names(column, label)) for label in read),
        )

    @property
    def name(self) -> str:
        return self.column.name


def _used(column: Categorical, table: Table) -> Flags:
    codes = _codes(table, column.name)
    return np.bincount(codes[codes >= 0], minlength=len(column.labels)) > 0


def _codes(table: Table, name: str) -> Indices:
    """Return the code of every row, -1 for missing, (n_rows,)."""
    return np.nan_to_num(table.column(name), nan=-1.0).astype(np.int64)


def values_of(column: str, label: str) -> Iterator[RecognizedValue]:
    """Find the values of a label: by its column's name, and by their forms."""
    kind = kind_called(column)
    key = _key_of(kind, label)
    if kind is not None and key:
        yield RecognizedValue(kind=kind, key=key)
    if kind is None or not key or kind == "postal address":
        yield from values_in(label)


def _values(column: Categorical, label: str) -> Iterator[RecognizedValue]:
    """Find the values of a label, also of one that is an identifier by the schema's word alone."""
    yield from values_of(column.name, label)
    if column.holds == "identifiers" and kind_called(column.name) is None and name_part(column.name) is None:
        yield RecognizedValue(kind="identifier", key=compact(label).casefold())


def _key_of(kind: Kind | None, label: str) -> str:
    """Return what a label of a column that is called so is compared by; empty if it is none."""
    digits = sum(letter.isdigit() for letter in label)
    match kind:
        case "phone number" if digits in _PHONE_DIGITS:
            return phone_key(label)
        case "account number" | "national identifier" if digits >= _FEWEST_DIGITS:
            return compact(label).upper()
        case "postal address" if digits and len(_WORD.findall(label)) > 1:
            return compact(label).casefold()
        case _:
            return ""


def without_title(label: str) -> str:
    """Return a name without titles, in the order of first name and surname.

    >>> without_title("Schmidt, Dr. Anna")
    'Anna Schmidt'
    """
    before, comma, after = label.partition(",")
    words = _WORD.findall(f"{after} {before}" if comma else label)
    return " ".join(word for word in words if word.casefold() not in _TITLES)


def _names(column: Categorical, label: str) -> Iterator[str]:
    """Find the names of a label, without titles, in the order of first name and surname."""
    if name_part(column.name) is not None:
        yield without_title(label)
    elif column.holds == "text":
        yield from titled_names(label)


Pair = tuple[_Column, _Column]
"""First names and surnames."""


def _full_names(pair: Pair, table: Table) -> tuple[list[str], Indices]:
    """Return the different full names of a table, and which one each row has, -1 for none."""
    first, last = (_codes(table, column.name) for column in pair)
    firsts, lasts = (column.column.labels for column in pair)
    both, n_last = (first >= 0) & (last >= 0), max(len(lasts), 1)
    different, place = np.unique(first[both] * n_last + last[both], return_inverse=True)
    owners = np.full(len(table), -1, dtype=np.int64)
    owners[both] = place
    return [f"{firsts[code // n_last]} {lasts[code % n_last]}" for code in different.tolist()], owners


@dataclass(frozen=True, kw_only=True, eq=False)
class _Release:
    """What stands in the release: values, words of names, and all texts to look for names in."""

    values: frozenset[RecognizedValue]
    parts: frozenset[str]  # words of names
    words: Words

    @classmethod
    def of(cls, columns: Sequence[_Column], pairs: Sequence[Pair], synthetic: Table) -> "_Release":
        places = [(column, place) for column in columns for place in np.flatnonzero(column.released).tolist()]
        texts = [column.column.labels[place] for column, place in places]
        joined = [name for pair in pairs for name in _full_names(pair, synthetic)[0]]
        named = [name for column, place in places for name in column.names[place]]
        return cls(
            values=frozenset(found for column, place in places for found in column.found[place]),
            parts=frozenset(word.casefold() for name in named for word in _WORD.findall(name)),
            words=Words.of([*texts, *joined, *named]),
        )

    def hold_names(self, names: Sequence[str]) -> Flags:
        """Flag the full names that stand somewhere, surname first or last, (n_names,)."""
        words = [_WORD.findall(name) or [""] for name in names]
        return self._hold(names) | self._hold([" ".join((last, *first)) for *first, last in words])

    def _hold(self, phrases: Sequence[str]) -> Flags:
        return found_phrases(Words.of(phrases), self.words, MOST_WORDS)

    def hold_labels(self, labels: Sequence[str]) -> Flags:
        """Flag the addresses or identifiers that stand somewhere as they are written, (n_labels,)."""
        return self._hold(labels) & _flags(len(compact(label)) >= FEWEST_CHARACTERS for label in labels)


def _of_column(column: _Column, release: _Release, split: Split) -> Iterator[ValueSource]:
    for kind in sorted({found.kind for each in column.found for found in each}):  # names left out
        of_kind = [tuple(found for found in each if found.kind == kind) for each in column.found]
        holds = _flags(map(bool, of_kind))
        there = _flags(any(found in release.values for found in each) for each in of_kind)
        if kind in ("postal address", "identifier"):
            there |= release.hold_labels(column.column.labels) & holds
        yield _source(kind, column, holds, there, split)
    full = [tuple(name for name in each if len(_WORD.findall(name)) > 1) for each in column.names]
    if any(full):
        names = [name for each in full for name in each]
        owner = np.repeat(np.arange(len(full)), [len(each) for each in full])
        there = np.bincount(owner[release.hold_names(names)], minlength=len(full)) > 0
        yield _source("full name", column, _flags(map(bool, full)), there, split)
    if name_part(column.name) is not None:
        parts = [{word.casefold() for name in each for word in _WORD.findall(name)} for each in column.names]
        single = _flags(bool(words) and not names for words, names in zip(parts, full, strict=True))
        there = _flags(words <= release.parts for words in parts) & single
        yield _source("part of a name", column, single, there, split)


def _flags(items: Iterable[bool]) -> Flags:
    return np.fromiter(items, dtype=np.bool_)


def _source(kind: Kind, column: _Column, holds: Flags, there: Flags, split: Split) -> ValueSource:
    train, control = _codes(split.train, column.name), _codes(split.control, column.name)
    of_codes = np.append(holds, False), np.append(there, False)  # code -1 is the last
    held, found = (Reappearance(train=flags[train], control=flags[control]) for flags in of_codes)
    return ValueSource(
        kind=kind,
        columns=(column.name,),
        holds=held,
        found=found,
        different=int((there & _used(column.column, split.train)).sum()),
    )


def _of_pair(pair: Pair, release: _Release, split: Split) -> ValueSource:
    (names, owners), (others, of_others) = (
        _full_names(pair, table) for table in (split.train, split.control)
    )
    there, of_control = (np.append(release.hold_names(each), False) for each in (names, others))
    return ValueSource(
        kind="full name",
        columns=tuple(column.name for column in pair),
        holds=Reappearance(train=owners >= 0, control=of_others >= 0),
        found=Reappearance(train=there[owners], control=of_control[of_others]),  # -1, no name, is the last
        different=int(there.sum()),
    )
