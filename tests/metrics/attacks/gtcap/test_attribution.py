import math
import re

import numpy as np
import pytest
from supplies.configurations import by_name
from supplies.populations import adult_thirds, patients, population, risks, split, with_people

from tabveil.core.estimate import difference
from tabveil.core.rng import stream
from tabveil.core.table import Categorical, Numeric, Schema, Split
from tabveil.core.workers import working
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.attacks.gtcap.attribution import Attribution
from tabveil.metrics.attacks.gtcap.claims import chance_of_any
from tabveil.metrics.attacks.guessing import NO_CONTROL

NAN = np.nan
SEX = Categorical(name="sex", labels=("f", "m"))
AGE = Numeric(name="age", low=0, high=100, decimals=0)
ILL = Categorical(name="ill", labels=("no", "yes"))
SCHEMA = Schema((SEX, AGE, ILL))
F, M, NO, YES = 0, 1, 0, 1


def ask(train, control, synthetic, schema=SCHEMA, **params):
    metric = Attribution(**{"secrets": ("ill",), "radii": (0.1,), **params})
    return metric(split(schema, train, control, synthetic), rng=np.random.default_rng(0))


def only(result):
    (found,) = by_name(result).values()
    return found


def test_by_hand():
    synthetic = [
        [F, 30, YES],  # claims: women of 20 to 40 are ill
        [M, 50, NO],  # not a claim: the next row disagrees
        [M, 55, YES],  # nor is this
        [M, 80, NO],  # claims: men of 70 to 90 are well
    ]
    train = [[F, 20, YES], [F, 40, NO], [F, 41, YES], [M, 80, NO]]  # 1 of 2, 1 of 1
    control = [[F, 30, NO], [F, 35, NO], [M, 30, YES], [M, 60, NO]]  # 0 of 2, nobody
    result = ask(train, control, synthetic)
    found = only(result)
    assert found["claims"] == 4
    assert found["claims_kept"] == 2
    assert (found["claims_met_in_train"], found["claims_met_in_control"]) == (2, 1)
    assert result.attack.value == (1 / 2 + 1) / 2
    assert result.control.value == 0
    assert result.risk.value == 0.75
    # "no" is the most frequent label of the release (the first of equals): right for one of two women.
    assert result.baseline.value == (1 / 2 + 1) / 2
    assert "Not informative" in result.notes[0]
    train_scores, control_scores = result.sensitive_scores
    assert train_scores.values.tolist() == [1 / 2, 0, 0, 1]
    assert control_scores.values.tolist() == [0, 0, 0, 0]


def test_tcap_is_radius_zero():
    synthetic = [[F, 30, YES], [F, 31, NO]]
    train = [[F, 30, YES], [F, 30, NO], [F, 30, YES], [F, 31, YES]]
    result = ask(train, train, synthetic, radii=(0.0,))
    assert result.attack.value == pytest.approx((2 / 3 + 0) / 2)
    assert result.risk.value == 0


def test_soft_weights_are_triangular():
    synthetic = [[F, 30, YES]]
    train = [[F, 30, YES], [F, 35, NO], [F, 40, NO]]  # weights 1, 1/2 and 0
    found = only(ask(train, [[F, 30, NO]], synthetic, weighting="soft"))
    assert found["score_in_all_of_train"] == pytest.approx(1 / 1.5, abs=1e-6)


def test_decimal_differences_are_exact():
    schema = Schema((Numeric(name="x", low=0, high=1, decimals=1), ILL))
    found = only(ask([[0.4, YES]], [[0.5, NO]], [[0.3, YES]], schema))  # 0.4 - 0.3 is above 0.1 in binary
    assert (found["claims_met_in_train"], found["claims_met_in_control"]) == (1, 0)


def test_missing_matches_missing_only():
    synthetic = [[F, NAN, YES], [NAN, 30, NO]]
    met = only(ask([[F, NAN, YES], [NAN, 31, NO]], [[F, 30, YES], [M, 31, NO]], synthetic))
    assert met["score_in_all_of_train"] == 1
    assert met["claims_met_in_control"] == 0
    target = only(ask([[F, 30, NAN]], [[M, 30, NO]], [[F, 30, NAN], [M, 30, NO]]))  # missing is no fact
    assert target["claims_kept"] == 1
    assert (target["score_in_all_of_train"], target["score_in_all_of_control"]) == (0, 1)


def test_the_gain_is_of_people():
    synthetic = [[F, 20, YES], [F, 21, YES], [M, 60, NO]]
    train = [[F, 20, YES], [F, 21, NO], [M, 60, NO], [M, 90, YES]]  # two claims each about the first two
    control = [[F, 20, YES], [M, 90, NO]]
    result = ask(train, control, synthetic)
    found = only(result)
    assert (found["exposed_train"], found["n_train"]) == (2, 4)
    assert (found["exposed_control"], found["n_control"]) == (1, 2)
    assert result.gain == difference(2, 4, 1, 2)


def test_claiming_the_most_usual_value_tells_nothing():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 2, 900), rng.integers(0, 100, 900), rng.random(900) < 0.05])
    synthetic = rows[600:].copy()
    synthetic[:, 2] = NO
    result = ask(rows[:300], rows[300:600], synthetic)
    assert result.attack.value > 0.9
    assert not result.informative


def test_numeric_targets_and_no_label_among_the_keys():
    schema = Schema((AGE, Numeric(name="pay", low=0, high=1000)))
    synthetic = [[30, 100], [32, 190], [70, 500], [75, 700]]  # near in age and pay; near in age, far in pay
    train = [[31, 150], [33, 250], [31, NAN]]
    result = ask(train, [[90, 0]], synthetic, schema, secrets=("pay",))
    found = only(result)
    assert found["claims_kept"] == 2
    # 100: 150 is near, 250 and missing are not. 190: 150 and 250 are near.
    assert found["score_in_all_of_train"] == pytest.approx((1 / 3 + 2 / 3) / 2)


def test_unseen_labels_match_nobody():
    schema = Schema((Categorical(name="town", labels=("a", "b", "c")), ILL))
    found = only(ask([[0, YES], [1, NO]], [[1, NO]], [[2, YES], [2, YES]], schema))
    assert found["claims_met_in_train"] == found["claims_met_in_control"] == 0


def brute_force(train, synthetic, schema, radius, soft):
    """Return the score and every train row's part in it, pair by pair."""
    keys, target = schema.columns[:-1], schema.columns[-1]

    def near(column, a, b):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        if isinstance(column, Categorical):
            return a == b
        return abs(a - b) <= radius * column.width * (1 + 1e-9)

    def weight(a, b):
        if not all(near(c, x, y) for c, x, y in zip(keys, a, b, strict=False)):
            return 0
        gaps = [
            0 if math.isnan(x) else abs(x - y) / (radius * c.width)
            for c, x, y in zip(keys, a, b, strict=False)
            if soft and isinstance(c, Numeric)
        ]
        return 1 - sum(gaps) / len(gaps) if gaps else 1

    values = []
    for row in synthetic:
        if math.isnan(row[-1]):
            continue
        agree = [near(target, row[-1], other[-1]) for other in synthetic if weight(row, other) > 0]
        if all(agree):
            met = [(weight(row, other), near(target, row[-1], other[-1])) for other in train]
            total = sum(w for w, _ in met)
            values.append(sum(w for w, right in met if right) / total if total > 1e-9 else 0)
    return values


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("target", [0, 1, 2, 3, 4])
def test_against_brute_force(target, soft):
    tables = population("mixed", (120, 90, 100), leak=0.2, seed=target)
    names = [n for i, n in enumerate(tables.schema.names) if i != target] + [tables.schema.names[target]]
    tables = tables.select(names)
    metric = Attribution(secrets=(names[-1],), radii=(0.1,), weighting="soft" if soft else "hard")
    found = only(metric(tables, rng=np.random.default_rng(0)))
    values = brute_force(tables.train.values, tables.synthetic.values, tables.schema, 0.1, soft)
    assert found["claims_kept"] == len(values)
    assert found["score_in_all_of_train"] == pytest.approx(np.mean(values))


def test_the_errors_are_those_of_a_jackknife():
    tables = population("levels", (60, 60, 60), leak=0.3, seed=1)
    train, synthetic = tables.train.values, tables.synthetic.values
    metric = Attribution(secrets=("c3",), known=("c0", "c1", "c2"), radii=(0.0,))

    def score(rows):
        return np.mean(brute_force(rows, synthetic, tables.schema, 0.0, soft=False))

    without = np.array([score(np.delete(train, row, axis=0)) for row in range(60)])
    variance = 59 / 60 * ((without - without.mean()) ** 2).sum()
    risk = metric(tables, rng=np.random.default_rng(0))
    value = score(train)
    worth = value * (1 - value) / variance
    z = 1.959964
    half = z / (worth + z * z) * math.sqrt(worth * value * (1 - value) + z * z / 4)
    center = (worth * value + z * z / 2) / (worth + z * z)
    assert risk.attack.value == pytest.approx(value)
    assert (risk.attack.low, risk.attack.high) == pytest.approx((center - half, center + half))


def test_chance_of_any():
    chance = chance_of_any(4, 2)
    assert chance.tolist() == pytest.approx([0, 1 / 2, 1 - 1 / 6, 1, 1])
    assert chance_of_any(3, 3).tolist() == [0, 1, 1, 1]


def test_at_other_sizes_both_scores_are_those_of_equal_samples():
    synthetic = [[F, 30, YES], [M, 80, NO]]
    train = [[F, 30, YES], [F, 30, NO], [M, 80, NO], [M, 10, NO]]
    result = ask(train, [[M, 80, NO], [M, 10, NO]], synthetic)
    # Of two in four rows a pair is met with chance 5/6, a single row with 1/2.
    assert result.attack.value == pytest.approx((1 / 2 * 5 / 6 + 1 * 1 / 2) / 2)
    assert result.control.value == 1 / 2
    assert only(result)["worst"] == pytest.approx((5 / 6 + 1 / 2) / 2)
    assert only(result)["score_in_all_of_train"] == 3 / 4
    assert any("differ in size" in note for note in result.notes)


@pytest.mark.parametrize("weighting", ["hard", "soft"])
@pytest.mark.parametrize("sizes", [(150, 150), (300, 100), (100, 300)])
@pytest.mark.parametrize("kind", ["levels", "mixed", "normal"])
def test_a_copy_of_train_has_risk_one(kind, sizes, weighting):
    tables = population(kind, (*sizes, 10), seed=2)
    copy = Split(train=tables.train, control=tables.control, synthetic=tables.train)
    risk = Attribution(weighting=weighting)(copy, rng=np.random.default_rng(0)).risk
    assert risk.value == pytest.approx(1)
    assert risk.low > 0.5


@pytest.mark.parametrize("sizes", [(250, 250, 250), (450, 150, 250), (150, 450, 300)])
@pytest.mark.parametrize("kind", ["normal", "levels", "mixed"])
def test_fresh_rows_cover_zero(kind, sizes):
    found = risks(Attribution(), kind, sizes, seeds=50)
    assert np.mean((found[:, 1] <= 0) & (found[:, 2] >= 0)) >= 0.87


def test_unequal_sizes_are_not_biased():
    metric = Attribution(secrets=("c0",), radii=(0.0,))
    found = risks(metric, "levels", (900, 300, 400), seeds=60)
    assert abs(found[:, 0].mean()) < 3 * found[:, 0].std() / math.sqrt(60)
    assert np.mean((found[:, 1] <= 0) & (found[:, 2] >= 0)) >= 0.87


def test_a_leak_of_a_tenth_is_found():
    found = risks(Attribution(), "mixed", (400, 400, 400), leak=0.1, seeds=15)
    assert np.mean(found[:, 1] > 0) >= 0.9


def test_without_control():
    result = ask([[F, 30, YES], [M, 30, NO]], [], [[F, 30, YES], [M, 30, NO]])
    assert result.risk is None
    assert result.control is None
    assert result.attack.value == 1
    assert result.baseline.value == 0.5
    assert result.notes[0] == NO_CONTROL
    assert [scores.table for scores in result.sensitive_scores] == ["train"]


def test_no_room_where_control_is_all_true():
    result = ask([[F, 30, YES]], [[F, 30, YES]], [[F, 30, YES], [M, 30, NO]])
    assert result.risk.value == 0  # half of the claims meet nobody, so there is room
    people = [[F, 30, YES], [M, 30, NO]]
    result = ask(people, people, people)
    assert result.risk is None
    assert "no room" in result.notes[0]


def test_nothing_to_claim():
    with pytest.raises(NotApplicable, match="gtcap: no claim is left"):
        ask([[F, 30, YES]], [[F, 30, YES]], [[F, 30, YES], [F, 30, NO]])
    with pytest.raises(NotApplicable, match="gtcap: target 'ill' holds one value only"):
        ask([[F, 30, YES]], [[F, 20, YES]], [[M, 30, YES]])


def test_one_row_each():
    result = ask([[F, 30, YES]], [[M, 30, NO]], [[F, 30, YES]])
    assert result.risk.value == 1
    assert result.risk.low < 0.5  # one row proves nothing


def test_targets_and_keys_are_said():
    result = Attribution()(population("mixed", (80, 80, 80)), rng=np.random.default_rng(0))
    assert any(note.startswith("Tried as target: ") for note in result.notes)
    assert "Keys: all columns but the target." in result.notes
    assert len(by_name(result)) == 9
    result = ask([[F, 30, YES]], [[M, 30, NO]], [[F, 30, YES]], known=("sex", "ill"))
    assert "Keys: ill, sex." in result.notes


def test_a_sample_of_claims():
    tables = population("levels", (200, 200, 200), leak=1.0, seed=0)
    result = Attribution(n_attacks=50, radii=(0.0,))(tables, rng=np.random.default_rng(0))
    found = next(iter(by_name(result).values()))
    assert found["claims"] == 50
    assert found["claims_kept"] <= 50


@pytest.mark.parametrize(
    "params",
    [
        {"radii": ()},
        {"radii": (-0.1,)},
        {"radii": (1.0,)},
        {"radii": (NAN,)},
        {"weighting": "firm"},
        {"n_attacks": 0},
        {"n_secrets": 0},
        {"secrets": ()},
    ],
)
def test_parameters_are_checked(params):
    with pytest.raises(ParameterError, match="Attribution: "):
        Attribution(**params)


def test_a_radius_is_told_in_its_own_numbers():
    complaint = "Attribution: every radius in radii must be at least 0 and below 1, got 1.0."
    with pytest.raises(ParameterError, match=re.escape(complaint)):
        Attribution(radii=(1.0,))


def test_threads_do_not_matter():
    tables = population("mixed", (3000, 3000, 3000), leak=0.1, seed=0)
    found = []
    for threads in (1, 3):
        with working(threads=threads):
            found.append(str(Attribution()(tables, rng=np.random.default_rng(0)).to_json()))
    assert found[0] == found[1]


def test_adult():
    schema, (train, control, release) = adult_thirds()
    fresh = Attribution()(split(schema, train, control, release), rng=stream(0, "gtcap"))
    assert fresh.risk.low <= 0 <= fresh.risk.high
    tcap = by_name(fresh)["relationship, radius 0"]
    assert tcap["score_in_all_of_train"] < 0.001
    small = Attribution()(split(schema, train, control[:5000], release), rng=stream(0, "gtcap"))
    assert small.risk.low <= 0 <= small.risk.high
    leak = np.concatenate([train[:163], release[163:]])  # 1 %
    risk = Attribution()(split(schema, train, control, leak), rng=stream(0, "gtcap")).risk
    assert 0.005 < risk.low < 0.01 < risk.high
    for held_back in (control, control[:5000]):
        copy = Attribution()(split(schema, train, held_back, train), rng=stream(0, "gtcap"))
        assert copy.risk.value == pytest.approx(1)
        assert copy.risk.low > 0.95


# People with several rows --------------------------------------------------------------------------------


def test_everybody_counts_once_by_hand():
    synthetic = [[F, 30, YES], [M, 80, NO]]  # claims: women of 20 to 40 are ill, men of 70 to 90 are well
    train = [[F, 30, YES], [F, 31, YES], [F, 32, NO], [F, 40, NO], [M, 80, NO], [M, 80, NO], [M, 20, YES]]
    control = [[F, 30, NO], [F, 30, NO], [M, 50, NO], [M, 51, NO]]
    tables = with_people(split(SCHEMA, train, control, synthetic), [7, 7, 7, 1, 4, 4, 4], [2, 2, 3, 5])
    result = Attribution(secrets=("ill",), radii=(0.1,))(tables, rng=np.random.default_rng(0))
    found = only(result)
    # The first claim: of one person's rows two in three are ill, of the other's none. The second: one person.
    assert result.attack.value == pytest.approx(((2 / 3 + 0) / 2 + 1) / 2)
    assert (found["n_train"], found["n_control"]) == (3, 3)
    assert found["exposed_train"] == pytest.approx(2 / 3 + 0 + 1)
    assert found["exposed_control"] == 0
    assert result.gain.value == pytest.approx(5 / 9)
    np.testing.assert_allclose(
        result.sensitive_scores[0].values, [1 / 3, 1 / 3, 1 / 3, 0, 1, 1, 1]
    )  # of the person


@pytest.mark.parametrize("weighting", ["hard", "soft"])
@pytest.mark.parametrize("sizes", [(30, 30, 40), (50, 20, 40)])
def test_people_are_left_out_one_by_one(sizes, weighting):
    tables = patients(sizes, leak=0.3, seed=2, most=4)
    metric = Attribution(weighting=weighting)
    keys = tuple(name for name in tables.schema.names if name != "ward")
    claimed = np.arange(len(tables.synthetic))

    def answer(train):
        left = Split(train=train, control=tables.control, synthetic=tables.synthetic)
        return {
            setting.radius: item.train for setting, item in metric._check(left, keys, "ward", claimed).items()
        }

    whole, n = answer(tables.train), sizes[0]
    for radius in (0.1, 0.02):
        chance = chance_of_any(n, min(sizes[:2]))
        without = [
            answer(tables.train.take(np.flatnonzero(tables.train.people != person)))[radius].score(chance)
            for person in range(n)
        ]  # with the chances of all people, as the jackknife has them
        spread = np.sum((np.array(without) - np.mean(without)) ** 2) * (n - 1) / n
        assert whole[radius].variance(chance) == pytest.approx(spread)
        assert spread > 0
