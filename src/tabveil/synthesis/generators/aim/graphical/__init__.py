"""A probabilistic graphical model of a table of levels: built, fitted to noisy counts, sampled from."""

from tabveil.synthesis.generators.aim.graphical.beliefs import Beliefs, Columns, JunctionTree, junction_tree
from tabveil.synthesis.generators.aim.graphical.estimation import (
    Measurement,
    believe,
    estimate,
    estimate_total,
)

__all__ = [
    "Beliefs",
    "Columns",
    "JunctionTree",
    "Measurement",
    "believe",
    "estimate",
    "estimate_total",
    "junction_tree",
]
