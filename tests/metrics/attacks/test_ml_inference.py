import math

import numpy as np
import pytest
import xgboost
from supplies.configurations import by_name
from supplies.populations import adult_thirds, population, risks, split, with_people

from tabveil.core.estimate import difference, rate, risk_between
from tabveil.core.rng import stream
from tabveil.core.table import Categorical, Numeric, Schema, Split
from tabveil.core.workers import working
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.attacks.guessing import NO_CONTROL, Tally
from tabveil.metrics.attacks.ml_inference import (
    GENERAL_ROUNDS,
    LabelModel,
    MLInference,
    NumberErrors,
    NumberModel,
)

NAN = np.nan
TOWN = Categorical(name="town", labels=tuple("abcd"))
ILL = Categorical(name="ill", labels=("no", "yes", "unknown"))
PAY = Numeric(name="pay", low=0, high=100)
NO, YES, UNKNOWN = 0, 1, 2


def ask(train, control, synthetic, schema, seed=0, **params):
    return MLInference(**params)(split(schema, train, control, synthetic), rng=np.random.default_rng(seed))


def towns(pairs, times=1):
    return np.repeat(np.array(pairs, dtype=float), times, axis=0)


SYNTHETIC = towns([(0, YES), (1, NO)], 50)  # everybody in town a is ill, nobody in town b


def test_by_hand():
    train = towns([(0, YES), (0, YES), (1, NO), (1, YES)])
    control = towns([(0, NO), (1, NO), (0, YES), (1, YES)])
    result = ask(train, control, SYNTHETIC, Schema((TOWN, ILL)), secrets=("ill",))
    found = by_name(result)["ill"]
    assert (found["successes_train"], found["successes_control"]) == (3, 2)
    assert result.risk == risk_between(3, 4, 2, 4)
    assert result.baseline == rate(1, 4)  # "no": the first of equally frequent labels
    train_scores, control_scores = result.sensitive_scores
    likely = train_scores.values > 0.5
    assert sorted(train_scores.rows[likely].tolist()) == [0, 1, 2]
    assert sorted(control_scores.rows[control_scores.values > 0.5].tolist()) == [1, 2]


def test_a_label_that_the_release_never_shows_is_never_guessed():
    train = towns([(0, UNKNOWN), (1, UNKNOWN), (2, UNKNOWN), (3, YES)])
    result = ask(train, train, SYNTHETIC, Schema((TOWN, ILL)), secrets=("ill",))
    assert by_name(result)["ill"]["successes_train"] <= 1
    assert sorted(result.sensitive_scores[0].values.tolist())[:3] == [0, 0, 0]


def test_three_labels():
    synthetic = towns([(0, YES), (1, NO), (2, UNKNOWN)], 40)
    result = ask(synthetic[::7], synthetic[::11], synthetic, Schema((TOWN, ILL)), secrets=("ill",))
    found = by_name(result)["ill"]
    assert found["successes_train"] == found["n_train"]


def test_rows_without_the_secret_are_left_out():
    train = towns([(0, YES), (0, NAN), (1, NO)])
    synthetic = np.concatenate([SYNTHETIC, towns([(0, NAN)], 30)])
    result = ask(train, towns([(0, NO), (1, NAN)]), synthetic, Schema((TOWN, ILL)), secrets=("ill",))
    found = by_name(result)["ill"]
    assert (found["n_train"], found["n_control"]) == (2, 1)
    assert found["successes_train"] == 2
    assert any("missing secret" in note and "ill" in note for note in result.notes)
    assert sorted(result.sensitive_scores[0].rows.tolist()) == [0, 2]


def test_one_label_only_in_the_release():
    result = ask(
        towns([(0, YES), (1, NO)]),
        towns([(0, YES)]),
        towns([(0, YES)], 9),
        Schema((TOWN, ILL)),
        secrets=("ill",),
    )
    found = by_name(result)["ill"]
    assert (found["successes_train"], found["successes_control"]) == (1, 1)


def test_nothing_to_learn():
    rows = towns([(0, YES), (1, NO)])
    with pytest.raises(NotApplicable, match=r"^ml_inference: no secret can be learned: ill .*\.$"):
        ask(rows, rows, towns([(0, NAN)], 9), Schema((TOWN, ILL)), secrets=("ill",))
    with pytest.raises(NotApplicable, match="at least two columns"):
        ask(rows[:, 1:], rows[:, 1:], rows[:, 1:], Schema((ILL,)))


def test_numbers_by_hand():
    schema = Schema((TOWN, PAY))
    synthetic = towns([(0, 20), (1, 80)], 200)
    train, control = towns([(0, 20), (1, 80), (1, 90)]), towns([(0, 40), (1, 60)])
    result = ask(train, control, synthetic, schema, secrets=("pay",))
    # Errors of 0, 0, 10 and 20, 20 of a range of 100; the mean of the release is 50.
    assert result.attack.value == pytest.approx(1 - math.sqrt(0.01 / 3), abs=1e-3)
    assert result.control.value == pytest.approx(1 - 0.2, abs=1e-3)
    assert result.risk.value == pytest.approx(1 - math.sqrt(0.01 / 3) / 0.2, abs=1e-2)
    assert result.baseline.value == pytest.approx(1 - math.sqrt((0.09 + 0.09 + 0.16) / 3))


def errors(train, control):
    near = Tally(train=0, n_train=len(train), control=0, n_control=len(control))
    return NumberErrors(train=train, control=control, naive=train, near=near)


def test_numbers_are_judged_by_the_people_guessed_nearly():
    near = Tally(train=30, n_train=100, control=10, n_control=100)
    far = np.ones(100)
    found = NumberErrors(train=far / 4, control=far, naive=far, near=near).compare(0.95)
    assert found.gain == difference(30, 100, 10, 100)
    assert found.risk.value == pytest.approx(0.5)


def test_the_bounds_of_errors_hold():
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(300):
        train, control = rng.standard_t(8, 150) ** 2, rng.standard_t(8, 60) ** 2
        risk = errors(train, control).compare(0.95).risk
        covered.append(risk.low <= 0 <= risk.high)
    assert 0.91 <= np.mean(covered) <= 0.985


def test_perfect_guesses_of_numbers():
    none = np.zeros(20)
    assert errors(none, none).compare(0.95).risk is None
    assert errors(none, none + 1).compare(0.95).risk.value == 1


def test_units_do_not_matter():
    rng = np.random.default_rng(1)
    values = np.column_stack([rng.integers(0, 4, 300), rng.random(300)]).astype(float)
    scores = []
    for unit in (1.0, 1e-7):
        schema = Schema((TOWN, Numeric(name="pay", low=0, high=unit)))
        scaled = values * [1, unit]
        scores.append(ask(scaled, scaled[:100], scaled, schema, secrets=("pay",)).attack.value)
    assert scores[0] == pytest.approx(scores[1], abs=1e-3)


def test_as_xgboost_itself_guesses():
    tables = population("mixed", (200, 100, 300), leak=0.3, seed=0)
    known = ("age", "income", "sex", "visits")
    model = LabelModel.fit(tables.synthetic, "region", known)
    asked = tables.train.select(known)
    guessed = model.guess(asked, tables.train.column("region"))
    labels, codes = np.unique(tables.synthetic.column("region"), return_inverse=True)
    theirs = xgboost.XGBClassifier(
        tree_method="hist", enable_categorical=True, feature_types=["q", "q", "c", "q"], n_jobs=1
    ).fit(tables.synthetic.select(known).values, codes)
    same = guessed.label == labels[theirs.predict(asked.values)]
    assert same.mean() > 0.95  # rows in another order grow slightly other trees
    fewer = theirs.predict_proba(asked.values, iteration_range=(0, GENERAL_ROUNDS)).max(axis=1)
    assert np.corrcoef(guessed.general, fewer)[0, 1] > 0.8


def test_numbers_as_xgboost_itself_guesses():
    tables = population("mixed", (200, 100, 300), seed=0)
    known = ("income", "region", "sex", "visits")
    model = NumberModel.fit(tables.synthetic, tables.schema["age"], known)
    theirs = xgboost.XGBRegressor(
        tree_method="hist", enable_categorical=True, feature_types=["q", "c", "c", "q"], n_jobs=1
    ).fit(tables.synthetic.select(known).values, tables.synthetic.column("age"))
    asked = tables.train.select(known)
    assert np.corrcoef(model.guess(asked), theirs.predict(asked.values))[0, 1] > 0.98


def test_threads_do_not_matter():
    tables = population("mixed", (800, 500, 800), leak=0.2, seed=0)
    found = []
    for threads in (1, 2, 4):
        with working(threads=threads):
            metric = MLInference(secrets=("region", "sex", "age"))
            found.append(str(metric(tables, rng=np.random.default_rng(0)).to_json()))
    assert found[0] == found[1] == found[2]


def test_a_copy_is_memorized():
    for kind in ("levels", "mixed"):
        tables = population(kind, (250, 250, 10), seed=0)
        copy = Split(train=tables.train, control=tables.control, synthetic=tables.train)
        result = MLInference()(copy, rng=np.random.default_rng(0))
        assert result.risk.low > 0.5
        sure = [item for name, item in by_name(result).items() if "confident" in name]
        assert len(sure) == 2
        assert all(item["risk"].value > 0.03 for item in sure)


@pytest.mark.parametrize("sizes", [(200, 200, 200), (300, 100, 200)])
@pytest.mark.parametrize("params", [{"secrets": ("sex",)}, {"secrets": ("age",)}, {}], ids=str)
def test_fresh_rows_cover_zero(params, sizes):
    found = risks(MLInference(**params), "mixed", sizes, seeds=20)
    assert np.mean((found[:, 1] <= 0) & (found[:, 2] >= 0)) >= 0.8
    assert abs(found[:, 0].mean()) < 3 * found[:, 0].std() / math.sqrt(20) + 0.003


def test_without_control():
    tables = population("mixed", (60, 0, 60), seed=0)
    result = MLInference(secrets=("sex", "age"))(tables, rng=np.random.default_rng(0))
    assert result.risk is None
    assert result.control is None
    assert result.notes[0] == NO_CONTROL
    assert set(by_name(result)) == {"age", "sex"}
    assert [scores.table for scores in result.sensitive_scores] == ["train"]


def test_a_sample_is_attacked_equally():
    tables = population("mixed", (90, 40, 60), seed=0)
    result = MLInference(secrets=("sex",), n_attacks=50)(tables, rng=np.random.default_rng(0))
    found = by_name(result)["sex"]
    assert (found["n_train"], found["n_control"]) == (40, 40)


def test_one_row_each():
    result = ask([[0, YES]], [[1, YES]], [[0, YES]], Schema((TOWN, ILL)), secrets=("ill",))
    assert result.risk is None  # control never fails
    assert result.gain.low <= 0 <= result.gain.high
    result = ask([[0, 10]], [[1, 10]], [[0, 20]], Schema((TOWN, PAY)), secrets=("pay",))
    assert result.attack.value == pytest.approx(0.9)


def test_what_was_tried_is_said():
    result = MLInference(known=("age", "income"))(
        population("mixed", (60, 60, 60)), rng=np.random.default_rng(0)
    )
    assert any(note.startswith("Tried as secret: region, sex, chosen among 3") for note in result.notes)
    with pytest.raises(ParameterError, match="Did you mean 'region'"):
        MLInference(secrets=("regio",))(population("mixed", (9, 9, 9)), rng=np.random.default_rng(0))


@pytest.mark.parametrize("params", [{"n_secrets": 0}, {"n_attacks": 0}, {"secrets": ()}])
def test_parameters_are_checked(params):
    with pytest.raises(ParameterError, match="MLInference: "):
        MLInference(**params)


def test_adult():
    schema, (train, control, release) = adult_thirds()
    rows = slice(0, 4000)
    fresh = split(schema, train[rows], control[rows], release[rows])
    metric = MLInference(secrets=("income",))
    risk = metric(fresh, rng=stream(0, metric.name)).risk
    assert risk.low <= 0 <= risk.high
    copy = split(schema, train, control, train)
    result = metric(copy, rng=stream(0, metric.name))
    assert by_name(result)["income"]["risk"].value == pytest.approx(0.45, abs=0.05)  # the paper's


# People with several rows --------------------------------------------------------------------------------


def ask_people(train, control, synthetic, schema, of_train, of_control, **params):
    tables = with_people(split(schema, train, control, synthetic), of_train, of_control)
    return MLInference(**params)(tables, rng=np.random.default_rng(0))


def test_who_has_one_value_has_one_to_guess():
    train = towns([(0, YES), (0, NAN), (0, YES), (1, NAN), (1, NAN), (1, YES)])  # of the third there is none
    control = towns([(0, NO), (0, NO), (1, NAN)])
    result = ask_people(
        train, control, SYNTHETIC, Schema((TOWN, ILL)), [0, 0, 1, 2, 2, 3], [4, 4, 5], secrets=("ill",)
    )
    found = by_name(result)["ill"]
    assert (found["n_train"], found["successes_train"]) == (3, 2)
    assert (found["n_control"], found["successes_control"]) == (1, 0)
    assert result.gain == difference(2, 4, 0, 2, 0.95)  # those without a value are people, too


def test_the_surest_guess_of_a_label_speaks_for_a_person():
    synthetic = np.concatenate([SYNTHETIC, towns([(2, YES), (2, NO)], 25)])  # nothing is known of town c
    train = towns([(2, NO), (0, YES), (2, YES), (2, NO), (0, NO)])
    result = ask_people(
        train, train, synthetic, Schema((TOWN, ILL)), [0, 0, 0, 1, 1], [2, 2, 2, 3, 3], secrets=("ill",)
    )
    found = by_name(result)["ill"]
    assert (found["n_train"], found["successes_train"]) == (2, 1)  # both are judged by their row in town a


def test_numbers_are_judged_by_the_mean_over_a_person():
    synthetic = towns([(0, 20), (1, 80)], 50)
    train = towns([(0, 20), (0, 20), (0, 60), (1, 80), (0, NAN)])
    result = ask_people(
        train, train[:4], synthetic, Schema((TOWN, PAY)), [0, 0, 0, 1, 2], [3, 3, 3, 4], secrets=("pay",)
    )
    found = by_name(result)["pay"]
    assert found["near_train"] == pytest.approx(2 / 3 + 1)
    assert (found["n_train"], found["n_control"]) == (2, 2)
    assert result.attack.value == pytest.approx(1 - math.sqrt((0.4**2 / 3 + 0) / 2), abs=0.01)
    assert result.gain.value == pytest.approx((2 / 3 + 1) / 3 - (2 / 3 + 1) / 2)
