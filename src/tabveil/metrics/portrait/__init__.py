"""What does a release look like beside the people it was made from? Pictures in which nobody can be found.

Every share that is drawn rests on enough rows (:mod:`tabveil.core.people`), no place on the map is a
person's, and no axis ends at someone's value.
"""

import math
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.random import Generator

from tabveil.core import sampling, workers
from tabveil.core.people import LEAST_SHARED
from tabveil.core.storage.plain import PlainData
from tabveil.core.table import Floats, Indices, Split
from tabveil.engines.neighbors import Neighbors, Space
from tabveil.errors import NotApplicable
from tabveil.metrics.portrait.maps import Cell, Map, Outlying, OutlyingCell, map_learned, map_rows
from tabveil.protocols import Representation

__all__ = ["Cell", "Distances", "Map", "Outlying", "OutlyingCell", "Portrait", "draw"]

MOST_ROWS = 50_000  # whose nearest train row is looked for, of each table
N_POINTS = 100
SHORTEST = 0.001  # the grid has at least this length
GRID_DIGITS = 9
SHARE_DIGITS = 6

Picture = TypeVar("Picture")


@dataclass(frozen=True, kw_only=True)
class Distances:
    """How far do synthetic rows (SRD) and control rows (RRD) lie from their nearest train row?

    Two cumulative curves: at each (Gower) distance of the ``grid``, the share of rows no farther away. The
    grid starts at 0, exact copies. Its last point stands for that distance *or more*, so both curves end at 1
    without telling how far the farthest row lies.
    """

    grid: tuple[float, ...]  # ascending
    synthetic: tuple[float, ...]
    control: tuple[float, ...] | None  # None where there are too few control rows
    median_synthetic: float
    median_control: float | None


@dataclass(frozen=True, kw_only=True)
class Portrait(PlainData):
    """The pictures of a release; one that could not be drawn is None, and a note says why.

    ``learned`` is a map of the space that attacks learned, where any did.
    """

    distances: Distances | None
    map: Map | None
    learned: Map | None = None
    notes: tuple[str, ...] = ()
    seconds: float = field(default=0.0, compare=False)


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


def compare_distances(split: Split, *, rng: Generator) -> tuple[Distances, tuple[str, ...]]:
    """Draw the curves of SRD and RRD, both to the same (all) train rows; and say what they leave out."""
    if len(split.synthetic) < LEAST_SHARED:
        raise NotApplicable(f"that needs at least {LEAST_SHARED} synthetic rows, got {len(split.synthetic)}.")
    people = Neighbors(Space.gower(split.schema), sampling.in_order(split.train).table)
    found, notes = {}, []
    for role, table in (("synthetic", split.synthetic), ("control", split.control)):
        if len(table) < LEAST_SHARED:
            what = f"fewer than {LEAST_SHARED} control rows" if len(table) else "there is no control table"
            notes.append(
                f"The distances are drawn for synthetic rows only ({what}): how near fresh real rows come to "
                "train rows is not known."
            )
            continue
        asked = sampling.draw(table, MOST_ROWS, rng=rng).table
        found[role] = np.sort(people.nearest(asked).distance[:, 0])
        if len(asked) < len(table):
            notes.append(f"The distances are drawn for {len(asked)} of {len(table)} {role} rows.")
    grid = _grid(found.values())
    control = found.get("control")
    return Distances(
        grid=tuple(grid.tolist()),
        synthetic=_curve(found["synthetic"], grid),
        control=None if control is None else _curve(control, grid),
        median_synthetic=_middle(found["synthetic"]),
        median_control=None if control is None else _middle(control),
    ), tuple(notes)


def _middle(distances: Floats) -> float:
    """Return the median to three digits: of an odd number of rows it is one row's distance."""
    return float(f"{np.median(distances):.3g}")


def _grid(sides: Collection[Floats]) -> Floats:
    """Return distances from 0 to a round end, closer together where they are small and where rows are many.

    It begins to be close, and ends, at distances that several rows reach: that of a single row is its own.
    """
    low = min(float(distances[LEAST_SHARED - 1]) for distances in sides)
    high = max(float(distances[-LEAST_SHARED]) for distances in sides)
    end = max(_round(high, math.ceil), SHORTEST)
    near = end * np.linspace(0, 1, N_POINTS // 2) ** 2
    among = np.linspace(_round(low, math.floor), end, N_POINTS // 2)
    return np.unique(np.round(np.concatenate([near, among]), GRID_DIGITS))


def _round(distance: float, toward: Callable[[float], int]) -> float:
    """Round to two digits, up or down."""
    if distance < SHORTEST:
        return float(toward(distance) * SHORTEST)
    scale = 10.0 ** (1 - math.floor(math.log10(distance)))
    return toward(round(distance * scale, 6)) / scale


def _curve(distances: Floats, grid: Floats) -> tuple[float, ...]:
    """Return the share of the (sorted) distances up to each point, in steps of enough rows.

    Rows too few for a step of their own are counted in the next one, so the curve runs late by less than
    that, never early. The last point counts all rows.
    """
    n = len(distances)
    counts: Indices = np.searchsorted(distances, grid, side="right")
    counts[-1] = n
    shown, height = [], 0
    for count in counts.tolist():
        left = n - count
        if count - height >= LEAST_SHARED and (left == 0 or left >= LEAST_SHARED):
            height = count
        shown.append(round(height / n, SHARE_DIGITS))
    return tuple(shown)
