"""PATE-GAN: private votes of teachers instead of a critic."""

from tabveil.synthesis.generators.pategan.synthesizer import PateGan

__all__ = ["PateGan"]
