"""The two directions in which real rows differ most: principal axes of the encoded columns.

Numbers are standardized, labels one-hot and scaled by 1/√2, so that two different labels lie 1 apart, as in
the Euclidean distance between rows. Missing is a label of its own. Vectors, whose distances count already,
are taken as they are. Everything is fitted on real rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import eigh

from tabveil.core.table import Categorical, Floats, Numeric, Table
from tabveil.errors import NotApplicable
from tabveil.tables.matrices.axes import HALF_ROOT, one_hot
from tabveil.tables.matrices.ordinal import label_codes
from tabveil.tables.matrices.scale import shares_of_range

MOST_LABELS = 30  # of a column that get a dimension of their own
LEAST_LABELS = 2  # likewise, however many columns there are
MOST_DIMENSIONS = 900  # of all labels together
FARTHEST = 5.0  # standard deviations; a single fortune must not become a direction
NO_SPREAD = 1e-9
DIGITS = 9  # of a place on the map: sums in another order must not move a row into another field
SIGN_DIGITS = 6

Encoder = Callable[[Table], Floats]
"""Gives a table, or a column of it, as a matrix (n, dimensions)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Projection:
    """How to find a row's place on the map."""

    encode: Encoder
    center: Floats  # (e,)
    axes: Floats  # (e, 2)
    explained: tuple[float, float]  # each axis' share of the variance

    @classmethod
    def of(cls, real: Table) -> Self:
        """Find the axes of real rows, which must come in an order of their content."""
        if len(real.schema) < 2:  # noqa: PLR2004 - a map of one column would be a line
            raise NotApplicable("that needs at least two columns.")
        encoders = _encoders(real)

        def encode(table: Table) -> Floats:
            return np.concatenate([encode(table) for encode in encoders], axis=1)

        return cls._fitted(encode, real)

    @classmethod
    def of_vectors(cls, real: Table) -> Self:
        """Find the axes of vectors of real rows, which must come in an order of their rows' content."""
        return cls._fitted(lambda table: table.values, real)

    @classmethod
    def _fitted(cls, encode: Encoder, real: Table) -> Self:
        cells = encode(real)  # (n, e)
        center = cells.mean(axis=0)
        cells = cells - center
        covariance = cells.T @ cells / len(cells)
        total = float(np.trace(covariance))
        last = len(center) - 1
        if last < 1 or total <= NO_SPREAD:
            raise NotApplicable(_FLAT)
        spread, axes = eigh(covariance, subset_by_index=[last - 1, last])
        if spread[0] <= NO_SPREAD * total:
            raise NotApplicable(_FLAT)
        axes = _directed(axes[:, ::-1])
        return cls(
            encode=encode,
            center=center,
            axes=axes,
            explained=(float(spread[1]) / total, float(spread[0]) / total),
        )

    def places(self, table: Table) -> Floats:
        """Return where rows lie along both axes, (n, 2)."""
        return np.round((self.encode(table) - self.center) @ self.axes, DIGITS)


_FLAT = "the real rows differ in fewer than two directions."


def _directed(axes: Floats) -> Floats:
    """Choose between an axis and its opposite: the largest part (the first of about equals) is positive."""
    largest = np.abs(axes).round(SIGN_DIGITS).argmax(axis=0)
    return np.asarray(axes * np.sign(axes[largest, np.arange(axes.shape[1])]))


def _encoders(real: Table) -> tuple[Encoder, ...]:
    columns = sorted(real.schema.columns, key=lambda column: column.name)
    n_labeled = sum(isinstance(column, Categorical) for column in columns)
    n_labels = min(max(MOST_DIMENSIONS // max(n_labeled, 1), LEAST_LABELS), MOST_LABELS)
    return tuple(
        _labels(column, real, n_labels) if isinstance(column, Categorical) else _numbers(column, real)
        for column in columns
    )


def _numbers(column: Numeric, real: Table) -> Encoder:
    """Standardize; a missing number lies in the middle, beside the label "missing" where there are such."""
    cells = shares_of_range(column, real.column(column.name))
    present = cells[~np.isnan(cells)]
    middle = float(present.mean()) if len(present) else 0.0
    deviation = float(present.std()) if len(present) else 0.0
    gappy = 0 < len(present) < len(cells)

    def encode(table: Table) -> Floats:
        cells = shares_of_range(column, table.column(column.name))
        missing = np.isnan(cells)
        parts = []
        if deviation > NO_SPREAD:
            scores = np.clip((cells - middle) / deviation, -FARTHEST, FARTHEST)
            parts.append(np.where(missing, 0.0, scores))
        if gappy:
            parts.append(missing * HALF_ROOT)
        return np.column_stack(parts) if parts else np.empty((len(table), 0))

    return encode


def _labels(column: Categorical, real: Table, n_labels: int) -> Encoder:
    """Give the labels of most real rows, missing among them, a dimension each; all others look alike."""
    n_codes = len(column.labels) + 1
    counts = np.bincount(label_codes(column, real.column(column.name)), minlength=n_codes)
    names = (*column.labels, "")
    ranked = sorted(np.flatnonzero(counts).tolist(), key=lambda code: (-counts[code], names[code], code))
    kept = np.array(ranked[:n_labels], dtype=np.int64)

    def encode(table: Table) -> Floats:
        return one_hot(label_codes(column, table.column(column.name)), kept)

    return encode
