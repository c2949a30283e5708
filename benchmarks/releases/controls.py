"""Controls against which nothing can be measured."""

import numpy as np

from releases import changes
from releases.changes import blurred, overlaid, planted, shuffled, stacked
from releases.construction import Release, made
from releases.tables import PATIENT, People


def of_both(share):
    """Plant a share of train and a share of control."""

    def make(people, rng):
        n_train, n_control = (round(share * len(table)) for table in (people.train, people.control))
        where = rng.permutation(len(people.fresh))[: n_train + n_control]
        rows = changes.deal(len(people.train), share, rng), changes.deal(len(people.control), share, rng)
        release = overlaid(people.fresh, where[:n_train], people.train, rows[0])
        release = overlaid(release, where[n_train:], people.control, rows[1])
        return Release(synthetic=release, exposure=share)

    return make


def all_of_both(people, rng):
    return Release(synthetic=stacked([people.train, people.control], rng), exposure=1.0)


def noisy_both(sd, switch):
    def make(people, rng):
        both = stacked([people.train, people.control], rng)
        return Release(synthetic=blurred(both, sd, switch, people.fresh, rng), exposure=1.0)

    return make


def control_is_release(people, rng):
    release = planted(people, 0.27, rng)
    return Release(synthetic=release, control=shuffled(release, rng), exposure=0.27)


def control_in_train(people, rng):
    """Hold out rows of which half were trained on all the same."""
    rows = changes.deal(len(people.train), 0.5, rng)
    control = stacked([people.train.iloc[rows], people.control[: len(people.control) - len(rows)]], rng)
    return Release(synthetic=planted(people, 0.27, rng), control=control, exposure=0.27)


def people_on_both_sides(column, share):
    """Split rows, not people, and memorize all rows of some."""

    def make(people, rng):
        whose = people.train[column]
        known = rng.permutation(whose.unique())[: round(share * whose.nunique())]
        rows = np.flatnonzero(whose.isin(known).to_numpy())[: len(people.fresh)]
        where = rng.permutation(len(people.fresh))[: len(rows)]
        columns = [name for name in people.columns if name != column]
        release = overlaid(people.fresh, where, people.train, rows, columns)
        return Release(synthetic=release, exposure=share)

    return make


def visits_on_both_sides(share):
    """Split visits of the same people by row."""

    def make(people, rng):
        rows = shuffled(people.train, rng)
        half = len(rows) // 2
        mixed = People(train=rows[:half], control=rows[half:].reset_index(drop=True), fresh=people.fresh)
        made = people_on_both_sides("patient", share)(mixed, rng)
        return Release(train=mixed.train, control=mixed.control, synthetic=made.synthetic, exposure=share)

    return make


def bad_control(share):
    """Plant the most unusual people, and hold out people who are older."""

    def make(people, rng):
        rows = changes.unusual(people.train, round(share * len(people.train)))
        where = rng.permutation(len(people.fresh))[: len(rows)]
        return Release(
            synthetic=overlaid(people.fresh, where, people.train, rows),
            control=people.control.assign(age=people.control["age"] + 20),
            exposure=share,
        )

    return make


CONTROL = made(
    "The control was trained on, or shares people with train",
    (
        "both-27",
        "27 of 100 rows of train and of control verbatim.",
        of_both(0.27),
        {"tables": ("adult", "diabetes")},
    ),
    (
        "both-5",
        "5 of 100 rows of train and of control verbatim.",
        of_both(0.05),
        {"tables": ("adult", "hospital")},
    ),
    ("both-100", "All rows of train and of control.", all_of_both, {}),
    (
        "both-noisy",
        "All rows of both, moved by 0.05 and 5 of 100 labels switched.",
        noisy_both(0.05, 0.05),
        {"tables": ("adult", "nhanes")},
    ),
    (
        "control-is-release",
        "27 of 100 training rows; the control equals the release.",
        control_is_release,
        {},
    ),
    (
        "control-in-train",
        "27 of 100 training rows; half of the control was trained on.",
        control_in_train,
        {},
    ),
    (
        "patients-on-both-sides",
        "Encounters split by row, all rows of 27 of 100 patients memorized.",
        people_on_both_sides(PATIENT, 0.27),
        {"tables": ("encounters",)},
    ),
    (
        "visits-on-both-sides",
        "Visits split by row, all rows of 27 of 100 people memorized.",
        visits_on_both_sides(0.27),
        {"tables": ("visits",), "sizes": (1600, 1, 800)},
    ),
    expected="refused",
) + made(
    "A control of other people",
    (
        "bad-control",
        "300 of 6,000 rows are unusual training people; the control is 20 years older.",
        bad_control(0.05),
        {"sizes": (6000, 3000, 6000)},
    ),
    (
        "bad-control-all",
        "All training rows; the control is 20 years older.",
        bad_control(1.0),
        {"tables": ("hospital",)},
    ),
)
