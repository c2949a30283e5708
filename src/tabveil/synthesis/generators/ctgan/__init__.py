"""CTGAN: a conditional generative adversarial network."""

from tabveil.synthesis.generators.ctgan.synthesizer import Ctgan

__all__ = ["Ctgan"]
