import json
from dataclasses import replace

import numpy as np
import pytest
from supplies.configurations import by_name
from supplies.populations import (
    adult_thirds,
    ignoring_people,
    patients,
    population,
    risks,
    split,
    with_people,
)

from tabveil.core.estimate import rate
from tabveil.core.findings import Combination
from tabveil.core.result import Result
from tabveil.core.rng import stream
from tabveil.core.table import Categorical, Numeric, Schema
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.attacks.singling_out.by_predicates import SinglingOut
from tabveil.metrics.attacks.singling_out.descriptions import rows_a_person
from tabveil.metrics.attacks.singling_out.isolation import Isolation, combinations
from tabveil.metrics.attacks.singling_out.predicate_kernels import add_pairs
from tabveil.metrics.attacks.singling_out.predicates import Matches

NAN = np.nan
SCHEMA = Schema((Numeric(name="x", low=0, high=99), Categorical(name="c", labels=("a", "b"))))
UNIVARIATE = SinglingOut(n_columns=(), widths=(), column_sets=False)
HALF_LINES = SinglingOut(widths=(), column_sets=False)
WINDOWS = SinglingOut(n_columns=(), widths=(0.2,), column_sets=False)
EQUAL, SMALL_CONTROL, LARGE_CONTROL = (250, 250, 250), (450, 150, 250), (150, 450, 300)


def ask(metric, tables):
    return metric(tables, rng=stream(0, metric.name))


def by_hand(metric, configuration, train, control, synthetic):
    """Return guesses, successes on train and on control of one configuration."""
    found = by_name(ask(metric, split(SCHEMA, train, control, synthetic)))[configuration]
    return found["guesses"], found["successes_train"], found["successes_control"]


def copied(tables):
    return split(tables.schema, tables.train.values, tables.control.values, tables.train.values)


def test_univariate_by_hand():
    train = [[1, 0], [3, 0], [8, 1], [9, 1]]
    control = [[2, 0], [3, 0], [5, 1], [8, 0]]
    synthetic = [[1, 0], [2, 0], [2, 1], [7, 1]]
    # Guesses: x = 1, x <= 1, x = 7, x >= 7. The first two hold for a train row, the last for a control row.
    assert by_hand(UNIVARIATE, "univariate", train, control, synthetic) == (4, 2, 1)
    result = ask(UNIVARIATE, split(SCHEMA, train, control, synthetic))
    worth = by_name(result)["univariate"]["independent_guesses"]
    assert 1 <= worth <= 4  # x = 1 and x <= 1 stand or fall together
    assert by_name(result)["univariate"]["risk"].value == pytest.approx((2 / 4 - 1 / 4) / (1 - 1 / 4))
    # Of all real people one is alone: 1 fits one of train and nobody else; at least 7 three.
    assert (result.attack, result.control) == (rate(1, 4), rate(0, 4))
    assert result.gain.value == 1 / 4


def test_half_lines_by_hand():
    # The median of x is 5. "x <= 5 and a" holds for two synthetic rows, so two guesses are left:
    # "x <= 1 and a" and "x >= 9 and b".
    synthetic = [[1, 0], [5, 0], [9, 1]]
    train = [[0, 0], [9, 1], [10, 1], [NAN, 0]]
    control = [[1, 1], [12, 1], [7, 0], [NAN, 1]]
    assert by_hand(HALF_LINES, "2 columns", train, control, synthetic) == (2, 1, 1)


def test_windows_by_hand():
    # Five values: one to each side. "10 <= x <= 20 and a" and so on; 30 and 40 share their windows.
    synthetic = [[10, 0], [20, 1], [30, 0], [40, 0], [50, 1]]
    train = [[12, 0], [15, 0], [45, 1], [35, 0], [99, 1]]
    control = [[18, 0], [25, 1], [45, 1], [50, 1], [0, 0]]
    assert by_hand(WINDOWS, "window 0.2, all columns", train, control, synthetic) == (3, 1, 2)


def test_missing_is_a_value_of_its_own():
    synthetic = [[NAN, 0], [2, 0], [2, 0], [4, 1], [4, 1]]
    train = [[NAN, 1], [1, 0], [2, 0], [2, 1], [2, 1]]
    control = [[NAN, 1], [NAN, 0], [2, 0], [2, 1], [2, 1]]
    assert by_hand(UNIVARIATE, "univariate", train, control, synthetic) == (1, 1, 0)
    assert by_hand(HALF_LINES, "2 columns", train, control, synthetic) == (1, 0, 1)


def test_equal_people_are_not_singled_out():
    train = [[1, 0], [1, 0], [5, 1], [7, 0]]
    control = [[1, 0], [2, 0], [3, 0], [3, 1]]
    synthetic = [[1, 0], [3, 0], [3, 0], [3, 0]]
    # Equal synthetic rows are one, and equal control rows two people: "x = 3 and a" fits two of control.
    assert by_hand(WINDOWS, "window 0.2, all columns", train, control, synthetic) == (2, 0, 2)
    dropping = SinglingOut(n_columns=(), widths=(0.2,), deduplicate=True, column_sets=False)
    assert by_hand(dropping, "window 0.2, all columns", train, control, synthetic) == (2, 1, 2)
    scores = ask(dropping, split(SCHEMA, train, control, synthetic)).sensitive_scores[0]
    assert scores.rows.shape == (3,)


def test_nothing_to_guess_is_a_reason():
    crowd = [[1, 0], [1, 1], [2, 0], [2, 1]]
    with pytest.raises(NotApplicable, match="no predicate holds for exactly one synthetic row"):
        ask(UNIVARIATE, split(SCHEMA, crowd, crowd, crowd))


def test_who_is_like_others_is_not_singled_out():
    same = [[1, 0]] * 4
    found = ask(SinglingOut(), split(SCHEMA, same, same, same))
    assert (found.gain.value, found.attack.value, found.control.value) == (0, 0, 0)


def test_one_row_of_each():
    result = ask(SinglingOut(), split(SCHEMA, [[1, 0]], [[2, 1]], [[1, 0]]))
    assert result.risk.value > 0
    assert result.risk.low < 0


def test_low_cardinality_says_how_many_guesses_it_found():
    rng = np.random.default_rng(0)
    schema = Schema(tuple(Categorical(name=str(i), labels=("a", "b")) for i in range(8)))
    tables = split(schema, *(rng.integers(0, 2, (600, 8)) for _ in range(3)))
    configurations = by_name(ask(SinglingOut(), tables))
    assert configurations["3 columns"] == {
        **dict.fromkeys(("risk", "gain", "attack", "control", "baseline", "p_value", "naive")),
        "informative": True,
        "people_train": 0,
        "people_control": 0,
        "n_train": 600,
        "n_control": 600,
        **dict.fromkeys(("guesses", "independent_guesses", "successes_train", "successes_control"), 0),
    }
    assert 0 < configurations["8 columns"]["guesses"] < 200
    # Without numbers all widths are one.
    assert [name for name in configurations if "window" in name] == ["window 0.005, all columns"]


def test_dates_are_numbers():
    day = 86_400e6  # in microseconds
    schema = Schema((Numeric(name="born", low=-4e15, high=2e15), Numeric(name="seen", low=1e15, high=2e15)))
    rng = np.random.default_rng(0)

    def people():
        return (
            np.round(np.column_stack([rng.integers(-40000, 20000, 300), rng.integers(12000, 23000, 300)]))
            * day
        )

    fresh = split(schema, people(), people(), people())
    assert ask(SinglingOut(), fresh).risk.low < 0
    assert ask(SinglingOut(), copied(fresh)).risk.value > 0.95


@pytest.mark.parametrize("sizes", [(600, 600), (600, 200), (200, 600), (2000, 100)])
@pytest.mark.parametrize("kind", ["normal", "mixed"])
def test_a_copy_is_one_at_any_sizes(kind, sizes):
    risk = ask(SinglingOut(), copied(population(kind, (*sizes, 10)))).risk
    assert risk.value > 0.95
    assert risk.low > 0.5


def test_a_copy_of_discrete_rows():
    tables = population("levels", (2000, 2000, 10))
    assert ask(SinglingOut(), copied(tables)).risk.value > 0.95


def test_a_leak_is_measured_at_its_size_whatever_the_control():
    for sizes in ((600, 600, 600), (600, 200, 600), (300, 900, 600)):
        found = risks(SinglingOut(n_columns=()), "normal", sizes, leak=0.3, seeds=20)
        assert found[:, 0].mean() == pytest.approx(0.3, abs=0.04)


@pytest.mark.parametrize("sizes", [EQUAL, SMALL_CONTROL, LARGE_CONTROL], ids=["equal", "small", "large"])
@pytest.mark.parametrize("kind", ["normal", "levels", "mixed"])
def test_fresh_rows_cover_zero(kind, sizes):
    # In 500 draws of each, every configuration alone covered zero in at least 93 %, the headline in 98 %.
    found = risks(SinglingOut(), kind, sizes, seeds=60, of="gain")
    assert np.mean((found[:, 1] <= 0) & (found[:, 2] >= 0)) >= 0.93
    assert abs(found[:, 0].mean()) < 0.04


@pytest.mark.parametrize("kind", ["normal", "levels", "mixed"])
def test_no_configuration_is_biased_where_control_is_a_third(kind):
    sums = {}
    for seed in range(40):
        result = ask(SinglingOut(), population(kind, (450, 150, 250), seed=seed))
        for name, entry in by_name(result).items():
            if entry["risk"] is not None:
                sums.setdefault(name, []).append((entry["risk"].value, entry["risk"].low <= 0))
    for found in sums.values():
        values, covered = np.array(found).T
        if len(found) == 40:  # others have hardly any room
            assert abs(values.mean()) < 3.5 * values.std() / np.sqrt(40) + 1e-3
            assert covered.mean() >= 0.95


@pytest.mark.parametrize(("kind", "power"), [("normal", 0.95), ("levels", 0.6), ("mixed", 0.95)])
def test_a_leak_of_a_fifth_is_found(kind, power):
    found = risks(SinglingOut(), kind, EQUAL, leak=0.2, seeds=30)
    assert np.mean(found[:, 1] > 0) >= power
    assert 0.1 < found[:, 0].mean() < 0.3


def test_every_configuration_is_in_the_details():
    schema, (train, control, release) = adult_thirds()
    tables = split(schema, train[:800], control[:800], release[:800])
    found = by_name(ask(SinglingOut(), tables))
    expected = ["univariate", *(f"{n} columns" for n in range(3, 13))]
    for width in (0.005, 0.02, 0.1):
        expected += [f"window {width}, {where}" for where in ("8 columns", "12 columns", "all columns")]
    assert list(found) == expected
    for name, entry in found.items():
        assert 0 < entry["guesses"] <= (800 if "window" in name else 2000)


def test_adult():
    schema, (train, control, release) = adult_thirds()
    assert ask(SinglingOut(), split(schema, train, control, release)).risk.low <= 0
    leak = np.concatenate([train[:163], release[163:]])  # 1 %
    risk = ask(SinglingOut(), split(schema, train, control, leak)).risk
    assert 0 < risk.low < 0.01 < risk.high
    leak = np.concatenate([train[:3256], release[3256:]])  # 20 %; Anonymeter finds 0.157 and 0.100
    few = SinglingOut(n_columns=(4,), widths=())
    entries = by_name(ask(few, split(schema, train, control, leak)))
    assert entries["univariate"]["risk"].value == pytest.approx(0.157, abs=0.04)
    assert entries["4 columns"]["risk"].value == pytest.approx(0.1, abs=0.04)
    assert ask(few, split(schema, train, control, train)).risk.low > 0.99


def test_a_small_control_of_adult_raises_no_alarm():
    schema, (train, control, release) = adult_thirds()
    risk = ask(SinglingOut(), split(schema, train, control[:5400], release)).risk
    assert risk.low <= 0 <= risk.high
    assert risk.high < 0.05


def test_leaked_people_score_higher():
    tables = population("mixed", (300, 300, 300), seed=3)
    values = tables.synthetic.values.copy()
    values[:60] = tables.train.values[:60]
    result = ask(SinglingOut(), split(tables.schema, tables.train.values, tables.control.values, values))
    train, control = result.sensitive_scores
    assert (train.table, control.table) == ("train", "control")
    score = np.empty(300)
    score[train.rows] = train.values
    assert score[:60].mean() > 3 * score[60:].mean()
    assert score[60:].mean() == pytest.approx(control.values.mean(), rel=0.5)


def test_without_control_there_is_no_risk():
    tables = population("mixed", (200, 0, 200), leak=0.5)
    result = ask(SinglingOut(), tables)
    assert result.risk is result.control is None
    assert result.attack.value > result.baseline.value
    assert result.notes[0].startswith("No control")
    assert [scores.table for scores in result.sensitive_scores] == ["train"]
    assert all(entry["risk"] is None for entry in by_name(result).values())


def test_other_sizes_and_samples_are_said():
    result = ask(SinglingOut(n_windows=50), population("mixed", (100, 60, 80)))
    assert result.details["rows_compared"] == 60
    assert "Windows were placed around 50 of up to 80 different synthetic rows" in " ".join(result.notes)


@pytest.mark.parametrize(
    "parameters", [{"n_attacks": 0}, {"n_columns": (0,)}, {"widths": (-0.1,)}, {"n_windows": 0}]
)
def test_parameters_are_checked(parameters):
    with pytest.raises(ParameterError, match="SinglingOut"):
        SinglingOut(**parameters)


def test_the_columns_that_single_people_out_are_named():
    # Only a and b are copied from training people; the other columns are anybody's.
    rng = np.random.default_rng(3)
    names = ("a", "b", "c", "d", "e")
    schema = Schema(tuple(Numeric(name=name, low=0, high=1) for name in names))
    train, control, synthetic = (rng.random((1500, 5)) for _ in range(3))
    clean = ask(SinglingOut(widths=(0.01,), window_columns=(2,)), split(schema, train, control, synthetic))
    assert clean.combinations == ()
    synthetic[:, :2] = train[:, :2]
    result = ask(SinglingOut(widths=(0.01,), window_columns=(2,)), split(schema, train, control, synthetic))
    first = result.combinations[0]
    assert first.columns == ("a", "b")
    assert first.train > 2 * first.control
    assert all({"a", "b"} & set(item.columns) for item in result.combinations)
    assert Result.from_json(json.loads(json.dumps(result.to_json()))).combinations == result.combinations


def test_pairs_of_columns_weigh_what_the_descriptions_with_both_do():
    rng = np.random.default_rng(0)
    columns = np.array([rng.permutation(7)[:4] for _ in range(200)], dtype=np.int32)
    weights = rng.integers(0, 3, 200).astype(float)
    used = np.zeros((200, 7))
    np.put_along_axis(used, columns.astype(int), 1.0, axis=1)
    sums = np.zeros((7, 7))
    add_pairs(columns, weights, sums)
    np.testing.assert_array_equal(sums, np.triu(used.T @ (used * weights[:, None]), 1))


def test_combinations_by_hand():
    matches = Matches(counts=np.array([1, 1, 2, 0]), people=np.zeros((4, 16), dtype=np.int32))
    nobody = Matches(counts=np.zeros(4, dtype=np.int64), people=np.zeros((4, 16), dtype=np.int32))
    columns = np.array([[0, 1], [0, 1], [1, 2], [0, 2]], dtype=np.int32)
    made = [Isolation(columns=columns, train=matches, control=nobody, naive=nobody, n_train=9, n_control=9)]
    assert combinations(("x", "y", "z"), made) == ()  # two descriptions are chance
    many = Matches(counts=np.repeat(matches.counts, 20), people=np.repeat(matches.people, 20, axis=0))
    none = Matches(counts=np.repeat(nobody.counts, 20), people=np.repeat(nobody.people, 20, axis=0))
    wide = replace(made[0], columns=np.repeat(columns, 20, axis=0), train=many, control=none, naive=none)
    assert combinations(("x", "y", "z"), [*made, wide]) == (
        Combination(columns=("x", "y"), train=40.0, control=0.0),
    )


def test_combinations_name_their_columns_whatever_the_order_of_the_file():
    tables = population("mixed", (300, 300, 300), leak=0.5, seed=4)
    turned = tables.select(tables.schema.names[::-1])
    pairs, again = (
        [found.columns for found in SinglingOut()(it, rng=np.random.default_rng(0)).combinations]
        for it in (tables, turned)
    )
    assert pairs
    assert pairs == again


# People with several rows --------------------------------------------------------------------------------


def test_several_rows_of_one_person_by_hand():
    # Guesses: x = 5, x <= 5, x = 9, x >= 9; 7 and "a" stand in more synthetic rows than anybody has.
    synthetic = [[5, 0], [9, 0], [7, 0], [7, 0], [7, 0], [7, 0]]
    train = [[5, 0], [5, 0], [9, 0], [5, 0], [9, 0]]  # three rows of the first person, one of two others
    control = [[5, 0], [5, 0], [9, 0], [9, 0], [9, 0]]  # the last three are one person's
    tables = with_people(split(SCHEMA, train, control, synthetic), [0, 0, 1, 0, 2], [3, 4, 5, 5, 5])
    result = ask(UNIVARIATE, tables)
    found = by_name(result)["univariate"]
    assert found["guesses"] == 4
    assert (found["successes_train"], found["successes_control"]) == (2, 2)  # 5 in train, 9 in control
    assert (found["people_train"], found["people_control"]) == (0, 0)  # among all people neither is alone
    assert (found["n_train"], found["n_control"]) == (3, 3)
    assert result.gain.value == 0
    assert result.gain.n == 3
    assert "up to 3 synthetic rows" in result.notes[-1]
    train_scores, control_scores = result.sensitive_scores
    assert set(train_scores.rows[train_scores.values > 0]) == {0, 1, 3}  # all rows of whom it is about
    assert set(control_scores.rows[control_scores.values > 0]) == {2, 3, 4}
    of_rows = by_name(ask(UNIVARIATE, split(SCHEMA, train, control, synthetic[:5])))["univariate"]
    assert (of_rows["successes_train"], of_rows["successes_control"]) == (0, 0)


def test_people_are_compared_at_the_smaller_number_of_them():
    tables = patients((90, 40, 60), seed=0, most=5)
    result = ask(SinglingOut(), tables)
    assert result.details["rows_compared"] == 40
    assert result.gain.n == 90
    assert result.gain.low <= 0 <= result.gain.high


def test_a_copy_of_everybody_singles_out_as_many_with_several_equal_rows():
    tables = patients((60, 60, 60), seed=1, most=1)
    thrice = replace(tables, train=tables.train.take(np.repeat(np.arange(60), 3)))
    leaked = split(tables.schema, thrice.train.values, tables.control.values, thrice.train.values)
    result = ask(SinglingOut(), with_people(leaked, thrice.train.people, tables.control.people))
    assert result.gain.value == 1
    # Whoever takes rows for people sees nobody who stands alone.
    assert ask(WINDOWS, ignoring_people(leaked)).gain.value == 0


@pytest.mark.parametrize(
    ("of_train", "of_control", "most"),
    [
        (None, None, 1),
        (range(5), range(5, 8), 1),
        ([0] * 4 + [1], [2, 3, 4], 4),
        ([0] * 500, [1, 2, 3], 16),
        (np.repeat(range(100), 2), [101] * 50, 2),  # one in a hundred has more
    ],
)
def test_a_guess_fits_as_many_synthetic_rows_as_nearly_everybody_has(of_train, of_control, most):
    sizes = (5, 3) if of_train is None else (len(of_train), len(of_control))
    tables = population("mixed", (*sizes, 4))
    assert rows_a_person(tables if of_train is None else with_people(tables, of_train, of_control)) == most
