"""Attacks by somebody who owns a sample of the population: rows of control that are never tested."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.estimate import mean_ranks
from tabveil.core.result import Result
from tabveil.core.sampling import in_order
from tabveil.core.table import Floats, Split, Table
from tabveil.engines.neighbors import NearestRows, Neighbors, Space
from tabveil.metrics.attacks.domias.kde import set_aside
from tabveil.metrics.attacks.guessing import scores
from tabveil.metrics.attacks.scan import DECIMALS, Pooled, PooledAttack, pool, scan
from tabveil.protocols import View


@dataclass(frozen=True, kw_only=True, eq=False)
class Suspects:
    """The people under attack, blind to who was trained on, and what the attacker has: release and sample."""

    people: Table
    release: Table
    sample: Table
    view: View

    @property
    def space(self) -> Space:
        """The distance between rows as the attacker sees them."""
        return self.view.space(self.people.schema.names)

    def seen(self, table: Table) -> Table:
        """Return rows as the attacker sees them."""
        return self.view.see(table, self.people.schema.names)

    def nearest(self, table: Table, queries: Table, n_neighbors: int = 1) -> NearestRows:
        """Find the nearest rows of a table around others."""
        return Neighbors(self.space, self.seen(table)).nearest(self.seen(queries), n_neighbors)

    @cached_property
    def to_release(self) -> Floats:
        """How far the nearest synthetic row is from each person (n,)."""
        return self.nearest(self.release, self.people).distance[:, 0]

    @cached_property
    def to_sample(self) -> Floats:
        """How far the nearest row of the sample is from each person (n,)."""
        return self.nearest(self.sample, self.people).distance[:, 0]


@dataclass(frozen=True, kw_only=True)
class SampledAttack(PooledAttack):
    """What attacks have in common whose attacker owns a sample of the population."""

    reference_share: float = 0.5

    name: ClassVar[str]
    title: ClassVar[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        check.between(type(self).__name__, "reference_share", self.reference_share, 0, 1)

    @abstractmethod
    def suspicions(self, suspects: Suspects, *, rng: Generator) -> dict[str, Floats]:
        """Return scores (n,) of the people by their names, the one that gives the curve first.

        The negative ``"distance"`` to the release is one whose ties are broken by that to the sample.
        """

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Attack, and compare members with others."""
        split.require_control(self.name, 2)
        reference, attacked = set_aside(split, self.reference_share, self.n_attacks, rng=rng)
        people, n_train = pool(*(drawn.table for drawn in attacked)), len(attacked[0])
        release, sample = in_order(split.synthetic).table, in_order(reference).table
        blind = Split(train=people, control=sample, synthetic=release)
        view = self.representation.view(blind, rng=rng, reference=sample)
        suspects = Suspects(people=people, release=release, sample=sample, view=view)
        found = self.suspicions(suspects, rng=rng)
        lot = rng.permutation(len(people)).astype(np.float64)
        rankings = {
            name: Pooled.of(
                score,
                n_train,
                mean_ranks(suspects.to_sample) * len(lot) + lot if name == "distance" else lot,
                people=people.people,
            )
            for name, score in found.items()
        }
        leading = next(iter(found))
        judged = scan(rankings, leading, confidence=self.confidence, n_deals=self.n_permutations, rng=rng)
        return judged.headline.answer(
            self,
            curve=judged.curve,
            details={"n_reference": len(reference)},
            scores=scores(attacked, (found[leading][:n_train], found[leading][n_train:])),
        )


def mean_rank(*scores: Floats) -> Floats:
    """Return the mean of the ranks (n,) that several scores give.

    >>> mean_rank(np.array([1.0, 5.0, 9.0]), np.array([0.3, 0.1, 0.2])).tolist()
    [2.0, 1.5, 2.5]
    """
    return np.asarray(np.mean([mean_ranks(np.round(score, DECIMALS)) for score in scores], axis=0))
