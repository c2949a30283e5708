"""Distance to the closest record and the closest share: do synthetic rows hug the training rows?"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.random import Generator

from tabveil import check
from tabveil.estimate import Estimate, excess, known, share
from tabveil.indicators.closeness import closeness, lying_close, sides
from tabveil.indicators.comparison import (
    ByDistance,
    nearest,
    nearest_other,
    sampling_note,
    summary,
)
from tabveil.neighbors import NearestRows, Space
from tabveil.result import Cost, Labels, Result, Scores, params_of
from tabveil.sampling import draw, in_order
from tabveil.table import Split, Table
from tabveil.wording import share_of

CHANCE = 0.5


@dataclass(frozen=True, kw_only=True)
class DistanceToClosest(ByDistance):
    """How many synthetic rows are as close to a training row as fresh real rows hardly ever are?

    For every synthetic row the distance to its nearest training row is measured. The yardstick is how near
    control rows, fresh real people, come to training rows: ``alpha`` of them, 2 % say, come as near as the
    threshold. Synthetic rows within the threshold are suspiciously close.

    Parameters
    ----------
    alpha
        The share of control rows that sets the threshold (a percentile of their distances).
    direction
        ``"synthetic_to_real"``, or ``"real_to_synthetic"`` as in the papers: from real rows to their nearest
        synthetic row. Then ``attack`` is a share of training rows, and depends on how many synthetic rows
        there are.
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
    ``attack`` is the share of synthetic rows within the threshold, ``control`` that of control rows. ``risk =
    (attack - control) / (1 - control)``: 0 where synthetic rows are like fresh ones, 1 where every one is
    that close. There is no ``baseline``. On tied data, where the threshold is often 0 and many control rows
    sit on it, both ends of the scale still hold.

    Without control rows, one half of train is the reference, the other stands in for fresh rows, and the risk
    is scaled up to all of train. The interval comes from resampling the distances. ``details`` has the median
    and the 5th percentile of the distances between and within the tables; distances near 0 within the
    synthetic rows say that a generator repeats itself.

    References
    ----------
    - Plasencia Palacios, M. N. et al. (2025). Empirical Evaluation of Structured Synthetic Data Privacy
      Metrics: Novel Experimental Framework. arXiv:2512.16284.
    - Platzer, M. and Reutterer, T. (2021). Holdout-Based Empirical Assessment of Mixed-Type Synthetic Data.
      Frontiers in Big Data.
    - Gower, J. C. (1971). A General Coefficient of Similarity and Some of Its Properties. Biometrics.
    """

    alpha: float = 0.02
    direction: Literal["synthetic_to_real", "real_to_synthetic"] = "synthetic_to_real"

    name: ClassVar[str] = "distance_to_closest"
    title: ClassVar[str] = "Distance to the closest record (DCR)"
    cost: ClassVar[Cost] = "quick"
    labels: ClassVar[Labels] = Labels(pillar="indicator", wp29="propensity", mechanism="distance")

    def __post_init__(self) -> None:
        super().__post_init__()
        check.between("DistanceToClosest", "alpha", self.alpha, 0, 1)
        directions = ("synthetic_to_real", "real_to_synthetic")
        check.one_of("DistanceToClosest", "direction", self.direction, directions)

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Compare the distances."""
        compared = sides(self.name, split, self.direction, rng=rng)
        space = self.space(split)
        attacked, fresh = (
            nearest(space, compared.reference, rows).distance[:, 0]
            for rows in (compared.attacked.table, compared.fresh)
        )
        found = closeness(
            self.name,
            attacked,
            fresh,
            alpha=self.alpha,
            reference_share=compared.reference_share,
            confidence=self.confidence,
            rng=rng,
        )
        return Result(
            metric=self.name,
            labels=self.labels,
            params=params_of(self),
            risk=found.risk,
            attack=found.attack,
            control=found.control,
            details={
                "threshold": found.threshold,
                "attacked": summary(attacked),
                "fresh": summary(fresh),
                "within_train": _within(space, split.train),
                "within_control": _within(space, split.control),
                "within_synthetic": _within(space, split.synthetic),
            },
            notes=compared.notes,
            scores=(Scores(table=compared.role, rows=compared.attacked.rows, values=-attacked),),
        )

    def sentence(self, result: Result) -> str:
        """Tell how many rows lie very close."""
        return lying_close(result, self.alpha, turned=self.direction == "real_to_synthetic")


def _within(space: Space, table: Table) -> dict[str, float] | None:
    """Return how far rows of one table are apart (near 0 where a generator repeats itself)."""
    return summary(nearest_other(space, table).distance[:, 0]) if len(table) > 1 else None


@dataclass(frozen=True, kw_only=True)
class ClosestShare(ByDistance):
    """Are synthetic rows closer to training people than to people never seen?

    For every synthetic row it is asked which is nearer: a training row or one of equally many control rows.
    If the generator learned about people in general and not about its training people, either is nearer in
    one half of the cases.

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
    ``attack`` is the share of synthetic rows nearer to a training row, ties half; ``control`` is the one half
    expected by chance. ``risk = (attack - 1/2) / (1/2)``: 0 where synthetic rows are as near to people never
    seen, 1 where all are nearer to training people. There is no ``baseline``.

    The larger of the two real tables is sampled down to the size of the smaller. Synthetic rows whose nearest
    real row is the same win or lose together, so the interval counts how many independent rows they are
    worth.

    References
    ----------
    - Platzer, M. and Reutterer, T. (2021). Holdout-Based Empirical Assessment of Mixed-Type Synthetic Data.
      Frontiers in Big Data.
    - Gower, J. C. (1971). A General Coefficient of Similarity and Some of Its Properties. Biometrics.
    """

    name: ClassVar[str] = "closest_share"
    title: ClassVar[str] = "Share closer to train"
    cost: ClassVar[Cost] = "quick"
    labels: ClassVar[Labels] = Labels(pillar="indicator", wp29="propensity", mechanism="distance")

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Compare each row's two distances."""
        split.require_control(self.name)
        n = min(len(split.train), len(split.control))
        synthetic, space = in_order(split.synthetic), self.space(split)
        to_train, to_control = (
            nearest(space, draw(table, n, rng=rng).table, synthetic.table, min(n, 2))
            for table in (split.train, split.control)
        )
        attack = _share(to_train, to_control, n, self.confidence)
        gain = to_control.distance[:, 0] - to_train.distance[:, 0]
        return Result(
            metric=self.name,
            labels=self.labels,
            params=params_of(self),
            risk=excess(attack, known(CHANCE, n)),
            attack=attack,
            control=known(CHANCE, n),
            details={
                "nearer_to_train": int(np.sum(gain > 0)),
                "nearer_to_control": int(np.sum(gain < 0)),
                "ties": int(np.sum(gain == 0)),
                "n_rows": n,
            },
            notes=sampling_note(n, train=split.train, control=split.control),
            scores=(Scores(table="synthetic", rows=synthetic.rows, values=gain),),
        )

    def sentence(self, result: Result) -> str:
        """Tell how many rows are nearer to train."""
        return (
            f"{share_of(result.attack)} of synthetic rows are nearer to a training row than to a row the "
            "generator never saw; chance alone gives 50%."
        )


def _share(to_train: NearestRows, to_control: NearestRows, n_real: int, confidence: float) -> Estimate:
    """Return the share of rows nearer to train, between Wilson's bounds for the untied rows.

    Given the rows, only the label (train or control) of the nearest real row is chance. So the 2n real rows
    are the observations, each with the synthetic rows it owns, and the noise is the sum of squares of what
    they own. As exactly half of them are train, were all to own equally many there would be no noise at all:
    what the rows with a single nearest real row own on average is taken off. (Where several real rows are
    equally near, the outcome hangs on all their labels; nothing is taken off for those.)
    """
    gain = to_control.distance[:, 0] - to_train.distance[:, 0]
    n, untied = len(gain), int(np.sum(gain != 0))
    if untied == 0:
        return share(CHANCE, n, effective=1, confidence=confidence)
    owner = np.where(gain > 0, to_train.index[:, 0], to_control.index[:, 0] + n_real)
    owned = np.bincount(owner[gain != 0], minlength=2 * n_real).astype(np.float64)  # (2n,)
    nearer = np.where((gain > 0)[:, None], to_train.distance, to_control.distance)  # (m, 1 or 2)
    single = int(np.sum((gain != 0) & (nearer[:, 0] < nearer[:, -1]))) if n_real > 1 else 0
    noise = (float((owned**2).sum()) - single**2 / (2 * n_real)) * (2 * n_real) / (2 * n_real - 1)
    effective = untied**2 / max(noise, 1.0)
    nearer_share = float(np.sum(gain > 0)) / untied
    won = share(nearer_share, untied, effective=effective, confidence=confidence)
    ties, part = (n - untied) / n * CHANCE, untied / n
    return Estimate(
        value=ties + part * won.value, low=ties + part * won.low, high=ties + part * won.high, n=n
    )
