"""Changes of a release that can be tried at once: fewer rows, a coarser column, a column less."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from tabveil.core.table import Categorical, Floats, Numeric, Schema, Split, Table, within
from tabveil.core.wording import plural
from tabveil.errors import NotApplicable
from tabveil.metrics.control.shared_rows import near_rows
from tabveil.tables.linked.summaries import resummed

N_BINS = 10
"""Values that a coarsened column of numbers keeps: about equally frequent ones."""

RARE_LABEL = 0.01
"""Labels that fewer rows of the release have are merged."""

LEAST_LEFT = 0.5
"""A filter that would leave less of a release is none: another release is needed."""

MERGED = "(rare labels merged)"
_TWO = 2


@dataclass(frozen=True, kw_only=True, eq=False)
class ChangedRelease:
    """The tables with a changed release, how many of its rows changed, and how many values are left."""

    split: Split
    rows_changed: int  # dropped, or with another value than before
    levels: int | None = None


def filtered(split: Split, share: float, *, rng: Generator) -> ChangedRelease | None:
    """Drop the rows that are too near, as ``tabveil filter`` does; None where none is.

    Raises
    ------
    NotApplicable
        If most of the release would be dropped.
    """
    dropped = near_rows(split, share=share, rng=rng).rows
    left = np.delete(np.arange(len(split.synthetic)), dropped)
    if len(dropped) == 0:
        return None
    if len(left) < LEAST_LEFT * len(split.synthetic):
        raise NotApplicable(
            f"Dropping the rows that lie too near to training rows would leave {len(left):,} of "
            f"{plural(len(split.synthetic), 'row')}: another release is needed, not a part of this one."
        )
    return ChangedRelease(
        split=replace(split, synthetic=split.synthetic.take(left)), rows_changed=len(dropped)
    )


def left_out(split: Split, column: str) -> ChangedRelease | None:
    """Leave a column out of all three tables; None where fewer than two would be left to attack.

    Where tables are linked it is left out of the one it is of, and with it whatever is made of it.
    """
    if split.train.linked is not None:
        less = resummed(split, column, _without)
        if less is None:
            return None
        return ChangedRelease(split=less, rows_changed=len(split.synthetic))
    names = [name for name in split.schema.names if name != column]
    if len(names) < _TWO:
        return None
    return ChangedRelease(split=split.select(names), rows_changed=len(split.synthetic))


def _without(split: Split, column: str) -> Split | None:
    names = [name for name in split.schema.names if name != column]
    return split.select(names) if names else None


def coarsened(split: Split, column: str) -> ChangedRelease | None:
    """Coarsen one column of the release; the real rows stay as they are. None where it cannot be coarser.

    Where to cut is read off the release alone, so that no real value is needed for it. Where tables are
    linked it is done in the one that the column is of.
    """
    if split.train.linked is not None:
        found: list[ChangedRelease] = []

        def coarse(rows: Split, source: str) -> Split | None:
            one = coarsened(rows, source)
            found.extend([] if one is None else [one])
            return None if one is None else one.split

        whole = resummed(split, column, coarse)
        return None if whole is None else replace(found[0], split=whole)
    position = split.schema.position(column)
    before = split.synthetic.column(column)
    match split.schema[column]:
        case Numeric() as numeric:
            schema, after = split.schema, within(numeric, _binned(before))
        case Categorical(labels=labels) as categorical:
            merged = replace(categorical, labels=(*labels, _unused(labels)))
            columns = list(split.schema.columns)
            columns[position] = merged
            schema, after = Schema(tuple(columns)), _without_rare(before, len(labels))
    there = ~np.isnan(before)
    changed = int(np.sum(there & (before != after)))
    levels = len(np.unique(after[there]))
    if levels == len(np.unique(before[there])):
        return None
    values = split.synthetic.values.copy()
    values[:, position] = after
    train, control = (replace(table, schema=schema) for table in (split.train, split.control))
    synthetic = Table(schema=schema, values=values)
    return ChangedRelease(
        split=Split(train=train, control=control, synthetic=synthetic), rows_changed=changed, levels=levels
    )


def _binned(cells: Floats) -> Floats:
    """Replace every number by the median of its bin."""
    there = ~np.isnan(cells)
    known = cells[there]
    if len(np.unique(known)) <= N_BINS:
        return cells
    edges = np.unique(np.quantile(known, np.linspace(0, 1, N_BINS + 1)[1:-1]))
    bins = np.searchsorted(edges, known, side="right")
    present, own = np.unique(bins, return_inverse=True)
    medians = np.array([np.median(known[bins == item]) for item in present])
    after = cells.copy()
    after[there] = medians[own]
    return after


def _without_rare(cells: Floats, merged: int) -> Floats:
    """Give all labels that few rows have one code, if there are at least two of them."""
    codes, counts = np.unique(cells[~np.isnan(cells)], return_counts=True)
    rare = codes[counts < RARE_LABEL * len(cells)]
    return np.where(np.isin(cells, rare), float(merged), cells) if len(rare) >= _TWO else cells


def _unused(labels: tuple[str, ...]) -> str:
    """Name the merged labels as no label is named."""
    name = MERGED
    while name in labels:
        name += "*"
    return name
