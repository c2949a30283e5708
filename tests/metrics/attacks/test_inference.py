import numpy as np
import pytest
from supplies.configurations import by_name
from supplies.populations import adult_thirds, population, risks, split, with_people

from tabveil.core.estimate import risk_between
from tabveil.core.result import Result
from tabveil.core.table import Categorical, Numeric, Schema
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.attacks.attack import Truth
from tabveil.metrics.attacks.guessing import NO_CONTROL, NOT_INFORMATIVE
from tabveil.metrics.attacks.inference import Inference

AGE = Numeric(name="age", low=0, high=100, decimals=0)
JOB = Categorical(name="job", labels=("nurse", "clerk", "judge"))
SCHEMA = Schema((AGE, JOB))
NURSE, CLERK, JUDGE = 0, 1, 2
SYNTHETIC = [[20, NURSE], [40, CLERK], [60, JUDGE], [80, NURSE]]
TRAIN = [[21, NURSE], [41, CLERK], [59, JUDGE], [79, CLERK]]  # guessed: nurse, clerk, judge, nurse
CONTROL = [[22, CLERK], [38, CLERK], [61, NURSE], [90, JUDGE]]  # guessed: nurse, clerk, judge, nurse
NAN = np.nan


def ask(train, control, synthetic, schema=SCHEMA, seed=0, **params):
    return Inference(**params)(split(schema, train, control, synthetic), rng=np.random.default_rng(seed))


def test_by_hand():
    result = ask(TRAIN, CONTROL, SYNTHETIC, secrets=("job",))
    only = by_name(result)["job"]
    assert (only["successes_train"], only["successes_control"]) == (3, 1)
    assert result.risk == risk_between(3, 4, 1, 4)
    assert only["naive"] == pytest.approx((1 / 2 + 1 / 4 + 1 / 4 + 1 / 4) / 4)  # half of synthetic are nurses
    train, control = result.sensitive_scores
    assert train.table == "train"
    assert dict(zip(train.rows, train.values, strict=True)) == pytest.approx(
        {0: 1 / 1.01, 1: 1 / 1.01, 2: 1 / 1.01, 3: 0}
    )
    assert dict(zip(control.rows, control.values, strict=True)) == pytest.approx(
        {0: 0, 1: 1 / 1.02, 2: 0, 3: 0}
    )


def test_every_column_is_the_secret_once():
    result = ask(TRAIN, CONTROL, SYNTHETIC)
    assert [item.column for item in result.columns] == ["age", "job"]
    assert set(by_name(result)) == {"age", "job"}
    assert result.risk in [item.risk for item in result.columns if item.column == result.leading.target]


@pytest.mark.parametrize(
    ("truth", "guess", "right"),
    [
        (100, 105, True),
        (100, 106, False),
        (100, 95, True),
        (500, -100, False),  # a signed error would pass
        (-100, -105, True),
        (-100, 100, False),
        (0.3, 0.315, True),  # 0.315 - 0.3 is more than 0.05 * 0.3 in floating point
        (0, 1, True),  # 0.001 of a range of 1000
        (0, 1.1, False),
        (0, -1, True),
        (1, 1.1, False),
        (NAN, NAN, False),  # there is nothing to infer
        (NAN, 0, False),
        (0, NAN, False),
    ],
)
def test_numbers_must_be_near(truth, guess, right):
    column = Numeric(name="x", low=-500, high=500)
    accepted = Truth.of(np.array([truth], dtype=float), column, tolerance=0.05, zero_tolerance=0.001)
    assert accepted.met_by(np.array([guess], dtype=float)).tolist() == [right]
    assert accepted.chance(np.array([guess, 77777.0, NAN, 77777.0])).tolist() == [0.25 * right]


def test_categories_must_be_equal():
    column = Categorical(name="c", labels=tuple(map(str, range(50))))
    accepted = Truth.of(np.array([40.0, NAN]), column, tolerance=1, zero_tolerance=1)
    assert accepted.met_by(np.array([41.0, NAN])).tolist() == [False, False]
    assert accepted.met_by(np.array([40.0, 40.0])).tolist() == [True, False]


def test_the_chance_is_the_share_of_guesses_that_would_be_right():
    rng = np.random.default_rng(0)
    cells = np.where(rng.random(60) < 0.2, NAN, rng.integers(-3, 9, 60)).astype(float)
    pool = np.where(rng.random(40) < 0.3, NAN, rng.integers(-3, 9, 40)).astype(float)
    accepted = Truth.of(cells, Numeric(name="x", low=-3, high=9), tolerance=0.3, zero_tolerance=0.1)
    expected = [accepted.met_by(np.full(60, guess)) for guess in pool]
    np.testing.assert_allclose(accepted.chance(pool), np.mean(expected, axis=0), atol=1e-15)


def test_the_nearest_row_is_found_among_missing_values():
    schema = Schema((AGE, Numeric(name="pay", low=0, high=100), JOB))
    synthetic = [[NAN, 50, NURSE], [30, 50, CLERK]]
    result = ask(
        [[NAN, 50, NURSE], [31, 50, CLERK]],
        [[NAN, 50, CLERK], [30, NAN, JUDGE]],
        synthetic,
        schema,
        secrets=("job",),
    )
    only = by_name(result)["job"]
    assert (only["successes_train"], only["successes_control"]) == (2, 0)


def test_ties_are_broken_at_random():
    synthetic = [[50, NURSE], [50, CLERK]]
    found = [
        by_name(ask([[50, NURSE]], [[50, JUDGE]], synthetic, secrets=("job",), seed=seed))["job"][
            "successes_train"
        ]
        for seed in range(200)
    ]
    assert 70 <= sum(found) <= 130


def test_only_the_known_columns_are_used():
    schema = Schema((AGE, Numeric(name="code", low=0, high=100, decimals=0), JOB))
    synthetic = [[20, 90, NURSE], [90, 20, CLERK]]
    train, control = [[20, 20, NURSE]], [[20, 20, JUDGE]]
    by_age = ask(train, control, synthetic, schema, secrets=("job",), known=("age", "job"))
    by_code = ask(train, control, synthetic, schema, secrets=("job",), known=("code",))
    assert by_name(by_age)["job"]["successes_train"] == 1
    assert by_name(by_code)["job"]["successes_train"] == 0


def test_constant_secrets_are_left_out_and_named():
    rows = [[20, NURSE], [40, NURSE]]
    result = ask(rows, rows, SYNTHETIC)
    assert [item.column for item in result.columns] == ["age"]
    assert result.notes[-1] == "Not attacked, being constant or empty in the real or the synthetic rows: job."
    with pytest.raises(NotApplicable, match="nothing to infer"):
        ask([[NAN, NURSE]], [[NAN, NURSE]], SYNTHETIC)


def test_without_control_there_is_a_rate_but_no_risk():
    result = ask(TRAIN, [], SYNTHETIC)
    assert result.risk is None
    assert result.control is None
    assert result.attack is not None
    assert result.baseline is not None
    assert result.notes[0] == NO_CONTROL
    assert [scores.table for scores in result.sensitive_scores] == ["train"]
    assert isinstance(Result.from_json(result.to_json()), Result)


def test_one_row_each():
    assert ask([[20, NURSE]], [[40, CLERK]], [[20, NURSE], [30, JUDGE]]).risk.n == 1


def test_an_attack_that_only_knows_the_marginal_is_not_informative():
    rng = np.random.default_rng(0)
    train, control, synthetic = (
        np.column_stack([rng.integers(0, 100, 400), rng.integers(0, 3, 400)]) for _ in range(3)
    )
    notes = [ask(train, control, synthetic, secrets=("job",), seed=seed).notes for seed in range(10)]
    assert (NOT_INFORMATIVE,) in notes


def test_n_attacks_draws_equally_many():
    result = ask(TRAIN, CONTROL[:3], SYNTHETIC, n_attacks=2)
    assert [len(scores.rows) for scores in result.sensitive_scores] == [2, 2]
    assert result.risk.n == 2


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"tolerance": -1}, "tolerance must be >= 0"),
        ({"zero_tolerance": -1}, "zero_tolerance must be >= 0"),
        ({"n_attacks": 0}, "n_attacks must be >= 1"),
        ({"secrets": ()}, "secrets must name at least one column"),
        ({"known": ("age", "age")}, "none twice"),
    ],
)
def test_wrong_parameters(params, message):
    with pytest.raises(ParameterError, match=message):
        Inference(**params)


def test_wrong_columns():
    with pytest.raises(ParameterError, match="Did you mean 'job'"):
        ask(TRAIN, CONTROL, SYNTHETIC, secrets=("jo",))
    with pytest.raises(ParameterError, match="nothing is known that 'job'"):
        ask(TRAIN, CONTROL, SYNTHETIC, secrets=("job",), known=("job",))
    with pytest.raises(NotApplicable, match="at least two columns"):
        ask([[1]], [[2]], [[3]], Schema((AGE,)))


@pytest.mark.parametrize("sizes", [(250, 250, 250), (450, 150, 250), (150, 450, 300)])
@pytest.mark.parametrize("kind", ["normal", "levels", "mixed"])
def test_fresh_rows_cover_zero(kind, sizes):
    found = risks(Inference(), kind, sizes, seeds=40)
    assert np.mean((found[:, 1] <= 0) & (found[:, 2] >= 0)) >= 0.9
    assert np.sum(found[:, 1] > 0) <= 4  # of 40, one is meant; of 250 others, at most 7 in any cell


@pytest.mark.parametrize(("kind", "least"), [("normal", 1.0), ("levels", 0.3), ("mixed", 1.0)])
def test_a_leak_of_a_fifth_is_found(kind, least):
    found = risks(Inference(), kind, (250, 250, 250), leak=0.2, seeds=20)
    assert np.mean(found[:, 1] > 0) >= least


@pytest.mark.parametrize("kind", ["normal", "mixed"])
def test_a_copy_of_train_is_the_worst_case(kind):
    fresh = population(kind, (1500, 1500, 1))
    result = ask(fresh.train.values, fresh.control.values, fresh.train.values, fresh.schema)
    assert result.risk.value >= 0.95


def test_adult_thirds_meet_the_anchors():
    schema, (train, control, release) = adult_thirds()
    fresh = ask(train, control, release, schema, secrets=("income",))
    counts = by_name(fresh)["income"]
    assert abs(counts["successes_train"] - 12908) <= 12  # ties by lot here, by lowest index in the anchor
    assert abs(counts["successes_control"] - 12939) <= 12
    assert fresh.risk.low < 0 < fresh.risk.high
    leaked = np.concatenate([train[:3256], release[3256:]])
    found = ask(train, control, leaked, schema, secrets=("income",))
    assert by_name(found)["income"]["risk"].value == pytest.approx(0.178, abs=0.02)
    assert found.risk.value == pytest.approx(0.2, abs=0.01)  # the careful attacker sees the whole leak
    assert ask(train, control, train, schema).risk.value >= 0.95


def test_missing_guessed_as_missing_is_counted_apart():
    train = [[20, NURSE], [21, NAN], [60, JUDGE], [61, NAN]]
    control = [[20, NURSE], [22, NAN], [60, NURSE]]
    synthetic = [[20, NURSE], [21, NAN], [60, JUDGE], [61, CLERK]]
    result = ask(train, control, synthetic, secrets=("job",))
    only = by_name(result)["job"]
    assert (only["successes_train"], only["n_train"]) == (2, 2)
    assert (only["successes_control"], only["n_control"]) == (1, 2)
    assert result.details["missing"] == {
        "job": {"n_train": 2, "guessed_train": 1, "n_control": 1, "guessed_control": 1}
    }
    # Of all people, those without a job among them: two of four against one of three.
    assert result.gain.value == pytest.approx(2 / 4 - 1 / 3)
    assert only["risk"].value == pytest.approx(1.0)


def test_a_secret_that_nobody_has_is_left_out():
    result = ask([[20, NAN], [30, NAN]], [[20, NAN], [31, NURSE]], [[20, NURSE], [30, CLERK]])
    assert set(by_name(result)) == {"age"}


def test_who_has_a_value_in_one_row_is_not_without():
    schema = Schema(
        (Numeric(name="age", low=0, high=99, decimals=0), Categorical(name="job", labels=("a", "b")))
    )
    train = [[10, 0], [10, NAN], [20, NAN], [20, NAN], [30, 1]]
    control = [[10, 0], [20, NAN], [50, 0]]
    tables = with_people(
        split(schema, train, control, [[10, 0], [20, NAN], [30, 1]]), [0, 0, 1, 1, 2], [3, 4, 4]
    )
    result = Inference(secrets=("job",))(tables, rng=np.random.default_rng(0))
    found = by_name(result)["job"]
    assert (found["n_train"], found["n_control"]) == (2, 2)
    assert found["successes_train"] == 2
    assert result.gain.n == 3
    assert result.details["missing"]["job"] == {
        "n_train": 1,
        "guessed_train": 1,
        "n_control": 0,
        "guessed_control": 0,
    }
