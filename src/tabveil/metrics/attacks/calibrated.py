"""Guesses judged blind: how surely each was made, by what nearness means for this person, and tested exactly.

The nearest synthetic row is near to common people whether they were trained on or not; for an unusual person
the same distance is striking. So a guess about somebody is the surer the nearer the row is for a person with
so many others around (as in :mod:`tabveil.metrics.attacks.membership_calibrated`). The plain distance
competes.

Training and control rows are pooled, and neither confidence nor guess knows who is who. Where nothing leaks,
right and sure guesses then fall on training people as often as their share of all; so all secrets, depths and
confidences share one exact test (labels dealt anew), which costs less than Šidák's correction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np
from numpy.random import Generator

from tabveil.core.estimate import Scanned, deal
from tabveil.core.result import Setting
from tabveil.core.sampling import surest_rows
from tabveil.core.table import Floats, Indices, Split
from tabveil.engines.neighbors import to_others
from tabveil.metrics.attacks.configurations import Headline, choose, compare_counts
from tabveil.metrics.attacks.guessing import Bools, Guesses, Tally
from tabveil.metrics.attacks.membership_calibrated import unexplained
from tabveil.metrics.attacks.scan import DECIMALS, depths, pool
from tabveil.protocols import View

OFFSET = 0.001  # added to distances before their logarithm: the size of differences that mean nothing
N_DEALS = 999


@dataclass(frozen=True, kw_only=True, eq=False)
class Sure:
    """The right guesses about pooled people, the surest first, and what they come to at several depths."""

    scanned: Scanned
    tallies: Mapping[Setting, Tally]


def blind(targets: Split) -> Split:
    """Return the tables for somebody who must not know who was trained on: both sides are everybody."""
    people = pool(targets.train, targets.control)
    return Split(train=people, control=people, synthetic=targets.synthetic)


def crowding(targets: Split, view: View, known: tuple[str, ...]) -> Floats:
    """Return how far other people are from each, by what is known: the first, and the mean of five (n, 2)."""
    return to_others(view.space(known), view.see(pool(targets.train, targets.control), known))


def rank(
    setting: Setting,
    guesses: tuple[Guesses, Guesses],
    others: Floats,
    present: tuple[Bools, Bools] | None = None,
) -> list[Sure]:
    """Rank the guesses about train and control by both confidences.

    ``others`` is what :func:`crowding` returned; ``present`` tells who has something to guess.
    """
    distance = -np.concatenate([side.confidence for side in guesses])
    surprise = -unexplained(np.log(distance + OFFSET), np.log(others + OFFSET))
    there = np.ones(len(distance), dtype=bool) if present is None else np.concatenate(present)
    whose = [side.people for side in guesses if side.people is not None]
    pooled = _People(
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
class _People:
    """Train and control pooled, train first: whose value is guessed right, and who has one.

    Where somebody has several rows, the surest guess about one with a value speaks for them.
    """

    people: Indices | None  # (n,) whose each is; None: everybody has one
    n_train: int
    right: Bools  # (n,)
    naive: Floats  # (n,)
    there: Bools  # (n,)

    def scan(self, setting: Setting, confidence: Floats, tie_break: Floats, deep: Sequence[int]) -> Sure:
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
        return Sure(
            scanned=Scanned(order=order[is_right], ranks=np.ones(n), depths=counted),
            tallies={_first(setting, int(depth), n): self._tally(order[:depth]) for depth in looked},
        )

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
        """Count the right guesses among those that somebody acts on."""
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


def _first(setting: Setting, depth: int, n_people: int) -> Setting:
    """Name the setting after those that are acted on; not where that is everybody."""
    if depth == n_people:
        return setting
    return replace(setting, label=f"{setting.label}, first {depth}", level=depth / n_people)


def joint_headline(ranked: Sequence[Sure], n_train: int, confidence: float, *, rng: Generator) -> Headline:
    """Choose among all that was ranked, in intervals that hold together by deals of the labels."""
    dealt = deal([item.scanned for item in ranked], n_train, N_DEALS, rng=rng)
    counted = {setting: tally for item in ranked for setting, tally in item.tallies.items()}
    return choose(
        {setting: partial(compare_counts, tally) for setting, tally in counted.items()},
        confidence,
        deals=dealt,
    )
