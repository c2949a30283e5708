"""k nearest neighbors: DCR with the mean distance to several training rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.estimate import sidak, strongest
from tabveil.core.result import Cost, Labels, Result, Scores, params_of
from tabveil.core.table import Floats, Split
from tabveil.errors import NotApplicable
from tabveil.metrics.indicators.closeness import ComparedRows, closeness, lying_close, sides
from tabveil.metrics.indicators.comparison import ByDistance, nearest, summary


@dataclass(frozen=True, kw_only=True)
class NearestNeighbors(ByDistance):
    """Do synthetic rows lie closer to groups of training rows than fresh real rows do?

    As :class:`DistanceToClosest`, with the mean distance to several
    nearest training rows instead of one. A synthetic row close to a whole group of training people tells less
    about one of them, but shows that the generator follows its training rows.

    Parameters
    ----------
    n_neighbors
        How many nearest rows the mean is taken over (k); each number is a configuration.
    alpha
        The share of control rows that sets the threshold (a percentile of their mean distances).
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
    that close. There is no ``baseline``. Without control rows, one half of train is the reference, the other
    stands in for fresh rows, and the risk is scaled up to all of train.

    Intervals hold for all k together (Šidák); the headline is the k with the largest lower bound, and every k
    is in ``details``. The upper bound is the largest over all k: what one rules out, another may not. A k
    larger than the number of training rows is left out, with a note.

    References
    ----------
    - Plasencia Palacios, M. N. et al. (2025). Empirical Evaluation of Structured Synthetic Data Privacy
      Metrics: Novel Experimental Framework. arXiv:2512.16284.
    - Gower, J. C. (1971). A General Coefficient of Similarity and Some of Its Properties. Biometrics.
    """

    n_neighbors: Sequence[int] = (1, 2, 3, 5, 10)
    alpha: float = 0.02

    name: ClassVar[str] = "nearest_neighbors"
    title: ClassVar[str] = "Distance to several neighbors (k-NN)"
    cost: ClassVar[Cost] = "quick"
    labels: ClassVar[Labels] = Labels(pillar="indicator", wp29="propensity", mechanism="distance")

    def __post_init__(self) -> None:
        super().__post_init__()
        check.between("NearestNeighbors", "alpha", self.alpha, 0, 1)
        check.at_least("NearestNeighbors", "number of n_neighbors", len(self.n_neighbors), 1)
        check.at_least("NearestNeighbors", "n_neighbors", min(self.n_neighbors), 1)
        object.__setattr__(self, "n_neighbors", tuple(sorted(set(self.n_neighbors))))

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Compare the distances for every k."""
        compared = sides(self.name, split, rng=rng)
        ks, notes = self._possible(compared)
        space = self.space(split)
        attacked, fresh = (
            _means(nearest(space, compared.reference, rows, ks[-1]).distance)
            for rows in (compared.attacked.table, compared.fresh)
        )
        level = sidak(self.confidence, len(ks))
        found = {
            str(k): closeness(
                self.name,
                attacked[:, k - 1],
                fresh[:, k - 1],
                alpha=self.alpha,
                worth=compared.worth,
                reference_share=compared.reference_share,
                confidence=level,
                rng=rng,
            )
            for k in ks
        }
        best = strongest({k: item.risk for k, item in found.items()})
        return Result(
            metric=self.name,
            labels=self.labels,
            params=params_of(self),
            risk=replace(found[best].risk, high=max(item.risk.high for item in found.values())),
            attack=found[best].attack,
            control=found[best].control,
            details={
                "n_neighbors": int(best),
                "confidence_of_each": level,
                "by_n_neighbors": {
                    str(k): {
                        "risk": found[str(k)].risk,
                        "threshold": found[str(k)].threshold,
                        "attacked": summary(attacked[:, k - 1]),
                        "fresh": summary(fresh[:, k - 1]),
                    }
                    for k in ks
                },
            },
            notes=notes,
            scores=(
                Scores(table="synthetic", rows=compared.attacked.rows, values=-attacked[:, int(best) - 1]),
            ),
        )

    def sentence(self, result: Result) -> str:
        """Tell how many rows lie very close."""
        return lying_close(result, self.alpha, n_neighbors=result.details["n_neighbors"])

    def _possible(self, compared: ComparedRows) -> tuple[list[int], tuple[str, ...]]:
        """Return the numbers of neighbors there can be, and a note on those there cannot."""
        n, whose = compared.reference.n_people, "rows" if compared.reference.people is None else "people"
        ks = [k for k in self.n_neighbors if k <= n]
        if not ks:
            raise NotApplicable(f"{self.name}: train has only {n} {whose} to compare with.")
        if len(ks) == len(self.n_neighbors):
            return ks, compared.notes
        too_many = ", ".join(str(k) for k in self.n_neighbors if k > n)
        return ks, (*compared.notes, f"Left out, since only {n} train {whose} are compared: k = {too_many}.")


def _means(distances: Floats) -> Floats:
    """Return the mean of the first k distances in column k - 1."""
    means = np.cumsum(distances, axis=1) / np.arange(1, distances.shape[1] + 1)
    return np.round(means, 12)  # equal distances give equal means
