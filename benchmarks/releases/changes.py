"""What a leaky generator may do with training rows: keep, blur, mix, average, move or hide them."""

import re

import numpy as np
import pandas as pd
from sklearn.neighbors import NearestNeighbors

from releases.tables import FINE, is_number

_SYNONYMS = {
    "Last week": "Seven days ago",
    "For some days": "Lately",
    "Since spring": "From April on",
    "At night": "After dark",
    "After meals": "Having eaten",
    "In the morning": "On waking",
    "At work": "In the office",
    "left knee": "knee on the left",
    "right hand": "hand on the right",
    "lower back": "lumbar region",
    "one shoulder": "a shoulder joint",
    "the neck": "the nape",
    "a tooth": "one molar",
    "an ankle": "one foot",
    "hurt badly": "was most painful",
    "felt numb": "had no feeling",
    "was swollen": "had grown thick",
    "kept aching": "gave no peace",
    "could not move": "stayed rigid",
    "burned": "was on fire",
    "was stiff": "would hardly bend",
    "while walking": "on foot",
    "when climbing stairs": "going upstairs",
    "in the garden": "among the flowers",
    "on the bus": "riding to town",
    "during sleep": "in bed",
    "in the cold": "in frosty air",
    "and rest helped": "better after a pause",
    "and nothing helped": "without any relief",
    "but tea helped": "eased by a hot drink",
    "until noon": "up to midday",
    "for an hour": "sixty minutes long",
    "now and then": "from time to time",
}


def deal(n_rows, share, rng):
    """Draw some of the rows, in no order."""
    return rng.permutation(n_rows)[: round(share * n_rows)]


def overlaid(fresh, where, source, rows, columns=None):
    """Write the cells of some rows over those of fresh ones; ``columns`` None writes all."""
    changed = fresh.copy()
    for name in source.columns if columns is None else columns:
        cells = changed[name].copy()
        cells.iloc[where] = source[name].iloc[rows].array
        changed[name] = cells
    return changed


def planted(people, share, rng, columns=None):
    """Write a share of the training people over fresh rows."""
    rows = deal(len(people.train), share, rng)
    where = rng.permutation(len(people.fresh))[: len(rows)]
    return overlaid(people.fresh, where, people.train, rows, columns)


def shuffled(table, rng):
    return table.iloc[rng.permutation(len(table))].reset_index(drop=True)


def stacked(tables, rng):
    """Put rows of several tables together, in no order."""
    return shuffled(pd.concat(tables, ignore_index=True), rng)


def with_cells(table, name, values):
    """Replace a column by numbers, written as precisely as the column was."""
    cells = table[name]
    known = cells.notna().to_numpy() & np.isfinite(values)
    written = np.where(known, np.round(values, decimals(cells)), 0.0)
    if pd.api.types.is_integer_dtype(cells):
        return table.assign(**{name: written.astype(cells.dtype)})
    return table.assign(**{name: np.where(known, written, np.nan)})


def decimals(cells):
    """Return how many decimals a column is written with, up to three."""
    values = cells.dropna().to_numpy(dtype=float)
    return next((n for n in range(FINE) if np.allclose(values, values.round(n), rtol=0, atol=1e-9)), FINE)


def of_numbers(table, change, names=None):
    """Change each column of numbers as a whole."""
    for name in [name for name in table if is_number(table[name])] if names is None else names:
        table = table.assign(**{name: change(table[name].astype(float))})
    return table


def blurred(table, sd, switch, pool, rng):
    """Move numbers by noise relative to their spread, and switch categories for those of others."""
    for name in table:
        cells = table[name]
        if is_number(cells):
            values = cells.to_numpy(dtype=float, na_value=np.nan)
            spread = np.nanstd(pool[name].to_numpy(dtype=float, na_value=np.nan))
            table = with_cells(table, name, values + rng.normal(0, sd, len(table)) * spread)
        elif pd.api.types.is_datetime64_any_dtype(cells):
            days = np.round(rng.normal(0, sd * 200, len(table))).astype(int)
            table = table.assign(**{name: cells + pd.to_timedelta(days, unit="D").astype("timedelta64[s]")})
        else:
            where = np.flatnonzero(rng.random(len(table)) < switch)
            others = rng.integers(0, len(pool), len(where))
            table = overlaid(table, where, pool, others, [name])
    return table


def _placed(table):
    """Return numbers in units of their spread; what is missing stands in the middle."""
    columns = [table[name].to_numpy(dtype=float, na_value=np.nan) for name in table if is_number(table[name])]
    values = np.column_stack(columns)
    values = (values - np.nanmean(values, axis=0)) / np.maximum(np.nanstd(values, axis=0), 1e-9)
    return np.nan_to_num(values)


def averaged(table, k):
    """Replace the numbers of k near rows by their mean, and categories by the first one's."""
    placed, left = _placed(table), np.arange(len(table))
    groups = []
    while len(left):
        apart = ((placed[left] - placed[left[0]]) ** 2).sum(axis=1)
        nearest = np.argsort(apart, kind="stable")[:k]
        groups.append(left[nearest])
        left = np.delete(left, nearest)
    group = np.empty(len(table), dtype=int)
    first = np.empty(len(table), dtype=int)
    for number, members in enumerate(groups):
        group[members], first[members] = number, members[0]
    merged = table.iloc[first].reset_index(drop=True)
    for name in table:
        if is_number(table[name]):
            means = table[name].astype(float).groupby(group).transform("mean").to_numpy()
            merged = with_cells(merged, name, means)
    return merged


def between(table, rng):
    """Draw each row between a row and one of its five nearest: categories are one of the two's."""
    found = NearestNeighbors(n_neighbors=6).fit(_placed(table))
    near = found.kneighbors(return_distance=False)[np.arange(len(table)), rng.integers(0, 5, len(table))]
    share = rng.random(len(table))
    drawn = crossed(table, near, rng)
    for name in table:
        if is_number(table[name]):
            values = table[name].to_numpy(dtype=float, na_value=np.nan)
            drawn = with_cells(drawn, name, values + share * (values[near] - values))
    return drawn


def crossed(table, others, rng):
    """Take each cell from a row or from its partner."""
    drawn = table.copy()
    for name in table:
        where = np.flatnonzero(rng.random(len(table)) < 0.5)
        drawn = overlaid(drawn, where, table, others[where], [name])
    return drawn


def unusual(table, n_rows):
    """Return the rows that are least like others: rare labels, numbers far from the middle."""
    score = np.zeros(len(table))
    for name in table:
        cells = table[name]
        if is_number(cells):
            ranks = cells.rank(pct=True).fillna(0.5).to_numpy()
            score += -np.log(np.minimum(ranks, 1 - ranks) + 1 / len(table))
        else:
            score += -np.log(cells.map(cells.value_counts(normalize=True)).astype(float).fillna(1).to_numpy())
    return np.argsort(-score, kind="stable")[:n_rows]


def gaps_of(people, rng):
    """Give fresh rows the missing cells of training rows, and values of others where they lack one."""
    release = people.fresh.copy()
    rows = rng.permutation(len(people.train))[: len(release)]
    for name in people.columns:
        gap = people.train[name].isna().to_numpy()[rows]
        known = people.fresh[name].dropna()
        if gap.all() or known.empty:
            continue
        cells = release[name].copy()
        lacks = np.flatnonzero(cells.isna().to_numpy() & ~gap)
        cells.iloc[lacks] = known.iloc[rng.integers(0, len(known), len(lacks))].array
        release[name] = cells.mask(gap)
    return release


def paraphrased(text):
    """Say the same in other words."""
    return re.sub("|".join(map(re.escape, _SYNONYMS)), lambda found: _SYNONYMS[found[0]], text)
