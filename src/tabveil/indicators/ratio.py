"""Nearest neighbor distance ratio: does a synthetic row point at one person, or at a crowd?"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tabveil.errors import NotApplicable
from tabveil.indicators.comparison import ByDistance, nearest, summary
from tabveil.indicators.exchange import Exchange, Gap
from tabveil.neighbors import NearestRows, Space
from tabveil.result import Cost, Labels, Result, Scores, params_of
from tabveil.sampling import group_equal_rows, in_order
from tabveil.table import Floats, Indices, Split, Table
from tabveil.wording import value_of


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
    cost: ClassVar[Cost] = "quick"
    labels: ClassVar[Labels] = Labels(pillar="indicator", wp29="propensity", mechanism="distance")

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Compare the ratios."""
        split.require_control(self.name, 2)
        synthetic, space = in_order(split.synthetic), self.space(split)
        exchange = Exchange.of(split.train, split.control, rng=rng)
        sides = []
        for role, table in (("train", exchange.before), ("control", exchange.after)):
            records = _different(table)
            if len(records) < 2:  # noqa: PLR2004 - a nearest and a second nearest
                raise NotApplicable(f"{self.name}: needs two different {role} rows.")
            sides.append(nearest(space, records, synthetic.table, 2))
        before, after = _ratio(sides[0]), _ratio(sides[1])
        gap = _gap(before, after, (sides[0].index[:, 0], sides[1].index[:, 0]), exchange)
        if gap.n_groups < 2:  # noqa: PLR2004 - nothing varies
            raise NotApplicable(f"{self.name}: all synthetic rows have the same nearest real row.")
        return Result(
            metric=self.name,
            labels=self.labels,
            params=params_of(self),
            risk=gap.risk(self.name, len(before), self.confidence),
            attack=gap.attack(len(before), self.confidence),
            control=gap.control(len(before), self.confidence),
            details={
                "to_train": summary(before),
                "to_control": summary(
                    after if exchange.part == 1 else _to_control(space, split.control, synthetic.table)
                ),
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


def _gap(before: Floats, after: Floats, owners: tuple[Indices, Indices], exchange: Exchange) -> Gap:
    """Compare the ratios of the synthetic rows, (m,), before and after training rows were exchanged."""
    fresh = before + (after - before) / exchange.part
    means = [float(np.sort(ratio).mean()) for ratio in (before, fresh)]  # in no order of the rows
    return Gap(
        train=means[0],
        fresh=means[1],
        by_train=(before - means[0]) / len(before),
        by_fresh=(fresh - means[1]) / len(before),
        groupings=owners,
        n_groups=min(len(np.unique(owner)) for owner in owners),
    )


def _to_control(space: Space, control: Table, synthetic: Table) -> Floats:
    """Return the ratios to the control records alone, as few as they are: ratios hang little on numbers."""
    records = _different(in_order(control).table)
    return _ratio(nearest(space, records, synthetic, min(2, len(records))))


def _different(table: Table) -> Table:
    """Keep one of each set of equal rows."""
    _, first = np.unique(group_equal_rows(table)[0], return_index=True)
    return table.take(np.sort(first))


def _ratio(found: NearestRows) -> Floats:
    first, second = found.distance[:, 0], found.distance[:, -1]
    return np.where(second > 0, first / np.where(second > 0, second, 1.0), 1.0)
