"""Letters, names and numbers of training people, and what is hidden where nobody looks."""

import numpy as np
import pandas as pd

from releases import changes
from releases.changes import overlaid, planted
from releases.construction import LETTERS, Release, made
from releases.tables import CASE, addressed


def words(columns, share=1.0):
    """Release what stands in some columns of training people, all else fresh."""

    def make(people, rng):
        return Release(synthetic=planted(people, share, rng, columns), exposure=share)

    return make


def names_in_letters(people, rng):
    """Address fresh letters to training people."""
    rows = rng.permutation(len(people.train))[: len(people.fresh)]
    told = [text.split("), ", 1)[1] for text in people.fresh["letter"]]
    real = people.train.iloc[rows]
    letter = addressed(told, real["name"], real["email"])
    return Release(synthetic=people.fresh.assign(letter=letter), exposure=1.0)


def numbered(how, **options):
    """Give fresh rows the case numbers of training people, written in some way in all tables."""

    def make(people, rng):
        train, control, fresh = (
            table.assign(**{CASE: how(table[CASE])}) for table in (people.train, people.control, people.fresh)
        )
        rows = rng.permutation(len(train))[: len(fresh)]
        release = overlaid(fresh, np.arange(len(rows)), train, rows, [CASE])
        return Release(train=train, control=control, synthetic=release, exposure=1.0, options=options)

    return make


def _as_text(cells):
    return [f"C-{number}" for number in cells]


WORDS = made(
    "Letters, names and numbers",
    (
        "letters",
        "Everybody's letter verbatim, all else fresh.",
        words(["letter"]),
        {"tables": ("letters",), "sizes": LETTERS},
    ),
    (
        "letters-10",
        "10 of 100 letters verbatim, all else fresh.",
        words(["letter"], 0.1),
        {"tables": ("letters",), "sizes": LETTERS},
    ),
    (
        "names",
        "Everybody's name and e-mail address, all else fresh.",
        words(["name", "email"]),
        {"tables": ("letters",), "sizes": LETTERS},
    ),
    (
        "names-10",
        "10 of 100 e-mail addresses, all else fresh.",
        words(["email"], 0.1),
        {"tables": ("letters",), "sizes": LETTERS},
    ),
    (
        "names-in-letters",
        "Everybody's name and e-mail address inside fresh letters.",
        names_in_letters,
        {"tables": ("letters, addressed",), "sizes": LETTERS},
    ),
    (
        "case-numbers",
        "Everybody's case number on fresh rows, identifiers dropped.",
        numbered(_as_text, drop_identifiers=True),
        {"tables": ("hospital, cases",)},
    ),
    (
        "case-integers",
        "Everybody's case number, a whole one, on fresh rows, identifiers dropped.",
        numbered(lambda cells: cells, drop_identifiers=True),
        {"tables": ("hospital, cases",)},
    ),
    (
        "case-person",
        "Everybody's case number on fresh rows, named as the person.",
        numbered(_as_text, person=CASE),
        {"tables": ("hospital, cases",)},
    ),
    (
        "case-person-integers",
        "Everybody's case number, a whole one, on fresh rows, named as the person.",
        numbered(lambda cells: cells, person=CASE),
        {"tables": ("hospital, cases",)},
    ),
)


def moved_columns(people, rng):
    """Write everybody's numbers into the next column."""
    real = people.train.iloc[rng.permutation(len(people.train))[: len(people.fresh)]]
    moved = {
        name: real[other].to_numpy()
        for name, other in zip(real.columns, np.roll(real.columns, 1), strict=True)
    }
    return Release(synthetic=pd.DataFrame(moved), exposure=1.0)


def in_the_digits(people, rng):
    """Write everybody's decimals behind fresh numbers of the next column."""
    moved = moved_columns(people, rng).synthetic
    return Release(synthetic=(np.floor(people.fresh) + (moved - np.floor(moved))).round(3), exposure=1.0)


def in_other_words(people, rng):
    release = planted(people, 1.0, rng, ["letter"])
    return Release(synthetic=release.assign(letter=release["letter"].map(changes.paraphrased)), exposure=1.0)


ESCAPES = made(
    "Hidden where nobody looks",
    (
        "moved-columns",
        "Everybody's numbers, each in the next column.",
        moved_columns,
        {"tables": ("12 numbers",)},
    ),
    (
        "digits",
        "Everybody's decimals behind fresh numbers of another column.",
        in_the_digits,
        {"tables": ("12 numbers",)},
    ),
    (
        "paraphrase",
        "Everybody's letter in other words.",
        in_other_words,
        {"tables": ("letters",), "sizes": LETTERS},
    ),
    expected="escapes",
)
