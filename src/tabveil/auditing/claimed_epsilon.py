"""Is a stated ε refuted by the release itself? From the three tables alone, where they were divided by lot.

A fit cannot be repeated here, so one release must do. It holds many tosses: where train and control were
divided by lot, each pair of a training and a control row (or person) could as well stand the other way
round. Somebody guesses from the release which of the two was trained on. Under a promise of (ε, δ) each guess
is right with a chance of ``exp(ε) / (1 + exp(ε))`` at most, given all the others; more right guesses than
that allows refute the promise (:mod:`tabveil.core.estimate.one_run`).

Why this holds although so many rows were drawn without replacement:

- Rows were not included by coins of their own: with one in, another is out. So single rows are not guessed
  about, but pairs. All ways of dividing the rows are equally likely, also after two of them have changed
  places. Hence, once it is known who makes a pair and where all others are, each pair's order is a fair coin
  of its own, exactly. To turn one coin is to *replace* one row of train by another.
- A promise about *adding or removing* one unit allows to replace one at twice its ε, and at δ (1 + exp(ε)).
  Such a promise is refuted only beyond that.
- Who is in a pair, which pairs are guessed about and what is guessed may depend on the release and on what
  rows hold, but not on who was trained on. Only rows without an equal are used: equal ones are kept together
  when a file is divided. So rows are read as files have them, and nothing is fitted to train.
- Three numbers of guesses are tried. Each is fixed beforehand, and pays for all three (Bonferroni). A pair
  of equal scores is guessed about by lot.

It says nothing where tables were not divided by lot: then what tells train from control has other reasons.

References
----------
- Steinke, T., Nasr, M. and Jagielski, M. (2023). Privacy Auditing with One (1) Training Run. NeurIPS.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
from numpy.random import Generator

from tabveil.core.check import quoted
from tabveil.core.estimate.one_run import CanaryGuesses
from tabveil.core.people import any_of_person, numbered_together
from tabveil.core.sampling import count_share, group_equal_rows
from tabveil.core.storage.plain import PlainData
from tabveil.core.table import Floats, Indices, Split
from tabveil.core.wording import plural
from tabveil.engines.neighbors import Neighbors, Space, to_others
from tabveil.tables.lot import SplitRecord

Unit = Literal["row", "person"]
NeighborTables = Literal["add-remove", "replace"]
ClaimState = Literal["refuted", "not refuted", "could not tell"]

SHARES = (0.01, 0.1, 0.5)
"""Of the pairs, the surest share that is guessed about: few exact copies, a wider leak, one in everybody."""

NEARNESS = 1e-3  # of Gower's distance: nearer than that is as near as can be
FEWEST_PAIRS = 2
_MOST_EPSILON = 30.0  # beyond any promise, and any number of guesses
_HALVINGS = 40

NO_RECORD = (
    "nobody said how train and control were divided. Name the record that 'tabveil split' wrote beside them "
    "(--split split.json)"
)
NO_PAIRS = "there is no control table of rows that could have been trained on"


@dataclass(frozen=True, kw_only=True)
class Promise(PlainData):
    """What a generator states: ε and δ, of tables that differ in one unit (added or removed, or replaced)."""

    epsilon: float
    delta: float = 0.0
    neighbors: NeighborTables = "add-remove"

    def replacing(self) -> tuple[float, float]:
        """Return ε and δ of tables of which one unit is replaced."""
        if self.neighbors == "replace":
            return self.epsilon, self.delta
        return 2 * self.epsilon, self.delta * (1 + math.exp(self.epsilon))

    def allows(self, guesses: CanaryGuesses) -> float:
        """Return an upper bound of the chance of so many right guesses if the promise is kept."""
        epsilon, delta = self.replacing()
        return guesses.chance(epsilon, delta=delta)

    def least(self, guesses: CanaryGuesses, alpha: float) -> float:
        """Return the largest ε up to which so many right guesses refute a promise of this kind, or 0."""
        if replace(self, epsilon=0.0).allows(guesses) >= alpha:
            return 0.0
        low, high = 0.0, _MOST_EPSILON
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            refuted = replace(self, epsilon=middle).allows(guesses) < alpha
            low, high = (middle, high) if refuted else (low, middle)
        return low


@dataclass(frozen=True, kw_only=True)
class ClaimedEpsilon(PlainData):
    """A promise, and what one release says of it.

    ``least`` is a lower bound of ε that holds with a chance of ``1 - alpha``; ``most`` the largest ε that
    guesses which are all right would have refuted. Both are of the promise's own kind of neighbors.
    """

    promise: Promise
    unit: Unit
    state: ClaimState
    reason: str = ""
    alpha: float = 0.05
    guesses: tuple[CanaryGuesses, ...] = ()
    least: float | None = None
    most: float | None = None
    record: SplitRecord | None = None

    @property
    def sentence(self) -> str:
        """The answer, as a page says it."""
        promise = self.promise
        claim = f"ε = {promise.epsilon:g}, δ = {promise.delta:g}"
        match self.state:
            case "refuted":
                return (
                    f"Refuted: {claim} is not kept. This release shows an ε of at least {self.least:.2f}, "
                    f"with an error of {self.alpha:g} at most."
                )
            case "not refuted":
                return (
                    f"Not refuted: {claim}. That is no proof that it is kept. The largest ε that this audit "
                    f"could have refuted is {self.most:.2f}."
                )
        return f"Could not tell whether {claim} is kept: {self.reason}."

    @property
    def unit_in_words(self) -> str:
        """Whose data the promise is taken to be about, and what neighbors are."""
        who = "one person, with all of their rows" if self.unit == "person" else "one row"
        told = "replaced by another" if self.promise.neighbors == "replace" else "added or removed"
        return f"{who}, {told}"

    def details(self) -> Iterator[str]:
        """Say how it was found out."""
        units = "people" if self.unit == "person" else "rows"
        if self.guesses:
            tried = "; ".join(f"{item.n_right:,} of {item.n_guesses:,}" for item in self.guesses)
            yield (
                f"Of {plural(self.guesses[0].n_canaries, 'pair')} of a training and a control one of the "
                f"{units}, the surest were guessed about. Right: {tried}. Where nothing is memorized, half "
                "are."
            )
        if self.record is not None:
            by = "" if self.record.by is None else f", by {quoted(self.record.by)}"
            yield (
                f"Train and control were divided by lot: dividing their rows again (share "
                f"{self.record.control:g}{by}, seed {self.record.seed}) gives the same parts. Nobody can "
                "tell from it whether the seed was chosen after looking at what came of it."
            )
        if self.promise.neighbors == "add-remove" and self.guesses:
            yield (
                "Pairs tell of one unit that is replaced by another. A promise about adding or removing one "
                "allows twice its ε there, so only more than that refutes it."
            )


def examine(
    promise: Promise,
    split: Split,
    record: SplitRecord | None,
    doubt: str | None,
    *,
    person: str | None,
    alpha: float,
    rng: Generator,
) -> ClaimedEpsilon:
    """Guess who was trained on, and say what that proves of a promise.

    ``split`` are the tables as files have them. ``doubt`` says why the record does not prove that they were
    divided by lot, ``person`` is the column by which people are counted, if they are.
    """
    unit: Unit = "row" if split.train.people is None else "person"
    found = ClaimedEpsilon(promise=promise, unit=unit, state="could not tell", alpha=alpha)
    if not len(split.control):
        return replace(found, reason=NO_PAIRS)
    if record is None:
        return replace(found, reason=NO_RECORD)
    if doubt is not None:
        return replace(
            found, reason=f"the record does not prove that the tables were divided by lot: {doubt}"
        )
    if record.by != person:
        return replace(found, reason=_other_unit(record.by, person), record=record)
    pairs = Pairs.of(split, rng=rng)
    if len(pairs.train) < FEWEST_PAIRS:
        reason = "too few rows have no equal; equal ones were kept on one side, so their places are no lot"
        return replace(found, reason=reason, record=record)
    gap = pairs.gap(split)
    return conclude(replace(found, record=record), gap, rng=rng)


def conclude(found: ClaimedEpsilon, gap: Floats, *, rng: Generator) -> ClaimedEpsilon:
    """Say what follows from by how much the training one of each pair looks more like the trained one."""
    n_pairs, level = len(gap), found.alpha / len(SHARES)
    order = np.lexsort((rng.random(n_pairs), -np.abs(gap)))
    right = np.where(gap == 0, rng.integers(0, 2, n_pairs), gap > 0)[order]  # a tie is guessed by lot
    numbers = sorted({max(count_share(share, n_pairs), 1) for share in SHARES})
    guesses = tuple(
        CanaryGuesses(n_canaries=n_pairs, n_guesses=number, n_right=int(right[:number].sum()))
        for number in numbers
    )
    perfect = (replace(item, n_right=item.n_guesses) for item in guesses)
    promise = found.promise
    measured = replace(
        found,
        guesses=guesses,
        least=max(promise.least(item, level) for item in guesses),
        most=max(promise.least(item, level) for item in perfect),
    )
    if any(promise.allows(item) < level for item in guesses):
        return replace(measured, state="refuted")
    if (measured.most or 0.0) <= promise.epsilon:
        few = f"so few pairs ({n_pairs:,}) could have refuted no more than {measured.most:.2f}"
        return replace(measured, state="could not tell", reason=few)
    return replace(measured, state="not refuted")


def _other_unit(by: str | None, person: str | None) -> str:
    """Say that the lot was drawn among others than those who are counted."""
    if by is None:
        return f"rows were divided by lot, and people are counted, by {quoted(person)}: split by them (--by)"
    return f"people were divided by lot, by {quoted(by)}: say whose rows are whose (--person)"


@dataclass(frozen=True, kw_only=True, eq=False)
class Pairs:
    """A training and a control unit each, whose places could as well be exchanged: numbers of people."""

    train: Indices  # (n,) units, numbered over both tables
    control: Indices  # (n,)
    whose: Indices  # (n_train + n_control,) of which unit each row is

    @classmethod
    def of(cls, split: Split, *, rng: Generator) -> Self:
        """Pair units by lot, without those that have a row with an equal."""
        whose = numbered_together(split.train, split.control)
        equal = np.concatenate(group_equal_rows(split.train, split.control))
        repeated = np.bincount(equal)[equal] > 1
        alone = ~any_of_person(repeated, whose)
        of_train, of_control = whose[: len(split.train)], whose[len(split.train) :]
        sides = [
            rng.permutation(in_order[alone[in_order]])  # who is drawn depends on no order of a file
            for in_order in (
                _once(of_train[split.train.content_order]),
                _once(of_control[split.control.content_order]),
            )
        ]
        n_pairs = min(map(len, sides))
        return cls(train=sides[0][:n_pairs], control=sides[1][:n_pairs], whose=whose)

    def gap(self, split: Split) -> Floats:
        """Return by how much more the training one looks as if it was trained on, (n,).

        Each row's score is how much nearer the release is than other real rows are, train and control alike;
        of a unit, its largest.
        """
        rows = split.train.joined(split.control)
        everybody = rows if rows.people is None else replace(rows, people=self.whose)
        space = Space.gower(split.schema)
        to_release = Neighbors(space, split.synthetic).nearest(everybody).distance[:, 0]
        to_real = to_others(space, everybody, 1)[:, 0]
        score = np.log(to_real + NEARNESS) - np.log(to_release + NEARNESS)
        best = np.full(self.whose.max() + 1, -np.inf)
        np.maximum.at(best, self.whose, score)
        return np.asarray(best[self.train] - best[self.control])


def _once(units: Indices) -> Indices:
    """Return different units in the order of their first rows."""
    return np.asarray(units[np.sort(np.unique(units, return_index=True)[1])])
