"""Diffusion over mixed columns."""

from tabveil.synthesis.generators.diffusion.synthesizer import Diffusion

__all__ = ["Diffusion"]
