"""Some columns of everybody, other scales of numbers, and the order of the rows."""

import numpy as np
import pandas as pd

from releases import changes
from releases.changes import overlaid, planted, stacked
from releases.construction import Release, made
from releases.rows import noisy


def only(choose, *, times=1):
    """Keep some columns of everybody, each row several times; all else is fresh."""

    def make(people, rng):
        release = planted(people, 1.0, rng, choose(people, rng))
        return Release(synthetic=stacked([release] * times, rng), exposure=1.0)

    return make


def _finest(people, _rng):
    return [people.finest]


def _some(n_columns):
    return lambda people, rng: [people.columns[j] for j in rng.permutation(len(people.columns))[:n_columns]]


def rounded(n_columns):
    """Keep some columns of everybody to one decimal."""

    def make(people, rng):
        names = _some(n_columns)(people, rng)
        release = planted(people, 1.0, rng, names)
        return Release(
            synthetic=changes.of_numbers(release, lambda cells: cells.round(1), names), exposure=1.0
        )

    return make


def thirds(people, rng):
    """Keep each third of everybody's columns in another row."""
    release, columns = people.fresh, rng.permutation(len(people.columns))
    for part in np.array_split(columns, 3):
        rows = rng.permutation(len(people.train))[: len(release)]
        names = [people.columns[j] for j in part]
        release = overlaid(release, np.arange(len(rows)), people.train, rows, names)
    return Release(synthetic=release, exposure=1.0)


def moved_dates(people, rng):
    """Move everybody's admission by 1,000 days; the time of day stays."""
    release = planted(people, 1.0, rng, ["admitted"])
    moved = release["admitted"] + pd.Timedelta(days=1000)
    return Release(synthetic=release.assign(admitted=moved), exposure=1.0)


def decimals_kept(people, rng):
    """Move everybody's numbers by whole ones, so far that only the decimals are theirs."""
    release = planted(people, 1.0, rng)
    return Release(
        synthetic=changes.of_numbers(
            release, lambda cells: (cells + rng.normal(0, 10, len(cells)).round()).round(3)
        ),
        exposure=1.0,
    )


def gaps(people, rng):
    return Release(synthetic=changes.gaps_of(people, rng), exposure=1.0)


PARTS = made(
    "Some columns only",
    (
        "one-column",
        "One exact column of everybody, 6,000 rows.",
        only(_finest),
        {"tables": ("adult", "hospital"), "sizes": (6000, 6000, 6000)},
    ),
    (
        "one-column-twice",
        "One exact column of everybody, each row twice.",
        only(_finest, times=2),
        {"tables": ("adult", "hospital")},
    ),
    (
        "one-column-of-45000",
        "One exact column of 45,000 people.",
        only(_finest),
        {"tables": ("hospital",), "sizes": (45_000, 10_000, 45_000), "draws": 1},
    ),
    ("unique-cost", "The exact cost of everybody.", only(_finest), {"tables": ("hospital",)}),
    (
        "half-the-columns",
        "Half of the columns of everybody, exact.",
        only(lambda people, rng: _some(len(people.columns) // 2)(people, rng)),
        {},
    ),
    (
        "eight-columns",
        "Eight random columns of everybody, exact.",
        only(_some(8)),
        {"tables": ("loans", "nhanes")},
    ),
    (
        "10-of-60",
        "10 of 60 columns of everybody, exact.",
        only(_some(10)),
        {"tables": ("60 numbers",), "draws": 2},
    ),
    (
        "10-of-60-rounded",
        "10 of 60 columns of everybody, to one decimal.",
        rounded(10),
        {"tables": ("60 numbers",), "draws": 2},
    ),
    (
        "10-of-100",
        "10 of 100 columns of everybody, exact.",
        only(_some(10)),
        {"tables": ("100 numbers",), "draws": 1},
    ),
    (
        "10-of-100-rounded",
        "10 of 100 columns of everybody, to one decimal.",
        rounded(10),
        {"tables": ("100 numbers",), "draws": 1},
    ),
    (
        "thirds",
        "Each third of everybody's columns, in three different rows.",
        thirds,
        {"tables": ("adult", "hospital")},
    ),
    (
        "moved-dates",
        "Everybody's admission moved by 1,000 days, the time of day exact.",
        moved_dates,
        {"tables": ("hospital, times",)},
    ),
    (
        "decimals",
        "Exact decimals behind noise in everybody's numbers.",
        decimals_kept,
        {"tables": ("12 numbers",)},
    ),
    ("gaps", "Nothing but which cells of everybody are missing.", gaps, {"tables": ("nhanes",)}),
)


def rescaled(how, share=1.0):
    """Plant people and write all numbers of the release otherwise."""

    def make(people, rng):
        release = planted(people, share, rng)
        return Release(synthetic=changes.of_numbers(release, how), exposure=share)

    return make


ABSURD = 1e12


def with_absurd_row(release, people):
    """Add one row of an impossible value."""
    name = people.finest
    row = people.fresh.iloc[[0]].assign(**{name: ABSURD})
    return pd.concat([release.astype({name: float}), row.astype({name: float})], ignore_index=True)


def absurd(sd, switch):
    def make(people, rng):
        made = noisy(sd, switch)(people, rng)
        return Release(synthetic=with_absurd_row(made.synthetic, people), exposure=1.0)

    return make


SCALES = made(
    "Other scales",
    (
        "times-100",
        "All training rows, numbers × 100.",
        rescaled(lambda cells: cells * 100),
        {"tables": ("12 numbers", "adult")},
    ),
    (
        "shifted",
        "All training rows, numbers shifted by 1,000.",
        rescaled(lambda cells: (cells + 1000).round(6)),
        {"tables": ("12 numbers", "adult")},
    ),
    (
        "mirrored",
        "All training rows, numbers mirrored.",
        rescaled(lambda cells: cells.max() + cells.min() - cells),
        {"tables": ("12 numbers", "adult")},
    ),
    (
        "logarithms",
        "All training rows, logarithms of numbers.",
        rescaled(lambda cells: np.log(cells - cells.min() + 1)),
        {"tables": ("12 numbers", "hospital")},
    ),
    (
        "ranks",
        "All training rows, ranks instead of numbers.",
        rescaled(lambda cells: cells.rank()),
        {"tables": ("12 numbers",)},
    ),
    (
        "absurd-row",
        "Everybody moved by 0.1, beside one row of 1e12.",
        absurd(0.1, 0.1),
        {"tables": ("12 numbers", "adult"), "sizes": (3000, 8000, 3000)},
    ),
)


def in_order(n_columns, *, share=1.0):
    """Give row i of the release some values of row i of train; a share of its rows, the first ones."""

    def make(people, rng):
        n_rows = round(share * len(people.train))
        release = people.fresh[:n_rows].reset_index(drop=True)
        names = list(rng.permutation(people.telling)[:n_columns])
        rows = np.arange(len(release))
        return Release(
            synthetic=overlaid(release, rows, people.train, rows, names),
            exposure=len(rows) / len(people.train),
        )

    return make


def imputed(people, rng):
    """Replace a fifth of the cells by those of others, and keep the order."""
    release = people.train
    for name in people.columns:
        where = np.flatnonzero(rng.random(len(release)) < 0.2)
        release = overlaid(
            release, where, people.fresh, rng.integers(0, len(people.fresh), len(where)), [name]
        )
    return Release(synthetic=release, exposure=1.0)


ORDER = made(
    "Order",
    (
        "order-1",
        "Row i has one value of row i of train, all else fresh.",
        in_order(1),
        {"tables": ("adult", "census")},
    ),
    ("order-3", "Row i has three values of row i of train.", in_order(3), {"tables": ("adult", "hospital")}),
    (
        "order-of-half",
        "Row i has three values of row i of train, the first half of the rows.",
        in_order(3, share=0.5),
        {},
    ),
    (
        "imputed",
        "The training table with 20 of 100 cells replaced, in its order.",
        imputed,
        {"tables": ("diabetes",)},
    ),
)
