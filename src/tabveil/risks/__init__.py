"""Releases with a known risk: real rows planted among others, so that what a metric says can be checked."""

from tabveil.protocols import Modifier, RiskModel
from tabveil.registry import Registry
from tabveil.risks.leaky import Leaky
from tabveil.risks.noisy import Noisy

RISKS: Registry[RiskModel] = Registry("risk model", (Leaky, Noisy))
"""Every risk model by its name; your own joins by ``RISKS.add``."""

MODIFIERS: Registry[Modifier] = Registry("modifier", ())

__all__ = ["MODIFIERS", "RISKS", "Leaky", "Noisy"]
