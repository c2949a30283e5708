"""Attacks: what an intruder who holds only the release can do with it."""

from tabveil.protocols import Metric

ATTACKS: tuple[type[Metric], ...] = ()
"""The attacks that run by default."""

DEEP_ATTACKS: tuple[type[Metric], ...] = ()
"""The attacks that need the extra ``deep``."""

__all__ = ["ATTACKS", "DEEP_ATTACKS"]
