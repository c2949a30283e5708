"""Generators that learn by heart, and people with several rows."""

import numpy as np

from releases.changes import shuffled, stacked
from releases.construction import MISSING, Release, made
from tabveil import synthesize


def generated(generator, exposure, **settings):
    """Learn the training rows and draw as many as there are fresh ones."""

    def make(people, rng):
        drawn = synthesize(
            people.train,
            generator=generator,
            rows=len(people.fresh),
            settings=settings,
            seed=int(rng.integers(2**31)),
            missing=MISSING,
            rare_labels="keep" if exposure != 0 else "pool",
            threads=1,
        )
        return Release(synthetic=shuffled(drawn, rng), exposure=exposure)

    return make


def visits_of(share):
    """Release all rows of some people beside those of others."""

    def make(people, rng):
        whose = people.train["patient"]
        known = rng.permutation(whose.unique())[: round(share * whose.nunique())]
        release = stacked([people.fresh, people.train[whose.isin(known)]], rng)
        return Release(
            synthetic=release.drop(columns="patient"), exposure=share, options={"person": "patient"}
        )

    return make


def one_visit_each(people, rng):
    """Release one row of each tenth person."""
    some = people.train.drop_duplicates("patient").iloc[::10]
    release = stacked([people.fresh, some], rng).drop(columns="patient")
    return Release(
        synthetic=release,
        exposure=some["patient"].nunique() / people.train["patient"].nunique(),
        options={"person": "patient"},
    )


GENERATORS = made(
    "Generators that learn by heart",
    ("copy", "Rows drawn from the training rows with replacement.", generated("copy", 1 - np.exp(-1)), {}),
    (
        "copy-noisy",
        "Training rows drawn with replacement, moved by 0.1 of their spread.",
        generated("copy", 1 - np.exp(-1), noise=0.1),
        {},
    ),
    (
        "trees-published",
        "Trees as published, leaves of five rows.",
        generated("trees", None, preset="published"),
        {"tables": ("adult", "hospital")},
    ),
    (
        "trees-1",
        "Trees as published, leaves of one row.",
        generated("trees", None, preset="published", min_leaf=1),
        {"tables": ("adult", "hospital")},
    ),
) + made(
    "People with several rows",
    (
        "visits-10",
        "All rows of 10 of 100 people, who are named.",
        visits_of(0.1),
        {"tables": ("visits",), "sizes": (800, 800, 800)},
    ),
    (
        "one-visit-each",
        "One row of each tenth person.",
        one_visit_each,
        {"tables": ("visits",), "sizes": (800, 800, 800)},
    ),
)
