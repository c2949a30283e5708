"""Sequential trees: each column drawn given those before it."""

from tabveil.synthesis.generators.trees.synthesizer import Trees

__all__ = ["Trees"]
