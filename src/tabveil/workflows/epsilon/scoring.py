"""Which world does a release come from? A score learned on some fits, and tested on others.

Score and threshold are chosen on fits that are not tested: what is counted afterwards is then a guess that
was fixed beforehand, and exact bounds hold. Releases from the world with the canary are expected to score
higher, in this one direction: trying both and reporting the better would need a correction.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from tabveil.core.estimate import AreaUnderCurve, Estimate
from tabveil.core.table import Floats, Indices
from tabveil.workflows.epsilon.bounds import Counts

RIDGE = 0.01
"""Added to the variances, relative to their mean: figures that never vary must not decide."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Guess:
    """A weighted sum of what is observed, and from where on it says "with the canary"."""

    weights: Floats  # (k,)
    threshold: float

    @classmethod
    def learn(cls, with_canary: Indices, without: Indices) -> Self:
        """Learn from observations (n, k) of both worlds: Fisher's discriminant, cut where it tells best.

        That is where the share of hits exceeds that of false alarms most. To maximize a bound instead would
        run into the ends of the curve, where a bound is nothing but luck.
        """
        sides = [side.astype(np.float64) for side in (with_canary, without)]
        centered = np.vstack([side - side.mean(axis=0) for side in sides])
        spread = centered.T @ centered / len(centered)  # (k, k)
        spread += RIDGE * (np.trace(spread) / len(spread) or 1.0) * np.eye(len(spread))
        weights = np.linalg.solve(spread, sides[0].mean(axis=0) - sides[1].mean(axis=0))
        return cls(weights=weights, threshold=_best_threshold(*(side @ weights for side in sides)))

    def scores(self, observed: Indices) -> Floats:
        """Return the score of each observation, (n,)."""
        return np.asarray(observed @ self.weights)

    def count(self, with_canary: Indices, without: Indices) -> Counts:
        """Count hits and false alarms of observations that had no part in the learning."""
        hits, alarms = (self.scores(side) >= self.threshold for side in (with_canary, without))
        return Counts(
            hits=int(hits.sum()), n_with=len(hits), false_alarms=int(alarms.sum()), n_without=len(alarms)
        )

    def area(self, with_canary: Indices, without: Indices, confidence: float) -> Estimate:
        """Return the chance that a release with the canary scores higher than one without (ties half)."""
        high, low = self.scores(with_canary), self.scores(without)
        return AreaUnderCurve.of(_wins(high, low), _wins(low, high)).within(confidence)


def _best_threshold(high: Floats, low: Floats) -> float:
    """Return the middle of the gap between scores at which hits exceed false alarms most."""
    scores = np.unique(np.concatenate([high, low]))
    cuts = np.append((scores[:-1] + scores[1:]) / 2, np.inf)  # infinity: never say so
    hits, alarms = (1 - np.searchsorted(np.sort(side), cuts) / len(side) for side in (high, low))
    return float(cuts[int(np.argmax(hits - alarms))])


def _wins(scores: Floats, others: Floats) -> Floats:
    """Return the share of the others that each score is above, ties half, (n,)."""
    ordered = np.sort(others)
    below, not_above = (np.searchsorted(ordered, scores, side=side) for side in ("left", "right"))
    return np.asarray((below + not_above) / 2 / len(others))
