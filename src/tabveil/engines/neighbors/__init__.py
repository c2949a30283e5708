"""Exact nearest neighbors for tables: one engine, two distances, several strategies behind one call."""

from tabveil.engines.neighbors.engine import (
    N_OTHERS,
    NearestRows,
    NearPeople,
    Neighbors,
    local_outlier_factors,
    to_others,
)
from tabveil.engines.neighbors.leaving_out import NearestWithout, NeighborsWithout
from tabveil.engines.neighbors.space import MeasuredColumn, Space

__all__ = [
    "N_OTHERS",
    "MeasuredColumn",
    "NearPeople",
    "NearestRows",
    "NearestWithout",
    "Neighbors",
    "NeighborsWithout",
    "Space",
    "local_outlier_factors",
    "to_others",
]
