"""Texts as sequences of words, and the passages they share, in time linear in their length.

A word is a run of letters, digits and the marks on them, whatever their case. In scripts that are written
without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) every character is one. Everything else parts
words: spaces, punctuation, symbols, null bytes.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Indices
from tabveil.tables import word_kernels

Words64 = NDArray[np.uint64]
Flags = NDArray[np.bool_]

_CODE_POINTS = 0x110000
_AT_ONCE = 1 << 22  # characters: what is held of them beside the words
_UNSPACED = (
    *((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF)),  # Thai and Lao, Burmese, Khmer
    *((0x3040, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF)),  # Kana, Han
    *((0xF900, 0xFAFF), (0x20000, 0x3FFFF)),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Words:
    """The words of some texts, as numbers: equal words are equal numbers."""

    numbers: Words64  # (n_words,) of all texts, one after the other
    ends: Indices  # (n_texts,) where those of each text end

    @classmethod
    def of(cls, texts: Sequence[str]) -> Self:
        """Read texts; ``Straße`` and ``STRASSE`` are one word.

        >>> Words.of(["Anna, 34 years.", "", "ANNA"]).counts.tolist()
        [3, 0, 1]
        """
        read: list[tuple[Words64, Indices]] = []
        piece: list[str] = []
        size = 0
        for text in texts:
            piece.append(_plain(text))
            size += len(piece[-1])
            if size >= _AT_ONCE:
                read.append(_read(piece))
                piece, size = [], 0
        read.append(_read(piece))
        numbers, counts = zip(*read, strict=True)
        return cls(numbers=np.concatenate(numbers), ends=np.cumsum(np.concatenate(counts)))

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def counts(self) -> Indices:
        """How many words each text has, (n_texts,)."""
        return np.diff(self.ends, prepend=0)

    def take(self, texts: Flags) -> "Words":
        """Keep the flagged texts."""
        counts = self.counts
        return Words(numbers=self.numbers[np.repeat(texts, counts)], ends=np.cumsum(counts[texts]))

    @property
    def longest(self) -> int:
        """The most words that a text has; at least 1."""
        return max(int(self.counts.max(initial=0)), 1)


@dataclass(frozen=True, kw_only=True, eq=False)
class Passages:
    """A table of all passages of ``n`` words that some texts hold.

    A text of fewer words is one passage, which only a text of the same words holds.
    """

    n: int
    keys: Words64  # (a power of two,) 0 where nothing stands

    @classmethod
    def of(cls, words: Words, n: int) -> Self:
        """Collect the passages of texts."""
        most = int(np.maximum(words.counts - n + 1, 1).sum())
        table = cls(n=n, keys=np.zeros(1 << (2 * most).bit_length(), dtype=np.uint64))
        table.over(words, word_kernels.fill)
        return table

    def over(self, words: Words, loop: Callable[..., None], *arrays: Any) -> None:  # noqa: ANN401 - its own
        """Run a compiled loop over the passages of texts."""
        loop(self.keys, words.numbers, words.ends, self.n, words.longest, *arrays)

    def holders(self, words: Words, people: Indices) -> Indices:
        """Count the people who have each passage, (len(keys),); ``people`` is how many have each text."""
        holders = np.zeros(len(self.keys), dtype=np.int64)
        self.over(words, word_kernels.count_holders, people, holders)
        return holders

    def people(self, words: Words, texts: Indices, people: Indices) -> Indices:
        """Count the people who have each passage, (len(keys),), each once, whatever texts of theirs hold it.

        ``people``, ascending from 0, have these ``texts``, (n_pairs,).
        """
        holders = np.zeros(len(self.keys), dtype=np.int64)
        self.over(words, word_kernels.count_people, texts, people, holders)
        return holders

    def held_by(self, words: Words, allowed: Flags | None = None) -> Flags:
        """Flag the texts that hold one of the passages, (n_texts,); of those ``allowed`` if that is given.

        >>> texts = Words.of(["the cat sat on the mat", "on the mat sat nobody"])
        >>> Passages.of(texts, 3).held_by(Words.of(["he lay ON the mat!", "the cat lay", "on the"]))
        array([ True, False, False])
        """
        flags = np.zeros(len(words), dtype=np.bool_)
        every = np.ones(len(self.keys), dtype=np.bool_) if allowed is None else allowed
        self.over(words, word_kernels.flag_texts, every, flags)
        return flags

    def made_of(self, phrases: "Passages", chosen: Flags, words: Words) -> Flags:
        """Flag the passages that consist of shorter ones for more than half, (len(keys),).

        ``words`` are the texts whose passages these are, ``chosen`` which of the ``phrases`` count.
        """
        marks = np.zeros(len(words.numbers), dtype=np.bool_)
        phrases.over(words, word_kernels.mark_places, chosen, marks)
        made = np.zeros(len(self.keys), dtype=np.bool_)
        self.over(words, word_kernels.mark_made_of, phrases.n, marks, made)
        return made


def found_phrases(phrases: Words, texts: Words, most_words: int) -> Flags:
    """Flag the phrases of up to ``most_words`` words that stand, as a whole, in some text, (n_phrases,).

    >>> found_phrases(Words.of(["Anna Schmidt", "Jo Li", "Anna"]), Words.of(["by Anna Schmidt."]), 4)
    array([ True, False,  True])
    """
    found = np.zeros(len(phrases), dtype=np.bool_)
    counts = phrases.counts
    for n in np.unique(counts[(counts > 0) & (counts <= most_words)]).tolist():
        these = counts == n
        own = phrases.take(these)
        table = Passages.of(own, n)
        marks = np.zeros(len(table.keys), dtype=np.bool_)
        table.over(texts, word_kernels.mark_phrases, marks)
        slots = np.empty(len(own), dtype=np.int64)
        word_kernels.slots_of(table.keys, own.numbers, own.ends, n, slots)
        found[these] = marks[slots]
    return found


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return where each word of a text begins and ends.

    >>> word_spans("Anna, 34 年齢")
    [(0, 4), (6, 8), (9, 10), (10, 11)]
    """
    form = _ASCII_WORD if text.isascii() else _any_word()
    return [match.span() for match in form.finditer(text)]


_ASCII_WORD = re.compile("[a-zA-Z0-9]+")


@cache
def _any_word() -> re.Pattern[str]:
    """Return the form of a word in any script: one character, or a run of them with the marks on them."""
    kinds = _classes(np.arange(_CODE_POINTS, dtype=np.uint32))
    alone, part = (_one_of(kinds == kind) for kind in (word_kernels.ALONE, word_kernels.PART))
    return re.compile(f"{alone}|{part}+")


def _one_of(points: Flags) -> str:
    """Write a class of characters, by their first and last ones, for a regular expression."""
    edges = np.flatnonzero(np.diff(points.astype(np.int8), prepend=0, append=0)).reshape(-1, 2)
    return "[" + "".join(f"{chr(first)}-{chr(end - 1)}" for first, end in edges.tolist()) + "]"


def _plain(text: str) -> str:
    """Return a text in one case and one way of composing characters."""
    lowered = text.casefold()
    return lowered if lowered.isascii() else unicodedata.normalize("NFC", lowered)


def _read(texts: Sequence[str]) -> tuple[Words64, Indices]:
    """Return the numbers of the words of texts, and how many each text has."""
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    written = "".join(texts).encode("utf-32-le", "surrogatepass")
    characters = np.frombuffer(written, dtype=np.uint32)
    words = np.empty(len(characters), dtype=np.uint64)
    word_ends = np.empty(len(ends), dtype=np.int64)
    count = word_kernels.read_words(characters, _classes(characters), ends, words, word_ends)
    return words[:count].copy(), np.diff(word_ends, prepend=0)


def _classes(characters: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """Say of the code points that occur what they are to words; only these are looked up."""
    there = np.zeros(_CODE_POINTS, dtype=np.bool_)
    there[characters] = True
    classes = np.zeros(_CODE_POINTS, dtype=np.uint8)
    for point in np.flatnonzero(there).tolist():
        if chr(point).isalnum() or unicodedata.category(chr(point)).startswith("M"):
            unspaced = any(first <= point <= last for first, last in _UNSPACED)
            classes[point] = word_kernels.ALONE if unspaced else word_kernels.PART
    return classes
