"""Labels as directions, and the directions in which rows differ most: one-hot codes, principal axes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Floats, Table
from tabveil.tables.matrices.ordinal import Codes
from tabveil.tables.matrices.points import PLACE_DEVIATION, Coordinates, Points

HALF_ROOT = 2**-0.5
"""How long a one-hot code is: two different ones are then 1 apart."""
MOST_LABELS = 50  # of a column that get a dimension of their own
NO_SPREAD = 1e-9  # a variance that is a rounding error, where columns have variances near 1


def one_hot(codes: NDArray[np.integer], kept: NDArray[np.integer]) -> Floats:
    """Return a dimension for each of the kept codes, (n, kept); all other codes look alike.

    >>> one_hot(np.array([2, 0, 5]), np.array([0, 2])).round(3).tolist()
    [[0.0, 0.707], [0.707, 0.0], [0.0, 0.0]]
    """
    return np.asarray((codes[:, np.newaxis] == kept) * HALF_ROOT)


@dataclass(frozen=True, kw_only=True, eq=False)
class Axes:
    """The leading principal axes of standardized places and one-hot codes, each scaled to unit variance."""

    coordinates: Coordinates
    labels: list[Codes]
    center: Floats  # (e,)
    directions: Floats  # (e, n_axes)

    def project(self, table: Table) -> Floats:
        """Return where the rows lie along the axes, (n, n_axes)."""
        return (_expanded(self.coordinates.points(table), self.labels) - self.center) @ self.directions


def principal_axes(coordinates: Coordinates, n_axes: int, *tables: Table) -> Axes:
    """Find the directions along which the rows of the tables differ most."""
    points = [coordinates.points(table) for table in tables]
    labels = [
        _frequent(np.concatenate([part.codes[:, column] for part in points]))
        for column in range(points[0].codes.shape[1])
    ]
    cells = np.concatenate([_expanded(part, labels) for part in points])  # (n, e)
    center = cells.mean(axis=0)
    spread, directions = np.linalg.eigh(np.cov(cells, rowvar=False).reshape(len(center), len(center)))
    kept = np.arange(len(center))[::-1][:n_axes]
    kept = kept[spread[kept] > NO_SPREAD]
    largest = np.abs(directions[:, kept]).argmax(axis=0)
    signs = np.sign(directions[largest, kept])  # a direction and its opposite are one axis
    scale = signs / np.sqrt(spread[kept])
    return Axes(coordinates=coordinates, labels=labels, center=center, directions=directions[:, kept] * scale)


def _frequent(codes: Codes) -> Codes:
    """Return the most frequent labels of a column; all others look alike."""
    found, counts = np.unique(codes, return_counts=True)
    return np.sort(found[np.argsort(-counts, kind="stable")[:MOST_LABELS]])


def _expanded(points: Points, labels: list[Codes]) -> Floats:
    """Return standardized places (the middle where missing) and one-hot codes, (n, e)."""
    places = (np.nan_to_num(points.places, nan=0.5) - 0.5) / PLACE_DEVIATION
    codes = [one_hot(points.codes[:, column], known) for column, known in enumerate(labels)]
    return np.column_stack([places, *codes])
