"""The attacker's model: ridge regression of who was in on what releases say, in its dual form.

There are many more features than fits, so everything is done with the products of fits, (n, n). How strongly
to shrink is chosen by the error on each fit when it is left out, which costs nothing more.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from tabveil.core.table import Floats

SHRINKAGES = 10.0 ** np.arange(-3.0, 4.0)
"""In units of the mean square of a fit."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Ridge:
    """A fitted model: scores of further fits are sums over their features."""

    center: Floats  # (p,)
    weights: Floats  # (p,), 0 for what never varied
    mean: float

    @classmethod
    def fit(cls, features: Floats, labels: Floats) -> Self:
        """Learn from fits (n, p) and their labels (n,)."""
        center, spread = features.mean(axis=0), features.std(axis=0)
        scale = np.where(spread > 1e-9 * np.maximum(np.abs(center), 1.0), 1 / np.maximum(spread, 1e-300), 0.0)
        scaled = (features - center) * scale
        mean = float(labels.mean())
        values, vectors = np.linalg.eigh(scaled @ scaled.T)
        values = np.maximum(values, 0.0)
        unit = float(values.mean())
        if unit == 0:
            return cls(center=center, weights=np.zeros(len(center)), mean=mean)
        turned = vectors.T @ (labels - mean)
        best = min(
            SHRINKAGES,
            key=lambda shrinkage: _left_out(values, vectors, turned, labels - mean, shrinkage * unit),
        )
        dual = vectors @ (turned / (values + best * unit))
        return cls(center=center, weights=scale * (scaled.T @ dual), mean=mean)

    def score(self, features: Floats) -> Floats:
        """Return the score of each fit (n,); higher is more like a member's."""
        return np.asarray(self.mean + (features - self.center) @ self.weights)


def _left_out(values: Floats, vectors: Floats, turned: Floats, labels: Floats, shrinkage: float) -> float:
    """Return the mean square error on fits that are left out; the mean is left out with them."""
    kept = values / (values + shrinkage)
    fitted = vectors @ (kept * turned)
    leverage = (vectors**2) @ kept + 1 / len(labels)
    return float(np.mean(((labels - fitted) / np.maximum(1 - leverage, 1e-6)) ** 2))
