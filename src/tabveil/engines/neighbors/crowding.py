"""How crowded it is around a row: the distances to the nearest other people, the local outlier factor."""

import numpy as np

from tabveil.core import check
from tabveil.core.sampling import group_equal_rows
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


SMALLEST_REACH = 1e-12  # distances are rounded to so many places; nothing is denser


def local_outlier_factors(space: Space, table: Table, *, n_neighbors: int = 20) -> Floats:
    """Return for every row how much sparser its place is than the places of its neighbors, (n,).

    Near 1 is a row among its like; 2 stands twice as far from its neighbors as these from theirs. A person
    far from all others is an outlier only where the others are close together, hence "local".

    Parameters
    ----------
    space
        The distance between rows.
    table
        The rows, each compared with all others.
    n_neighbors
        How many distinct rows a neighborhood has; all others where there are fewer.

    Notes
    -----
    The reach of a neighbor is the distance to it, or its own distance to the last of its neighbors where that
    is more. The density at a row is one over the mean reach of its neighbors, and its factor is their mean
    density over its own.

    Tables repeat rows. Were each copy a neighbor, a row that comes often would have only itself around it, at
    no distance: an infinite density, beside which everybody who differs in one cell is an extreme outlier. As
    the authors propose, a neighborhood therefore reaches to the ``n_neighbors``-th *distinct* row, and copies
    count in its means. Without copies this is the common definition, that of scikit-learn. Equal rows have
    equal factors, and where all rows are equal nobody is an outlier: all factors are 1. Which of equally near
    rows come last into a neighborhood depends on what they hold, not on where they stand.

    References
    ----------
    - Breunig, M. M., Kriegel, H.-P., Ng, R. T. and Sander, J. (2000). LOF: Identifying Density-Based Local
      Outliers. SIGMOD.

    Examples
    --------
    >>> from tabveil.core.table import Numeric, Schema
    >>> schema = Schema((Numeric(name="age", low=0, high=100, decimals=0),))
    >>> people = Table(schema=schema, values=np.array([[20.0], [21.0], [22.0], [23.0], [24.0], [90.0]]))
    >>> local_outlier_factors(Space.gower(schema), people, n_neighbors=2).round(2).tolist()
    [1.25, 1.25, 0.67, 1.25, 1.25, 44.33]
    """
    check.at_least("local_outlier_factors", "n_neighbors", n_neighbors, 1)
    (number,) = group_equal_rows(table)  # (n,) which distinct row each row is
    _, first, copies = np.unique(number, return_index=True, return_counts=True)  # (m,) of the distinct rows
    n_neighbors = min(n_neighbors, len(first) - 1)
    if n_neighbors < 1:
        return np.ones(len(table))
    found = Neighbors(space, table.take(first)).nearest_other(n_neighbors)
    farthest = found.distance[:, -1]  # (m,)
    times = copies[found.index]  # (m, k) as often as each neighbor stands there
    others = copies - 1  # (m,) a row's own copies, whose reach is its own
    size = times.sum(axis=1) + others
    reach = np.maximum(found.distance, farthest[found.index])  # (m, k)
    mean_reach = ((times * reach).sum(axis=1) + others * farthest) / size
    density = 1 / np.maximum(mean_reach, SMALLEST_REACH)
    around = ((times * density[found.index]).sum(axis=1) + others * density) / size
    return np.asarray((around / density)[number])
