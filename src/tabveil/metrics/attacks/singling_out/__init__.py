"""Singling out by predicates."""

from tabveil.metrics.attacks.singling_out.by_predicates import SinglingOut

__all__ = ["SinglingOut"]
