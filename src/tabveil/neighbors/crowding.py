"""How crowded it is around a person: the distances to the nearest other people."""

import numpy as np

from tabveil.neighbors.engine import Neighbors
from tabveil.neighbors.space import Space
from tabveil.table import Floats, Table

N_OTHERS = 5
"""Real neighbors that say how crowded it is around a person."""


def to_others(space: Space, people: Table, n_others: int = N_OTHERS) -> Floats:
    """Return how far other people are from each: the first, and the mean of the nearest (n, 2).

    A row is never its own neighbor, but an equal one is another person, at no distance. Where there are fewer
    others than asked for, all of them count.
    """
    near = Neighbors(space, people).nearest_other(min(n_others, len(people) - 1)).distance
    return np.column_stack([near[:, 0], near.mean(axis=1)])
