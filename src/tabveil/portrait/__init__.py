"""What does a release look like beside the people it was made from? Pictures in which nobody can be found.

Every share that is drawn rests on enough rows (:mod:`tabveil.disclosure`), no place on the map is a
person's, and no axis ends at someone's value.
"""

import time
from collections.abc import Callable
from typing import TypeVar

from numpy.random import Generator

from tabveil import workers
from tabveil.errors import NotApplicable
from tabveil.portrait.cells import map_rows
from tabveil.portrait.distances import compare_distances
from tabveil.portrait.pictures import Cell, Distances, Map, Portrait
from tabveil.table import Split

__all__ = ["Cell", "Distances", "Map", "Portrait", "draw"]

Sample = TypeVar("Sample")


def draw(split: Split, *, rng: Generator) -> Portrait:
    """Draw the distances to the nearest train row, and a map of real and synthetic rows.

    Examples
    --------
    >>> import numpy as np
    >>> from tabveil.datasets import hospital
    >>> from tabveil.frame import load_split
    >>> people, others = (hospital(300, seed=seed) for seed in (1, 2))
    >>> copied = load_split(people, people, others).split
    >>> portrait = draw(copied, rng=np.random.default_rng(0))
    >>> portrait.distances.grid[0], portrait.distances.synthetic[0], portrait.distances.control[0]
    (0.0, 1.0, 0.0)
    """
    start = time.perf_counter()
    streams = rng.spawn(2)
    workers.tell("drawing distances", 0.0)
    distances, notes = _attempt(lambda: compare_distances(split, rng=streams[0]))
    workers.tell("drawing the map", 0.0)
    drawn, more = _attempt(lambda: map_rows(split, rng=streams[1]))
    return Portrait(
        distances=distances, map=drawn, notes=(*notes, *more), seconds=time.perf_counter() - start
    )


def _attempt(work: Callable[[], tuple[Sample, tuple[str, ...]]]) -> tuple[Sample | None, tuple[str, ...]]:
    """Return a picture and what it leaves out, or the reason why there is none."""
    try:
        return work()
    except NotApplicable as reason:
        return None, (str(reason),)
