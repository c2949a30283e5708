"""CTGAN with a differentially private critic."""

from tabveil.generators.dpctgan.synthesizer import DpCtgan

__all__ = ["DpCtgan"]
