import json
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from supplies.asked_metrics import answer, as_text, assert_order_does_not_matter, on_tables, shuffled
from supplies.configurations import by_name
from supplies.populations import adult_thirds, population, risks, split
from supplies.strategies import splits

from tabveil.core.estimate import rate, risk_between, sidak
from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.attacks.guessing import NO_CONTROL
from tabveil.metrics.attacks.linkability import Linkability, _Cut, _ease, _first_meeting, chance_to_meet

SCHEMA = Schema(tuple(Numeric(name=name, low=0, high=100, decimals=0) for name in "abcd"))
HALVES = ((("a", "b"), ("c", "d")),)
SYNTHETIC = [[0, 0, 0, 0], [30, 30, 30, 30], [60, 60, 60, 60], [90, 90, 90, 90]]
TRAIN = [[1, 0, 0, 1], [30, 30, 31, 31], [61, 60, 60, 62], [90, 90, 0, 0]]  # the last has two faces
CONTROL = [[0, 0, 90, 90], [30, 30, 60, 60], [59, 60, 60, 61], [90, 90, 30, 30]]


@dataclass(frozen=True, kw_only=True)
class GivenParts(Linkability):
    """Can the parts the user names be linked?"""

    auxiliary: tuple = ((("age", "region"), ("visits", "income", "sex")),)


def ask(train, control, synthetic, schema=SCHEMA, seed=0, **params):
    return Linkability(**params)(split(schema, train, control, synthetic), rng=np.random.default_rng(seed))


def counts(result, configuration):
    found = by_name(result)[configuration]
    return found["successes_train"], found["successes_control"]


def test_by_hand():
    result = ask(TRAIN, CONTROL, SYNTHETIC, n_neighbors=(1, 2))
    assert counts(result, "first 2 | other 2 columns, k = 1") == (3, 1)
    assert counts(result, "first 2 | other 2 columns, k = 2")[0] == 3  # 90 and 60 do not meet 0 and 30
    level = sidak(0.95, 2)
    assert result.risk == risk_between(3, 4, 1, 4, level)
    assert result.leading.name == "first 2 | other 2 columns, k = 1"
    assert by_name(result)["first 2 | other 2 columns, k = 1"]["naive"] == pytest.approx(1 / 4)
    train, control = result.sensitive_scores
    assert dict(zip(train.rows, train.values, strict=True)) == pytest.approx(
        {0: 1 / (1 + 0.02 / 4), 1: 1 / (1 + 0.02 / 4), 2: 1 / (1 + 0.03 / 4), 3: 0}
    )
    assert np.flatnonzero(control.values).tolist() == [control.rows.tolist().index(2)]


def test_the_first_meeting_of_two_lists():
    one = np.array([[1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3]])
    other = np.array([[1, 5, 6], [9, 1, 2], [3, 8, 9], [7, 8, 9]])
    assert _first_meeting(one, other).tolist() == [1, 2, 3, np.inf]


def test_the_first_meeting_is_that_of_the_sets():
    rng = np.random.default_rng(0)
    one, other = (np.argsort(rng.random((300, 40)), axis=1)[:, :8] for _ in range(2))
    met = _first_meeting(one, other)
    for k in range(1, 9):
        expected = [bool(set(a[:k]) & set(b[:k])) for a, b in zip(one.tolist(), other.tolist(), strict=True)]
        assert (met <= k).tolist() == expected


@pytest.mark.parametrize(("k", "n", "chance"), [(1, 4, 1 / 4), (2, 4, 5 / 6), (1, 2, 1 / 2), (2, 5, 7 / 10)])
def test_the_chance_of_random_sets(k, n, chance):
    assert chance_to_meet(k, n) == pytest.approx(chance)


def test_the_chance_holds_for_large_tables():
    assert chance_to_meet(1, 10**9) == pytest.approx(1e-9, rel=1e-9)


def cut(pair):
    return _Cut(names=pair[0] + pair[1], first=len(pair[0]))


def test_a_row_of_the_release_is_linked_to_itself_as_often_as_ties_allow():
    # Row 1 shares its first part with row 2: one half; the two equal rows share both parts: one half.
    rows = [[1, 1, 5, 5], [1, 1, 6, 6], [2, 2, 7, 7], [3, 3, 8, 8], [3, 3, 8, 8]]
    table = split(SCHEMA, rows, rows, rows).synthetic
    halves = {"halves": cut(HALVES[0])}
    pairs = {"one": (("a",), ("b", "c", "d")), "two": (("d", "a"), ("b",))}
    others = {name: cut(pair) for name, pair in pairs.items()}
    found = _ease(table, others | halves)  # what was asked before does not matter
    assert found["halves"] == _ease(table, halves)["halves"]
    assert found["halves"] == pytest.approx((0.5 + 0.5 + 1 + 0.5 + 0.5) / 5)


def test_thousands_of_columns_are_hashed_a_few_times_each(monkeypatch):
    schema = Schema(tuple(Numeric(name=f"x{i}", low=0, high=1) for i in range(40)))
    rows = np.random.default_rng(0).random((8, 40))
    hashed = []
    column_hash = Table.column_hash
    monkeypatch.setattr(
        Table, "column_hash", lambda self, name: hashed.append(name) or column_hash(self, name)
    )
    _ease(split(schema, rows, rows, rows).synthetic, Linkability()._splits(schema))
    assert len(hashed) <= 4 * 40  # in both sets, in their union, and once more when it changes sides


def test_a_copy_is_linked_as_often_as_said():
    fresh = population("levels", (3000, 300, 1))
    found = [
        ask(
            fresh.train.values,
            fresh.control.values,
            fresh.train.values,
            fresh.schema,
            n_neighbors=(1,),
            seed=s,
        )
        for s in range(5)
    ]
    (said,) = (item["linked_to_itself"] for item in found[0].details["splits"].values())
    name = "first 2 | other 2 columns, k = 1"
    rates = [counts(result, name)[0] / 3000 for result in found]
    assert np.mean(rates) == pytest.approx(said, abs=0.01)


def test_ties_are_broken_independently_on_the_two_sides():
    synthetic = [[5, 5, 5, 5]] * 5
    found = [
        counts(
            ask([[5, 5, 5, 5]], [[1, 1, 1, 1]], synthetic, n_neighbors=(1,), seed=seed),
            "first 2 | other 2 columns, k = 1",
        )[0]
        for seed in range(300)
    ]
    assert 35 <= sum(found) <= 90  # one in five; with one order for both sides it would be all


@pytest.mark.parametrize(
    ("n_columns", "cuts"), [(2, [1]), (3, [1, 2]), (4, [2]), (5, [2, 3]), (8, [2, 3, 4, 5, 6])]
)
def test_ordered_splits_leave_two_columns_where_they_can(n_columns, cuts):
    schema = Schema(tuple(Numeric(name=f"x{i}", low=0, high=1) for i in range(n_columns)))
    rows = np.random.default_rng(0).random((3, 30, n_columns))
    result = ask(*rows, schema, n_splits=None)
    assert [item["first"] for item in result.details["splits"].values()] == cuts
    assert result.details["columns"] == schema.names
    for item in result.configurations:
        first = result.details["splits"][item.setting.label.split(", k")[0]]["first"]
        assert item.setting.split == (schema.names[:first], schema.names[first:])
    assert all(item["attacked"] for item in result.details["splits"].values())


def test_what_is_stored_grows_with_the_columns_and_not_with_their_square():
    def size(n_columns):
        schema = Schema(tuple(Numeric(name=f"column {i:04}", low=0, high=1) for i in range(n_columns)))
        return len(json.dumps(ask(*np.random.default_rng(0).random((3, 20, n_columns)), schema).to_json()))

    assert size(400) - size(200) < 1.1 * 2 * (size(200) - size(100))


def test_the_splits_that_link_best_are_chosen_by_the_release_alone():
    # The first three columns are constant: only splits whose first part goes beyond them can link.
    schema = Schema(tuple(Categorical(name=f"c{i}", labels=tuple(map(str, range(50)))) for i in range(8)))
    rng = np.random.default_rng(0)
    tables = rng.integers(0, 50, (3, 200, 8)).astype(float)
    tables[:, :, :3] = 0
    chosen = []
    for train in (tables[0], tables[2]):  # fresh rows, or a copy: the choice is the same
        result = ask(train, tables[1], tables[2], schema, n_splits=1)
        chosen.append([name for name, item in result.details["splits"].items() if item["attacked"]])
        assert all(name.startswith(chosen[-1][0]) for name in by_name(result))
    assert chosen[0] == chosen[1]
    assert chosen[0][0] in {"first 5 | other 3 columns", "first 6 | other 2 columns"}


def test_the_users_parts_may_leave_columns_out():
    result = ask(TRAIN, CONTROL, SYNTHETIC, auxiliary=((("d",), ("a",)), *HALVES), n_neighbors=(1,))
    assert set(by_name(result)) == {"auxiliary 1, k = 1", "auxiliary 2, k = 1"}
    assert counts(result, "auxiliary 2, k = 1") == (3, 1)
    assert result.details["splits"]["auxiliary 1"]["columns"] == (("d",), ("a",))


def test_columns_may_stand_in_any_order_where_the_parts_are_named():
    assert_order_does_not_matter(GivenParts())


@given(tables=splits(max_rows=25))
@on_tables
def test_rows_may_stand_in_any_order(tables):
    moved = shuffled(tables, seed=2)[0].select(tables.schema.names)
    found, again = (as_text(answer(Linkability(), item)) for item in (tables, moved))
    assert found == again


def test_missing_meets_missing():
    nan = np.nan
    synthetic = [[nan, 10, 10, nan], [50, 50, 50, 50]]
    result = ask([[nan, 10, 10, nan]], [[nan, 10, 50, 50]], synthetic, n_neighbors=(1,))
    assert counts(result, "first 2 | other 2 columns, k = 1") == (1, 0)


def test_without_control_there_is_a_rate_but_no_risk():
    result = ask(TRAIN, [], SYNTHETIC, n_neighbors=(1,))
    assert result.risk is None
    assert result.attack == rate(3, 4)
    assert result.baseline.value == pytest.approx(1 / 4)
    assert result.notes == (NO_CONTROL,)
    assert [scores.table for scores in result.sensitive_scores] == ["train"]


def test_too_many_neighbors_are_left_out_with_a_note():
    result = ask(TRAIN, CONTROL, SYNTHETIC)
    assert list(by_name(result)) == ["first 2 | other 2 columns, k = 1"]
    assert result.notes[-1] == "Left out k = 10: any two sets of 10 among 4 synthetic rows meet."
    with pytest.raises(NotApplicable, match="at least 2 synthetic rows, got 1"):
        ask(TRAIN, CONTROL, SYNTHETIC[:1])


def test_one_column_has_no_two_parts():
    schema = Schema(SCHEMA.columns[:1])
    with pytest.raises(NotApplicable, match="at least two columns"):
        ask([[1]], [[2]], [[3]], schema)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_neighbors": ()}, "the number of n_neighbors must be >= 1"),
        ({"n_neighbors": (0, 1)}, "n_neighbors must be >= 1"),
        ({"n_splits": 0}, "n_splits must be >= 1"),
        ({"n_attacks": 0}, "n_attacks must be >= 1"),
        ({"auxiliary": ()}, "the number of auxiliary pairs must be >= 1"),
        ({"auxiliary": ((("a",), ()),)}, "none of them empty"),
        ({"auxiliary": ((("a", "b"), ("b", "c")),)}, "must be disjoint"),
        ({"auxiliary": ((("a",), ("b",), ("c",)),)}, "pairs of column sets"),
    ],
)
def test_wrong_parameters(params, message):
    with pytest.raises(ParameterError, match=message):
        Linkability(**params)


def test_unknown_columns():
    with pytest.raises(ParameterError, match="no column 'e'"):
        ask(TRAIN, CONTROL, SYNTHETIC, auxiliary=((("a",), ("e",)),))


@pytest.mark.parametrize("sizes", [(250, 250, 250), (450, 150, 250), (150, 450, 300)])
@pytest.mark.parametrize("kind", ["normal", "levels", "mixed"])
def test_fresh_rows_cover_zero(kind, sizes):
    found = risks(Linkability(), kind, sizes, seeds=40)
    assert np.mean((found[:, 1] <= 0) & (found[:, 2] >= 0)) >= 0.9
    assert np.sum(found[:, 1] > 0) <= 4  # of 40, one is meant; of 250 others, at most 7 in any cell


@pytest.mark.parametrize("kind", ["normal", "mixed"])
def test_a_leak_of_a_fifth_is_found(kind):
    found = risks(Linkability(), kind, (250, 250, 250), leak=0.2, seeds=20)
    assert np.mean(found[:, 1] > 0) >= 0.95


def test_adult_thirds():
    schema, (train, control, release) = adult_thirds()
    fresh = ask(train, control, release, schema)
    assert fresh.risk.low < 0 < fresh.risk.high
    leaked = np.concatenate([train[:3256], release[3256:]])
    found = ask(train, control, leaked, schema)
    assert found.risk.low > 0.1  # Anonymeter sees 0.034 at k = 1 and 0.079 at k = 10 in the middle split
