"""Indicators: what a release looks like beside the training rows. Diagnostics, not evidence of anonymity."""

from tabveil.indicators.adversarial import AdversarialAccuracy
from tabveil.indicators.closest import ClosestShare, DistanceToClosest, DistanceToClosestContrastive
from tabveil.indicators.discrepancy import MaximumMeanDiscrepancy
from tabveil.indicators.identical import IdenticalMatchShare
from tabveil.indicators.nearest import NearestNeighbors
from tabveil.indicators.ratio import NeighborDistanceRatio
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
