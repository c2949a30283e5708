"""Indicators: what a release looks like beside the training rows. Diagnostics, not evidence of anonymity."""

from tabveil.metrics.indicators.closest import DistanceToClosest, DistanceToClosestContrastive
from tabveil.metrics.indicators.closest_share import ClosestShare
from tabveil.metrics.indicators.discrepancy import MaximumMeanDiscrepancy
from tabveil.metrics.indicators.exchanging import AdversarialAccuracy, NeighborDistanceRatio
from tabveil.metrics.indicators.identical import IdenticalMatchShare
from tabveil.metrics.indicators.nearest import NearestNeighbors
from tabveil.protocols import Metric

INDICATORS: tuple[type[Metric], ...] = (
    IdenticalMatchShare,
    DistanceToClosest,
    DistanceToClosestContrastive,
    ClosestShare,
    NearestNeighbors,
    NeighborDistanceRatio,
    AdversarialAccuracy,
    MaximumMeanDiscrepancy,
)

__all__ = [
    "INDICATORS",
    "AdversarialAccuracy",
    "ClosestShare",
    "DistanceToClosest",
    "DistanceToClosestContrastive",
    "IdenticalMatchShare",
    "MaximumMeanDiscrepancy",
    "NearestNeighbors",
    "NeighborDistanceRatio",
]
