"""A transformer over rows as sequences of tokens."""

from tabveil.synthesis.generators.transformer.synthesizer import Transformer

__all__ = ["Transformer"]
