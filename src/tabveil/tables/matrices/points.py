"""Mixed rows as points: numbers on one scale, categories by equality; and directions in which rows differ.

A density ratio does not change when a coordinate is stretched. So a number becomes its *place*, the mean of
its rank among the synthetic values and its position in the column's range: the first spreads what crowds
together (ages, columns that are mostly zero), the second keeps outliers far out, and one bandwidth suits all
columns. Ranks come from the release alone, to which train and control rows are equally strange.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Floats, Numeric, Table
from tabveil.tables.matrices.ordinal import Codes, shares_of_range

NO_LABEL = -1
"""The code of a missing label. It comes before all labels, and so does its direction among the axes."""
PLACE_DEVIATION = 12**-0.5  # the standard deviation of ranks; places vary a little less


@dataclass(frozen=True, kw_only=True, eq=False)
class Points:
    """Rows as places in [0, 1], NaN where missing, and as codes, which also say where a number is missing."""

    places: Floats  # (n, d)
    codes: Codes  # (n, c)

    def __len__(self) -> int:
        return len(self.places)


@dataclass(frozen=True, kw_only=True, eq=False)
class Coordinates:
    """How to read rows of one schema. Columns stand by name: their order in a file must not matter."""

    complete: tuple[str, ...]  # numeric columns without missing values
    gappy: tuple[str, ...]  # and with
    matched: tuple[str, ...]  # categorical columns
    knots: dict[str, tuple[Floats, Floats]]  # of a numeric column: values, and their places

    @classmethod
    def of(cls, release: Table, *others: Table) -> Self:
        """Take ranks from the release; the other tables only tell where values are missing."""
        knots = {c.name: _knots(c, release) for c in release.schema.columns if isinstance(c, Numeric)}
        gappy = [name for name in knots if any(np.isnan(t.column(name)).any() for t in (release, *others))]
        return cls(
            complete=tuple(sorted(knots.keys() - set(gappy))),
            gappy=tuple(sorted(gappy)),
            matched=tuple(sorted(set(release.schema.names) - knots.keys())),
            knots=knots,
        )

    def by_deviation(self, release: Table) -> Self:
        """Return the same columns, numbers counted in standard deviations that they have in the release.

        One is as long as that of ranks. In ranks a value just off one that many rows have is far from it; by
        deviation a copy behind noise errs by as little wherever it lies.
        """
        columns = release.schema.columns
        return replace(self, knots={c.name: _straight(c, release) for c in columns if isinstance(c, Numeric)})

    def points(self, table: Table) -> Points:
        """Return the rows of a table as points."""
        places = [np.interp(table.column(name), *self.knots[name]) for name in self.complete + self.gappy]
        codes = [np.nan_to_num(table.column(name), nan=NO_LABEL) for name in self.matched]
        codes += [np.isnan(table.column(name)) for name in self.gappy]
        return Points(
            places=np.column_stack([np.empty((len(table), 0)), *places]),
            codes=np.column_stack([np.empty((len(table), 0)), *codes]).astype(np.int32),
        )


def _knots(column: Numeric, release: Table) -> tuple[Floats, Floats]:
    """Return the distinct synthetic values and the ends of the column's range, and their places."""
    cells = release.column(column.name)
    values, counts = np.unique(cells[~np.isnan(cells)], return_counts=True)
    ranks = (np.cumsum(counts) - counts / 2) / max(counts.sum(), 1)
    if len(values) == 0 or column.low < values[0]:
        values, ranks = np.append(column.low, values), np.append(0.0, ranks)
    if column.high > values[-1]:
        values, ranks = np.append(values, column.high), np.append(ranks, 1.0)
    return values, (ranks + shares_of_range(column, values)) / 2


def _straight(column: Numeric, release: Table) -> tuple[Floats, Floats]:
    """Return the ends of the column's range, and how far apart they are in deviations of the release.

    Where all rows of the release agree, the range is one deviation.
    """
    cells = release.column(column.name)
    present = cells[~np.isnan(cells)]
    deviation = float(present.std()) if len(present) else 0.0
    width = column.width / (deviation or column.width or 1.0)
    return np.array([column.low, column.high]), np.array([0.0, width * PLACE_DEVIATION])


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
class PrincipalAxes:
    """The leading principal axes of standardized places and one-hot codes, each scaled to unit variance."""

    coordinates: Coordinates
    labels: list[Codes]
    center: Floats  # (e,)
    directions: Floats  # (e, n_axes)

    def project(self, table: Table) -> Floats:
        """Return where the rows lie along the axes, (n, n_axes)."""
        return (_expanded(self.coordinates.points(table), self.labels) - self.center) @ self.directions


def principal_axes(coordinates: Coordinates, n_axes: int, *tables: Table) -> PrincipalAxes:
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
    return PrincipalAxes(
        coordinates=coordinates, labels=labels, center=center, directions=directions[:, kept] * scale
    )


def _frequent(codes: Codes) -> Codes:
    """Return the most frequent labels of a column; all others look alike."""
    found, counts = np.unique(codes, return_counts=True)
    return np.sort(found[np.argsort(-counts, kind="stable")[:MOST_LABELS]])


def _expanded(points: Points, labels: list[Codes]) -> Floats:
    """Return standardized places (the middle where missing) and one-hot codes, (n, e)."""
    places = (np.nan_to_num(points.places, nan=0.5) - 0.5) / PLACE_DEVIATION
    codes = [one_hot(points.codes[:, column], known) for column, known in enumerate(labels)]
    return np.column_stack([places, *codes])
