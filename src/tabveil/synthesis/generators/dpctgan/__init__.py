"""CTGAN with a differentially private critic."""

from tabveil.synthesis.generators.dpctgan.synthesizer import DpCtgan

__all__ = ["DpCtgan"]
