"""Text replay: passages of training texts that stand in the release."""

from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar, Self

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.findings import Setting
from tabveil.core.people import Flags, numbered
from tabveil.core.result import Labels, Result
from tabveil.core.table import Categorical, Indices, Split, Table
from tabveil.core.wording import name, plural, share_of
from tabveil.errors import NothingToAsk
from tabveil.metrics.properties.replay.reappearance import Asking, Reappearance, Replay
from tabveil.tables.words import Passages, Words

SHORTEST = 3
"""Words that a passage must have to be one."""
LONGER = (1, 2, 4)
"""Passages are looked for of so many times the words asked for."""
MOST_HOLDERS = 2
"""A passage that more real people's texts hold is nobody's own."""
FORMULA = 0.05
"""A phrase that the texts of more than this share of real people hold is a formula."""
SHORTEST_PHRASE = 2


@dataclass(frozen=True, kw_only=True)
class TextReplay(Replay):
    """Does the release repeat passages of what people wrote, or what was written about them?

    A training text is repeated where it shares a passage of ``n_words`` words, in their order, with a text of
    the release; a text with fewer words, where the release has one of the same words. Passages that more than
    two real people's texts hold are set aside, and so are those of which more than half consists of formulas:
    phrases of half as many words that one in twenty people's texts hold. The same is asked of control texts,
    which the generator never saw. Case, punctuation and spaces do not matter.

    Parameters
    ----------
    n_words
        How many words a passage has, at least. Passages of two and four times as many are looked for, too, in
        texts that have so many.
    confidence
        The level of all intervals: at 0.95, 95 of 100 such intervals hold the true value.

    Notes
    -----
    ``attack`` is the share of training people with a repeated text, ``control`` the share of control people.
    ``risk = (attack - control) / (1 - control)``: 0 on average where nothing is repeated that texts do not
    share anyway, and 1 where every text is. There is no ``baseline``. Without control texts no risk is
    derived. Given the release, each person's texts are repeated or not by themselves; so the two rates are
    those of independent people, whatever the sizes, and the bounds of their difference follow from exact ones
    of each. The intervals of all lengths and columns hold together; the risk is that with the largest lower
    bound, if it is above zero, and else that of the first.

    Words are numbers of 64 bits, passages rolled from them, and kept in hash tables: the time is linear in
    the words of all texts, times the logarithm of the longest shared passage for those texts that share any.
    A paraphrase is not seen, nor a translation, nor a passage with a word changed in every ``n_words``.

    Columns are looked at that the loader took for text: mostly different strings of several words, or columns
    of type ``text`` in the schema.

    References
    ----------
    - Carlini, N. et al. (2023). Quantifying Memorization Across Neural Language Models. ICLR 2023.
      arXiv:2202.07646.
    - Lee, K. et al. (2022). Deduplicating Training Data Makes Language Models Better. ACL 2022.
      arXiv:2107.06499.
    """

    name: ClassVar[str] = "text_replay"
    title: ClassVar[str] = "Passages repeated"
    labels: ClassVar[Labels] = Labels(pillar="property", wp29="propensity", mechanism="uniqueness")
    without: ClassVar[str] = "no column of these tables holds free text"

    n_words: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        check.at_least(type(self).__name__, "n_words", self.n_words, SHORTEST)

    def __call__(self, split: Split, *, rng: Generator) -> Result:  # noqa: ARG002 - nothing is drawn
        """Look for the passages."""
        texts = _Texts.of(split)
        if not texts.columns:
            raise NothingToAsk(self.name, f"{self.without}; declare one as type: text in a schema.")
        if not (texts.released.any() and texts.train.any()):
            where = ", ".join(map(name, texts.columns))
            raise NothingToAsk(self.name, f"train or the release has no text in {where}.")
        lengths = [self.n_words * times for times in LONGER]
        shared = texts.sharing(self.n_words)
        repeated = {n: shared.uncommon(n) for n in lengths}  # each (n_texts,)
        asked: list[tuple[int, str | None]] = [(n, None) for n in lengths]
        if len(texts.columns) > 1:
            asked += [(self.n_words, column) for column in texts.columns]
        return self.answer(
            [texts.asking(split, repeated[n], n, column) for n, column in asked],
            texts.rows_with(split.train, repeated[self.n_words]),
            details={
                "columns": list(texts.columns),
                "longest_passage_train": shared.longest(texts.train),
                "longest_passage_control": shared.longest(texts.control),
                "words_in_release": int(texts.words.counts[texts.released > 0].sum()),
            },
        )

    def sentence(self, result: Result) -> str:
        """Tell how many people's texts are repeated, and the longest passage."""
        people = int(result.facts.get("train_people", 0))
        words = result.facts.get("words", self.n_words)
        told = (
            f"{plural(people, 'training person', 'training people')} ({share_of(result.attack)}) "
            f"{'has' if people == 1 else 'have'} a text of which the release repeats {words} words"
        )
        if result.control is not None:
            told += f"; of people the generator never saw {share_of(result.control)} have"
        longest = result.details.get("longest_passage_train")
        if longest is not None:
            told += f". The longest passage has {plural(int(longest), 'word')}"
            against = result.details.get("longest_passage_control")
            told += "" if against is None else f", that of control texts {int(against):,}"
        return f"{told}."


@dataclass(frozen=True, kw_only=True, eq=False)
class _Texts:
    """The different texts of all columns of text, and how many people hold each."""

    columns: dict[str, int]  # where the texts of each begin
    words: Words
    train: Indices  # (n_texts,)
    control: Indices  # (n_texts,)
    released: Indices  # (n_texts,)
    had: "_Had | None"  # where people may have several rows

    @classmethod
    def of(cls, split: Split) -> Self:
        columns = sorted(split.schema.columns, key=lambda column: column.name)
        held = [item for item in columns if isinstance(item, Categorical) and item.holds == "text"]
        labels = [label for column in held for label in column.labels]
        starts = accumulate((len(column.labels) for column in held), initial=0)
        starts_of = dict(zip((column.name for column in held), starts, strict=False))
        tables = split.train, split.control, split.synthetic
        sides = [_Had.of(table, starts_of, len(labels)) for table in tables]
        train, control, released = (np.bincount(side.text, minlength=len(labels)) for side in sides)
        both = _Had(
            text=np.concatenate([side.text for side in sides[:2]]),
            person=np.concatenate([sides[0].person, split.train.n_people + sides[1].person]),
        )
        return cls(
            columns=starts_of,
            words=Words.of(labels),
            train=train,
            control=control,
            released=released,
            had=None if split.train.people is None else both,
        )

    def sharing(self, n: int) -> "_Sharing":
        """Find the texts, real and released, that share any passage of ``n`` words."""
        real, released = (self.train + self.control) > 0, self.released > 0
        ours = _scattered(real, Passages.of(self.words.take(released), n).held_by(self.words.take(real)))
        theirs = _scattered(
            released, Passages.of(self.words.take(ours), n).held_by(self.words.take(released))
        )
        return _Sharing(texts=self, real=ours, released=theirs, n=n)

    def asking(self, split: Split, repeated: Flags, n: int, column: str | None) -> Asking:
        """Ask whose texts, in any column or in one, are flagged as repeated by ``n`` words."""
        found, holding = (
            Reappearance(
                train=self.rows_with(split.train, flags, column),
                control=self.rows_with(split.control, flags, column),
            ).of_people(split)
            for flags in (repeated, np.ones_like(repeated))
        )
        return Asking(
            setting=Setting(label=f"{n} words{'' if column is None else f' in {column}'}", target=column),
            levels=[found],
            facts={"words": n, **holding.counts("holding"), **found.counts()},
        )

    def rows_with(self, table: Table, flags: Flags, column: str | None = None) -> Flags:
        """Flag the rows that hold a flagged text, in any column or in this one, (n_rows,)."""
        found = np.zeros(len(table), dtype=np.bool_)
        for each in self.columns if column is None else (column,):
            cells = table.column(each)
            held = ~np.isnan(cells)
            found[held] |= flags[self.columns[each] + cells[held].astype(np.int64)]
        return found


def _scattered(among: Flags, flags: Flags) -> Flags:
    """Put flags of some texts back to where these stand among all."""
    found = np.zeros(len(among), dtype=np.bool_)
    found[among] = flags
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class _Had:
    """Which people have which texts, each pair once, by person."""

    text: Indices  # (n_pairs,)
    person: Indices  # (n_pairs,) ascending from 0

    @classmethod
    def of(cls, table: Table, starts: dict[str, int], n_texts: int) -> Self:
        whose, pairs = numbered(table), [np.zeros(0, dtype=np.int64)]
        for column, start in starts.items():
            cells = table.column(column)
            held = ~np.isnan(cells)
            pairs.append(whose[held] * n_texts + start + cells[held].astype(np.int64))
        different = np.unique(np.concatenate(pairs))
        return cls(text=different % max(n_texts, 1), person=different // max(n_texts, 1))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Sharing:
    """The texts that share passages: all others need not be looked at for longer ones."""

    texts: _Texts
    real: Flags  # (n_texts,)
    released: Flags  # (n_texts,)
    n: int  # words that they share, at least

    def uncommon(self, n: int) -> Flags:
        """Flag the real texts that share a passage which is hardly any other's, nor a formula, (n_texts,)."""
        # Shorter texts count, as a whole, for the shortest length only.
        texts, words = self.texts, self.texts.words
        long_enough = (words.counts >= n) | (n <= self.n)
        ours, theirs = self.real & long_enough, self.released & long_enough
        released, real = words.take(theirs), words.take(ours)
        table, phrases = Passages.of(released, n), Passages.of(released, max(n // 2, SHORTEST_PHRASE))
        if texts.had is None:
            n_holders = (texts.train + texts.control)[ours]
            of_phrase, of_passage = (passages.holders(real, n_holders) for passages in (phrases, table))
            n_people = int((texts.train + texts.control).sum())
        else:
            kept = ours[texts.had.text]
            text, person = (np.cumsum(ours) - 1)[texts.had.text[kept]], texts.had.person[kept]
            of_phrase, of_passage = (passages.people(real, text, person) for passages in (phrases, table))
            n_people = len(np.unique(texts.had.person))
        formulas = table.made_of(phrases, of_phrase > max(FORMULA * n_people, MOST_HOLDERS), released)
        return _scattered(ours, table.held_by(real, (of_passage <= MOST_HOLDERS) & ~formulas))

    def longest(self, people: Indices) -> int | None:
        """Return the most words that a text of these people shares with a released one; None if none does."""
        ours, theirs = self.real & (people > 0), self.released
        if not ours.any():
            return None
        low, high = 0, 1
        while self._share(ours, theirs, high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._share(ours, theirs, middle) else (low, middle)
        return low

    def _share(self, ours: Flags, theirs: Flags, n: int) -> bool:
        words, long_enough = self.texts.words, self.texts.words.counts >= n
        table = Passages.of(words.take(theirs & long_enough), n)
        return bool(table.held_by(words.take(ours & long_enough)).any())
