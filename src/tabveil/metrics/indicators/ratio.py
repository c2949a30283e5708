"""Nearest neighbor distance ratio: does a synthetic row point at one person, or at a crowd?"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tabveil.core.people import numbered, require_people
from tabveil.core.result import Result, Scores, params_of
from tabveil.core.sampling import group_equal_rows, in_order
from tabveil.core.table import Floats, Indices, Split, Table
from tabveil.core.wording import value_of
from tabveil.engines.neighbors import NearestRows
from tabveil.errors import NotApplicable
from tabveil.metrics.indicators.comparison import (
    ByDistance,
    Exchange,
    ScoreGap,
    nearest,
    summary,
    without_people,
)

COUNTED = {2: "two", 3: "three"}


@dataclass(frozen=True, kw_only=True)
class NeighborDistanceRatio(ByDistance):
    """Do synthetic rows sit on one training record each, rather than between several?

    For each synthetic row the distance to the nearest training record is divided by the distance to the
    second nearest. Near 0 the row points at one person, near 1 at nobody in particular.

    Parameters
    ----------
    distance
        Gower's distance, made for numbers and categories side by side (0: equal, 1: as different as can be in
        every column), or the Euclidean one.
    encoding
        How the Euclidean distance reads categories: one column for each (``"onehot"``), or numbered in order
        (``"ordinal"``).
    confidence
        The level of all intervals: at 0.95, 95 of 100 such intervals hold the true value.

    Notes
    -----
    ``attack`` is the mean ratio to training records, ``control`` that to as many records never seen (here
    *lower* is worse). ``risk = 1 - attack / control``: 1 where every row sits on a training record, 0 where
    training records are like control records, and ``control / attack - 1`` below that. There is no
    ``baseline``.

    Where control is smaller than train, as many training rows as there are control rows are exchanged for
    these, and ``control`` is the mean ratio scaled to an exchange of all: the more unlike the sizes, the
    wider the interval, but a copy reads 1 and fresh rows about 0. A larger control is sampled down.

    Records are *different* rows: where a record occurs twice, its twin does not count as the second nearest.
    Otherwise a copy of a common row would have the ratio 0/0, and a copied table of few levels would look
    less risky than a fresh one. Two different records at distance zero (possible only where a column does not
    count) give the ratio 1. Rows near one record share their fate, so errors are computed by nearest record.

    References
    ----------
    - Zhao, Z., Kunar, A., Birke, R. and Chen, L. Y. (2021). CTAB-GAN: Effective Table Data Synthesizing.
      Asian Conference on Machine Learning.
    - Steier, A., Ramaswamy, L., Manoel, A. and Haushalter, A. (2025). Synthetic Data Privacy Metrics.
      arXiv:2501.03941.
    """

    name: ClassVar[str] = "neighbor_distance_ratio"
    title: ClassVar[str] = "Neighbor distance ratio (NNDR)"

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Compare the ratios."""
        split.require_control(self.name, 2)
        require_people(self.name, split, self.confidence)
        synthetic, space = in_order(without_people(split.synthetic)), self.space(split)
        exchange = Exchange.of(split.train, split.control, rng=rng)
        sides = []
        for role, table in (("train", exchange.before), ("control", exchange.after)):
            records = _different(table)
            n, whose = (2, "rows") if records.people is None else (3, "people")  # one may be left out
            if records.n_people < n:
                raise NotApplicable(self.name, f"needs {COUNTED[n]} different {role} {whose}.")
            sides.append(_NearRecords(records=records, found=nearest(space, records, synthetic.table, n)))
        before, to_control = sides[0].ratio, sides[1].ratio
        gap = _gap(sides[0], sides[1], exchange)
        if gap.n_groups < 2:  # noqa: PLR2004 - nothing varies
            raise NotApplicable(self.name, "all synthetic rows have the same nearest real row.")
        if exchange.part < 1:  # as few as control records are: ratios hang little on numbers
            records = _different(in_order(split.control).table)
            near = nearest(space, records, synthetic.table, min(2, records.n_people)).distance
            to_control = _quotient(near[:, 0], near[:, -1])
        return Result(
            metric=self.name,
            labels=self.labels,
            params=params_of(self),
            risk=gap.risk(self.name, len(before), self.confidence),
            attack=gap.attack(len(before), self.confidence),
            control=gap.control(len(before), self.confidence),
            details={
                "to_train": summary(before),
                "to_control": summary(to_control),
                "n_train": len(split.train),
                "n_control": len(split.control),
            },
            notes=exchange.note(),
            scores=(Scores(table="synthetic", rows=synthetic.rows, values=1 - before),),
        )

    def sentence(self, result: Result) -> str:
        """Tell the two ratios."""
        return (
            "The distance to the nearest record, divided by that to the second nearest, is "
            f"{value_of(result.attack)} on average among training records and "
            f"{value_of(result.control)} among records never seen. Near 0 a synthetic row points at one "
            "record, near 1 at none in particular."
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class _NearRecords:
    """The records next to each synthetic row: two, or three where each must be of another person."""

    records: Table
    found: NearestRows

    @property
    def ratio(self) -> Floats:
        return _quotient(self.found.distance[:, 0], self.found.distance[:, 1])

    @property
    def mean(self) -> float:
        return float(np.sort(self.ratio).mean())  # in no order of the rows

    @property
    def owner(self) -> Indices:
        return self.found.index[:, 0]

    def without_each(self, n_people: int) -> Floats:
        """Return the mean ratio were each person's records not there, (n_people,).

        Without the nearest person the next two count, and without the second the third.
        """
        first, second, third = self.found.distance.T
        owner = np.asarray(self.records.people)[self.found.index]
        lost = np.zeros(int(owner.max()) + 1 + n_people)
        for place, ratio in enumerate((_quotient(second, third), _quotient(first, third))):
            change = ratio - self.ratio
            order = np.lexsort((change, owner[:, place]))  # sums must not depend on the order of the rows
            lost += np.bincount(owner[order, place], weights=change[order], minlength=len(lost))
        return self.mean + lost[:n_people] / len(owner)


def _gap(before: _NearRecords, after: _NearRecords, exchange: Exchange) -> ScoreGap:
    """Compare the ratios of the synthetic rows, (m,), before and after training rows were exchanged."""
    if exchange.before.people is not None:
        without = (
            before.without_each(exchange.before.n_people),
            after.without_each(exchange.after.n_people),
        )
        return exchange.gap_of_people((before.mean, after.mean), without)
    ratio, m = before.ratio, len(before.ratio)
    fresh = ratio + (after.ratio - ratio) / exchange.part
    mean = float(np.sort(fresh).mean())
    return ScoreGap(
        train=before.mean,
        fresh=mean,
        by_train=(ratio - before.mean) / m,
        by_fresh=(fresh - mean) / m,
        groupings=(before.owner, after.owner),
        n_groups=min(len(np.unique(side.owner)) for side in (before, after)),
    )


def _different(table: Table) -> Table:
    """Keep one of each set of equal rows, as its person's; one that several people have is nobody's."""
    group = group_equal_rows(table)[0]
    _, first = np.unique(group, return_index=True)
    if table.people is not None:
        whose, n_people = numbered(table), table.n_people
        shared = np.bincount(np.unique(group * n_people + whose) // n_people) > 1
        table = replace(table, people=np.where(shared[group], n_people + group, whose))
    return table.take(np.sort(first))


def _quotient(first: Floats, second: Floats) -> Floats:
    return np.where(second > 0, first / np.where(second > 0, second, 1.0), 1.0)
