"""Where texts name people, and pseudonyms in their place.

Looked for is what columns of the table hold, what has a form of its own, and what follows a title. Values of
columns are looked for as sequences of words, however these are put apart. Every word of a text is looked at
a few times, however many values there are, so the time is linear in the text.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from tabveil.core.storage.plain import PlainData
from tabveil.core.wording import joined, listed, plural
from tabveil.metrics.properties.replay.numbers import WITHOUT_PLANS, numbering_plans
from tabveil.metrics.properties.replay.patterns import (
    PLURALS,
    Kind,
    RecognizedValue,
    compact,
    kind_called,
    name_part,
    places_in,
    titled_names,
    titled_places,
    values_of,
    without_title,
)
from tabveil.metrics.properties.replay.pii import FEWEST_CHARACTERS, MOST_WORDS
from tabveil.tables.reading.rewriting import ColumnTexts
from tabveil.tables.words import word_spans
from tabveil.workflows.pseudonyms.keys import ColumnPseudonyms, Style, hashes, invented
from tabveil.workflows.synthesizing import codes

FEWEST_LETTERS = 2
"""Of a name that is looked for; a part of a longer one has one more."""
_WIDEST_GAP = 3  # characters between two words of one value
_IN_FULL = 2  # words of a full name, at least


@dataclass(frozen=True, kw_only=True)
class Value:
    """What names somebody, and the column that holds it; None if none does."""

    kind: Kind
    text: str
    column: str | None = None


@dataclass(frozen=True, kw_only=True)
class NamingPlace:
    """Where a value stands in a text."""

    start: int
    end: int
    value: Value


@dataclass(kw_only=True, eq=False)
class _Writings:
    """The values that some words, or a number, may mean: one that is written so, or else the first."""

    exactly: dict[str, Value] = field(default_factory=dict)
    otherwise: Value | None = None

    def meant(self, written: str) -> Value | None:
        return self.exactly.get(written, self.otherwise)


@dataclass(kw_only=True, eq=False)
class NamingValues:
    """All values that are known before texts are read, by their words and by their form.

    What was added first is meant where two are written alike. ``n_unfit`` counts the values of each column
    that cannot be told from other words or numbers of a text.
    """

    n_unfit: dict[str, int] = field(default_factory=dict)
    _phrases: dict[tuple[str, ...], _Writings] = field(default_factory=dict)
    _forms: dict[RecognizedValue, _Writings] = field(default_factory=dict)
    _lengths: dict[str, list[int]] = field(default_factory=dict)  # of phrases that begin so, longest first

    def add_column(self, column: str, texts: Sequence[str], *, named: bool) -> None:
        """Look for the values of a column; if nobody named it, for those only that its name tells."""
        for text in texts:
            for form in values_of(column, text):
                value = Value(kind=form.kind, text=text, column=column)
                _add(self._forms.setdefault(form, _Writings()), [text], value)
            if named or name_part(column) is not None:
                self._add_words(column, text)

    def add_parts_of_names(self, texts: Iterable[str]) -> None:
        """Look for the first names and surnames of full names, where they are written with a capital."""
        for text in texts:
            words = _words(without_title(text)) if _is_name(text) else []
            for word in words if len(words) >= _IN_FULL else ():
                if len(word) > FEWEST_LETTERS and not word[0].islower():
                    self._add_phrase([word], Value(kind="part of a name", text=word))

    def add_titled(self, texts: Iterable[str]) -> None:
        """Look everywhere for full names that follow a title somewhere, unless columns hold their parts."""
        for name in sorted({_composed(name) for text in texts for name in titled_names(text)}):
            words = _words(name)
            if any((_plain(word),) in self._phrases for word in words):
                continue
            for n in {len(words), _IN_FULL}:  # what follows a name may begin with a capital, too
                self._add_phrase(words[:n], Value(kind="full name", text=" ".join(name.split()[:n])))

    def _add_words(self, column: str, text: str) -> None:
        words = _words(text)
        if not _fit(text, words):
            self.n_unfit[column] = self.n_unfit.get(column, 0) + 1
            return
        if not _is_name(text):
            self._add_phrase(words, Value(kind=kind_called(column) or "identifier", text=text, column=column))
            return
        name = _words(without_title(text))
        kind: Kind = "full name" if len(name) >= _IN_FULL else "part of a name"
        for way in (words, name, [*name[-1:], *name[:-1]]):  # the surname last, or first
            self._add_phrase(way, Value(kind=kind, text=text, column=column))

    def _add_phrase(self, words: Sequence[str], value: Value) -> None:
        key = tuple(map(_plain, words))
        if not key:
            return
        alone = len(words) == 1 and _is_name(words[0])
        written = {words[0], words[0].upper(), words[0].capitalize()} if alone else {_composed(value.text)}
        _add(self._phrases.setdefault(key, _Writings()), written, value, otherwise=not alone)
        lengths = self._lengths.setdefault(key[0], [])
        if len(key) not in lengths:
            lengths.append(len(key))
            lengths.sort(reverse=True)

    def places(self, text: str) -> list[NamingPlace]:
        """Find where a text names people, in the order of the text; no two places overlap."""
        taken = bytearray(len(text))
        found: list[NamingPlace] = []

        def take(start: int, end: int, value: Value) -> None:
            taken[start:end] = b"\1" * (end - start)
            found.append(NamingPlace(start=start, end=end, value=value))

        for start, end, form in places_in(text):
            take(start, end, self._of_form(form, text[start:end]))
        words = [span for span in word_spans(text) if not taken[span[0]]]
        for start, end, value in self._listed(text, words):
            take(start, end, value)
        for start, end in titled_places(text):
            for first, last in _free(text, start, end, taken):
                kind: Kind = "full name" if len(_words(text[first:last])) >= _IN_FULL else "part of a name"
                take(first, last, Value(kind=kind, text=" ".join(_composed(text[first:last]).split())))
        return sorted(found, key=lambda place: place.start)

    def _of_form(self, form: RecognizedValue, written: str) -> Value:
        """Return the value of a column that has this form; else its letters and digits are the value."""
        meant = self._forms[form].meant(written) if form in self._forms else None
        return meant or Value(kind=form.kind, text=form.key)

    def _listed(self, text: str, words: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, Value]]:
        """Find values by their words, from left to right, and of those that begin at a word the longest."""
        plain = [_plain(text[start:end]) for start, end in words]
        place = 0
        while place < len(words):
            step = 1
            for n in self._lengths.get(plain[place], ()):
                span = words[place : place + n]
                start, end = span[0][0], span[-1][1]
                own = self._phrases.get(tuple(plain[place : place + n]))
                value = own.meant(_composed(text[start:end])) if own and _together(span) else None
                if value is not None:
                    yield start, end, value
                    step = n
                    break
            place += step


def _add(own: _Writings, written: Iterable[str], value: Value, *, otherwise: bool = True) -> None:
    for each in written:
        own.exactly.setdefault(each, value)
    if otherwise and own.otherwise is None:
        own.otherwise = value


def _words(text: str) -> list[str]:
    composed = _composed(text)
    return [composed[start:end] for start, end in word_spans(composed)]


def _composed(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _plain(word: str) -> str:
    """Return a word in one case and one way of composing characters."""
    return _composed(word.casefold())


def _is_name(text: str) -> bool:
    """Tell words of letters alone."""
    return not any(letter.isdigit() for letter in text)


def _fit(text: str, words: Sequence[str]) -> bool:
    """Tell a value that means the same in a text: no number of a few digits, no letter, no story."""
    characters = len(compact(text))
    return 0 < len(words) <= MOST_WORDS and characters >= (
        FEWEST_LETTERS if _is_name(text) else FEWEST_CHARACTERS
    )


def _together(span: Sequence[tuple[int, int]]) -> bool:
    """Whether words follow each other closely."""
    return all(after - before <= _WIDEST_GAP for (_, before), (after, _) in pairwise(span))


def _free(text: str, start: int, end: int, taken: bytearray) -> Iterator[tuple[int, int]]:
    """Return the runs of words between two places that no other value has taken."""
    run: tuple[int, int] | None = None
    for first, last in word_spans(text[start:end]):
        if taken[start + first]:
            if run is not None:
                yield run
            run = None
        else:
            run = (start + first if run is None else run[0], start + last)
    if run is not None:
        yield run


UNRECOGNIZED = (
    "Not recognized in texts: names that no column holds and no title precedes, nicknames, misspelled or "
    "inflected names, and the story itself, by which people can be found all the same."
)
_PLURALS: Mapping[Kind, str] = {**PLURALS, "identifier": "identifiers that a column holds"}
_LABELS: Mapping[Kind, str] = {
    "full name": "name",
    "part of a name": "name",
    "e-mail address": "email",
    "postal address": "address",
    "phone number": "phone",
    "account number": "account",
    "national identifier": "identifier",
    "identifier": "identifier",
}
"""What invented pseudonyms are called after that stand in no column."""


@dataclass(frozen=True, kw_only=True)
class TextCounts(PlainData):
    """In how many texts of a column something was replaced, and how often what; rows count, not values."""

    n_texts: int
    n_changed: int
    places: Mapping[Kind, int]

    @property
    def n_places(self) -> int:
        """How often anything was replaced."""
        return sum(self.places.values())

    def sentence(self, name: str) -> str:
        """Say what was replaced in a column."""
        of = f"{plural(self.n_changed, 'text')} of {self.n_texts:,}"
        if not self.places:
            return f"{listed([name])}: nothing replaced, in {plural(self.n_texts, 'text')}."
        told = [plural(count, kind, _PLURALS[kind]) for kind, count in self.places.items()]
        return f"{listed([name])}: {joined(told)} replaced, in {of}."


@dataclass(frozen=True, kw_only=True, eq=False)
class HiddenTexts:
    """The texts of a table with pseudonyms, by column, and what was replaced in each."""

    columns: Mapping[str, ColumnTexts]
    counts: Mapping[str, TextCounts]


def hide_in_texts(
    tables: Sequence[Mapping[str, ColumnTexts]],
    hidden: Mapping[str, ColumnPseudonyms],
    named: Sequence[str],
    key: bytes,
    style: Style,
) -> tuple[list[HiddenTexts], list[str]]:
    """Replace in the texts of some tables what names people, and say what there is to know about it.

    ``hidden`` has the pseudonyms of columns that name people, of which a user ``named`` some.
    """
    if not any(tables):
        return [HiddenTexts(columns={}, counts={}) for _ in tables], []
    texts = [text for table in tables for column in table.values() for text in column.texts]
    known = _known(hidden, named, texts)
    found = [{name: list(map(known.places, own.texts)) for name, own in table.items()} for table in tables]
    everywhere = (place.value for table in found for own in table.values() for each in own for place in each)
    pseudonyms = _pseudonyms(set(everywhere), hidden, key, style)
    replaced = [
        HiddenTexts(
            columns={name: _replaced(column, places[name], pseudonyms) for name, column in table.items()},
            counts={name: _counts(column, places[name]) for name, column in table.items()},
        )
        for table, places in zip(tables, found, strict=True)
    ]
    return replaced, _notes(known)


def _known(
    hidden: Mapping[str, ColumnPseudonyms], named: Sequence[str], texts: Sequence[str]
) -> NamingValues:
    """Collect what is looked for; what columns hold comes before names after titles, and parts come last."""
    known = NamingValues()
    in_order = sorted(hidden, key=lambda name: name not in named)
    for name in in_order:
        known.add_column(name, sorted(hidden[name].pseudonyms), named=name in named)
    known.add_titled(texts)
    for name in in_order:
        if name in named or name_part(name) is not None:
            known.add_parts_of_names(sorted(hidden[name].pseudonyms))
    return known


def _pseudonyms(
    values: set[Value], hidden: Mapping[str, ColumnPseudonyms], key: bytes, style: Style
) -> dict[Value, str]:
    """Give every value the pseudonym that it has in its column; the others, their own."""
    found = {
        value: hidden[value.column].pseudonyms[value.text] for value in values if value.column is not None
    }
    others = sorted(values - found.keys(), key=lambda value: (value.kind, value.text))
    if style == "hash":
        own = hashes([value.text for value in others], key)
        return {**found, **{value: own[value.text] for value in others}}
    for label in sorted({_LABELS[value.kind] for value in others}):
        these = [value for value in others if _LABELS[value.kind] == label]
        own = invented(_unlike(label, hidden), sorted({value.text for value in these}), key, neutral=True)
        found |= {value: own[value.text] for value in these}
    return found


def _unlike(label: str, columns: Mapping[str, ColumnPseudonyms]) -> str:
    """Return what neutral pseudonyms are called so that they are not those of a column."""
    taken = {codes.token(name) for name in columns}
    while codes.token(label) in taken:
        label = f"other_{label}"
    return label


def _replaced(
    column: ColumnTexts, places: Sequence[Sequence[NamingPlace]], pseudonyms: Mapping[Value, str]
) -> ColumnTexts:
    texts = tuple(_text(text, own, pseudonyms) for text, own in zip(column.texts, places, strict=True))
    return replace(column, texts=texts, whole=False)


def _text(text: str, places: Sequence[NamingPlace], pseudonyms: Mapping[Value, str]) -> str:
    if not places:
        return text
    pieces, end = [], 0
    for place in places:
        pieces += [text[end : place.start], pseudonyms[place.value]]
        end = place.end
    return "".join([*pieces, text[end:]])


def _counts(column: ColumnTexts, places: Sequence[Sequence[NamingPlace]]) -> TextCounts:
    rows = np.bincount(column.codes[column.codes >= 0], minlength=len(column.texts)).tolist()
    found: Counter[Kind] = Counter()
    for n, own in zip(rows, places, strict=True):
        for place in own:
            found[place.value.kind] += n
    return TextCounts(
        n_texts=sum(rows),
        n_changed=sum(n for n, own in zip(rows, places, strict=True) if own),
        places=dict(sorted(found.items(), key=lambda item: (-item[1], item[0]))),
    )


def _notes(known: NamingValues) -> list[str]:
    notes = [
        f"{plural(n, 'value')} of {listed([name])} {'is' if n == 1 else 'are'} too short or too long to be "
        "looked for in texts."
        for name, n in known.n_unfit.items()
    ]
    if numbering_plans() is None:
        notes.append(WITHOUT_PLANS)
    return [*notes, UNRECOGNIZED]
