"""Levels of labels, leaf by leaf, made into a hierarchy; missing values get their own leaf."""

from collections.abc import Sequence

import numpy as np

from tabveil.core.table import Floats
from tabveil.synthesis.anonymize.building.values import ColumnValues
from tabveil.synthesis.anonymize.hierarchy import EVERYTHING, MISSING, Hierarchy


def assemble(
    values: ColumnValues,
    cells: Floats,
    levels: Sequence[Sequence[str]],
    *,
    edges: Sequence[Floats | None] = (),
    top: bool = False,
) -> Hierarchy:
    """Make a hierarchy from the labels of each level, the leaves' own first, each (n_leaves,).

    A missing value that is no leaf becomes one, and meets the others only where they have all met. ``edges``
    are those of each leaf's value at each level, (n_leaves, 2). ``top`` puts ``*`` above.
    """
    labels = [list(level) for level in levels]
    ends = [*edges] or [None] * len(labels)
    if top and set(labels[-1]) != {EVERYTHING}:
        labels.append([EVERYTHING] * len(labels[0]))
        ends.append(None)
    if values.has_missing and not np.isnan(cells).any():
        cells = np.append(cells, np.nan)
        for place, level in enumerate(labels):
            level.append(level[0] if place and len(set(level)) == 1 else MISSING)
            end = ends[place]
            ends[place] = None if end is None else np.vstack((end, [np.nan, np.nan]))
    codes, names, bounds = [], [], []
    for level, end in zip(labels, ends, strict=True):
        numbers: dict[str, int] = {}
        found = np.array([numbers.setdefault(label, len(numbers)) for label in level], dtype=np.int64)
        _, firsts = np.unique(found, return_index=True)
        codes.append(found)
        names.append(tuple(numbers))
        bounds.append(None if end is None else end[firsts])
    return Hierarchy(
        column=values.name,
        leaves=names[0],
        cells=cells,
        codes=np.array(codes),
        labels=tuple(names),
        edges=tuple(bounds),
    )
