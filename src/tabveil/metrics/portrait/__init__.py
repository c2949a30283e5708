"""What does a release look like beside the people it was made from? Pictures in which nobody can be found.

Every share that is drawn rests on enough rows (:mod:`tabveil.core.people`), no place on the map is a
person's, and no axis ends at someone's value.
"""

import time
from collections.abc import Callable
from typing import TypeVar

from numpy.random import Generator

from tabveil.core import workers
from tabveil.core.table import Split
from tabveil.errors import NotApplicable
from tabveil.metrics.portrait.distance_curves import compare_distances
from tabveil.metrics.portrait.maps import map_learned, map_rows
from tabveil.metrics.portrait.pictures import Cell, Distances, Map, Outlying, OutlyingCell, Portrait
from tabveil.protocols import Representation

__all__ = ["Cell", "Distances", "Map", "Outlying", "OutlyingCell", "Portrait", "draw"]

Picture = TypeVar("Picture")


def draw(split: Split, *, rng: Generator, representation: Representation | None = None) -> Portrait:
    """Draw the distances to the nearest train row, and a map of real and synthetic rows.

    Where attacks looked at rows through a ``representation`` that learns, a map of what they saw is drawn,
    too. In an audit what they learned is shared, and not learned again.

    Examples
    --------
    >>> import numpy as np
    >>> from tabveil.datasets import hospital
    >>> from tabveil.tables.reading import load_split
    >>> people, others = (hospital(300, seed=seed) for seed in (1, 2))
    >>> copied = load_split(people, people, others).split
    >>> portrait = draw(copied, rng=np.random.default_rng(0))
    >>> portrait.distances.grid[0], portrait.distances.synthetic[0], portrait.distances.control[0]
    (0.0, 1.0, 0.0)
    """
    start = time.perf_counter()
    streams = rng.spawn(3)
    workers.tell("drawing distances", 0.0)
    distances, notes = _attempt(
        lambda: compare_distances(split, rng=streams[0]), "The distances are not drawn"
    )
    workers.tell("drawing the map", 0.0)
    drawn, more = _attempt(lambda: map_rows(split, rng=streams[1]), "The map is not drawn")
    learned = None
    if representation is not None:
        workers.tell("drawing the map of the learned space", 0.0)
        learned, others = _attempt(
            lambda: map_learned(split, representation, rng=streams[2]),
            "The map of the learned space is not drawn",
        )
        more += others
    return Portrait(
        distances=distances,
        map=drawn,
        learned=learned,
        notes=(*notes, *more),
        seconds=time.perf_counter() - start,
    )


def _attempt(
    work: Callable[[], tuple[Picture, tuple[str, ...]]], failure: str
) -> tuple[Picture | None, tuple[str, ...]]:
    """Return a picture and what it leaves out, or why there is none."""
    try:
        return work()
    except NotApplicable as reason:
        return None, (f"{failure}: {reason}",)
