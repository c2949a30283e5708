"""PII replay: where the tables hold values that identify real people, and which of them stand in the release.

A source is a column (or a pair of columns, first names and surnames) with values of one kind. Names are known
from columns that are called after them and from titles in texts; they are then looked for in every label and
text of the release. Everything else is known by its form wherever it stands, or by the name of its column.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tabveil.core.findings import Setting
from tabveil.core.people import Flags
from tabveil.core.result import Labels, Result
from tabveil.core.table import Categorical, Indices, Split, Table
from tabveil.core.wording import listed, name, plural, share_of
from tabveil.errors import NothingToAsk
from tabveil.metrics.properties.replay.numbers import WITHOUT_PLANS, numbering_plans
from tabveil.metrics.properties.replay.patterns import (
    NAME_WORD,
    PART_OF_A_NAME,
    PLURALS,
    Kind,
    RecognizedValue,
    compact,
    kind_called,
    name_part,
    titled_names,
    values_of,
    without_title,
)
from tabveil.metrics.properties.replay.reappearance import Asking, Reappearance, Replay
from tabveil.tables.words import Words, found_phrases

PART: Kind = "part of a name"
MOST_WORDS = 10
"""Of a name, an address or an identifier that is looked for in texts."""
FEWEST_CHARACTERS = 6
"""Of an identifier that means the same in a text."""


@dataclass(frozen=True, kw_only=True)
class PiiReplay(Replay):
    """Which values that identify real people reappear in the release?

    Names, e-mail and postal addresses, phone and account numbers, national identifiers, and whatever the
    schema calls an identifier, in columns of their own or inside other labels and texts. A training person is
    named by the release where a value of theirs stands in it, in any column or text. The same is asked of
    control people, whom the generator never saw: a name that everybody has is no leak.

    Parameters
    ----------
    confidence
        The level of all intervals: at 0.95, 95 of 100 such intervals hold the true value.

    Notes
    -----
    ``attack`` is the share of training people of whom a value reappears, ``control`` the share of control
    people; a first name or a surname alone counts a tenth of a person, everything else a whole one. ``risk =
    (attack - control) / (1 - control)``: 0 on average where values are not memorized, 1 where everyone
    is named. There is no ``baseline``. Without control people no risk is derived. Given the release, each
    person is named or not by themselves; so the rates are those of independent people, whatever the sizes.
    All kinds and columns are asked about together and one by one, in intervals that hold at once; the risk is
    that with the largest lower bound, if it is above zero, and else that of all. Values are counted, and none
    is kept.

    Recognized anywhere: e-mail addresses; account numbers (IBAN) and card numbers by their check digits;
    phone numbers with a country code (by the plan of the country with the extra ``pii``); national
    identifiers of Belgium, Brazil, Britain, China, France, India, Italy, Spain, Sweden and the United States
    by form and, where there are any, check digits; a house number with a street's name in English, German,
    French, Spanish or Italian. Recognized by their column's name: the same without check digits, and names.
    Full names from such columns (surname and first name also in two), or after a title, are then looked for
    in all texts of the release.

    Not recognized: names in texts that no column holds and no title precedes, nicknames, misspelled names,
    descriptions of a person, numbers of cases and rows (unless the schema says ``type: identifier``), images.

    References
    ----------
    - Steier, A., Ramaswamy, L., Manoel, A. and Haushalter, A. (2025). Synthetic Data Privacy Metrics.
      arXiv:2501.03941. Section 3.2.
    - ISO 13616-1:2020. International bank account number (IBAN).
    - ISO/IEC 7812-1:2017. Identification of issuers. Annex B: the Luhn formula.
    """

    name: ClassVar[str] = "pii_replay"
    title: ClassVar[str] = "Identifying values repeated"
    labels: ClassVar[Labels] = Labels(pillar="property", wp29="singling out", mechanism="uniqueness")
    without: ClassVar[str] = "no column or text of train holds identifying values that it recognizes"

    def __call__(self, split: Split, *, rng: Generator) -> Result:  # noqa: ARG002 - nothing is drawn
        """Look for the values."""
        everywhere = sources(split)
        if not everywhere:
            raise NothingToAsk(self.name, f"{self.without}.")
        lacking = [  # nobody of control could be found by these
            source
            for source in everywhere
            if len(split.control)
            and any(np.isnan(split.control.column(each)).all() for each in source.columns)
        ]
        found = [source for source in everywhere if source not in lacking]
        if not found:
            raise NothingToAsk(
                self.name,
                f"control lacks the columns with identifying values "
                f"({listed(_columns(everywhere))}), so there is nothing to compare with.",
            )
        asked = [_asked_of(source, split) for source in found]
        together, people = _together(found, split)
        if len(found) > 1:
            asked.insert(0, together)
        notes = []
        if lacking:
            notes.append(f"Control lacks {listed(_columns(lacking))}: what stands there is not counted.")
        if any(source.kind == "phone number" for source in found) and numbering_plans() is None:
            notes.append(WITHOUT_PLANS)
        return self.answer(
            asked,
            np.logical_or.reduce([source.found.train for source in found]),
            details={"kinds": sorted({source.kind for source in found}), **people},
            notes=notes,
        )

    def sentence(self, result: Result) -> str:
        """Tell how many people are named, by what, and what stands out most."""
        people = int(result.details.get("train_people", 0))
        verb = "is" if people == 1 else "are"
        told = f"{plural(people, 'training person', 'training people')} {verb} named by the release"
        by = [
            f"{PLURALS[item.facts['kind']]} of {int(item.facts['train_people']):,}"
            for item in result.configurations
            if item.facts.get("kind", PART) != PART and item.facts["train_people"]
        ]
        told += f" ({', '.join(by)})" if by else ""
        part = int(result.details.get("train_people_in_part", 0))
        told += f", and {part:,} by a part of their name alone" if part else ""
        if result.leading is not None:
            most = name(result.leading.name)
            told += f". Most telling ({most}): {share_of(result.attack)} of training people"
            if result.control is not None:
                told += f", {share_of(result.control)} of people the generator never saw"
        return f"{told}."


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


def _values(column: Categorical, label: str) -> Iterator[RecognizedValue]:
    """Find the values of a label, also of one that is an identifier by the schema's word alone."""
    yield from values_of(column.name, label)
    if column.holds == "identifiers" and kind_called(column.name) is None and name_part(column.name) is None:
        yield RecognizedValue(kind="identifier", key=compact(label).casefold())


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
            parts=frozenset(word.casefold() for name in named for word in NAME_WORD.findall(name)),
            words=Words.of([*texts, *joined, *named]),
        )

    def hold_names(self, names: Sequence[str]) -> Flags:
        """Flag the full names that stand somewhere, surname first or last, (n_names,)."""
        words = [NAME_WORD.findall(name) or [""] for name in names]
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
    full = [tuple(name for name in each if len(NAME_WORD.findall(name)) > 1) for each in column.names]
    if any(full):
        names = [name for each in full for name in each]
        owner = np.repeat(np.arange(len(full)), [len(each) for each in full])
        there = np.bincount(owner[release.hold_names(names)], minlength=len(full)) > 0
        yield _source("full name", column, _flags(map(bool, full)), there, split)
    if name_part(column.name) is not None:
        parts = [
            {word.casefold() for name in each for word in NAME_WORD.findall(name)} for each in column.names
        ]
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


def _together(found: Sequence[ValueSource], split: Split) -> tuple[Asking, dict[str, int]]:
    """Ask about people by the most that is given away of each, whole or in part; and count them."""

    def of_any(rows: Iterable[Reappearance]) -> Reappearance:
        people = [each.of_people(split) for each in rows]
        train, control = (np.zeros(table.n_people, dtype=np.bool_) for table in (split.train, split.control))
        return Reappearance(
            train=np.logical_or.reduce([train, *(each.train for each in people)]),
            control=np.logical_or.reduce([control, *(each.control for each in people)]),
        )

    whole, parts = ([each for each in found if (each.kind == PART) is part] for part in (False, True))
    named, in_part = (of_any(source.found for source in side) for side in (whole, parts))
    in_part = Reappearance(
        train=in_part.train & ~named.train, control=in_part.control & ~named.control, weight=PART_OF_A_NAME
    )
    people = {**named.counts(), **in_part.counts("people_in_part")}
    # People of whom something could reappear that names them whole.
    holding = of_any(source.holds for source in whole).counts("holding")
    levels = [named, in_part] if parts else [named]
    setting = Setting(label="all kinds, weighted")
    return Asking(setting=setting, levels=levels, facts={**people, **holding}), people


def _asked_of(source: ValueSource, split: Split) -> Asking:
    where = ", ".join(source.columns)
    weight = PART_OF_A_NAME if source.kind == PART else 1.0
    found = replace(source.found.of_people(split), weight=weight)
    return Asking(
        setting=Setting(label=f"{PLURALS[source.kind]} in {where}", target=where),
        levels=[found],
        facts={
            "kind": source.kind,
            **source.holds.of_people(split).counts("holding"),
            **found.counts(),
            "different_values": source.different,
        },
    )


def _columns(found: Sequence[ValueSource]) -> list[str]:
    return sorted({column for source in found for column in source.columns})
