"""What the indicators share: a confidence, a distance, the end of the scale, tables of exchanged rows."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.drawn import Asked
from tabveil.core.estimate import CONFIDENCE, Estimate, around, grouped_error
from tabveil.core.estimate.means import student
from tabveil.core.people import rows_worth
from tabveil.core.result import Labels
from tabveil.core.sampling import in_order, rows_of_people
from tabveil.core.table import Floats, Indices, Split, Table
from tabveil.engines.neighbors import NearestRows, Space, shared
from tabveil.engines.neighbors.shared import Search
from tabveil.engines.representation import Euclidean, Mixed
from tabveil.errors import NotApplicable
from tabveil.protocols import Metric, View


@dataclass(frozen=True, kw_only=True)
class Indicator(Metric):
    """A confidence level as a parameter, that of any interval reported. A diagnosis: there is no attacker."""

    confidence: float = CONFIDENCE

    labels: ClassVar[Labels] = Labels(pillar="indicator", wp29="propensity", mechanism="distance")

    def __post_init__(self) -> None:
        check.between(type(self).__name__, "confidence", self.confidence, 0.5, 1)

    def asked(self) -> Asked:
        """Released rows are asked, for their nearest real ones."""
        return "released rows"


@dataclass(frozen=True, kw_only=True)
class ByDistance(Indicator):
    """A distance as a parameter: Gower's, or the Euclidean one over one-hot or ordinal codes."""

    distance: Literal["gower", "euclidean"] = "gower"
    encoding: Literal["onehot", "ordinal"] = "onehot"

    def __post_init__(self) -> None:
        super().__post_init__()
        check.one_of(type(self).__name__, "distance", self.distance, ("gower", "euclidean"))
        check.one_of(type(self).__name__, "encoding", self.encoding, ("onehot", "ordinal"))

    def view(self, split: Split, *, rng: Generator) -> View:
        """Get ready to look at rows of these tables."""
        near = Mixed() if self.distance == "gower" else Euclidean(encoding=self.encoding)
        return near.view(split, rng=rng)

    def space(self, split: Split) -> Space:
        """Return the distance for these tables."""
        if self.distance == "gower":
            return Space.gower(split.schema)
        return Space.euclidean(in_order(split.train).table, self.encoding)


def at_most_all(estimate: Estimate) -> Estimate:
    """Cut what lies above 1 off: no more than all of a release can be copied, so it can only be noise."""
    return estimate.each(lambda value: min(value, 1.0))


def relative(quotient: float) -> float:
    """Return the gap between two scores as a part of the larger, from how many times the first is the second.

    From 1, where the first is nothing beside the second, to -1, where the second is; noise that carries it
    below nothing is left out.

    >>> relative(2.0), relative(0.5), relative(-3.0)
    (0.5, -0.5, -1.0)
    """
    return 1 - 1 / quotient if quotient > 1 else max(quotient, 0.0) - 1


def search(space: Space, reference: Table, queries: Table, n_neighbors: int = 1) -> Search:
    """Ask for the nearest reference rows; of several neighbors each must be of another person."""
    return Search(
        space=space,
        reference=reference,
        queries=queries,
        n_neighbors=n_neighbors,
        by_person=reference.people is not None and n_neighbors > 1,
    )


def nearest(space: Space, reference: Table, queries: Table, n_neighbors: int = 1) -> NearestRows:
    """Find the nearest reference rows; of several neighbors each must be of another person."""
    return shared.nearest(search(space, reference, queries, n_neighbors))


def nearest_other(space: Space, reference: Table, n_neighbors: int = 1) -> NearestRows:
    """Likewise within one table, where a row is never its own neighbor, nor its person's."""
    return shared.nearest_other(space, reference, n_neighbors, by_person=reference.people is not None)


def without_people(synthetic: Table) -> Table:
    """Take the rows of a release as they are: nobody is behind several of them."""
    return synthetic if synthetic.people is None else replace(synthetic, people=None)


def summary(distances: Floats) -> dict[str, float]:
    """Return the two figures the papers give for a set of distances."""
    low, middle = np.quantile(distances, [0.05, 0.5])
    return {"median": float(middle), "percentile_5": float(low)}


@dataclass(frozen=True, kw_only=True, eq=False)
class Exchange:
    """Train, and train after as many of its rows as can be were exchanged for control rows.

    Both have the same number of rows, so that whatever depends on it cancels, and what a release owes to
    training rows is lost with those that left: all of it where control is as large as train, else ``part`` of
    it. Sampling train down to a small control would instead lose sight of nearly every leak.

    Where somebody has several rows, people are exchanged, with all they have: as many people, so that the
    numbers of rows are equal on average.
    """

    before: Table
    after: Table  # the kept rows, then the control rows
    kept: Indices  # positions in ``before``
    part: float

    @classmethod
    def of(cls, train: Table, control: Table, *, rng: Generator) -> Self:
        """Choose the rows at random; which ones depends on what they hold, not on where they stand."""
        train, control = in_order(train).table, in_order(control).table
        exchanged = min(train.n_people, control.n_people)
        left = rows_of_people(train, exchanged, rng=rng)
        kept = np.setdiff1d(np.arange(len(train)), left)
        brought = control.take(np.sort(rows_of_people(control, exchanged, rng=rng)))
        part = len(left) / len(train)
        return cls(before=train, after=train.take(kept).joined(brought), kept=kept, part=part)

    def fresh(self, before: float, after: float) -> float:
        """Return what a mean would be had all rows been exchanged, from what it is before and after."""
        return before + (after - before) / self.part

    def note(self) -> tuple[str, ...]:
        """Say where control was too small to replace train."""
        if self.part == 1:
            return ()
        rows = f"{len(self.before) - len(self.kept):,} of {len(self.before):,} training rows"
        note = f"Control is smaller than train: {rows} were exchanged for control rows, and what that changed"
        return (f"{note} was scaled up to all.",)

    def gap_of_people(
        self, scores: tuple[float, float], without: tuple[Floats, Floats], worst: float = 0.0
    ) -> "ScoreGap":
        """Compare scores before and after, from what they would be ``without`` each person (Tukey 1958).

        ``without`` are the scores of both tables less each of their people, in the order of their numbers. On
        average such errors are not too small, whatever the score is (Efron and Stein 1981).
        """
        people = [np.asarray(table.people) for table in (self.before, self.after)]
        everybody, whose = np.unique(np.concatenate(people), return_inverse=True)
        influences = []
        for places, left_out in zip(np.split(whose, [len(self.before)]), without, strict=True):
            influence = np.zeros(len(everybody))
            influence[np.unique(places)] = np.sort(left_out).mean() - left_out
            influences.append(influence)
        before, after = influences
        brought = self.after.take(np.arange(len(self.kept), len(self.after)))
        one_each = np.arange(len(everybody))
        return ScoreGap(
            train=scores[0],
            fresh=self.fresh(*scores),
            worst=worst,
            by_train=before,
            by_fresh=before + (after - before) / self.part,
            groupings=(one_each, one_each),
            n_groups=max(round(min(rows_worth(self.before), rows_worth(brought))), 1),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoreGap:
    """The score of train beside that of fresh rows, each with what every record moves it by.

    ``worst`` is what a copy of train scores. Records of one group in either of two groupings stand or fall
    together.
    """

    train: float
    fresh: float
    worst: float = 0.0
    by_train: Floats  # (n,) influences
    by_fresh: Floats  # (n,)
    groupings: tuple[Indices, Indices]
    n_groups: int

    def attack(self, n: int, confidence: float) -> Estimate:
        """Return the score of train."""
        return self._around(self.train, self.by_train, n, confidence)

    def control(self, n: int, confidence: float) -> Estimate:
        """Return the score of fresh rows, which noise must not carry past what is possible."""
        return self._around(min(max(self.fresh, self.worst), 1.0), self.by_fresh, n, confidence)

    def _around(self, value: float, influence: Floats, n: int, confidence: float) -> Estimate:
        error = grouped_error(influence, *self.groupings)
        return at_most_all(around(value, error, n, groups=self.n_groups, confidence=confidence))

    def risk(self, name: str, n: int, confidence: float) -> Estimate:
        """Return the gap as a part of the larger score, ``1 - train / fresh`` where there is a risk.

        Both are measured from the worst. The interval is Fieller's (1954) for their quotient: it holds where
        the score of fresh rows, of which a small control tells little, is hardly known, and errors propagated
        by derivatives would be far too small. Where the rows tell nothing of the quotient it is all there can
        be.
        """
        train, fresh = self.train - self.worst, self.fresh - self.worst
        if max(train, fresh) <= 0:
            raise NotApplicable(name, "control scores as a copy of train would, a risk has no room.")
        value = relative(fresh / train) if train > 0 else 1.0
        low, high = (relative(end) for end in self._quotient(train, fresh, confidence))
        return Estimate(value=value, low=min(low, value), high=max(high, value), n=n)

    def _quotient(self, train: float, fresh: float, confidence: float) -> tuple[float, float]:
        """Return the quotients ``fresh / train`` between which the rows cannot tell.

        Those for which ``fresh - quotient * train`` is within its error of zero: a quadratic inequality.
        """
        bound = student(self.n_groups, confidence) ** 2
        of_train, of_fresh, of_gap = (
            bound * grouped_error(influence, *self.groupings) ** 2
            for influence in (self.by_train, self.by_fresh, self.by_fresh - self.by_train)
        )
        square, last = train**2 - of_train, fresh**2 - of_fresh
        middle = train * fresh - (of_train + of_fresh - of_gap) / 2
        inside = middle**2 - square * last
        if train <= 0:
            return (math.inf, math.inf) if last > 0 else (0.0, math.inf)
        if square <= 0 and (middle <= 0 or inside < 0):
            return 0.0, math.inf
        root = math.sqrt(max(inside, 0.0))
        low = last / (middle + root) if middle > 0 else (middle - root) / square
        return low, (middle + root) / square if square > 0 else math.inf
