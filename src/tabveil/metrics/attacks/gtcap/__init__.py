"""GTCAP: claims that a release makes about people with some keys."""

from tabveil.metrics.attacks.gtcap.attack import Attribution

__all__ = ["Attribution"]
