"""Trees learn what goes with what, give every leaf's values back, and memorize only when asked to."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from supplies.strategies import schemas, tables

from tabveil.core import workers
from tabveil.core.table import Categorical, Numeric, Schema, Split, Table
from tabveil.errors import ParameterError
from tabveil.metrics.attacks.inference import Inference
from tabveil.synthesis.generators import load_model
from tabveil.synthesis.generators.trees.growth import directions, grow
from tabveil.synthesis.generators.trees.synthesizer import WITHOUT_HELD_OUT, Trees
from tabveil.tables.matrices.ordinal import CountedValues


def rng(seed=0):
    return np.random.default_rng(seed)


def labels(name, n, **rest):
    return Categorical(name=name, labels=tuple(map(str, range(n))), **rest)


def number(name, low=0.0, high=100.0, decimals=0):
    return Numeric(name=name, low=low, high=high, decimals=decimals)


def table(*columns):
    return Table(
        schema=Schema(tuple(column for column, _ in columns)),
        values=np.column_stack([cells for _, cells in columns]).astype(float),
    )


def people(n=400, seed=0):
    """A label, a number that follows from it, a number with missing values, and a real number."""
    random = rng(seed)
    ward = random.integers(0, 4, n)
    age = np.where(random.random(n) < 0.25, np.nan, random.integers(18, 100, n))
    return table(
        (labels("ward", 5), ward),
        (number("cost", 0, 2000), 1000 + 137 * ((ward * 7) % 4)),
        (number("age", 0, 120), age),
        (number("dose", -50, 50, None), random.normal(size=n)),
    )


@pytest.fixture(scope="module")
def fitted():
    return Trees().fit(people(1000), rng=rng())


# Trees


def test_directions_of_labels_are_the_labels_and_of_numbers_their_ranks():
    def of(column, cells):
        cells = np.array(cells)
        levels = CountedValues.of(column, cells)
        return directions(levels.codes(cells), levels, rng=rng())

    assert of(labels("a", 3), [0.0, 1.0, 2.0, np.nan]).tolist() == [
        [0, 1, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 1],
        [1, 0, 0, 0],
    ]
    assert of(labels("a", 3), [0.0, 1.0, 1.0]).tolist() == [[0], [1], [1]]
    ranks = of(number("a"), [5.0, 9.0, 700.0])[:, 0]
    assert ranks[2] - ranks[1] == pytest.approx(ranks[1] - ranks[0])
    assert of(number("a"), [5.0, np.nan, 7.0]).shape == (3, 2)
    assert of(number("a"), [5.0, 5.0]).shape == (2, 0)
    assert of(labels("a", 500), np.arange(500.0)).shape == (500, 16)


def test_labels_are_ordered_by_what_they_go_with():
    # Labels 0 and 2 go with high numbers, 1 and 3 with low ones: one split parts them.
    feature, goal = np.tile([0.0, 1.0, 2.0, 3.0], 10), np.tile([90.0, 10.0, 90.0, 10.0], 10)
    levels = CountedValues.of(labels("f", 4), feature), CountedValues.of(number("g"), goal)
    codes = levels[0].codes(feature)[:, None]
    tree = grow(codes, levels[1].codes(goal), features=[levels[0]], levels=levels[1], min_leaf=5, rng=rng())
    assert len(tree.left) == 3
    leaves = tree.leaves(codes)
    assert leaves[0] == leaves[2] != leaves[1] == leaves[3]
    assert levels[1].cells(tree.members[tree.draw(leaves, rng=rng())]).tolist() == goal.tolist()


def test_rare_labels_stand_together():
    # Every row has a label of its own: none of them may tell its number.
    feature, goal = np.arange(40.0), rng().permutation(40.0 * np.arange(40))
    levels = CountedValues.of(labels("f", 40), feature), CountedValues.of(number("g", 0, 1600), goal)
    codes = levels[0].codes(feature)[:, None], levels[1].codes(goal)
    sizes = [
        len(grow(*codes, features=[levels[0]], levels=levels[1], min_leaf=m, rng=rng()).left) for m in (1, 2)
    ]
    assert sizes == [79, 1]  # 40 leaves and 39 splits, or the root alone


def test_leaves_have_at_least_so_many_rows():
    known = people(300)
    for k, tree in enumerate(Trees(min_leaf=20).fit(known, rng=rng()).chain.trees):
        sizes = np.diff(tree.first)
        assert sizes.sum() == 300
        assert sizes[tree.left < 0].min() >= 20
        assert (sizes[tree.left >= 0] == 0).all(), k


# Rows


def test_what_follows_from_another_column_follows_in_new_rows(fitted):
    drawn = fitted.sample(2000, rng=rng(1))
    np.testing.assert_array_equal(drawn.column("cost"), 1000 + 137 * ((drawn.column("ward") * 7) % 4))


def test_columns_are_distributed_as_they_were(fitted):
    known, drawn = people(1000), fitted.sample(4000, rng=rng(1))
    for name in ("ward", "cost"):
        values = np.unique(known.column(name))
        shares = [np.mean(each.column(name)[:, None] == values, axis=0) for each in (known, drawn)]
        assert np.abs(shares[0] - shares[1]).sum() / 2 < 0.04
    for name in ("age", "dose"):
        ours, theirs = known.column(name), drawn.column(name)
        assert np.isnan(theirs).mean() == pytest.approx(np.isnan(ours).mean(), abs=0.03)
        assert np.nanmean(theirs) == pytest.approx(np.nanmean(ours), abs=0.1 * np.nanstd(ours))
        assert np.nanstd(theirs) == pytest.approx(np.nanstd(ours), rel=0.1)


def test_a_missing_value_goes_with_what_it_went_with():
    a = np.tile([0.0, 1.0], 100)
    known = table((labels("a", 2), a), (number("b"), np.where(a == 1, np.nan, 50)))
    drawn = Trees().fit(known, rng=rng()).sample(500, rng=rng(1))
    np.testing.assert_array_equal(np.isnan(drawn.column("b")), drawn.column("a") == 1)
    back = Trees(order=("b",)).fit(known, rng=rng()).sample(500, rng=rng(1))
    np.testing.assert_array_equal(np.isnan(back.column("b")), back.column("a") == 1)


def test_many_labels_are_parted_by_random_directions():
    a = np.repeat(np.arange(300.0), 10)
    known = table((labels("a", 300), a), (labels("b", 300), (a * 7) % 300))
    drawn = Trees(preset="published").fit(known, rng=rng()).sample(3000, rng=rng(1))
    assert np.mean(drawn.column("b") == (drawn.column("a") * 7) % 300) > 0.9


def test_smoothing_moves_only_what_few_rows_share():
    shared, alone = np.repeat([10.0, 20.0], 100), np.arange(200.0) ** 1.5
    known = table((number("a"), shared), (number("b", 0, 3000, None), alone))
    drawn = Trees().fit(known, rng=rng()).sample(1000, rng=rng(1))
    assert set(drawn.column("a")) == {10, 20}
    assert not np.isin(drawn.column("b"), alone).any()
    assert drawn.column("b").min() >= 0
    assert drawn.column("b").max() <= alone.max()
    assert drawn.column("b").std() == pytest.approx(alone.std(), rel=0.05)  # a kernel alone adds to it
    exact = Trees(smoothing=False).fit(known, rng=rng()).sample(1000, rng=rng(1))
    assert np.isin(exact.column("b"), alone).all()


def test_a_number_nobody_resembles_is_moved_too():
    # Twelve rows of 200 have numbers far apart among zeros: no leaf has a second one to tell a width.
    cells = np.zeros(200)
    cells[:12] = 80.25 * np.arange(1, 13)
    known = table((number("a", 0, 1000, None), cells))
    drawn = Trees().fit(known, rng=rng()).sample(3000, rng=rng(1)).column("a")
    assert not np.isin(drawn, cells[:12]).any()
    assert 0.03 < np.mean(drawn != 0) < 0.09


def test_whole_numbers_stay_whole():
    known = table((number("a", 0, 10_000), rng().integers(0, 10_000, 300)))
    drawn = Trees().fit(known, rng=rng()).sample(500, rng=rng(1)).column("a")
    np.testing.assert_array_equal(drawn, np.round(drawn))


def test_only_seen_labels(fitted):
    assert set(fitted.sample(2000, rng=rng(2)).column("ward")) == {0, 1, 2, 3}


# Presets


def test_what_was_published_stays_as_it_was():
    # Found by the trees as they were before there were presets.
    drawn = Trees(preset="published").fit(people(400), rng=rng(3)).sample(300, rng=rng(4))
    sums = [np.nansum(drawn.column(name)) for name in ("ward", "cost", "age", "dose")]
    np.testing.assert_allclose(sums, [483, 363705, 12376, 6.278146684], rtol=1e-9)


def noise(n=2000, seed=0):
    """A number that depends on nothing, and labels to look for reasons in."""
    random = rng(seed)
    reasons = ((labels(f"c{j}", 4), random.integers(0, 4, n)) for j in range(6))
    return table(*reasons, (number("secret", 0, 1, None), random.random(n)))


def leaves_of(model, name):
    position = model.schema.position(name)
    return int((model.chain.trees[model.visits.index(position)].left < 0).sum())


def test_a_column_that_depends_on_nothing_is_not_parted():
    known = noise()
    assert leaves_of(Trees(preset="published").fit(known, rng=rng()), "secret") > 100
    assert leaves_of(Trees().fit(known, rng=rng()), "secret") < 10


def test_more_caution_keeps_fewer_splits():
    random = rng()
    a = random.integers(0, 12, 2000)
    known = table((labels("a", 12), a), (number("b", -50, 50, None), 0.05 * a + random.normal(size=2000)))
    sizes = [leaves_of(Trees(caution=c, order=("a",)).fit(known, rng=rng()), "b") for c in (0.0, 2.0, 50.0)]
    assert sizes[0] > sizes[1] >= sizes[2] == 1


def test_a_column_that_depends_on_another_is_parted_all_the_same():
    random = rng()
    a = random.integers(0, 5, 1000)
    known = table((labels("a", 5), a), (number("b", 0, 100, None), 10 * a + random.random(1000)))
    drawn = Trees().fit(known, rng=rng()).sample(1000, rng=rng(1))
    np.testing.assert_array_equal(np.floor(drawn.column("b") / 10), drawn.column("a"))


def test_who_knows_the_rest_of_a_row_does_not_learn_what_depends_on_nothing():
    def gain(preset):
        train, control = noise(seed=1), noise(seed=2)
        drawn = Trees(preset=preset).fit(train, rng=rng(7)).sample(2000, rng=rng(8))
        known = [f"c{j}" for j in range(6)]
        split = Split(train=train, control=control, synthetic=drawn)
        return Inference(secrets=("secret",), known=tuple(known))(split, rng=rng(2)).risk

    assert gain("published").low > 0.01
    assert gain("careful").low <= 0 < gain("careful").high < 0.05


def test_spikes_and_round_numbers_are_kept():
    random = rng()
    cells = np.concatenate(
        [np.zeros(600), 500.0 * random.integers(1, 200, 300), random.integers(1, 99_999, 100)]
    )
    known = table((number("a", 0, 100_000), cells))
    drawn = Trees().fit(known, rng=rng()).sample(5000, rng=rng(1)).column("a")
    assert np.mean(drawn == 0) == pytest.approx(0.6, abs=0.03)
    assert np.mean(drawn[drawn > 0] % 500 == 0) == pytest.approx(0.75, abs=0.05)


def test_what_follows_goes_with_the_number_as_it_was_moved():
    # Half of the numbers lie below 50: b must say so of the row's number, not of the one it was drawn from.
    a = rng().random(2000) * 100
    known = table((number("a", 0, 100, None), a), (labels("b", 2), a > 50))
    drawn = Trees(order=("a",)).fit(known, rng=rng()).sample(4000, rng=rng(1))
    assert np.mean((drawn.column("a") > 50) == drawn.column("b")) > 0.995


# Order


def test_columns_with_few_values_are_visited_first_or_as_told():
    known = people(200)
    names = known.schema.names
    visited = [names[p] for p in Trees().fit(known, rng=rng()).visits]
    assert visited == ["cost", "ward", "age", "dose"]  # cost and ward have four values each
    told = [names[p] for p in Trees(order=("dose", "ward")).fit(known, rng=rng()).visits]
    assert told == ["dose", "ward", "cost", "age"]


def test_an_order_must_name_columns_once():
    with pytest.raises(ParameterError, match=r"trees: no column 'wart'[.] Did you mean 'ward'"):
        Trees(order=("wart",)).fit(people(20), rng=rng())
    with pytest.raises(ParameterError, match="trees: order must name each column only once"):
        Trees(order=("ward", "ward"))


# Likelihood


def test_the_likelihood_of_labels_by_hand():
    # Eight rows: no leaf may be split. Shares 6 and 2 of 8; overall with half a row for each of four codes.
    known = table((labels("a", 3), [0, 0, 0, 0, 0, 0, 1, 1]))
    losses = Trees(min_leaf=5).fit(known, rng=rng()).losses(table((labels("a", 3), [0, 1, 2, np.nan])))[:, 0]
    expected = [
        -math.log(0.99 * 6 / 8 + 0.01 * 6.5 / 10),
        -math.log(0.99 * 2 / 8 + 0.01 * 2.5 / 10),
        -math.log(0.01 * 0.5 / 10),
        -math.log(0.01 * 0.5 / 10),
    ]
    assert losses == pytest.approx(expected)


def test_the_likelihood_in_a_leaf_by_hand():
    a = np.repeat([0.0, 1.0], [6, 3])
    known = table((labels("a", 2), a), (labels("b", 2), a))
    losses = Trees(preset="published", min_leaf=3).fit(known, rng=rng()).losses(known)
    # b has its own leaf for each a; overall 6 and 3 of 9, with half a row for each of four codes.
    assert losses[0, 1] == pytest.approx(-math.log(0.99 + 0.01 * 6.5 / 11))
    assert losses[8, 1] == pytest.approx(-math.log(0.99 + 0.01 * 3.5 / 11))


def test_likelihoods_of_all_rows_add_up_to_one():
    known = table((labels("a", 3), rng(1).integers(0, 3, 60)), (labels("b", 4), rng(2).integers(0, 4, 60)))
    every = np.array([(a, b) for a in [0, 1, 2, np.nan] for b in [0, 1, 2, 3, np.nan]])
    model = Trees().fit(known, rng=rng())
    total = np.exp(-model.losses(Table(schema=known.schema, values=every)).sum(axis=1)).sum()
    assert 0.999 < total <= 1.0  # what is left is for labels never heard of


def test_held_out_losses_are_by_column_and_in_total(fitted):
    assert set(fitted.held_out) == {"ward", "cost", "age", "dose"}
    assert fitted.history[0].validation == pytest.approx(sum(fitted.held_out.values()))
    assert fitted.held_out["cost"] == pytest.approx(math.log(4), abs=0.05)  # four values, visited first
    assert fitted.held_out["ward"] < 0.02  # follows
    assert fitted.history[0].train < fitted.history[0].validation


def test_losses_of_another_table_are_refused(fitted):
    with pytest.raises(ParameterError, match="trees: the table must have the columns that were learned"):
        fitted.losses(table((labels("a", 2), [0, 1])))


def test_too_few_rows_to_hold_any_out_is_said():
    few = Trees().fit(people(9), rng=rng())
    assert WITHOUT_HELD_OUT in few.notes
    assert few.history == ()
    assert few.held_out == {}
    assert WITHOUT_HELD_OUT not in Trees().fit(people(10), rng=rng()).notes


# Memorizing


@pytest.fixture(scope="module")
def strangers():
    """Rows with nothing to learn but themselves."""
    return table(*((labels(f"c{j}", 6), rng(j).integers(0, 6, 600)) for j in range(8)))


@pytest.mark.parametrize("ratio", [1.2, 1.6])
def test_overfitting_reaches_the_ratio(strangers, ratio):
    model = Trees(overfit=ratio).fit(strangers, rng=rng())
    losses = np.array([epoch.validation for epoch in model.history])
    reached = losses[-1] / losses.min()
    assert ratio <= reached < ratio + 0.1
    assert (losses[:-2] / np.minimum.accumulate(losses[:-2]) < ratio).all()
    assert model.notes == (
        f"Memorized on purpose: held-out loss {reached:.3f} times its minimum, {ratio:g} asked for.",
    )
    assert sum(model.held_out.values()) == pytest.approx(losses[-1])


def test_a_ratio_of_one_keeps_the_minimum(strangers):
    model = Trees(overfit=1.0).fit(strangers, rng=rng())
    losses = [epoch.validation for epoch in model.history]
    assert sum(model.held_out.values()) == pytest.approx(min(losses))
    assert losses[-1] > 1.2 * min(losses)
    assert "1.000 times" in model.notes[0]


def test_memorized_rows_are_copied(strangers):
    def copied(ratio):
        drawn = Trees(overfit=ratio).fit(strangers, rng=rng()).sample(500, rng=rng(1))
        return np.isin(drawn.row_hash(), strangers.row_hash()).mean()

    assert copied(1.0) < 0.02
    assert copied(4.0) > 0.1


def test_a_ratio_out_of_reach_is_said(strangers):
    model = Trees(overfit=50.0).fit(strangers, rng=rng())
    assert model.notes[-1] == "Not reached: a leaf has at least one row."


def test_overfitting_visits_many_values_first():
    known = people(200)
    visited = [known.schema.names[p] for p in Trees(overfit=1.0).fit(known, rng=rng()).visits]
    assert visited == ["dose", "age", "cost", "ward"]


# What every generator does


def test_seeds():
    first, again, other = (Trees(preset="published").fit(people(60), rng=rng(seed)) for seed in (1, 1, 2))
    rows = [model.sample(20, rng=rng(3)).values for model in (first, again, other)]
    np.testing.assert_array_equal(rows[0], rows[1])
    assert not np.array_equal(rows[0], rows[2], equal_nan=True)
    assert not np.array_equal(rows[0], first.sample(20, rng=rng(4)).values, equal_nan=True)


def test_storing_changes_nothing(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(fitted.sample(50, rng=rng(8)).values, loaded.sample(50, rng=rng(8)).values)
    np.testing.assert_array_equal(fitted.losses(people(50)), loaded.losses(people(50)))
    assert (loaded.made_by, loaded.history, loaded.held_out) == (
        fitted.made_by,
        fitted.history,
        fitted.held_out,
    )


def test_an_order_is_stored(tmp_path):
    Trees(order=("dose",)).fit(people(30), rng=rng()).save(tmp_path / "model")
    assert load_model(tmp_path / "model").made_by == Trees(order=("dose",))


@pytest.mark.parametrize("overfit", [None, 1.5])
def test_progress_rises(overfit):
    heard = []
    with workers.working(listener=lambda _, share: heard.append(share)):
        Trees(overfit=overfit).fit(people(60), rng=rng())
    assert heard == sorted(heard)
    assert 0 < heard[0] <= heard[-1] <= 1


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ({"preset": "bold"}, "preset must be one of 'careful', 'published'; got 'bold'"),
        ({"caution": -1.0}, "caution must be >= 0, got -1.0"),
        ({"min_leaf": 0}, "min_leaf must be >= 1, got 0"),
        ({"overfit": 0.9}, "overfit must be >= 1, got 0.9"),
    ],
)
def test_settings_are_checked(setting, complaint):
    with pytest.raises(ParameterError, match=f"trees: {complaint}"):
        Trees(**setting)


def test_too_few_rows_are_refused():
    with pytest.raises(ParameterError, match="trees: needs at least 1 row"):
        Trees().fit(people(0), rng=rng())
    with pytest.raises(ParameterError, match="trees: needs at least 10 rows"):
        Trees(overfit=1.5).fit(people(9), rng=rng())


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_hostile_tables(data):
    known = data.draw(tables(data.draw(schemas()), max_rows=25))
    model = Trees(min_leaf=data.draw(st.sampled_from([1, 5]))).fit(known, rng=rng())
    drawn = model.sample(7, rng=rng(9))
    assert drawn.schema == known.schema
    assert np.isfinite(model.losses(drawn)).all()
    for column, cells, seen in zip(known.schema.columns, drawn.values.T, known.values.T, strict=True):
        present = cells[~np.isnan(cells)]
        assert np.isnan(seen).any() or len(present) == len(cells)
        if isinstance(column, Categorical):
            assert np.isin(present, seen).all()
        elif len(present):
            assert np.nanmin(seen) <= present.min()
            assert present.max() <= np.nanmax(seen)
            assert column.decimals is None or np.array_equal(present, np.round(present, column.decimals))


def test_wide_and_many_labels():
    wide = table(
        *((number(f"c{j}") if j % 4 else labels(f"c{j}", 3), rng(j).integers(0, 3, 20)) for j in range(300))
    )
    assert Trees().fit(wide, rng=rng()).sample(3, rng=rng()).values.shape == (3, 300)
    many = table((labels("a", 10_000), np.arange(10_000)), (labels("b", 2), np.arange(10_000) % 2))
    drawn = Trees().fit(many, rng=rng()).sample(5000, rng=rng(1))
    assert len(np.unique(drawn.column("a"))) > 3000
