"""Singling out by predicates."""

from tabveil.attacks.singling_out.attack import SinglingOut

__all__ = ["SinglingOut"]
