"""Columns that are the sum of two others, found without trying all triples.

A few rows name the suspects: where the sum of two numbers is a third one in the same row. Few of these are
the same in other rows, and those that are left are tried on all.
"""

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Column, Floats, Indices, Numeric
from tabveil.metrics.utility.rule_tables import DATES, NUMBERS, RuleTables

N_PROBES = 24
N_TRIED = 64
MOST_SUMMANDS = 100
MOST_SUSPECTS = 2000
"""Of columns and of suspects, in tables where there are more."""
EXCEPTIONS = 0.001
"""In so few rows a sum may be off: that numbers add up in the others is no chance."""
RELATIVE = 1e-6
"""By so much of itself a sum of numbers without decimals may be off."""

Flags = NDArray[np.bool_]


def add_up(decimals: Floats, cells: Floats) -> Flags:
    """Whether the first two numbers add up to the third: to the last decimal place, exactly if all are whole.

    Parts of a total are often rounded one by one. ``decimals`` are (3, …) places after the point, NaN where
    there is no such number, and ``cells`` (3, …) the numbers; what is missing adds up to nothing.
    """
    exact = (decimals == 0).all(axis=0)
    slack = np.where(exact, 0.0, 10.0 ** -decimals.max(axis=0) * (1 + RELATIVE))
    slack = np.where(np.isnan(decimals).any(axis=0), np.abs(cells[2]) * RELATIVE, slack)
    return np.asarray(np.abs(cells[0] + cells[1] - cells[2]) <= slack)


def decimals_of(column: Column) -> float:
    """Return how many decimal places a column has, NaN if there is no such number."""
    known = column.decimals if isinstance(column, Numeric) else None
    return np.nan if known is None else float(known)


def find_sums(tables: RuleTables, places: Indices) -> list[tuple[int, int, int]]:
    """Return the triples of columns of which the first two add up to the third in nearly every row."""
    places = places[:MOST_SUMMANDS]
    cells = tables.learned.cells[places]  # (m, n)
    decimals = np.array([decimals_of(tables.columns[place]) for place in places])
    suspects: set[tuple[int, int, int]] = set()
    for row in _telling_rows(cells):
        found = _suspects(cells[:, row], tables.kinds[places], tables.clocks[places])  # (3, s)
        off = _share_off(decimals[found][..., None], cells[:, :N_TRIED][found])
        found = found[:, off <= 1 / N_TRIED]
        suspects.update((a, b, c) for a, b, c in found.T.tolist())
    return [
        (int(places[a]), int(places[b]), int(places[c]))
        for a, b, c in sorted(suspects)[:MOST_SUSPECTS]
        if _share_off(decimals[[a, b, c]][:, None], cells[[a, b, c]]) <= EXCEPTIONS
    ]


def _share_off(decimals: Floats, cells: Floats) -> Floats:
    """Return in which share of n rows that have all three (3, …, n) numbers do not add up."""
    said = ~np.isnan(cells.sum(axis=0))
    off = (said & ~add_up(decimals, cells)).sum(axis=-1)
    return np.asarray(off / np.maximum(said.sum(axis=-1), 1))


def _telling_rows(cells: Floats) -> Indices:
    """Return the rows with the most numbers that are not zero: zero adds up with anything."""
    telling = np.count_nonzero(~np.isnan(cells) & (cells != 0), axis=0)
    return np.argsort(-telling, kind="stable")[:N_PROBES]


def _suspects(row: Floats, kinds: Indices, clocks: Floats) -> Indices:
    """Return (3, s) which two numbers of a row add up to about which third."""
    parts = np.flatnonzero(~np.isnan(row) & (row != 0))
    totals = parts[np.argsort(row[parts], kind="stable")]
    first, second = (parts[side] for side in np.triu_indices(len(parts), k=1))
    sums = row[first] + row[second]
    room = np.abs(sums) * RELATIVE + 1.0
    begin = np.searchsorted(row[totals], sums - room)
    n_near = np.searchsorted(row[totals], sums + room, side="right") - begin
    pair = np.repeat(np.arange(len(sums)), n_near)
    nth = np.arange(len(pair)) - np.repeat(np.cumsum(n_near) - n_near, n_near)
    a, b, c = first[pair], second[pair], totals[begin[pair] + nth]
    alike = (kinds[a] == kinds[b]) & (kinds[b] == kinds[c]) & (kinds[c] != DATES)
    fits = alike | _dated(kinds, clocks, a, b, c) | _dated(kinds, clocks, b, a, c)
    return np.stack([a, b, c])[:, fits & (c != a) & (c != b)]


def _dated(kinds: Indices, clocks: Floats, date: Indices, number: Indices, total: Indices) -> Flags:
    """Whether a date and a number of its units make a date: admitted, days, discharged."""
    dates = (kinds[date] == DATES) & (kinds[total] == DATES) & (clocks[date] == clocks[total])
    return np.asarray(dates & (kinds[number] == NUMBERS))
