"""Nearest neighbor adversarial accuracy: can real and synthetic rows be told apart by their neighbors?"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tabveil.errors import NotApplicable
from tabveil.estimate import Estimate, around, grouped_error
from tabveil.indicators.comparison import ByDistance, nearest, nearest_other, sampling_note
from tabveil.neighbors import Space
from tabveil.result import Cost, Labels, Result, Scores, params_of
from tabveil.sampling import Sample, draw
from tabveil.table import Floats, Indices, Split
from tabveil.wording import value_of


@dataclass(frozen=True, kw_only=True)
class AdversarialAccuracy(ByDistance):
    """Is the release more entangled with the training rows than with rows never seen?

    Mixes real and synthetic rows and asks of each whether its nearest other row is of its own kind. If real
    and synthetic rows are like draws of one population, the answer is yes in one half of the cases. If
    synthetic rows are copies, the nearest row is nearly always of the other kind. Done once with training
    rows and once with control rows.

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
    On equal numbers of real (R) and synthetic (S) rows ``AA = (mean[d_RS > d_RR] + mean[d_SR > d_SS]) / 2``
    with nearest distances between and within the tables, a row never its own neighbor, ties half. ``attack``
    is AA with training rows, ``control`` with control rows; 0.5: not to be told apart; 0: every row's nearest
    is its copy (here *lower* is worse). There is no ``baseline``.

    ``risk = 1 - attack / control``: 1 for a copy, 0 where training rows are like control rows. The paper's
    privacy loss, ``control - attack``, is the same gap on another scale and is in ``details``. Rows that are
    each other's nearest neighbor, and synthetic rows near one real row, are right or wrong together; errors
    are computed by sets of real rows linked through their nearest neighbors.

    References
    ----------
    - Yale, A., Dash, S., Dutta, R., Guyon, I., Pavao, A. and Bennett, K. P. (2020). Generation and Evaluation
      of Privacy Preserving Synthetic Health Data. Neurocomputing.
    """

    name: ClassVar[str] = "adversarial_accuracy"
    title: ClassVar[str] = "Adversarial accuracy (NNAA)"
    cost: ClassVar[Cost] = "quick"
    labels: ClassVar[Labels] = Labels(pillar="indicator", wp29="propensity", mechanism="distance")

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Compare train with control."""
        split.require_control(self.name, 2)
        n = min(len(split.train), len(split.control), len(split.synthetic))
        if n < 2:  # noqa: PLR2004 - a row is never its own neighbor
            raise NotApplicable(f"{self.name}: needs two rows in every table.")
        synthetic, space = draw(split.synthetic, n, rng=rng), self.space(split)
        within = nearest_other(space, synthetic.table).distance[:, 0]
        train, control = (
            _entanglement(space, draw(table, n, rng=rng), synthetic, within)
            for table in (split.train, split.control)
        )
        if min(train.n_groups, control.n_groups) < 2:  # noqa: PLR2004 - nothing varies
            raise NotApplicable(
                f"{self.name}: all real rows are each other's neighbors, no error can be given."
            )
        if control.accuracy == 0:
            raise NotApplicable(f"{self.name}: the synthetic rows are copies of control rows.")
        return Result(
            metric=self.name,
            labels=self.labels,
            params=params_of(self),
            risk=_risk(train, control, self.confidence),
            attack=train.estimate(self.confidence),
            control=control.estimate(self.confidence),
            details={
                "privacy_loss": control.accuracy - train.accuracy,
                "train": {"real_side": train.real_side, "synthetic_side": train.synthetic_side},
                "control": {"real_side": control.real_side, "synthetic_side": control.synthetic_side},
                "n_rows": n,
            },
            notes=sampling_note(n, train=split.train, control=split.control, synthetic=split.synthetic),
            scores=(Scores(table="synthetic", rows=synthetic.rows, values=within - train.distance),),
        )

    def sentence(self, result: Result) -> str:
        """Tell the two accuracies."""
        return (
            f"Neighbors tell synthetic rows from training rows with accuracy {value_of(result.attack)}, from "
            f"rows never seen with {value_of(result.control)}. 0.5: not to be told apart; 0: every row has "
            "its copy."
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Entanglement:
    """Real rows of one kind against the synthetic rows."""

    real_right: Floats  # (n,) 1 where a real row is nearer to its own kind
    synthetic_right: Floats  # (n,) likewise for the synthetic rows
    distance: Floats  # (n,) from each synthetic row to its nearest real row
    real_group: Indices  # (n,) real rows linked through nearest neighbors
    synthetic_group: Indices  # (n,) the group of the nearest real row

    @property
    def real_side(self) -> float:
        return float(self.real_right.mean())  # sums of halves are exact: order does not matter

    @property
    def synthetic_side(self) -> float:
        return float(self.synthetic_right.mean())

    @property
    def accuracy(self) -> float:
        return (self.real_side + self.synthetic_side) / 2

    @property
    def n_groups(self) -> int:
        return int(self.real_group.max()) + 1

    def influences(self) -> tuple[Floats, Floats]:
        """Return what each real and each synthetic row moves the accuracy by."""
        n = len(self.real_right)
        return (
            (self.real_right - self.real_side) / (2 * n),
            (self.synthetic_right - self.synthetic_side) / (2 * n),
        )

    def estimate(self, confidence: float) -> Estimate:
        error = grouped_error(
            np.concatenate(self.influences()), np.concatenate([self.real_group, self.synthetic_group])
        )
        n = len(self.real_right)
        return around(self.accuracy, error, n, groups=self.n_groups, confidence=confidence)


def _entanglement(space: Space, real: Sample, synthetic: Sample, within_synthetic: Floats) -> _Entanglement:
    to_synthetic = nearest(space, synthetic.table, real.table)
    to_real = nearest(space, real.table, synthetic.table)
    within_real = nearest_other(space, real.table)
    group = _linked(within_real.index[:, 0])
    return _Entanglement(
        real_right=_farther(to_synthetic.distance[:, 0], within_real.distance[:, 0]),
        synthetic_right=_farther(to_real.distance[:, 0], within_synthetic),
        distance=to_real.distance[:, 0],
        real_group=group,
        synthetic_group=group[to_real.index[:, 0]],
    )


def _farther(distance: Floats, other: Floats) -> Floats:
    return np.asarray((distance > other) + (distance == other) / 2)


def _linked(neighbor: Indices) -> Indices:
    """Give one number to all rows connected by 'is the nearest neighbor of'."""
    n = len(neighbor)
    links = coo_array((np.ones(n), (np.arange(n), neighbor)), shape=(n, n))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)


def _risk(train: _Entanglement, control: _Entanglement, confidence: float) -> Estimate:
    """Return the gap relative to control with the error of the quotient, linearized.

    A real row belongs to a set on its own side only; a synthetic row to one of train and to one of control.
    """
    n = len(train.real_right)
    by_train, by_control = train.influences(), control.influences()
    relative = train.accuracy / control.accuracy
    influence = np.concatenate(
        [
            -by_train[0] / control.accuracy,
            relative * by_control[0] / control.accuracy,
            (relative * by_control[1] - by_train[1]) / control.accuracy,
        ]
    )
    alone = np.arange(n) + n  # numbers no set has
    error = grouped_error(
        influence,
        np.concatenate([train.real_group, alone, train.synthetic_group]),
        np.concatenate([alone, control.real_group, control.synthetic_group]),
    )
    groups = min(train.n_groups, control.n_groups)
    return around(1 - relative, error, n, groups=groups, confidence=confidence)
