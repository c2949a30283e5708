"""Where texts name people.

Looked for is what columns of the table hold, what has a form of its own, and what follows a title. Values of
columns are looked for as sequences of words, however these are put apart. Every word of a text is looked at
a few times, however many values there are, so the time is linear in the text.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from tabveil.metrics.properties.replay import patterns
from tabveil.metrics.properties.replay.patterns import Kind, RecognizedValue, values_of, without_title
from tabveil.metrics.properties.replay.pii import FEWEST_CHARACTERS, MOST_WORDS
from tabveil.tables.words import word_spans

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
            if named or patterns.name_part(column) is not None:
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
        for name in sorted({_composed(name) for text in texts for name in patterns.titled_names(text)}):
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
            self._add_phrase(
                words, Value(kind=patterns.kind_called(column) or "identifier", text=text, column=column)
            )
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

        for start, end, form in patterns.places_in(text):
            # The value of a column that has this form; else its letters and digits are the value.
            meant = self._forms[form].meant(text[start:end]) if form in self._forms else None
            take(start, end, meant or Value(kind=form.kind, text=form.key))
        words = [span for span in word_spans(text) if not taken[span[0]]]
        for start, end, value in self._listed(text, words):
            take(start, end, value)
        for start, end in patterns.titled_places(text):
            for first, last in _free(text, start, end, taken):
                kind: Kind = "full name" if len(_words(text[first:last])) >= _IN_FULL else "part of a name"
                take(first, last, Value(kind=kind, text=" ".join(_composed(text[first:last]).split())))
        return sorted(found, key=lambda place: place.start)

    def _listed(self, text: str, words: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, Value]]:
        """Find values by their words, from left to right, and of those that begin at a word the longest."""
        plain = [_plain(text[start:end]) for start, end in words]
        place = 0
        while place < len(words):
            step = 1
            for n in self._lengths.get(plain[place], ()):
                span = words[place : place + n]
                start, end = span[0][0], span[-1][1]
                near = all(after - before <= _WIDEST_GAP for (_, before), (after, _) in pairwise(span))
                own = self._phrases.get(tuple(plain[place : place + n]))
                value = own.meant(_composed(text[start:end])) if own and near else None
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
    characters = len(patterns.compact(text))
    return 0 < len(words) <= MOST_WORDS and characters >= (
        FEWEST_LETTERS if _is_name(text) else FEWEST_CHARACTERS
    )


def _free(text: str, start: int, end: int, taken: bytearray) -> Iterator[tuple[int, int]]:
    """Return the runs of words between two places that no other value has taken."""
    for is_taken, spans in groupby(word_spans(text[start:end]), key=lambda span: taken[start + span[0]]):
        if not is_taken:
            run = list(spans)
            yield start + run[0][0], start + run[-1][1]
