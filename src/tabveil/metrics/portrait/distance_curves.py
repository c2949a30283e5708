"""Do synthetic rows lie closer to train rows than fresh real rows do? The distances of DCR as two curves."""

import math
from collections.abc import Callable, Collection

import numpy as np
from numpy.random import Generator

from tabveil.core.people import LEAST_SHARED
from tabveil.core.sampling import draw, in_order
from tabveil.core.table import Floats, Indices, Split
from tabveil.engines.neighbors import Neighbors, Space
from tabveil.errors import NotApplicable
from tabveil.metrics.portrait.pictures import Distances

MOST_ROWS = 50_000  # whose nearest train row is looked for, of each table
N_POINTS = 100
SHORTEST = 0.001  # the grid has at least this length
GRID_DIGITS = 9
SHARE_DIGITS = 6


def compare_distances(split: Split, *, rng: Generator) -> tuple[Distances, tuple[str, ...]]:
    """Draw the curves of SRD and RRD, both to the same (all) train rows; and say what they leave out."""
    if len(split.synthetic) < LEAST_SHARED:
        raise NotApplicable(f"that needs at least {LEAST_SHARED} synthetic rows, got {len(split.synthetic)}.")
    people = Neighbors(Space.gower(split.schema), in_order(split.train).table)
    found, notes = {}, []
    for role, table in (("synthetic", split.synthetic), ("control", split.control)):
        if len(table) < LEAST_SHARED:
            what = f"fewer than {LEAST_SHARED} control rows" if len(table) else "there is no control table"
            notes.append(
                f"The distances are drawn for synthetic rows only ({what}): how near fresh real rows come to "
                "train rows is not known."
            )
            continue
        asked = draw(table, MOST_ROWS, rng=rng).table
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
