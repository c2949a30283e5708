"""Attribute inference by neighbor vote: whatever is known of somebody, the nearest rows fill in the rest."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.findings import Setting
from tabveil.core.result import Cost, Labels, Result, Threat
from tabveil.core.sampling import Sample, in_order
from tabveil.core.table import Floats, Indices, Split, Table
from tabveil.core.wording import UNSEEN, begin, listed, plural, share_of
from tabveil.engines.neighbors import NearestRows, Neighbors
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.attacks.attack import TOLERANCE, ZERO_TOLERANCE, NearestRowAttack, Truth, surely
from tabveil.metrics.attacks.configurations import Comparator, choose
from tabveil.metrics.attacks.guessing import draw_attacked, scores, usable_levels
from tabveil.metrics.attacks.votes import (
    FEWEST_PEOPLE,
    Votes,
    VoteScores,
    entropies,
    typical,
    vote,
)
from tabveil.protocols import View

LEVELS = (1.0, 0.1, 0.01)
KNOWN_SHARE = 0.75


@dataclass(frozen=True, kw_only=True)
class NeighborVote(NearestRowAttack):
    """Can somebody who knows some facts about a person fill in the rest from similar synthetic rows?

    Every attacked person is looked up among the synthetic rows by a random set of known columns
    (quasi-identifiers). The nearest rows (Gower's distance; equally near ones by lot) vote on the other
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

    The errors are those of people, each with all guesses about them, not of single guesses.

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
        check.at_least("NeighborVote", "n_sets", self.n_sets, 1)
        check.at_least("NeighborVote", "tolerance", self.tolerance, 0)
        check.at_least("NeighborVote", "zero_tolerance", self.zero_tolerance, 0)
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
        told = (
            f"{surely(result)}{share_of(result.attack)} of the unknown facts about training people are filled"
        )
        told += " in right"
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
            for place, side in enumerate(attacked):
                rows = np.flatnonzero(drawn[place] == number)
                if len(rows) == 0:
                    continue
                asked = side.table.take(rows)
                found = neighbors.nearest(view.see(asked, names), min(max(2, counts[-1]), len(candidates)))
                looked_up = _Lookup(rows=rows, asked=asked, candidates=candidates, known=known, found=found)
                self._count({k: votes[k][place] for k in counts}, looked_up, naive)
        return votes

    def _count(self, votes: Mapping[int, Votes], looked_up: "_Lookup", naive: Floats) -> None:
        """Write down what the k nearest say about the columns not known, and whether they are right."""
        rows, asked = looked_up.rows, looked_up.asked
        distance = looked_up.found.distance
        for counted in votes.values():
            counted.distance[rows] = distance[:, 0]
            counted.isolation[rows] = distance[:, min(1, distance.shape[1] - 1)]
        for position in np.setdiff1d(np.arange(len(asked.schema)), looked_up.known):
            column = asked.schema.columns[position]
            truth = Truth.of(asked.values[:, position], column, self.tolerance, self.zero_tolerance)
            naively = truth.met_by(naive[position])
            cells = looked_up.candidates.values[looked_up.found.index, position]  # (m, most)
            for k, counted in votes.items():
                counted.guessed[rows, position] = truth.present
                counted.right[rows, position] = truth.met_by(vote(column, cells[:, :k]))
                counted.naive[rows, position] = naively


@dataclass(frozen=True, kw_only=True, eq=False)
class _Lookup:
    """Attacked rows of which the same columns are known, and their neighbors."""

    rows: Indices  # (m,) among the attacked rows
    asked: Table  # (m rows)
    candidates: Table
    known: Indices  # (n_known,) positions of columns
    found: NearestRows  # (m, k) among the candidates


def _draw_sets(n_columns: int, n_known: int, n_sets: int, *, rng: Generator) -> list[Indices]:
    """Draw different sets of columns; all there are where they are fewer."""
    if math.comb(n_columns, n_known) <= n_sets:
        return [np.array(found) for found in combinations(range(n_columns), n_known)]
    found: dict[tuple[int, ...], None] = {}
    while len(found) < n_sets:
        found[tuple(sorted(rng.choice(n_columns, n_known, replace=False).tolist()))] = None
    return [np.array(columns) for columns in found]
