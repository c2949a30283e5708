"""Where do real and synthetic rows lie? Maps of fields that each hold enough people to hide one of them."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.random import Generator
from scipy.linalg import eigh

from tabveil.core.people import LEAST_SHARED
from tabveil.core.sampling import count_share, draw
from tabveil.core.table import Categorical, Floats, Numeric, Split, Table
from tabveil.engines.neighbors import local_outlier_factors
from tabveil.errors import NotApplicable
from tabveil.protocols import Representation
from tabveil.tables.matrices.ordinal import label_codes, shares_of_range
from tabveil.tables.matrices.points import HALF_ROOT, one_hot


class Cell(NamedTuple):
    """One field of the map: its place, and which share of the rows fall into it (None: too few to say).

    In JSON the list ``[x, y, real, synthetic]``, for there are many.
    """

    x: int  # from the left
    y: int  # from the bottom
    real: float | None
    synthetic: float | None


class OutlyingCell(NamedTuple):
    """One of the larger fields in which rows that stand apart are counted, and the share of them in it."""

    x: int  # from the left
    y: int  # from the bottom
    share: float


@dataclass(frozen=True, kw_only=True)
class Outlying:
    """Where do the synthetic rows lie that stand apart most, by their local outlier factor?

    They are few, and counted in larger fields than all rows are; those with too few of them are not listed.
    """

    share: float  # of the synthetic rows, that are counted here
    n_neighbors: int
    columns: int  # fields across the same map
    rows: int  # fields upward
    cells: tuple[OutlyingCell, ...]
    hidden: float  # the share of them that no field shows


@dataclass(frozen=True, kw_only=True)
class Map:
    """Where real and synthetic rows lie along the two directions in which real rows differ most.

    Fields with too few rows of both kinds are not listed. ``hidden_real`` and ``hidden_synthetic`` are the
    shares of rows that no field shows; ``explained`` is each direction's share of the real rows' variance.
    ``outlying`` is None where nobody looked for rows that stand apart, or there are too few to tell.
    """

    columns: int  # fields across
    rows: int  # fields upward
    cells: tuple[Cell, ...]
    explained: tuple[float, float]
    hidden_real: float
    hidden_synthetic: float
    outlying: Outlying | None = None


MOST_LABELS = 30  # of a column that get a dimension of their own
LEAST_LABELS = 2  # likewise, however many columns there are
MOST_DIMENSIONS = 900  # of all labels together
FARTHEST = 5.0  # standard deviations; a single fortune must not become a direction
NO_SPREAD = 1e-9
DIGITS = 9  # of a place on the map: sums in another order must not move a row into another field
SIGN_DIGITS = 6

Encoder = Callable[[Table], Floats]
"""Gives a table, or a column of it, as a matrix (n, dimensions)."""


class Projection:
    """How to find a row's place on the map, by the axes of real rows, in an order of their content."""

    def __init__(self, encode: Encoder, real: Table) -> None:
        self.encode = encode
        cells = encode(real)  # (n, e)
        self.center: Floats = cells.mean(axis=0)  # (e,)
        cells = cells - self.center
        covariance = cells.T @ cells / len(cells)
        total = float(np.trace(covariance))
        last = len(self.center) - 1
        if last < 1 or total <= NO_SPREAD:
            raise NotApplicable(_FLAT)
        spread, axes = eigh(covariance, subset_by_index=[last - 1, last])
        if spread[0] <= NO_SPREAD * total:
            raise NotApplicable(_FLAT)
        axes = axes[:, ::-1]
        # Of an axis and its opposite that whose largest part (the first of about equals) is positive.
        largest = np.abs(axes).round(SIGN_DIGITS).argmax(axis=0)
        self.axes: Floats = axes * np.sign(axes[largest, np.arange(axes.shape[1])])  # (e, 2)
        # Each axis' share of the variance.
        self.explained = float(spread[1]) / total, float(spread[0]) / total

    @classmethod
    def of(cls, real: Table) -> Self:
        """Find the axes of real rows by all of their columns."""
        if len(real.schema) < 2:  # noqa: PLR2004 - a map of one column would be a line
            raise NotApplicable("that needs at least two columns.")
        columns = sorted(real.schema.columns, key=lambda column: column.name)
        n_labeled = sum(isinstance(column, Categorical) for column in columns)
        n_labels = min(max(MOST_DIMENSIONS // max(n_labeled, 1), LEAST_LABELS), MOST_LABELS)
        encoders = [
            _labels(column, real, n_labels) if isinstance(column, Categorical) else _numbers(column, real)
            for column in columns
        ]
        return cls(lambda table: np.concatenate([encode(table) for encode in encoders], axis=1), real)

    def places(self, table: Table) -> Floats:
        """Return where rows lie along both axes, (n, 2)."""
        return np.round((self.encode(table) - self.center) @ self.axes, DIGITS)


_FLAT = "the real rows differ in fewer than two directions."


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


MOST_ROWS = 20_000  # of real rows, and of synthetic ones
MOST_VALUES = 4_000_000  # rows times columns; wider tables are drawn from fewer rows
MOST_ACROSS = 36
LEAST_ACROSS = 4
ROWS_A_FIELD = 15  # if they were spread evenly
OUTSIDE = 0.005  # the share of rows left out at each end of an axis
SHARE_DIGITS = 6


def map_rows(split: Split, *, rng: Generator) -> tuple[Map, tuple[str, ...]]:
    """Draw the map of real (train and control) and synthetic rows; and say what it leaves out."""
    most = max(min(MOST_ROWS, MOST_VALUES // len(split.schema)), 2 * LEAST_SHARED)
    (real, synthetic), notes = sample_rows(split, most, "The map", rng=rng)
    projection = Projection.of(real)
    places = projection.places(real), projection.places(synthetic)
    return count_rows(places, fields_across(min(len(real), len(synthetic))), projection.explained), notes


def sample_rows(
    split: Split, most: int, what: str, *, rng: Generator
) -> tuple[tuple[Table, Table], tuple[str, ...]]:
    """Return real (train and control) and synthetic rows to draw, by their content, and what is left out."""
    everybody = split.train.joined(split.control)
    tables, notes = [], []
    for role, table in (("real", everybody), ("synthetic", split.synthetic)):
        if len(table) < LEAST_SHARED:
            raise NotApplicable(f"that needs at least {LEAST_SHARED} {role} rows, got {len(table)}.")
        tables.append(draw(table, most, rng=rng).table)
        if len(table) > most:
            notes.append(f"{what} is drawn from {most} of {len(table)} {role} rows.")
    return (tables[0], tables[1]), tuple(notes)


def fields_across(n_rows: int, least: int = LEAST_ACROSS) -> int:
    """Return into how many fields a side of the map is parted for so many rows."""
    return min(max(int(math.sqrt(n_rows / ROWS_A_FIELD)), least), MOST_ACROSS)


def count_rows(places: tuple[Floats, Floats], across: int, explained: tuple[float, float]) -> Map:
    """Count the rows of both kinds in each field, and keep what rests on enough of them."""
    ends = ends_of(places)
    real, synthetic = (shares_of(side, ends, across) for side in places)
    shown = np.flatnonzero(~(np.isnan(real) & np.isnan(synthetic)))
    if len(shown) == 0:
        raise NotApplicable(f"no {LEAST_SHARED} rows lie in one field of it.")
    return Map(
        columns=across,
        rows=across,
        cells=tuple(
            Cell(field % across, field // across, _known(real[field]), _known(synthetic[field]))
            for field in shown.tolist()
        ),
        explained=(round(explained[0], SHARE_DIGITS), round(explained[1], SHARE_DIGITS)),
        hidden_real=hidden(real),
        hidden_synthetic=hidden(synthetic),
    )


def ends_of(places: tuple[Floats, Floats]) -> Floats:
    """Return where the map begins and ends along each axis, (2, 2): around nearly all rows of either kind."""
    low, high = (np.stack([np.quantile(side, q, axis=0) for side in places]) for q in (OUTSIDE, 1 - OUTSIDE))
    return np.stack([low.min(axis=0), high.max(axis=0)])


def shares_of(places: Floats, ends: Floats, across: int) -> Floats:
    """Return the share of all rows in each field, NaN where they are too few to be shown."""
    low, high = ends
    shares = (places - low) / np.where(high > low, high - low, 1.0)
    inside = ((places >= low) & (places <= high)).all(axis=1)
    steps = np.minimum((shares[inside] * across).astype(np.int64), across - 1)
    fields = steps[:, 1] * across + steps[:, 0]  # line by line from the bottom
    counts = np.bincount(fields, minlength=across**2)
    return np.where(counts >= LEAST_SHARED, counts / len(places), np.nan)


def _known(share: float) -> float | None:
    return None if math.isnan(share) else round(float(share), SHARE_DIGITS)


def hidden(shares: Floats) -> float:
    """Return the share of the rows that no field shows."""
    return round(1 - float(np.nansum(shares)), SHARE_DIGITS)


MOST_ROWS_LEARNED = 10_000  # of real rows, and of synthetic ones: each is compared with all of its kind
OUTLYING = 0.1  # the share of the synthetic rows that are shown as standing apart
N_NEIGHBORS = 20
LEAST_ACROSS_LEARNED = 2  # fields for those who stand apart


def map_learned(
    split: Split, representation: Representation, *, rng: Generator
) -> tuple[Map, tuple[str, ...]]:
    """Draw the map of real and synthetic rows as a representation sees them; and say what it leaves out."""
    (real, synthetic), notes = sample_rows(split, MOST_ROWS_LEARNED, "The map of the learned space", rng=rng)
    view, names = representation.view(split, rng=rng), split.schema.names
    vectors = view.see(real, names), view.see(synthetic, names)
    projection = Projection(lambda table: table.values, vectors[0])
    places = projection.places(vectors[0]), projection.places(vectors[1])
    drawn = count_rows(places, fields_across(min(len(real), len(synthetic))), projection.explained)
    factors = local_outlier_factors(view.space(names), vectors[1], n_neighbors=N_NEIGHBORS)
    return replace(drawn, outlying=_outlying(places, factors)), notes


def _outlying(places: tuple[Floats, Floats], factors: Floats) -> Outlying | None:
    """Count the synthetic rows with the largest factors in fields; None where no field holds enough."""
    first = np.argsort(-factors, kind="stable")[: count_share(OUTLYING, len(factors))]
    if not len(first):
        return None
    across = fields_across(len(first), LEAST_ACROSS_LEARNED)
    shares = shares_of(places[1][first], ends_of(places), across)
    shown = np.flatnonzero(~np.isnan(shares))
    if not len(shown):
        return None
    return Outlying(
        share=OUTLYING,
        n_neighbors=N_NEIGHBORS,
        columns=across,
        rows=across,
        cells=tuple(
            OutlyingCell(x=field % across, y=field // across, share=round(float(shares[field]), SHARE_DIGITS))
            for field in shown.tolist()
        ),
        hidden=hidden(shares),
    )
