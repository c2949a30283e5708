"""Bars for a page: the shares of labels or ranges, drawn so that nobody can be read off them.

A label is named only where enough real rows share it (:mod:`tabveil.core.disclosure`); the others are pooled,
and a pool of too few real rows is left out.
Ranges end at round numbers, never at someone's value, are open at both ends, and hold as many real rows each.
"""

import math

import numpy as np

from tabveil.core.disclosure import LEAST_SHARED
from tabveil.core.table import Categorical, Floats, Indices, Numeric, Split
from tabveil.metrics.utility.findings import Bar

MOST_LABELS = 15
MOST_RANGES = 30
SMALLEST = 1e-300  # below it there are no powers of ten left to round to
ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)


def bars(split: Split, name: str, *, rare: bool = False) -> tuple[Bar, ...]:
    """Return the bars of a column, over all real (train and control) and all synthetic rows.

    ``rare`` names labels that few real rows share, too: for the eyes of those who may see the real table.
    """
    real = np.concatenate([split.train.column(name), split.control.column(name)])
    synthetic = split.synthetic.column(name)
    match split.schema[name]:
        case Categorical(labels=labels):
            found = _of_labels(labels, real, synthetic, least=1 if rare else LEAST_SHARED)
        case Numeric() as column:
            found = _of_ranges(column, real, synthetic)
    missing = np.isnan(real), np.isnan(synthetic)
    if missing[0].any() or missing[1].any():
        found.append(Bar(kind="missing", real=float(missing[0].mean()), synthetic=float(missing[1].mean())))
    return tuple(found)


def _of_labels(labels: tuple[str, ...], real: Floats, synthetic: Floats, *, least: int) -> list[Bar]:
    """Name the labels that most real rows have; equals in the order of the alphabet."""
    counts = _count_labels(real, len(labels)), _count_labels(synthetic, len(labels))
    ranked = sorted(range(len(labels)), key=lambda code: (-counts[0][code], labels[code]))
    named = [code for code in ranked[:MOST_LABELS] if counts[0][code] >= least]
    found = [
        Bar(
            kind="label",
            label=labels[code],
            real=float(counts[0][code] / len(real)),
            synthetic=float(counts[1][code] / len(synthetic)),
        )
        for code in named
    ]
    rest = [int(count.sum() - count[named].sum()) for count in counts]
    if any(rest) and not 0 < rest[0] < least:  # labels that only the release has are nobody's
        found.append(Bar(kind="other", real=rest[0] / len(real), synthetic=rest[1] / len(synthetic)))
    return found


def _count_labels(cells: Floats, n_labels: int) -> Indices:
    return np.bincount(cells[~np.isnan(cells)].astype(np.int64), minlength=n_labels)


def _of_ranges(column: Numeric, real: Floats, synthetic: Floats) -> list[Bar]:
    """Count numbers between round edges; ranges with too few real rows join their neighbor."""
    numbers = np.sort(real[~np.isnan(real)])
    released = np.sort(synthetic[~np.isnan(synthetic)])
    edges = _wide_enough(_round_edges(column, numbers), numbers)
    ends = [None, *edges, None]
    counts = [_between(side, edges) for side in (numbers, released)]
    if not len(numbers) and not len(released):
        return []
    return [
        Bar(
            kind="range",
            low=ends[i],
            high=ends[i + 1],
            real=float(counts[0][i] / len(real)),
            synthetic=float(counts[1][i] / len(synthetic)),
        )
        for i in range(len(edges) + 1)
    ]


def _round_edges(column: Numeric, numbers: Floats) -> list[float]:
    """Return the edges between which all but a few of the lowest and highest numbers lie."""
    if len(numbers) < 2 * LEAST_SHARED:
        return []
    low, high = float(numbers[LEAST_SHARED - 1]), float(numbers[-LEAST_SHARED])
    if not low < high:
        return []
    step = _round_step((high - low) / (MOST_RANGES - 3), whole=column.integer)
    first, last = math.floor(low / step) + 1, math.floor(high / step)
    return [multiple * step for multiple in range(first, last + 1)]


def _round_step(least: float, *, whole: bool) -> float:
    """Return the smallest round number that is no smaller, a whole one where asked for."""
    if whole:
        least = max(least, 1.0)
    power = 10.0 ** math.floor(math.log10(max(least, SMALLEST)))
    steps = [power * digit for digit in ROUND]
    return next((step for step in steps if step >= least and (not whole or step.is_integer())), steps[-1])


def _wide_enough(edges: list[float], numbers: Floats) -> list[float]:
    """Drop edges until every range, the open ones included, holds enough real rows."""
    kept: list[float] = []
    before = 0
    for edge in edges:
        below = int(np.searchsorted(numbers, edge, side="left"))
        if below - before >= LEAST_SHARED and len(numbers) - below >= LEAST_SHARED:
            kept.append(edge)
            before = below
    return kept


def _between(numbers: Floats, edges: list[float]) -> Indices:
    cuts = np.searchsorted(numbers, edges, side="left")
    return np.asarray(np.append(cuts, len(numbers)) - np.append(0, cuts), dtype=np.int64)
