"""What the indicators share: which distance, the neighbors in it, what they say of sampling."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tabveil import check
from tabveil.estimate import CONFIDENCE
from tabveil.neighbors import NearestRows, Neighbors, Space
from tabveil.result import Result, Threat
from tabveil.sampling import in_order
from tabveil.table import Floats, Split, Table


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

    def space(self, split: Split) -> Space:
        """Return the distance for these tables."""
        if self.distance == "gower":
            return Space.gower(split.schema)
        return Space.euclidean(in_order(split.train).table, self.encoding)


def sampling_note(n_rows: int, **tables: Table) -> tuple[str, ...]:
    """Say which tables were sampled down, and what that hides."""
    larger = [f"{role} ({len(table)})" for role, table in tables.items() if len(table) > n_rows]
    if not larger:
        return ()
    note = f"Compared on {n_rows} rows of each; sampled down: {', '.join(larger)}. "
    return (note + "What was leaked from rows outside the sample is not seen.",)


def nearest(space: Space, reference: Table, queries: Table, n_neighbors: int = 1) -> NearestRows:
    """Find the nearest reference rows."""
    return Neighbors(space, reference).nearest(queries, n_neighbors)


def nearest_other(space: Space, reference: Table, n_neighbors: int = 1) -> NearestRows:
    """Likewise within one table, where a row is never its own neighbor."""
    return Neighbors(space, reference).nearest_other(n_neighbors)


def summary(distances: Floats) -> dict[str, float]:
    """Return the two figures the papers give for a set of distances."""
    low, middle = np.quantile(distances, [0.05, 0.5])
    return {"median": float(middle), "percentile_5": float(low)}
