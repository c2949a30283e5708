"""No absurd value and no change of units hides people: the tables that attacks see are on one scale."""

import numpy as np
import pandas as pd
import pytest

from tabveil import audit
from tabveil.core.table import Numeric, Schema, Split, Table
from tabveil.datasets import hospital
from tabveil.metrics.scales import all_on_one_scale, fence, fenced
from tabveil.metrics.scales.ways_back import refined, straight_or_bent, unlikeness
from tabveil.tables.reading import load_split

ABOVE = "above threshold"
ATTACKS = ("membership_distance", "singling_out")


def on_one_scale(split):
    return all_on_one_scale([split])[0]


def numbers(n_rows, seed):
    """Draw a table of numbers of several shapes."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(n_rows, 5)) @ np.random.default_rng(9).normal(size=(5, 5))
    return pd.DataFrame(
        {
            "height": np.round(170 + 4 * base[:, 0], 1),
            "income": np.round(np.exp(8 + 0.5 * base[:, 1])),
            "cost": np.where(base[:, 2] > 0, np.round(np.exp(base[:, 3] / 2 + 5), 2), 0.0),
            "score": base[:, 4],
            "pulse": np.round(70 + 5 * rng.normal(size=n_rows)),
        }
    )


def noisy(table, seed):
    rng = np.random.default_rng(seed)
    return table + rng.normal(size=table.shape) * 0.05 * table.std().to_numpy()


def split_of(train, control, release, **columns):
    schema = Schema(tuple(columns.values()))
    tables = (Table(schema=schema, values=np.array(rows, dtype=float)) for rows in (train, control, release))
    return Split(**dict(zip(("train", "control", "synthetic"), tables, strict=True)))


def test_a_far_value_stands_just_beyond_all_others_and_keeps_its_order():
    column = Numeric(name="cost", low=-1e15, high=1e12, decimals=0)
    real = np.array([*range(101), 1e12, 1e11, np.nan])
    within, cells = fenced(column, real, np.array([50.0, -1e15]))
    assert cells[:101].tolist() == list(range(101))
    assert cells[101:].tolist()[:2] == [102.0, 101.0]
    assert np.isnan(cells[103])
    assert cells[104:].tolist() == [50.0, -1.0]
    assert (within.low, within.high) == (-1.0, 102.0)


def test_far_values_on_a_coarse_grid_share_the_places_beyond_the_others():
    column = Numeric(name="age", low=0, high=10.0**9, decimals=0)
    far = 10.0**6 + np.arange(1000)
    within, cells = fenced(column, np.arange(100.0), far)
    assert within.high == 99 + 4  # a twentieth of the range
    assert (np.diff(cells[100:]) >= 0).all()


@pytest.mark.parametrize(
    "real",
    [
        np.zeros(5),
        np.full(5, np.nan),
        np.empty(0),
        np.array([3.0]),
    ],
    ids=["constant", "missing", "no rows", "one row"],
)
def test_nothing_is_far_where_real_values_do_not_differ(real):
    assert fence(real) == (-np.inf, np.inf)
    column = Numeric(name="x", low=0, high=1e12)
    assert fenced(column, real, np.array([1e12, 0.0])) is None


def test_heavy_tails_and_columns_of_zeros_stay_as_they_are():
    rng = np.random.default_rng(0)
    income = np.exp(rng.normal(size=9000))
    gains = np.where(rng.random(9000) < 0.95, 0.0, np.round(income * 1000))
    for cells in (income, gains):
        column = Numeric(name="x", low=cells.min(), high=cells.max())
        assert fenced(column, cells[:6000], cells[6000:]) is None


def test_tables_on_one_scale_are_returned_themselves():
    train, control, release = (hospital(300, seed=seed) for seed in (1, 2, 3))
    split = load_split(train, release, control).split
    attacked = on_one_scale(split)
    assert attacked.split is split
    assert attacked.notes == ()


def test_labels_order_and_people_stay_with_far_values():
    train, control, release = (numbers(100, seed) for seed in (1, 2, 3))
    train.loc[0, "income"] = 1e12
    train["who"] = np.arange(100) // 2
    control["who"] = np.arange(100, 200) // 2
    given = load_split(train, release, control, person="who").split
    attacked = on_one_scale(given)
    assert (attacked.split.train.people == given.train.people).all()
    assert (attacked.split.train.values[1:] == given.train.values[1:]).all()
    assert attacked.split.schema["income"].high < 1e6
    assert "income" in attacked.notes[0]
    assert "1e" not in attacked.notes[0]


@pytest.mark.parametrize("where", ["train", "control", "release"])
@pytest.mark.parametrize("columns", [["cost"], list(numbers(1, 0))], ids=["one column", "all columns"])
def test_one_absurd_row_hides_no_noisy_copy(where, columns):
    train, control = numbers(1000, 1), numbers(1000, 2)
    tables = {"train": train, "control": control, "release": noisy(train, 3)}
    without = audit(train, tables["release"], control, metrics=ATTACKS, advice=False)
    tables[where] = tables[where].copy()
    tables[where].loc[0, columns] = 1e12
    found = audit(tables["train"], tables["release"], tables["control"], metrics=ATTACKS, advice=False)
    assert found.verdict.state == ABOVE
    for metric in ATTACKS:
        assert found[metric].gain.value == pytest.approx(without[metric].gain.value, abs=0.02)
    assert found.copies.near.share.value == pytest.approx(without.copies.near.share.value, abs=0.02)


CHANGES = {
    "hundredfold": lambda table: table * 100,
    "a hundredth": lambda table: table / 100,
    "shifted": lambda table: table + 7 * table.std() + 3,
    "mirrored": lambda table: table.max() - table,
    "Fahrenheit": lambda table: 32 + 1.8 * table,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("seed", [1, 11])
def test_a_copy_in_other_units_is_seen_and_fresh_rows_are_not(change, seed):
    train, control, fresh = (numbers(1000, seed + more) for more in range(3))
    found = audit(train, change(train), control, metrics=ATTACKS, advice=False)
    assert found.verdict.state == ABOVE
    assert found["membership_distance"].gain.value > 0.5
    assert any("not on the scale of the real rows" in note for note in found.notes)
    clean = audit(train, change(fresh), control, metrics=ATTACKS, advice=False)
    assert clean.verdict.state != ABOVE


def test_only_a_mirrored_column_is_turned_even_if_it_looks_the_same():
    """A symmetric column looks the same in a mirror; what stands beside it tells."""
    rng = np.random.default_rng(0)
    train, control = rng.normal(size=(2, 500, 4)).round(4)
    release = train * [1, -1, 1, 1]
    columns = {name: Numeric(name=name, low=-9, high=9, decimals=4) for name in "abcd"}
    split = split_of(train, control, release, **columns)
    attacked = on_one_scale(split)
    assert (attacked.split.synthetic.values == train).all()
    assert len(attacked.notes) == 1
    assert "release b is not" in attacked.notes[0]


def test_a_release_of_some_people_only_is_left_as_it_is():
    train, control = numbers(2000, 1), numbers(2000, 2)
    rich = train[train["income"] > train["income"].median()]
    given = load_split(train, rich, control).split
    assert unlikeness(given.train.column("income"), given.synthetic.column("income")) > 0.3
    attacked = on_one_scale(given)
    assert (attacked.split.synthetic.values == given.synthetic.values).all()


def test_copies_stay_copies_among_rows_that_are_unlike_all_real_ones():
    train, control, fresh = (numbers(1000, seed) for seed in range(3))
    release = pd.concat([train[:50], 40 + 2.5 * fresh[50:]], ignore_index=True)
    found = audit(train, release, control, metrics=ATTACKS, advice=False)
    assert found.copies.equal_train == 50


def test_a_map_is_found_exactly():
    rng = np.random.default_rng(1)
    real = np.round(rng.gamma(2, 100, 2000), 2)
    for release, way, mirrored in (
        (real[:1000] * 100, "in another unit", False),
        (real[:1000] + 12345, "shifted", False),
        (5000 - real[:1000], "shifted", True),
        (-real[:1000], "shifted", True),
    ):
        found = refined(real, release, straight_or_bent(real, release, mirrored=mirrored))
        assert (found.cells == real[:1000]).all()
        assert (found.way, found.mirrored, found.decimals) == (way, mirrored, 2)


def test_ranks_follow_where_no_line_fits():
    real = np.linspace(0, 10, 1001)
    found = straight_or_bent(real, np.exp(real), mirrored=False)
    assert found.way == "bent"
    assert found.cells == pytest.approx(real, abs=0.02)


def test_the_order_of_rows_and_columns_changes_nothing():
    train, control, release = numbers(400, 1), numbers(400, 2), 100 * numbers(400, 3)
    one = on_one_scale(load_split(train, release, control).split)
    shuffled = [
        table.sample(frac=1, random_state=5)[table.columns[::-1]] for table in (train, release, control)
    ]
    other = on_one_scale(load_split(*shuffled).split)
    assert sorted(one.split.synthetic.row_hash()) == sorted(other.split.synthetic.row_hash())


def test_utility_is_measured_on_the_release_as_it_is():
    train, control = numbers(300, 1), numbers(300, 2)
    found = audit(train, 100 * train, control, metrics="identical_match_share", utility=True, advice=False)
    (income,) = (column for column in found.utility.columns if column.name == "income")
    assert found["identical_match_share"].risk.value > 0.9
    assert income.figures["kolmogorov_smirnov"].value.value > 0.9
