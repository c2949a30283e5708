"""Attribute inference by a trained model."""

from tabveil.metrics.attacks.ml_inference.attack import MLInference

__all__ = ["MLInference"]
