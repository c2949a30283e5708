"""PATE-GAN: private votes of teachers instead of a critic."""

from tabveil.generators.pategan.synthesizer import PateGan

__all__ = ["PateGan"]
