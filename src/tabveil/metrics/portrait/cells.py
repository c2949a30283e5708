"""Where do real and synthetic rows lie? A map of fields that each hold enough people to hide one of them."""

import math

import numpy as np
from numpy.random import Generator

from tabveil.core.disclosure import LEAST_SHARED
from tabveil.core.sampling import draw
from tabveil.core.table import Floats, Indices, Split, Table
from tabveil.errors import NotApplicable
from tabveil.metrics.portrait.pictures import Cell, Map
from tabveil.metrics.portrait.projection import Projection

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
    everybody = Table(schema=split.schema, values=np.concatenate([split.train.values, split.control.values]))
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
            Cell(
                x=field % across,
                y=field // across,
                real=_known(real[field]),
                synthetic=_known(synthetic[field]),
            )
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
    counts = np.bincount(_fields(places, ends, across), minlength=across**2)
    return np.where(counts >= LEAST_SHARED, counts / len(places), np.nan)


def _fields(places: Floats, ends: Floats, across: int) -> Indices:
    """Return the number of each row's field, line by line from the bottom; rows outside the map have none."""
    low, high = ends
    width = np.where(high > low, high - low, 1.0)
    shares = (places - low) / width
    inside = ((places >= low) & (places <= high)).all(axis=1)
    steps = np.minimum((shares[inside] * across).astype(np.int64), across - 1)
    return np.asarray(steps[:, 1] * across + steps[:, 0])


def _known(share: float) -> float | None:
    return None if math.isnan(share) else round(float(share), SHARE_DIGITS)


def hidden(shares: Floats) -> float:
    """Return the share of the rows that no field shows."""
    return round(1 - float(np.nansum(shares)), SHARE_DIGITS)
