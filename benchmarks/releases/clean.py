"""Releases that betray nobody."""

import numpy as np

from releases import changes
from releases.changes import stacked
from releases.columns import with_absurd_row
from releases.construction import LETTERS, SMALL, Release, made
from releases.generated import generated
from releases.tables import CASE


def fresh(people, _rng):
    return Release(synthetic=people.fresh)


def fresh_twice(people, rng):
    return Release(synthetic=stacked([people.fresh] * 2, rng))


def fresh_times_100(people, _rng):
    return Release(synthetic=changes.of_numbers(people.fresh, lambda cells: cells * 100))


def fresh_and_absurd(people, _rng):
    return Release(synthetic=with_absurd_row(people.fresh, people))


def all_sorted(people, _rng):
    """Sort all three tables by the same columns."""
    by = [people.finest, people.columns[0]]
    train, control, release = (
        table.sort_values(by, kind="stable", ignore_index=True)
        for table in (people.train, people.control, people.fresh)
    )
    return Release(train=train, control=control, synthetic=release)


def numbered_anew(people, _rng):
    """Give rows of train and control one number after the other, and those of the release theirs from 1."""
    n_train, n_control = len(people.train), len(people.control)
    return Release(
        train=people.train.assign(**{CASE: np.arange(1, n_train + 1)}),
        control=people.control.assign(**{CASE: np.arange(n_train + 1, n_train + n_control + 1)}),
        synthetic=people.fresh.assign(**{CASE: np.arange(1, len(people.fresh) + 1)}),
        options={"drop_identifiers": True},
    )


def fresh_visits(people, _rng):
    return Release(synthetic=people.fresh.drop(columns="patient"), options={"person": "patient"})


def households(people, rng):
    """Store a fifth of all rows twice, and split so that twins stay together."""
    train, control, release = (
        stacked([table[: len(table) * 5 // 6], table[: len(table) // 6]], rng)
        for table in (people.train, people.control, people.fresh)
    )
    return Release(train=train, control=control, synthetic=release)


REAL = ("adult", "census", "diabetes", "loans", "nhanes")
CLEAN = made(
    "Clean releases",
    ("fresh", "Fresh rows of the same population.", fresh, {"tables": (*REAL, "hospital", "12 numbers")}),
    ("fresh-8000", "Fresh rows, 8,000 control rows.", fresh, {"sizes": (3000, 8000, 3000)}),
    (
        "fresh-unequal",
        "4,000 training, 400 control, 3,000 fresh rows.",
        fresh,
        {"tables": ("adult", "nhanes"), "sizes": (4000, 400, 3000)},
    ),
    (
        "fresh-small",
        "Fresh rows, 300 in each table.",
        fresh,
        {"tables": ("hospital", "adult"), "sizes": SMALL},
    ),
    ("fresh-tiny", "Fresh rows, 20 in each table.", fresh, {"tables": ("hospital",), "sizes": (20, 20, 20)}),
    ("fresh-few-columns", "Four columns, so that rows repeat.", fresh, {"tables": ("adult, 4 columns",)}),
    ("fresh-three-columns", "Three columns of numbers.", fresh, {"tables": ("hospital, 3 columns",)}),
    ("fresh-twice", "Fresh rows, each twice.", fresh_twice, {}),
    ("fresh-times-100", "Fresh rows, numbers × 100.", fresh_times_100, {"tables": ("adult", "12 numbers")}),
    ("fresh-absurd", "Fresh rows and one of 1e12.", fresh_and_absurd, {"tables": ("adult", "12 numbers")}),
    ("fresh-sorted", "All tables sorted by the same columns.", all_sorted, {"tables": ("adult", "hospital")}),
    (
        "fresh-numbered",
        "Rows of the release numbered from 1, as those of train are.",
        numbered_anew,
        {"tables": ("hospital",)},
    ),
    (
        "fresh-letters",
        "Fresh letters, names and addresses.",
        fresh,
        {"tables": ("letters", "letters, addressed"), "sizes": LETTERS},
    ),
    ("fresh-cases", "Fresh rows with case numbers of their own.", fresh, {"tables": ("hospital, cases",)}),
    ("fresh-times", "Fresh rows with times to the second.", fresh, {"tables": ("hospital, times",)}),
    (
        "fresh-visits",
        "Fresh visits of people with several rows, who are named.",
        fresh_visits,
        {"tables": ("visits",), "sizes": (800, 800, 800)},
    ),
    ("twins-together", "A sixth of the rows stored twice, twins kept in one table.", households, {}),
    ("trees", "Trees with their defaults.", generated("trees", 0.0), {"tables": ("adult", "hospital")}),
    (
        "marginals",
        "Columns drawn independently.",
        generated("marginals", 0.0),
        {"tables": ("adult", "12 numbers")},
    ),
    ("aim-1", "AIM with ε = 1.", generated("aim", 0.0, epsilon=1.0), {"draws": 1}),
    expected="not above",
)
