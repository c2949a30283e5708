"""GTCAP: claims that a release makes about people with some keys."""

from tabveil.metrics.attacks.gtcap.attribution import Attribution

__all__ = ["Attribution"]
