"""Guesses about many columns at once: what neighbors vote for, which votes are right, one score for all."""

import math
import sys
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np

from tabveil.core.estimate import (
    CONFIDENCE,
    Estimate,
    level_of,
    mean_share,
    part_of_room,
    risk_toward,
    tail_beyond_zero,
)
from tabveil.core.sampling import surest_rows
from tabveil.core.table import Categorical, Column, Floats, Indices, Numeric, Split
from tabveil.metrics.attacks.configurations import Comparison
from tabveil.metrics.attacks.guessing import Bools, least_sure, rank_together

BINS = 20  # of a number's range, for its entropy
FEWEST_PEOPLE = 30  # below, intervals that rest on a variance over people do not hold


def vote(column: Column, cells: Floats) -> Floats:
    """Return what the neighbors (n, k), nearest first, say of a column.

    The most frequent label, the nearest row's among equally frequent ones; the mean number, in the decimal
    places the column has. Missing is a label like others; a number is missing where most are.

    >>> vote(Categorical(name="sex", labels=("f", "m")), np.array([[1.0, 0.0, 0.0], [1.0, 0.0, np.nan]]))
    array([0., 1.])
    >>> vote(Numeric(name="age", low=0, high=99, decimals=0), np.array([[30.0, 33.0], [np.nan, 20.0]]))
    array([32., 20.])
    """
    missing = np.isnan(cells)
    n, k = cells.shape
    match column:
        case Categorical():
            codes = np.where(missing, -1.0, cells)
            agreeing = (codes[:, :, None] == codes[:, None, :]).sum(axis=2)  # (n, k)
            return np.asarray(cells[np.arange(n), agreeing.argmax(axis=1)])
        case Numeric(decimals=decimals):
            present = k - missing.sum(axis=1)
            mean = np.where(missing, 0.0, cells).sum(axis=1) / np.maximum(present, 1)
            guess = mean if decimals is None else np.round(mean, decimals)
            return np.where(2 * present < k, np.nan, guess)


def typical(column: Column, cells: Floats) -> float:
    """Return the most frequent label of a column, missing among them, or its mean number."""
    missing = np.isnan(cells)
    if 2 * missing.sum() > len(cells):
        return float("nan")
    if isinstance(column, Categorical):
        values, counts = np.unique(np.where(missing, -1.0, cells), return_counts=True)
        best = float(values[np.argmax(counts)])
        return best if best >= 0 else float("nan")
    mean = float(np.sort(cells[~missing]).mean())
    return mean if column.decimals is None else round(mean, column.decimals)


def entropies(split: Split) -> Floats:
    """Return the entropy of each column's values among the real rows, missing included, (d,)."""
    found = []
    for column in split.schema.columns:
        cells = np.concatenate([split.train.column(column.name), split.control.column(column.name)])
        if isinstance(column, Numeric) and column.width > 0:
            cells = np.minimum(np.floor((cells - column.low) / column.width * BINS), BINS - 1)
        shares = np.sort(np.unique(cells, return_counts=True)[1]) / len(cells)
        found.append(max(-float((shares * np.log(shares)).sum()), 0.0))
    return np.array(found)


@dataclass(frozen=True, kw_only=True, eq=False)
class Votes:
    """The votes about the attacked rows of one table, filled in set by set."""

    guessed: Bools  # (n, d) whether the column was to be guessed: not known of this row, and not missing
    right: Bools  # (n, d) guessed, and right
    naive: Bools  # (n, d) guessed, and right by the naive guess
    distance: Floats  # (n,) to the nearest neighbor
    isolation: Floats  # (n,) to the second nearest

    @classmethod
    def none(cls, n_rows: int, n_columns: int) -> Self:
        """Return no votes yet."""
        votes = {name: np.zeros((n_rows, n_columns), dtype=bool) for name in ("guessed", "right", "naive")}
        return cls(**votes, distance=np.zeros(n_rows), isolation=np.zeros(n_rows))

    def __len__(self) -> int:
        return len(self.distance)

    def of_people(self, people: Indices | None) -> Self:
        """Keep one row of each person, the surest of those with something to guess.

        A row is the surer the nearer its neighbor is, and among equals the farther the second nearest is.
        """
        if people is None:
            return self
        something = np.asarray(self.guessed.any(axis=1), dtype=np.float64)
        kept = surest_rows(people, something, -self.distance, self.isolation)
        return replace(self, **{item.name: getattr(self, item.name)[kept] for item in fields(self)})

    def at_risk(self, weights: Floats) -> Floats:
        """Score each row: the weighted share of its columns guessed right, less where the neighbor is far."""
        asked = (self.guessed * weights).sum(axis=1)
        right = (self.right * weights).sum(axis=1)
        share = np.divide(right, asked, out=np.zeros(len(self)), where=asked > 0)
        return np.asarray(share / (1 + self.distance))

    def accuracies(self, *, naive: bool = False, sure: Bools | None = None) -> Floats:
        """Return the share of right guesses in each column, (d,); NaN where none was made."""
        hits = (self.naive if naive else self.right).astype(np.float64)
        hits = hits if sure is None else hits * sure[:, None]
        asked = self.guessed.sum(axis=0)
        return np.asarray(
            np.divide(hits.sum(axis=0), asked, out=np.full(len(asked), np.nan), where=asked > 0)
        )

    def score(self, weights: Floats, *, naive: bool = False, sure: Bools | None = None) -> "VoteAccuracy":
        """Average the accuracies; the rows, each with all guesses about it, are the observations."""
        asked = np.maximum(self.guessed.sum(axis=0), 1)
        accuracies = np.nan_to_num(self.accuracies(naive=naive, sure=sure))
        parts = weights / weights.sum()
        hits = (self.naive if naive else self.right) & (True if sure is None else sure[:, None])
        influence = ((hits - self.guessed * accuracies) * (parts / asked)).sum(axis=1)  # (n,)
        n = len(self)
        variance = float((influence**2).sum()) * n / max(n - 1, 1)
        reach = float(((self.guessed * (parts / asked)).sum(axis=1) ** 2).sum())
        return VoteAccuracy(value=float((parts * accuracies).sum()), variance=variance, reach=reach, n=n)


@dataclass(frozen=True, kw_only=True)
class VoteAccuracy:
    """An average of accuracies with its variance.

    ``reach`` adds up, over all rows, the square of the most by which a row can move the average.
    """

    value: float
    variance: float
    reach: float
    n: int

    def at(self, confidence: float) -> Estimate:
        """Return the score with its interval.

        The variance of few rows is too uncertain: they have the interval that holds for any distribution
        (McDiarmid 1989), if it is wider.
        """
        found = mean_share(self.value, self.variance, self.n, confidence, independent=self.n)
        if self.n >= FEWEST_PEOPLE:
            return found
        half = math.sqrt(math.log(2 / max(1 - confidence, sys.float_info.min)) * self.reach / 2)
        low, high = max(self.value - half, 0.0), min(self.value + half, 1.0)
        return replace(found, low=min(found.low, low), high=max(found.high, high))


@dataclass(frozen=True, kw_only=True)
class VoteScores:
    """The scores of train, of control if there is one, and of the naive guesses about train."""

    train: VoteAccuracy
    control: VoteAccuracy | None
    naive: VoteAccuracy

    @classmethod
    def of(cls, train: Votes, control: Votes, weights: Floats, level: float) -> Self:
        """Score the votes at one level of the careful attacker."""
        sure_train, sure_control = None, None
        if level < 1:
            # Near neighbors first, then those whose second nearest is far.
            nearness, isolation = (-train.distance, -control.distance), (train.isolation, control.isolation)
            rank_train, rank_control = rank_together(nearness, isolation)
            bar = least_sure(rank_control, level)
            sure_train, sure_control = rank_train >= bar, rank_control >= bar
        return cls(
            train=train.score(weights, sure=sure_train),
            control=control.score(weights, sure=sure_control) if len(control) else None,
            naive=train.score(weights, naive=True, sure=sure_train),
        )

    def compare(self, confidence: float) -> Comparison:
        """Compare train with control."""
        attack = self.train.at(confidence)
        against = None if self.control is None else self.control.at(confidence)
        return Comparison(
            attack=attack,
            control=against,
            baseline=self.naive.at(confidence),
            risk=risk_toward(attack, against) if against else None,
            gain=self._gain(confidence),
            p_value=tail_beyond_zero(self._low) if against else None,
            beats_baseline=self.train.at(CONFIDENCE).low > self.naive.value,
            facts={"n_train": self.train.n, "n_control": self.control.n if self.control else 0},
        )

    def _gain(self, confidence: float) -> Estimate | None:
        """Return by how much larger the share of facts filled in right is."""
        if self.control is None:
            return None
        attack, control = self.train.at(confidence), self.control.at(confidence)
        return part_of_room(attack.value - control.value, attack, control, 1.0)

    def _low(self, errors: float) -> float:
        gain = self._gain(level_of(errors))
        return gain.low if gain else 0.0
