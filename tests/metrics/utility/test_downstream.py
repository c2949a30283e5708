"""The discriminator, train on synthetic and test on real, and densities: by hand and with known truths."""

from dataclasses import replace

import numpy as np
import pytest
from supplies.populations import SCHEMAS, population, rows, split

from tabveil.core.table import Categorical, Numeric, Schema, Split, Table
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.utility.discriminator import discriminate
from tabveil.metrics.utility.distances import ComparedTables
from tabveil.metrics.utility.downstream import (
    choose_targets,
    compare_labels,
    compare_numbers,
    named_targets,
    predict_targets,
)
from tabveil.metrics.utility.joint import discrepancy, relate, unbiased

NAN = np.nan


def seeded(number=0):
    return np.random.default_rng(number)


def sides_of(tables):
    return ComparedTables.of(tables, rng=seeded())


def permuted(values, rng):
    """Keep every column, break what goes together."""
    return np.column_stack([rng.permutation(column) for column in values.T])


def linked(n, rng, *, broken=False):
    """Draw rows whose label and number follow from a third column, one time in ten by chance."""
    x = rng.uniform(0, 1, n)
    label = np.where(rng.random(n) < 0.9, x > 0.5, rng.random(n) < 0.5).astype(float)
    y = x + rng.normal(0, 0.1, n)
    found = np.column_stack([x, label, y, rng.integers(0, 3, n)])
    return permuted(found, rng) if broken else found


LINKED = Schema(
    (
        Numeric(name="x", low=0, high=1),
        Categorical(name="label", labels=("no", "yes")),
        Numeric(name="y", low=-1, high=2),
        Categorical(name="noise", labels=tuple("abc")),
    )
)


# Whom a release is compared with


def test_the_control_is_the_measure_and_train_the_fresh_rows():
    tables = population("mixed", (50, 30, 80))
    sides = sides_of(tables)
    assert sides.real.schema.names == tuple(sorted(tables.schema.names))
    assert [len(sides.real), len(sides.fresh), len(sides.synthetic)] == [30, 50, 50]
    assert "50 of 80 synthetic rows" in sides.notes[0]


def test_without_control_train_is_halved():
    tables = population("mixed", (51, 0, 80))
    sides = sides_of(tables)
    assert [len(sides.real), len(sides.fresh), len(sides.synthetic)] == [26, 25, 25]
    halves = np.concatenate([sides.real.values, sides.fresh.values])
    whole = tables.train.select(sides.real.schema.names).values
    assert sorted(map(str, halves.tolist())) == sorted(map(str, whole.tolist()))
    assert "No control" in sides.notes[0]


def test_one_row_has_no_half():
    sides = sides_of(population("mixed", (1, 0, 5)))
    assert [len(sides.real), len(sides.fresh), len(sides.synthetic)] == [1, 0, 5]


# The discriminator


def test_fresh_rows_cannot_be_told_apart():
    held = []
    for seed in range(25):
        figure = discriminate(sides_of(population("mixed", (150, 150, 150), seed=seed)), rng=seeded(seed))
        held += [estimate.low <= 0.5 <= estimate.high for estimate in (figure.value, figure.reference)]
    assert np.mean(held) >= 0.9


def test_moved_and_broken_rows_can_be_told_apart():
    rng = seeded(1)
    train, control, moved = (rows("normal", 800, rng) for _ in range(3))
    moved[:, 0] = np.clip(moved[:, 0] + 1, -6, 6)
    broken = split(LINKED, linked(800, rng), linked(800, rng), linked(800, rng, broken=True))
    for tables in (split(SCHEMAS["normal"], train, control, moved), broken):
        figure = discriminate(sides_of(tables), rng=rng)
        assert figure.value.low > 0.55
        assert figure.reference.low < 0.5 < figure.reference.high


def test_a_copy_of_train_looks_no_better_than_train():
    tables = population("mixed", (400, 400, 400))
    copy = split(tables.schema, tables.train.values, tables.control.values, tables.train.values)
    figure = discriminate(sides_of(copy), rng=seeded())
    assert figure.value.high > 0.5
    assert figure.value.value == pytest.approx(figure.reference.value, abs=0.06)


def test_rows_of_another_kind_are_told_apart_with_certainty_and_equal_rows_by_chance():
    schema = Schema((Categorical(name="a", labels=("x", "y")),))
    there, here = [[0]] * 60, [[1]] * 60
    figure = discriminate(sides_of(split(schema, there, there, here)), rng=seeded())
    assert figure.value.value == 1
    assert figure.value.low < 0.97
    assert figure.reference.value == 0.5


def test_too_few_rows_to_learn_from():
    with pytest.raises(NotApplicable, match="got 19 and 30"):
        discriminate(sides_of(population("mixed", (30, 19, 30))), rng=seeded())


# Train on synthetic, test on real


def test_labels_by_hand():
    synthetic, fresh = np.array([1, 0, 1, 0], bool), np.array([1, 1, 1, 0], bool)
    found = compare_labels("sex", synthetic, fresh, 0.6)
    assert (found.score, found.figure.value.value, found.figure.reference.value) == ("accuracy", 0.5, 0.75)
    assert (found.gap.value, found.baseline.value) == (0.25, 0.6)
    assert found.gap.low < 0 < found.gap.high


def test_numbers_by_hand():
    truth = np.array([0.0, 0.2, 0.4, 0.6])  # variance 0.05
    errors = np.array([0.1, -0.1, 0.1, -0.1]), np.array([0.0, 0.1, 0.0, -0.1])
    found = compare_numbers("age", *errors, truth)
    assert found.figure.value.value == pytest.approx(1 - 0.01 / 0.05)
    assert found.figure.reference.value == pytest.approx(1 - 0.005 / 0.05)
    assert found.gap.value == pytest.approx(0.1)
    assert found.range_score.value.value == pytest.approx(0.9)
    assert found.baseline.value == 0


@pytest.mark.parametrize("kind", ["labels", "numbers"])
def test_rows_of_one_person_are_one_observation(kind):
    rng = seeded(5)
    people = np.repeat(np.arange(100), 5)
    if kind == "labels":
        synthetic, fresh = (rng.random(100) < chance for chance in (0.6, 0.7))
        alone = compare_labels("sex", synthetic, fresh, 0.5)
        copied = compare_labels("sex", synthetic.repeat(5), fresh.repeat(5), 0.5, people=people)
        by_row = compare_labels("sex", synthetic.repeat(5), fresh.repeat(5), 0.5)
    else:
        truth, synthetic, fresh = rng.normal(size=100), rng.normal(0, 0.6, 100), rng.normal(0, 0.5, 100)
        alone = compare_numbers("age", synthetic, fresh, truth)
        copied = compare_numbers("age", synthetic.repeat(5), fresh.repeat(5), truth.repeat(5), people=people)
        by_row = compare_numbers("age", synthetic.repeat(5), fresh.repeat(5), truth.repeat(5))
        assert copied.range_score.value.low == pytest.approx(alone.range_score.value.low)
    for one, same, narrow in (
        (alone.figure.value, copied.figure.value, by_row.figure.value),
        (alone.gap, copied.gap, by_row.gap),
    ):
        assert same.value == pytest.approx(one.value)
        assert same.high - same.low == pytest.approx(one.high - one.low, rel=0.02)
        assert narrow.high - narrow.low < 0.6 * (one.high - one.low)


def test_a_model_is_not_asked_about_people_it_has_learned_from():
    rng = seeded(1)
    people = np.repeat(np.arange(60), 10)
    each = rng.normal(size=(120, 4))  # rows of a person are nearly equal
    schema = Schema(tuple(Numeric(name=name, low=-9, high=9) for name in "abcd"))
    real, fresh = (
        Table(schema=schema, values=rows.repeat(10, axis=0) + rng.normal(0, 0.01, (600, 4)), people=whose)
        for rows, whose in ((each[:60], people), (each[60:], people + 60))
    )
    released = rng.normal(size=(600, 4))
    tables = Split(train=fresh, control=real, synthetic=Table(schema=schema, values=released))
    by_person = discriminate(sides_of(tables), rng=seeded()).reference
    rows = Split(
        **{role: replace(getattr(tables, role), people=None) for role in ("train", "control", "synthetic")}
    )
    by_row = discriminate(sides_of(rows), rng=seeded()).reference
    assert by_row.low > 0.9  # real people told from real people, by their other rows
    assert by_person.low < 0.5 < by_person.high


def test_the_interval_of_r2_holds_that_of_the_population():
    rng, held, gaps = seeded(3), [], []
    for _ in range(200):
        truth = rng.normal(size=200)
        synthetic, fresh = rng.normal(0, 0.6, 200), rng.normal(0, 0.5, 200)
        found = compare_numbers("age", synthetic, fresh, truth)
        held.append(found.figure.value.low <= 0.64 <= found.figure.value.high)
        gaps.append(found.gap.low <= 0.11 <= found.gap.high)
    assert np.mean(held) >= 0.92
    assert np.mean(gaps) >= 0.92


def predicted(tables, targets):
    return predict_targets(sides_of(tables), targets, rng=seeded())


def test_fresh_rows_teach_as_well_as_train_rows():
    rng = seeded(4)
    found, untested = predicted(split(LINKED, *(linked(800, rng) for _ in range(3))), ("label", "y", "noise"))
    label, y, noise = found
    assert untested == ()
    assert label.figure.value.low > label.baseline.high
    assert label.gap.low <= 0 <= label.gap.high
    assert y.figure.value.value > 0.8
    assert y.gap.low <= 0 <= y.gap.high
    assert noise.figure.value.low < noise.baseline.high


def test_broken_rows_teach_nothing():
    rng = seeded(5)
    tables = split(LINKED, linked(800, rng), linked(800, rng), linked(800, rng, broken=True))
    for target in predicted(tables, ("label", "y"))[0]:
        assert target.gap.low > 0.2
        assert target.figure.value.value < target.baseline.value + 0.1


def test_the_best_predictable_columns_are_chosen_without_twins():
    rng = seeded(6)
    tables = split(LINKED, *(linked(500, rng) for _ in range(3)))
    sides = sides_of(tables)
    chosen = choose_targets(sides, relate(sides, rng=rng))
    assert set(chosen) == {"x", "y", "label"}
    twin = Schema((*LINKED.columns, Numeric(name="z", low=0, high=1)))
    doubled = [np.column_stack([part, part[:, 0]]) for part in (linked(500, rng) for _ in range(3))]
    sides = sides_of(split(twin, *doubled))
    assert not {"x", "z"} & set(choose_targets(sides, relate(sides, rng=rng)))


def test_wide_tables_are_predicted_from_what_goes_with_the_target(monkeypatch):
    rng = seeded(10)
    tables = split(LINKED, *(linked(300, rng) for _ in range(3)))
    sides = sides_of(tables)
    related = relate(sides, rng=rng)
    seen = []

    def spy(rows, goal, asked):
        seen.append(asked.schema.names)
        return np.zeros(len(asked))

    monkeypatch.setattr("tabveil.metrics.utility.downstream.guess_numbers", spy)
    monkeypatch.setattr("tabveil.metrics.utility.downstream.guess_labels", spy)
    monkeypatch.setattr("tabveil.metrics.utility.downstream.MOST_COLUMNS", 2)
    monkeypatch.setattr("tabveil.metrics.utility.downstream.LEAST_COLUMNS", 1)
    predict_targets(sides, ("y",), related=related, rng=rng)
    predict_targets(sides, ("noise",), related=related, rng=rng)  # three labels: fewer columns
    predict_targets(sides, ("y",), rng=rng)
    assert [len(names) for names in seen[::2]] == [2, 1, 3]
    assert (seen[0], seen[4]) == (("label", "x"), ("label", "noise", "x"))


def test_wide_tables_choose_targets_with_few_labels(monkeypatch):
    rng = seeded(11)
    sides = sides_of(split(LINKED, *(linked(300, rng) for _ in range(3))))
    related = relate(sides, rng=rng)
    related.fresh[:, :] = 0.5  # so that all could be predicted
    monkeypatch.setattr("tabveil.metrics.utility.downstream.MOST_COLUMNS", 1)
    monkeypatch.setattr("tabveil.metrics.utility.downstream.MOST_LABELS", 2)
    monkeypatch.setattr("tabveil.metrics.utility.downstream.N_TARGETS", 4)
    assert choose_targets(sides, related) == ("label", "x", "y")  # noise has three labels


def test_targets_are_named_or_refused():
    sides = sides_of(population("mixed", (50, 50, 50)))
    assert named_targets("sex", sides.real.schema.names) == ("sex",)
    assert named_targets(["sex", "age", "sex"], sides.real.schema.names) == ("age", "sex")
    with pytest.raises(ParameterError, match="Did you mean 'region'"):
        named_targets("regoin", sides.real.schema.names)


def test_rows_without_the_target_are_left_out():
    tables = population("mixed", (300, 300, 300))
    (found,), _ = predicted(tables, ("income",))
    assert found.figure.value.n == np.isfinite(tables.control.column("income")).sum() < 300


def test_labels_the_release_never_shows_are_never_guessed():
    rng = seeded(7)
    train, control, synthetic = (linked(300, rng) for _ in range(3))
    synthetic[:, 1] = 0
    (found,), _ = predicted(split(LINKED, train, control, synthetic), ("label",))
    assert found.figure.value.value == pytest.approx(np.mean(control[:, 1] == 0))


def test_a_target_that_cannot_be_tested_is_said():
    rng = seeded(8)
    train, control, synthetic = (linked(100, rng) for _ in range(3))
    synthetic[:, 1] = NAN
    found, untested = predicted(split(LINKED, train, control, synthetic), ("label", "y"))
    assert [item.name for item in found] == ["y"]
    assert untested == ("label",)
    with pytest.raises(NotApplicable, match="no column can be a target"):
        predicted(split(LINKED, train, control, synthetic), ("label",))


# Densities


def test_the_kernel_by_hand():
    a, b = np.array([[0.0, 1.0], [0.5, NAN]]), np.array([[0.25, 2.0], [NAN, NAN]])
    numeric = np.array([True, False])
    # distances within a: 0.5 + 1; within b: 1 + 1; between: 1.25, 2, 1.25, 1
    between = np.exp(-np.array([1.25, 2, 1.25, 1])).mean()
    assert unbiased(a, b, numeric, 1.0) == pytest.approx(np.exp(-1.5) + np.exp(-2) - 2 * between)


def test_densities_of_fresh_rows_cover_zero_and_broken_rows_do_not():
    held = []
    for seed in range(60):
        figure = discrepancy(sides_of(population("mixed", (200, 200, 200), seed=seed)), rng=seeded(seed))
        held += [estimate.low <= 0 <= estimate.high for estimate in (figure.value, figure.reference)]
    assert np.mean(held) >= 0.9
    rng = seeded(9)
    train, control, synthetic = (rows("mixed", 1500, rng) for _ in range(3))
    synthetic[:, 0] = np.clip(synthetic[:, 0] + 15, 0, 90)
    figure = discrepancy(sides_of(split(SCHEMAS["mixed"], train, control, synthetic)), rng=rng)
    assert figure.value.low > 0 > figure.reference.low


@pytest.mark.parametrize(("tables", "reason"), [((9, 9, 9), "at least 10"), ((30, 30, 30), "all real rows")])
def test_densities_that_cannot_be_compared(tables, reason):
    equal = population("levels", tables)
    constant = split(equal.schema, *(np.zeros((n, 4)) for n in tables))
    with pytest.raises(NotApplicable, match=reason):
        discrepancy(sides_of(constant), rng=seeded())
