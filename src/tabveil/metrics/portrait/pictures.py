"""What a page draws of a release, as plain data: shares of rows, never a row; to JSON and back."""

from dataclasses import dataclass, field
from typing import NamedTuple

from tabveil.core.storage.plain import PlainData


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
