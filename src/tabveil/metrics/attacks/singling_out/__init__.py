"""Singling out by predicates."""

from tabveil.metrics.attacks.singling_out.attack import SinglingOut

__all__ = ["SinglingOut"]
