"""AIM: noisy marginals, chosen one by one, and a graphical model of them."""

from tabveil.synthesis.generators.aim.synthesizer import Aim

__all__ = ["Aim"]
