"""Diffusion over mixed columns."""

from tabveil.generators.diffusion.synthesizer import Diffusion

__all__ = ["Diffusion"]
