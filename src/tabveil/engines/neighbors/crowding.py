"""How crowded it is around a person: the distances to the nearest other people."""

import numpy as np

from tabveil.core.table import Floats, Table
from tabveil.engines.neighbors.engine import Neighbors
from tabveil.engines.neighbors.space import Space

N_OTHERS = 5
"""Real neighbors that say how crowded it is around a person."""
STRIDE = 4
"""How many times as many rows are looked at next, where too many were the person's own."""
MOST_ASKED = 500
"""Where more rows would have to be looked at, those of others are searched alone: memory is bounded so."""


def to_others(space: Space, people: Table, n_others: int = N_OTHERS) -> Floats:
    """Return how far other people are from each: the first, and the mean of the nearest (n, 2).

    A row is never its own neighbor, nor is another row of the same person, but an equal one is another
    person's, at no distance. Where there are fewer others than asked for, all of them count.
    """
    engine = Neighbors(space, people)
    if people.people is not None:
        return _past_own_rows(engine, people, n_others)
    near = engine.nearest_other(min(n_others, len(people) - 1)).distance
    return np.column_stack([near[:, 0], near.mean(axis=1)])


def _past_own_rows(engine: Neighbors, table: Table, n_others: int) -> Floats:
    """Look past the rows of the same person: farther for those who have many, until enough others are found.

    There must be a second person.
    """
    whose = np.asarray(table.people)
    found = np.empty((len(table), 2))
    left, n_asked = np.arange(len(table)), 2 * n_others
    while len(left) and n_asked <= MOST_ASKED:
        n_asked = min(n_asked, len(table))
        near = engine.nearest(table.take(left), n_asked)
        of_others = whose[near.index] != whose[left, None]
        counted = of_others & (of_others.cumsum(axis=1) <= n_others)
        enough = (of_others.sum(axis=1) >= n_others) | (n_asked == len(table))
        sums = (near.distance * counted).sum(axis=1) / np.maximum(counted.sum(axis=1), 1)
        first = near.distance[np.arange(len(left)), of_others.argmax(axis=1)]
        found[left[enough]] = np.column_stack([first, sums])[enough]
        left, n_asked = left[~enough], STRIDE * n_asked
    for person in np.unique(whose[left]):  # who has so many rows; there are few such people
        rows, others = left[whose[left] == person], np.flatnonzero(whose != person)
        to_others = Neighbors(engine.space, table.take(others))
        near = to_others.nearest(table.take(rows), min(n_others, len(others)))
        found[rows] = np.column_stack([near.distance[:, 0], near.distance.mean(axis=1)])
    return found
