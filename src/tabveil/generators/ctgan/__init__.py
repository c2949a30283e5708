"""CTGAN: a conditional generative adversarial network."""

from tabveil.generators.ctgan.synthesizer import Ctgan

__all__ = ["Ctgan"]
