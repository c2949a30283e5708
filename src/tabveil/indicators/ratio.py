"""Nearest neighbor distance ratio: does a synthetic row point at one person, or at a crowd?"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tabveil.errors import NotApplicable
from tabveil.estimate import Estimate, around, grouped_error
from tabveil.indicators.comparison import ByDistance, nearest, sampling_note, summary
from tabveil.neighbors import NearestRows
from tabveil.result import Cost, Labels, Result, Scores, params_of
from tabveil.sampling import draw, group_equal_rows, in_order
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
    ``attack`` is the mean ratio to training records, ``control`` that to equally many control records (here
    *lower* is worse). ``risk = 1 - attack / control``: 1 where every row sits on a training record, 0 where
    training records are like control records. There is no ``baseline``.

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
        n = min(len(split.train), len(split.control))
        synthetic, space = in_order(split.synthetic), self.space(split)
        sides = []
        for role in ("train", "control"):
            records = _different(draw(getattr(split, role), n, rng=rng).table)
            if len(records) < 2:  # noqa: PLR2004 - a nearest and a second nearest
                raise NotApplicable(f"{self.name}: needs two different {role} rows.")
            sides.append(nearest(space, records, synthetic.table, 2))
        ratios = _ratio(sides[0]), _ratio(sides[1])
        if not ratios[1].any():
            raise NotApplicable(
                f"{self.name}: every synthetic row equals a control row, the ratio is 0 there."
            )
        owners = sides[0].index[:, 0], sides[1].index[:, 0]
        if min(len(np.unique(owner)) for owner in owners) < 2:  # noqa: PLR2004 - nothing varies
            raise NotApplicable(f"{self.name}: all synthetic rows have the same nearest real row.")
        return Result(
            metric=self.name,
            labels=self.labels,
            params=params_of(self),
            risk=_risk(ratios, owners, self.confidence),
            attack=_mean(ratios[0], owners[0], self.confidence),
            control=_mean(ratios[1], owners[1], self.confidence),
            details={"to_train": summary(ratios[0]), "to_control": summary(ratios[1]), "n_rows": n},
            notes=sampling_note(n, train=split.train, control=split.control),
            scores=(Scores(table="synthetic", rows=synthetic.rows, values=1 - ratios[0]),),
        )

    def sentence(self, result: Result) -> str:
        """Tell the two ratios."""
        return (
            "The distance to the nearest record, divided by that to the second nearest, is "
            f"{value_of(result.attack)} on average among training records and "
            f"{value_of(result.control)} among records never seen. Near 0 a synthetic row points at one "
            "record, near 1 at none in particular."
        )


def _different(table: Table) -> Table:
    """Keep one of each set of equal rows."""
    _, first = np.unique(group_equal_rows(table)[0], return_index=True)
    return table.take(np.sort(first))


def _ratio(found: NearestRows) -> Floats:
    first, second = found.distance[:, 0], found.distance[:, 1]
    return np.where(second > 0, first / np.where(second > 0, second, 1.0), 1.0)


def _mean(ratio: Floats, owner: Indices, confidence: float) -> Estimate:
    value = float(np.sort(ratio).mean())
    error = grouped_error((ratio - value) / len(ratio), owner)
    return around(value, error, len(ratio), groups=len(np.unique(owner)), confidence=confidence)


def _risk(ratios: tuple[Floats, Floats], owners: tuple[Indices, Indices], confidence: float) -> Estimate:
    """Return ``1 - mean(train) / mean(control)`` with the error of that quotient, linearized."""
    train, control = (float(np.sort(ratio).mean()) for ratio in ratios)
    influence = (train * (ratios[1] - control) / control - (ratios[0] - train)) / control / len(ratios[0])
    groups = min(len(np.unique(owner)) for owner in owners)
    error = grouped_error(influence, *owners)
    return around(1 - train / control, error, len(influence), groups=groups, confidence=confidence)
