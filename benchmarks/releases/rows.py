"""Training rows as they are, or nearly so."""

import numpy as np

from releases import changes
from releases.changes import blurred, overlaid, planted, shuffled
from releases.construction import SMALL, Release, made


def copied(share, *, times=1, rows=None, columns=None):
    """Plant a share of the training people, each several times; ``rows`` makes the release smaller."""

    def make(people, rng):
        chosen = np.tile(changes.deal(len(people.train), share, rng), times)
        fresh = people.fresh if rows is None else people.fresh[:rows]
        where = rng.permutation(len(fresh))[: len(chosen)]
        release = overlaid(fresh, where, people.train, chosen, columns)
        return Release(synthetic=release, exposure=len(set(chosen)) / len(people.train))

    return make


def only_real(n_rows):
    """Release some training people and nobody else."""

    def make(people, rng):
        release = shuffled(people.train, rng)[:n_rows]
        return Release(synthetic=release, exposure=len(release) / len(people.train))

    return make


def outlying(people, rng):
    """Plant the hundredth of the training people who are least like others."""
    rows = changes.unusual(people.train, len(people.train) // 100)
    where = rng.permutation(len(people.fresh))[: len(rows)]
    release = overlaid(people.fresh, where, people.train, rows)
    return Release(synthetic=release, exposure=len(rows) / len(people.train))


BOTH = ("adult", "nhanes")
COPIES = made(
    "Rows as they are",
    ("copies-0.5", "1 of 200 training rows verbatim, all else fresh.", copied(0.005), {}),
    ("copies-1", "1 of 100 training rows verbatim.", copied(0.01), {"tables": BOTH}),
    ("copies-2", "2 of 100 training rows verbatim.", copied(0.02), {}),
    ("copies-5", "5 of 100 training rows verbatim.", copied(0.05), {"tables": ("census",)}),
    ("copies-10", "10 of 100 training rows verbatim.", copied(0.1), {"tables": ("adult", "loans")}),
    ("copies-27", "27 of 100 training rows verbatim.", copied(0.27), {"tables": ("diabetes",)}),
    ("copies-100", "All training rows, shuffled.", copied(1.0), {}),
    ("twice", "10 of 100 training rows, each twice.", copied(0.1, times=2), {}),
    ("thrice", "10 of 100 training rows, each three times.", copied(0.1, times=3), {}),
    (
        "outlying",
        "Only the most unusual 1 of 100 training people.",
        outlying,
        {"tables": ("adult", "hospital")},
    ),
    ("release-of-10", "A release of 10 rows, all of them training people.", only_real(10), {}),
    ("release-of-50", "A release of 50 rows, all of them training people.", only_real(50), {}),
    ("release-of-200", "A release of 200 rows, all of them training people.", only_real(200), {}),
    (
        "copies-in-300",
        "A release of 300 rows, of which 30 are training people.",
        copied(0.01, rows=300),
        {},
    ),
    (
        "copies-in-30000",
        "10 of 100 training rows in a release of ten times as many rows.",
        copied(0.1),
        {"tables": ("census",), "sizes": (3000, 3000, 30_000), "draws": 1},
    ),
    (
        "wide",
        "2 of 100 rows of a table of 200 columns.",
        copied(0.02),
        {"tables": ("200 numbers",), "draws": 1},
    ),
    ("narrow", "10 of 100 rows of a table of 3 columns.", copied(0.1), {"tables": ("hospital, 3 columns",)}),
    ("few-control", "10 of 100 training rows, 400 control rows.", copied(0.1), {"sizes": (4000, 400, 3000)}),
    (
        "few-rows",
        "20 of 100 rows where all tables have 300.",
        copied(0.2),
        {"tables": ("hospital",), "sizes": SMALL},
    ),
)


def _but_for(n_columns, people, rows, rng):
    """Write training rows over fresh ones but for some cells each; return the release, and where."""
    where = rng.permutation(len(people.fresh))[: len(rows)]
    fresh = np.array([rng.permutation(len(people.columns))[:n_columns] for _ in rows])
    release = people.fresh
    for j, name in enumerate(people.columns):
        kept = ~(fresh == j).any(axis=1)
        release = overlaid(release, where[kept], people.train, rows[kept], [name])
    return release, where


def but_for(n_columns, share):
    """Plant rows but for some cells, which differ from row to row and stay fresh."""

    def make(people, rng):
        release, where = _but_for(n_columns, people, changes.deal(len(people.train), share, rng), rng)
        return Release(synthetic=release, exposure=len(where) / len(people.train))

    return make


def but_for_one_known(share):
    """Plant rows but for one column, the same for all."""

    def make(people, rng):
        left_out = rng.choice(people.telling)
        columns = [name for name in people.columns if name != left_out]
        return Release(synthetic=planted(people, share, rng, columns), exposure=share)

    return make


def aged(n_rows, *, alone):
    """Release people two years older or younger, with one fresh cell each; alone, or among fresh rows."""

    def make(people, rng):
        release, where = _but_for(1, people, rng.permutation(len(people.train))[:n_rows], rng)
        age = release["age"].to_numpy(copy=True)
        age[where] += np.where(age[where] > 2, rng.choice([-2, 2], len(where)), 2)
        release = release.assign(age=age)
        return Release(
            synthetic=release.iloc[where].reset_index(drop=True) if alone else release,
            exposure=len(where) / len(people.train),
        )

    return make


def noisy(sd, switch, share=1.0):
    """Plant people whose numbers were moved and whose categories were switched."""

    def make(people, rng):
        rows = changes.deal(len(people.train), share, rng)
        where = rng.permutation(len(people.fresh))[: len(rows)]
        near = blurred(people.train.iloc[rows].reset_index(drop=True), sd, switch, people.fresh, rng)
        release = overlaid(people.fresh, where, near, np.arange(len(rows)))
        return Release(synthetic=release, exposure=share)

    return make


def grouped(k):
    def make(people, rng):
        return Release(synthetic=shuffled(changes.averaged(people.train, k), rng), exposure=1.0)

    return make


def interpolated(people, rng):
    return Release(synthetic=shuffled(changes.between(people.train, rng), rng), exposure=1.0)


def crossing(people, rng):
    """Take each column from one of two training people."""
    drawn = changes.crossed(people.train, rng.permutation(len(people.train)), rng)
    return Release(synthetic=shuffled(drawn, rng), exposure=1.0)


NEAR = made(
    "Rows that are nearly somebody's",
    (
        "one-fresh-column-1",
        "1 of 100 rows but for one column, the same for all.",
        but_for_one_known(0.01),
        {"tables": BOTH},
    ),
    (
        "one-fresh-column-10",
        "10 of 100 rows but for one column, the same for all.",
        but_for_one_known(0.1),
        {},
    ),
    ("one-fresh-cell-1", "1 of 100 rows but for one cell each.", but_for(1, 0.01), {"tables": ("hospital",)}),
    (
        "two-fresh-cells-1",
        "1 of 100 rows but for two cells each.",
        but_for(2, 0.01),
        {"tables": ("hospital",)},
    ),
    ("two-fresh-cells-10", "10 of 100 rows but for two cells each.", but_for(2, 0.1), {}),
    (
        "aged-50",
        "50 released rows: people two years older or younger, one cell fresh.",
        aged(50, alone=True),
        {"tables": ("adult", "hospital")},
    ),
    (
        "aged-among-fresh",
        "50 people two years older or younger, one cell fresh, among fresh rows.",
        aged(50, alone=False),
        {},
    ),
    (
        "noise-.05",
        "Everybody: numbers moved by 0.05 of their spread, 5 of 100 labels switched.",
        noisy(0.05, 0.05),
        {},
    ),
    ("noise-.1", "Everybody: numbers moved by 0.1, 10 of 100 labels switched.", noisy(0.1, 0.1), {}),
    (
        "noise-.2",
        "Everybody: numbers moved by 0.2, 20 of 100 labels switched.",
        noisy(0.2, 0.2),
        {"tables": ("loans",)},
    ),
    (
        "noise-.05-of-10",
        "10 of 100 people, moved by 0.05 and 5 of 100 labels switched.",
        noisy(0.05, 0.05, 0.1),
        {"tables": BOTH},
    ),
    (
        "switched-20",
        "Everybody: exact numbers, 20 of 100 labels switched.",
        noisy(0.0, 0.2),
        {"tables": ("census",)},
    ),
    ("averaged-3", "Means of three near people, each three times.", grouped(3), {"tables": ("12 numbers",)}),
    ("averaged-5", "Means of five near people, each five times.", grouped(5), {"tables": ("loans",)}),
    (
        "interpolated",
        "Points between two near training people.",
        interpolated,
        {"tables": ("12 numbers", "hospital")},
    ),
    ("crossed", "Each column from one of two training people.", crossing, {"tables": ("adult", "hospital")}),
)
