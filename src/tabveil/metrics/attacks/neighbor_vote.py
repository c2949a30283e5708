"""Attribute inference by neighbor vote: whatever is known of somebody, the nearest rows fill in the rest."""

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations
from typing import ClassVar, Self

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.estimate import (
    CONFIDENCE,
    Estimate,
    level_of,
    mean_share,
    part_of_room,
    risk_toward,
    tail_beyond_zero,
)
from tabveil.core.findings import Setting
from tabveil.core.result import Cost, Labels, Result, Threat
from tabveil.core.sampling import Sample, in_order, surest_rows
from tabveil.core.table import Categorical, Column, Floats, Indices, Numeric, Split, Table
from tabveil.core.wording import UNSEEN, begin, listed, plural, share_of
from tabveil.engines.neighbors import Neighbors
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.attacks.attack import TOLERANCE, ZERO_TOLERANCE, NearestRowAttack, Truth, surely
from tabveil.metrics.attacks.configurations import Comparator, Comparison, choose
from tabveil.metrics.attacks.guessing import (
    Bools,
    draw_attacked,
    least_sure,
    rank_together,
    scores,
    usable_levels,
)
from tabveil.protocols import View

LEVELS = (1.0, 0.1, 0.01)
KNOWN_SHARE = 0.75
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


@dataclass(frozen=True, kw_only=True)
class NeighborVote(NearestRowAttack):
    """Can somebody who knows some facts about a person fill in the rest from similar synthetic rows?

    Every attacked person is looked up among the synthetic rows by a random set of known columns
    (quasi-identifiers). The nearest rows (Gower's distance; equally near ones at random) vote on the other
    columns: the most frequent label, or the nearest row's among equally frequent ones; the mean number, in
    the column's decimal places; missing where most are missing. Right is what ``inference`` calls right; what
    is missing in truth is not asked for.

    A careful attacker acts only on people with a near neighbor; of those with equally near ones, first on
    people whose second nearest is far.

    Parameters
    ----------
    known
        The columns the attacker knows; None draws random sets.
    n_neighbors
        How many nearest synthetic rows vote; each number is a configuration.
    n_known
        How many columns a random set holds; None takes three quarters of them.
    n_sets
        How many random sets there are. What a row holds decides which is used, so equal rows share it.
    tolerance
        How near a guessed number must be to the truth, as a share of its true size.
    zero_tolerance
        The same as a share of the column's range, where the size says nothing: a true value of 0, or a date.

    Notes
    -----
    ``attack`` is the share of right guesses about training people, ``control`` about people never seen,
    ``baseline`` that of guessing the most frequent label or the mean of the synthetic column. Shares are
    taken column by column and averaged with the columns' entropies as weights (numbers in 20 bins of their
    range): columns in which all people are alike count little. ``risk = (attack - control) / (1 - control)``:
    0 where training people are guessed no better than others, 1 where all guesses about them are right.

    The errors are those of people, each with all guesses about them, not of single guesses. The headline is
    the configuration with the largest lower bound of its gain, among intervals that hold for all of them
    together (Šidák); each is in ``details``.

    References
    ----------
    - Steier, A., Ramaswamy, L., Manoel, A. and Haushalter, A. (2025). Synthetic Data Privacy Metrics.
      arXiv:2501.03941.
    """

    known: tuple[str, ...] | None = None
    n_neighbors: tuple[int, ...] = (1, 5)
    n_known: int | None = None
    n_sets: int = 20
    tolerance: float = TOLERANCE
    zero_tolerance: float = ZERO_TOLERANCE
    n_attacks: int | None = None

    name: ClassVar[str] = "neighbor_vote"
    title: ClassVar[str] = "Inference by vote of similar rows"
    cost: ClassVar[Cost] = "slow"
    labels: ClassVar[Labels] = Labels(pillar="attack", wp29="inference", mechanism="distance", auxiliary=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check.at_least("NeighborVote", "the number of n_neighbors", len(self.n_neighbors), 1)
        check.at_least("NeighborVote", "n_neighbors", min(self.n_neighbors), 1)
        for name, minimum in (("n_sets", 1), ("tolerance", 0), ("zero_tolerance", 0)):
            check.at_least("NeighborVote", name, getattr(self, name), minimum)
        if self.known is not None:
            check.at_least("NeighborVote", "the number of known columns", len(self.known), 1)
        if self.n_known is not None:
            check.at_least("NeighborVote", "n_known", self.n_known, 1)

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Look up train and control rows alike."""
        names = tuple(sorted(split.schema.names))
        if len(names) < 2:  # noqa: PLR2004 - something known and something to guess
            raise NotApplicable(self.name, "needs at least two columns, one to know and one to guess.")
        n_people = [
            side.n_people for side in (split.train, split.control) if side.people is not None and len(side)
        ]
        if n_people and min(n_people) < FEWEST_PEOPLE:
            raise NotApplicable(
                self.name,
                f"needs at least {FEWEST_PEOPLE} people in train and in control, got {min(n_people)}: "
                "intervals around the mean of fewer do not hold.",
            )
        split = split.select(names)
        sets = self._sets(names, rng=rng)
        attacked = draw_attacked(split, self.n_attacks, rng=rng)
        targets = Split(train=attacked[0].table, control=attacked[1].table, synthetic=split.synthetic)
        view = self.representation.view(targets, rng=rng)
        by_row = self._vote(split.synthetic, view, sets, attacked, rng=rng)
        votes = {
            k: (train.of_people(targets.train.people), control.of_people(targets.control.people))
            for k, (train, control) in by_row.items()
        }
        train, control = next(iter(votes.values()))  # of columns that were asked about in either table
        asked = train.guessed.any(axis=0) & (control.guessed.any(axis=0) | (len(control) == 0))
        weights = np.where(asked, entropies(split), 0.0)
        if weights.sum() == 0:
            raise NotApplicable(self.name, "no column with more than one value was to be guessed.")
        comparators: dict[Setting, Comparator] = {}
        owner: dict[Setting, int] = {}
        for k, (train, control) in votes.items():
            for level in usable_levels(len(control), LEVELS):
                setting = Setting(label=plural(k, "neighbor"), n_neighbors=k, level=level)
                comparators[setting] = VoteScores.of(train, control, weights, level).compare
                owner[setting] = k
        choice = choose(comparators, self.confidence)
        tried = f"{len(sets)} random sets of {len(sets[0])} of the {len(names)} columns"
        if self.known is not None:
            tried = f"{', '.join(sorted(set(self.known)))}, as asked"
        train, control = votes[owner[choice.setting]]
        accuracies = train.accuracies(), control.accuracies()
        rows = by_row[owner[choice.setting]]
        return choice.answer(
            self,
            details={
                "columns": {
                    name: {"entropy": weight, "attack": attack, "control": against}
                    for name, weight, attack, against in zip(names, weights, *accuracies, strict=True)
                }
            },
            notes=(f"Tried as known: {tried}.",),
            scores=scores(attacked, (rows[0].at_risk(weights), rows[1].at_risk(weights))),
        )

    def sentence(self, result: Result) -> str:
        """Tell which share of the unknown facts was filled in right."""
        told = f"{surely(result)}{share_of(result.attack)} of the unknown facts about training people are"
        told += " filled in right"
        if result.control is not None:
            told += f", and {share_of(result.control)} of those about {UNSEEN}"
        if result.baseline is not None:
            told += f"; without the release {share_of(result.baseline)}"
        return f"{begin(told)}. Columns in which people differ more count more."

    def threat(self, result: Result) -> Threat:  # noqa: ARG002 - the parameters tell
        """Describe the attacker."""
        drawn = "a random part of the person's data, another for each person"
        return Threat(knows=listed(self.known) if self.known else drawn, wants="all the rest")

    def _sets(self, names: tuple[str, ...], *, rng: Generator) -> list[Indices]:
        """Return the sets of columns that may be known, as positions."""
        if self.known is None:
            n_known = min(self.n_known or math.ceil(KNOWN_SHARE * len(names)), len(names) - 1)
            return _draw_sets(len(names), n_known, self.n_sets, rng=rng)
        check.known_names(self.name, "column", self.known, names)
        if len(set(self.known)) == len(names):
            raise ParameterError("NeighborVote", "known must leave a column to guess.")
        return [np.array(sorted({names.index(name) for name in self.known}))]

    def _vote(
        self,
        synthetic: Table,
        view: View,
        sets: Sequence[Indices],
        attacked: tuple[Sample, Sample],
        *,
        rng: Generator,
    ) -> dict[int, tuple[Votes, Votes]]:
        counts = sorted({min(k, len(synthetic)) for k in self.n_neighbors})
        columns = len(synthetic.schema)
        votes = {
            k: (Votes.none(len(attacked[0]), columns), Votes.none(len(attacked[1]), columns)) for k in counts
        }
        salt = np.uint64(rng.integers(2**62)) * np.uint64(2) + np.uint64(1)
        drawn = [(side.table.row_hash() * salt >> np.uint64(32)) % np.uint64(len(sets)) for side in attacked]
        ordered = in_order(synthetic).table
        naive = np.array([typical(c, ordered.column(c.name)) for c in ordered.schema.columns])
        for number, known in enumerate(sets):
            names = [synthetic.schema.names[position] for position in known]
            candidates = ordered.take(rng.permutation(len(ordered)))
            neighbors = Neighbors(view.space(names), view.see(candidates, names))
            chosen = [np.flatnonzero(lots == number) for lots in drawn]
            asked = [
                Sample(table=side.table.take(rows), rows=rows)
                for side, rows in zip(attacked, chosen, strict=True)
            ]
            if not any(map(len, asked)):
                continue
            sides = [view.see(side.table, names) for side in asked if len(side)]
            seen = sides[0] if len(sides) == 1 else sides[0].joined(sides[1])
            found = neighbors.nearest(seen, min(max(2, counts[-1]), len(candidates)))
            ends = [0, len(asked[0]), len(seen)]
            for place, side in enumerate(asked):
                if len(side) == 0:
                    continue
                here, rows = slice(ends[place], ends[place + 1]), side.rows
                distance, index = found.distance[here], found.index[here]
                made = {k: votes[k][place] for k in counts}
                for counted in made.values():
                    counted.distance[rows] = distance[:, 0]
                    counted.isolation[rows] = distance[:, min(1, distance.shape[1] - 1)]
                for position in np.setdiff1d(np.arange(columns), known):
                    cells = candidates.values[index, position]  # (m, most)
                    self._count(made, side, position, cells, naive=naive[position])
        return votes

    def _count(
        self, votes: Mapping[int, Votes], asked: Sample, position: int, cells: Floats, *, naive: float
    ) -> None:
        """Write down what the k nearest say about a column not known, and whether they are right."""
        column, rows = asked.table.schema.columns[position], asked.rows
        truth = Truth.of(asked.table.values[:, position], column, self.tolerance, self.zero_tolerance)
        for k, counted in votes.items():
            counted.guessed[rows, position] = truth.present
            counted.right[rows, position] = truth.met_by(vote(column, cells[:, :k]))
            counted.naive[rows, position] = truth.met_by(naive)


def _draw_sets(n_columns: int, n_known: int, n_sets: int, *, rng: Generator) -> list[Indices]:
    """Draw different sets of columns; all there are where they are fewer."""
    if math.comb(n_columns, n_known) <= n_sets:
        return [np.array(found) for found in combinations(range(n_columns), n_known)]
    found: dict[tuple[int, ...], None] = {}
    while len(found) < n_sets:
        found[tuple(sorted(rng.choice(n_columns, n_known, replace=False).tolist()))] = None
    return [np.array(columns) for columns in found]
