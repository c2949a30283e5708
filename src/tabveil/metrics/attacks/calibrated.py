"""Nearness calibrated by what it means for this person: attacks on membership, and guesses judged blind."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
from numpy.random import Generator

from tabveil.core.estimate import Scanned, deal
from tabveil.core.findings import Setting
from tabveil.core.result import Cost, Result
from tabveil.core.sampling import Sample, surest_rows
from tabveil.core.table import Floats, Indices, Split, Table
from tabveil.engines.neighbors.shared import distances, distances_to_others
from tabveil.engines.representation import Contrastive, Tolerant
from tabveil.metrics.attacks.configurations import Headline, headline
from tabveil.metrics.attacks.guessing import ALL, LEVELS, Bools, Guesses, Tally, draw_attacked, tallies
from tabveil.metrics.attacks.membership_sampled import mean_rank
from tabveil.metrics.attacks.roc import DECIMALS, PooledAttack, depths, pool
from tabveil.protocols import Representation, View


@dataclass(frozen=True, kw_only=True)
class MembershipCalibrated(PooledAttack):
    """Is a synthetic row nearer to a person than it should be, with so many people around?

    Common people have some synthetic row nearby whether they were trained on or not; for an unusual person
    the same distance is striking. So the attacker learns what distance to expect from how near other real
    people are, and suspects those to whom the release is nearer than that.

    Parameters
    ----------
    n_attacks, n_permutations
    representation
        What is called near: few columns that differ, numbers within a tolerance by a part (``Tolerant``),
        Gower's distance (``Mixed``), the Euclidean one, or the distance in an embedding.

    Notes
    -----
    The score is what is left of the distance to the nearest synthetic row after least squares on the distance
    to the nearest other real person, the mean of those to the five nearest, and the square of this mean. The
    other people are all who are attacked, training and control rows alike: an attacker would need a sample of
    about that size. The plain distance competes. Of people who are equally near, those come first of whom no
    other row is near, neither a real one nor a second synthetic one.

    Nobody's score depends on who was trained on, so dealing these labels anew is an exact test, for tables of
    any sizes. The attacker names the first 5, 6, 7, 9, … people, down to a tenth of all, then a quarter and a
    half: ``attack`` is the share of training people named, ``control`` and ``baseline`` that of other people,
    ``risk`` is ``(attack − control) / (1 − control)``. The area, as ``2·AUC − 1``, is one more test; it
    counts nobody and has no gain. The headline is the reading with the largest lower bound of its gain, in
    intervals that hold for all of them together, by the same deals of the labels (max-T); each is in
    ``details``. The p-value is that of the joint test.

    The test asks that training and control rows are drawn alike. Where equal rows were kept on one side on
    purpose, they are not.

    References
    ----------
    - Watson, L., Guo, C., Cormode, G. and Sablayrolles, A. (2022). On the Importance of Difficulty
      Calibration in Membership Inference Attacks. ICLR.
    - Westfall, P. H. and Young, S. S. (1993). Resampling-Based Multiple Testing. Wiley.
    """

    representation: Representation = field(default_factory=Tolerant)

    name: ClassVar[str] = "membership_calibrated"
    title: ClassVar[str] = "Membership by calibrated distance"
    on_request: ClassVar[bool] = False  # of all that see members, it sees most (docs/contrastive_study.md)

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Attack, and compare members with others."""
        split.require_control(self.name)
        attacked = draw_attacked(split, self.n_attacks, rng=rng)
        around = surroundings(split, pool(*attacked), self.representation, rng=rng)
        suspicion: dict[str, tuple[Floats, Floats | None]] = {
            "calibrated distance": (-unexplained(around.release, around.others), None),
            "distance": (-around.release, around.loneliness),
        }
        return self.conclude(attacked, suspicion, rng=rng)


@dataclass(frozen=True, kw_only=True, eq=False)
class Surroundings:
    """How far away rows are from each person."""

    release: Floats  # (n,) the nearest synthetic one
    others: Floats  # (n, 2) other people: the nearest, the mean of the five nearest
    loneliness: Floats  # (n,) the nearest row of all but the nearest synthetic one


def surroundings(
    split: Split, people: Table, representation: Representation, *, rng: Generator
) -> Surroundings:
    """Look how near the release is to each person, and how near other people are.

    The representation is shown the people as one table: it must not know who was trained on either.
    """
    blind = Split(train=people, control=people, synthetic=split.synthetic)
    view, names = representation.view(blind, rng=rng), split.schema.names
    space, seen = view.space(names), view.see(people, names)
    n_synthetic = min(2, len(split.synthetic))
    release = distances(space, view.see(split.synthetic, names), seen, n_synthetic)
    others = distances_to_others(space, seen)
    return Surroundings(
        release=release[:, 0],
        others=others,
        loneliness=np.column_stack([others[:, 0], release[:, 1:]]).min(axis=1),
    )


def unexplained(distance: Floats, others: Floats) -> Floats:
    """Return what least squares on the distances to other people (n, 2) leave of a distance (n,).

    >>> others = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [4.0, 4.0], [5.0, 5.0]])
    >>> bool(np.abs(unexplained(np.array([2.0, 4.0, 6.0, 8.0, 10.0]), others)).max() < 1e-9)
    True
    """
    known = np.column_stack([np.ones(len(distance)), others, others[:, -1] ** 2])
    return np.asarray(distance - known @ np.linalg.lstsq(known, distance, rcond=None)[0])


@dataclass(frozen=True, kw_only=True)
class MembershipContrastive(PooledAttack):
    """Is a synthetic row nearer to a person than it should be, in a learned space or by columns that differ?

    As ``membership_calibrated``: the attacker suspects those to whom the release is nearer than is to be
    expected with so many people around. What is near is asked twice: in a contrastive embedding of the
    release, and by the share of columns that differ, numbers within a tolerance by a part (``Tolerant``). A
    leaked row whose values were moved a little is still near in the first; an exact copy stands out most in
    the second; who stands out in both is suspected first.

    Parameters
    ----------
    n_attacks, n_permutations
    representation
        The learned space: an embedding that is trained on the release.

    Notes
    -----
    Two scores are made in each space. The first is what is left of d, the distance to the nearest synthetic
    row, after least squares on the distances to other people (``membership_calibrated`` tells more). The
    second is ``r − d``, r the distance to the nearest other person. For each, the mean of a person's ranks in
    both spaces is one more ranking. The other people are all who are attacked, training and control rows
    alike: an attacker would need a sample of about that size.

    Nobody's score depends on who was trained on, so dealing these labels anew is an exact test, for tables of
    any sizes. The attacker names the first 5, 6, 7, 9, … people, down to a tenth of all, then a quarter and a
    half: ``attack`` is the share of training people named, ``control`` and ``baseline`` that of other people,
    ``risk`` is ``(attack − control) / (1 − control)``. The area, as ``2·AUC − 1``, is one more test; it
    counts nobody and has no gain. The headline is the reading with the largest lower bound of its gain, in
    intervals that hold for all of them together, by the same deals of the labels (max-T); each is in
    ``details``. The p-value is that of the joint test.

    The test asks that training and control rows are drawn alike. Where equal rows were kept on one side on
    purpose, they are not.

    References
    ----------
    - Plasencia Palacios, M. N. et al. (2025). Contrastive Learning-Based Privacy Metrics in Tabular Synthetic
      Datasets. arXiv:2502.13833.
    - Watson, L., Guo, C., Cormode, G. and Sablayrolles, A. (2022). On the Importance of Difficulty
      Calibration in Membership Inference Attacks. ICLR.
    - Westfall, P. H. and Young, S. S. (1993). Resampling-Based Multiple Testing. Wiley.
    """

    representation: Representation = field(default_factory=Contrastive)

    name: ClassVar[str] = "membership_contrastive"
    title: ClassVar[str] = "Membership, contrastive and tolerant"
    cost: ClassVar[Cost] = "slow"
    extra: ClassVar[str] = "deep"
    beside: ClassVar[tuple[str, ...]] = ("membership_calibrated", "membership_distance")

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Attack in both spaces, and compare members with others."""
        split.require_control(self.name)
        attacked = draw_attacked(split, self.n_attacks, rng=rng)
        return self.conclude(attacked, self._suspicion(split, pool(*attacked), rng=rng), rng=rng)

    def _suspicion(
        self, split: Split, people: Table, *, rng: Generator
    ) -> dict[str, tuple[Floats, Floats | None]]:
        """Score people by each way of looking, (n,), and say how rare they are, which breaks ties (n,)."""
        spaces = {"contrastive": self.representation, "tolerant": Tolerant()}
        found: dict[str, dict[str, tuple[Floats, Floats]]] = {"calibrated": {}, "difference": {}}
        for name, representation in spaces.items():
            around = surroundings(split, people, representation, rng=rng)
            distance, others = around.release, around.others
            found["calibrated"][name] = -unexplained(distance, others), others[:, -1]
            found["difference"][name] = others[:, 0] - distance, others[:, -1]
        together: dict[str, tuple[Floats, Floats | None]] = {}
        for score, by in found.items():
            scores, rare = zip(*by.values(), strict=True)
            together[f"both spaces, {score}"] = mean_rank(*scores), mean_rank(*rare)
        return together | {f"{name}, {score}": one for score, by in found.items() for name, one in by.items()}


OFFSET = 0.001  # added to distances before their logarithm: the size of differences that mean nothing
N_DEALS = 999


SureGuesses = tuple[Scanned, dict[Setting, Tally]]
"""The right guesses about pooled people, the surest first, and what they come to at several depths."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GuessTrials:
    """What an attack tried on some people: counted as it comes, or ranked blind where it is calibrated."""

    attacked: tuple[Sample, Sample]
    targets: Split
    calibrated: bool
    careful: bool
    counted: dict[Setting, Tally] = field(default_factory=dict)
    ranked: list[Scanned] = field(default_factory=list)  # the right guesses, the surest first

    @classmethod
    def on(
        cls, split: Split, n_attacks: int | None, *, calibrated: bool, careful: bool = True, rng: Generator
    ) -> Self:
        """Draw the people."""
        attacked = draw_attacked(split, n_attacks, rng=rng)
        targets = Split(train=attacked[0].table, control=attacked[1].table, synthetic=split.synthetic)
        return cls(attacked=attacked, targets=targets, calibrated=calibrated, careful=careful)

    def view(self, representation: Representation, *, rng: Generator) -> View:
        """Get ready to look at rows; who ranks blind must not know who was trained on: all are everybody."""
        if not self.calibrated:
            return representation.view(self.targets, rng=rng)
        people = pool(*self.attacked)
        return representation.view(replace(self.targets, train=people, control=people), rng=rng)

    def crowding(self, view: View, known: tuple[str, ...]) -> Floats | None:
        """Return how far others are from each by what is known: the first, and the mean of five (n, 2)."""
        if not self.calibrated:
            return None
        return distances_to_others(view.space(known), view.see(pool(*self.attacked), known))

    def add(
        self,
        setting: Setting,
        guesses: tuple[Guesses, Guesses],
        others: Floats | None,
        present: tuple[Bools, Bools] | None = None,
    ) -> list[Setting]:
        """Count the guesses, or rank them beside the ``others``; return the settings that come of it.

        ``present`` tells who has something to guess.
        """
        found: dict[Setting, Tally] = {}
        if others is not None:
            for scanned, made in rank(setting, guesses, others, present):
                self.ranked.append(scanned)
                found |= made
        else:
            train, control = guesses
            if present is not None:
                train, control = train.take(present[0]), control.take(present[1])
            without = guesses[0].n_people - train.n_people, guesses[1].n_people - control.n_people
            for level, tally in tallies(setting, train, control, LEVELS if self.careful else ALL).items():
                found[level] = replace(tally, without_train=without[0], without_control=without[1])
        self.counted.update(found)
        return list(found)

    def headline(self, confidence: float, *, rng: Generator) -> Headline:
        """Choose among all that was tried; what was ranked, in intervals that hold together by deals."""
        n_train = self.targets.train.n_people
        dealt = deal(self.ranked, n_train, N_DEALS, rng=rng) if self.calibrated else None
        return headline(self.counted, confidence, deals=dealt)


def rank(
    setting: Setting,
    guesses: tuple[Guesses, Guesses],
    others: Floats,
    present: tuple[Bools, Bools] | None = None,
) -> list[SureGuesses]:
    """Rank the guesses about train and control by both confidences.

    ``others`` is what :meth:`GuessTrials.crowding` returned; ``present`` tells who has something to guess.
    """
    distance = -np.concatenate([side.confidence for side in guesses])
    surprise = -unexplained(np.log(distance + OFFSET), np.log(others + OFFSET))
    there = np.ones(len(distance), dtype=bool) if present is None else np.concatenate(present)
    whose = [side.people for side in guesses if side.people is not None]
    pooled = _PooledGuesses(
        people=np.concatenate(whose) if whose else None,
        n_train=len(guesses[0].correct),
        right=np.concatenate([side.correct for side in guesses]) & there,
        naive=np.concatenate([side.naive for side in guesses]).astype(np.float64),
        there=there,
    )
    surest = replace(setting, label=f"{setting.label}, calibrated")
    n = sum(side.n_people for side in guesses)
    deep = depths(n)
    return [
        pooled.scan(setting, -distance, others[:, -1], [*deep, n]),
        pooled.scan(surest, surprise, others[:, -1], deep),  # all guesses are the same by either
    ]


@dataclass(frozen=True, kw_only=True, eq=False)
class _PooledGuesses:
    """Train and control pooled, train first: whose value is guessed right, and who has one.

    Where somebody has several rows, the surest guess about one with a value speaks for them.
    """

    people: Indices | None  # (n,) whose each is; None: everybody has one
    n_train: int
    right: Bools  # (n,)
    naive: Floats  # (n,)
    there: Bools  # (n,)

    def scan(
        self, setting: Setting, confidence: Floats, tie_break: Floats, deep: Sequence[int]
    ) -> SureGuesses:
        """Look at the surest guesses down to several depths; no tie is cut."""
        if self.people is not None:
            rows = surest_rows(self.people, self.there.astype(np.float64), confidence, tie_break)
            return self._take(rows).scan(setting, confidence[rows], tie_break[rows], deep)
        n = len(confidence)
        keys = np.round(np.column_stack([confidence, tie_break]), DECIMALS) + 0.0  # no -0.0
        order = np.lexsort((-keys[:, 1], -keys[:, 0]))
        keys = keys[order]
        ends = np.append(np.flatnonzero((keys[1:] != keys[:-1]).any(axis=1)) + 1, n)  # of each tie
        looked = np.unique(ends[np.searchsorted(ends, deep)]).astype(np.int64)
        is_right = self.right[order]
        n_right = np.cumsum(is_right)[looked - 1]
        counted = np.unique(n_right[n_right > 0]).astype(np.int64)
        scanned = Scanned(order=order[is_right], ranks=np.ones(n), depths=counted)
        found = {}
        for depth in looked.tolist():
            named = replace(setting, label=f"{setting.label}, first {depth}", level=depth / n)
            found[setting if depth == n else named] = self._tally(order[:depth])
        return scanned, found

    def _take(self, rows: Indices) -> Self:
        """Keep one row of each person, those of train first."""
        return replace(
            self,
            people=None,
            n_train=int(np.sum(rows < self.n_train)),
            right=self.right[rows],
            naive=self.naive[rows],
            there=self.there[rows],
        )

    def _tally(self, acted: Indices) -> Tally:
        of_train = acted < self.n_train
        n_there = int(self.there[: self.n_train].sum()), int(self.there[self.n_train :].sum())
        return Tally(
            train=int(self.right[acted[of_train]].sum()),
            n_train=n_there[0],
            control=int(self.right[acted[~of_train]].sum()),
            n_control=n_there[1],
            naive=float((self.naive * self.there)[acted[of_train]].sum()),
            n_naive=n_there[0],
            without_train=self.n_train - n_there[0],
            without_control=len(self.right) - self.n_train - n_there[1],
        )
