"""Releases with a known risk: real rows planted among others, so that what a metric says can be checked."""

from tabveil.protocols import RiskModel
from tabveil.registry import Registry
from tabveil.risks.leaky import Leaky
from tabveil.risks.noisy import Noisy

RISKS: Registry[RiskModel] = Registry("risk model", (Leaky, Noisy))
"""Every risk model by its name; your own joins by ``RISKS.add``."""

__all__ = ["RISKS", "Leaky", "Noisy"]
