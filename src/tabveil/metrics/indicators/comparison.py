"""What the indicators share: a confidence, a distance, the neighbors in it, the end of the scale."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.estimate import CONFIDENCE, Estimate
from tabveil.core.result import Result, Threat
from tabveil.core.sampling import in_order
from tabveil.core.table import Floats, Split, Table
from tabveil.engines.neighbors import NearestRows, NearPeople, Neighbors, Space
from tabveil.engines.representation import Euclidean, Mixed
from tabveil.protocols import View


@dataclass(frozen=True, kw_only=True)
class Indicator:
    """A confidence level as a parameter; whatever interval an indicator reports is made at this level."""

    confidence: float = CONFIDENCE

    def __post_init__(self) -> None:
        check.between(type(self).__name__, "confidence", self.confidence, 0.5, 1)

    def threat(self, result: Result) -> Threat | None:  # noqa: ARG002 - nobody attacks
        """Say that there is no attacker: an indicator is a diagnosis."""
        return None


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
    return replace(
        estimate, value=min(estimate.value, 1.0), low=min(estimate.low, 1.0), high=min(estimate.high, 1.0)
    )


def relative(quotient: float) -> float:
    """Return the gap between two scores as a part of the larger, from how many times the first is the second.

    From 1, where the first is nothing beside the second, to -1, where the second is; noise that carries it
    below nothing is left out.

    >>> relative(2.0), relative(0.5), relative(-3.0)
    (0.5, -0.5, -1.0)
    """
    return 1 - 1 / quotient if quotient > 1 else max(quotient, 0.0) - 1


def nearest(space: Space, reference: Table, queries: Table, n_neighbors: int = 1) -> NearestRows:
    """Find the nearest reference rows; of several neighbors each must be of another person."""
    if reference.people is None or n_neighbors == 1:
        return Neighbors(space, reference).nearest(queries, n_neighbors)
    return NearPeople(space, reference).nearest(queries, n_neighbors)


def nearest_other(space: Space, reference: Table, n_neighbors: int = 1) -> NearestRows:
    """Likewise within one table, where a row is never its own neighbor, nor its person's."""
    if reference.people is None:
        return Neighbors(space, reference).nearest_other(n_neighbors)
    return NearPeople(space, reference).nearest_other(n_neighbors)


def without_people(synthetic: Table) -> Table:
    """Take the rows of a release as they are: nobody is behind several of them."""
    return synthetic if synthetic.people is None else replace(synthetic, people=None)


def summary(distances: Floats) -> dict[str, float]:
    """Return the two figures the papers give for a set of distances."""
    low, middle = np.quantile(distances, [0.05, 0.5])
    return {"median": float(middle), "percentile_5": float(low)}
