"""A probabilistic graphical model of a table of levels: built, fitted to noisy counts, sampled from."""

from tabveil.generators.graphical.beliefs import Beliefs
from tabveil.generators.graphical.estimation import Measurement, believe, estimate, estimate_total
from tabveil.generators.graphical.junction import Columns, JunctionTree, junction_tree

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
