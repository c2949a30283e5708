"""What a pipeline promises: δ by hand and by brute force, and nothing where a condition is broken."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.datasets import hospital
from tabveil.errors import ParameterError
from tabveil.metrics.properties import measure
from tabveil.synthesis.generators import load_model
from tabveil.synthesis.generators.hybrid.promises import SampledPrivacy, delta, least_epsilon, measure_classes
from tabveil.synthesis.generators.hybrid.synthesizer import Hybrid
from tabveil.tables.reading import load_table
from tabveil.workflows.synthesizing import learn

PEOPLE = Schema((Numeric(name="age", low=0, high=99, decimals=0), Categorical(name="sex", labels=("f", "m"))))
ASKED = {
    "hierarchies": {"age": {"intervals": [10, 50]}, "sex": {"tree": {"anybody": ["f", "m"]}}},
    "models": [{"k": 20}],
    "levels": {"age": 2, "sex": 0},
    "sampling": {"beta": 0.2, "when": "before"},
    "generator": "marginals",
}


def people(n=1000):
    rng = np.random.default_rng(0)
    return Table(
        schema=PEOPLE, values=np.column_stack([rng.integers(0, 100, n), rng.integers(0, 2, n)]) * 1.0
    )


def exact(k, beta, share, n_most):
    """Sum binomial chances of more than a share of n, in fractions, for all n up to one."""
    least = max(math.ceil(Fraction(k) / share - 1), 1)
    return max(
        sum(math.comb(n, j) * beta**j * (1 - beta) ** (n - j) for j in range(n + 1) if j > share * n)
        for n in range(least, n_most)
    )


@pytest.mark.parametrize(
    ("k", "beta", "power", "by_hand"),
    [
        # e^ε = 2, β = 1/2: a share of 3/4. k = 2: n from 2 on. Of two, both: 1/4. Of five, four or all: 6/32.
        (2, Fraction(1, 2), 2, Fraction(1, 4)),
        # k = 3: n from 3 on. Of three, all: 1/8; of four, all (three are not more than 3/4): 1/16; of five,
        # four or five: 6/32.
        (3, Fraction(1, 2), 2, Fraction(6, 32)),
        # e^ε = 4, β = 1/2: 7/8. k = 2: n from 2 on, both.
        (2, Fraction(1, 2), 4, Fraction(1, 4)),
        # e^ε = 3/2, β = 1/4: a share of 1/2. k = 1: n from 1 on. Of one, it: 1/4; of three, two or three:
        # 10/64; of two, both.
        (1, Fraction(1, 4), Fraction(3, 2), Fraction(1, 4)),
        # k = 2: n from 3 on. Of three, two or three: 10/64; of five, three or more: 106/1024.
        (2, Fraction(1, 4), Fraction(3, 2), Fraction(10, 64)),
    ],
)
def test_delta_by_hand(k, beta, power, by_hand):
    share = (power - 1 + beta) / Fraction(power)
    assert exact(k, beta, share, 60) == by_hand
    assert delta(k, float(beta), math.log(power)) == pytest.approx(float(by_hand))


@pytest.mark.parametrize("k", [1, 3, 5, 20])
@pytest.mark.parametrize("beta", [Fraction(1, 10), Fraction(1, 3), Fraction(4, 5)])
@pytest.mark.parametrize("epsilon", [0.2, 0.5, 1.0, 2.0])
def test_delta_is_the_largest_over_all_sizes_of_a_class(k, beta, epsilon):
    if epsilon < -math.log(1 - beta):
        return
    share = 1 - (1 - beta) / Fraction(math.exp(epsilon))
    assert delta(k, float(beta), epsilon) == pytest.approx(float(exact(k, beta, share, 150)), rel=1e-9)


def test_more_privacy_by_larger_classes_and_fewer_people():
    assert delta(50, 0.2, 1.0) < delta(20, 0.2, 1.0) < delta(5, 0.2, 1.0)
    assert delta(20, 0.1, 1.0) < delta(20, 0.2, 1.0) < delta(20, 0.5, 1.0)
    assert delta(20, 0.2, 2.0) < delta(20, 0.2, 1.0)


def test_the_stated_epsilon_is_the_least():
    found = SampledPrivacy.of(0.2, 20)
    assert found.delta == delta(20, 0.2, found.epsilon) <= 1e-6 < delta(20, 0.2, found.epsilon - 0.002)
    assert dict(found.others)[1.0] == delta(20, 0.2, 1.0)


def test_where_all_of_a_class_are_easily_sampled_nothing_is_worth_promising():
    assert least_epsilon(2, 0.9, 1e-3) is None  # both are, with a chance of 0.81
    assert SampledPrivacy.of(0.9, 2) is None
    assert SampledPrivacy.of(0.1, 5).delta > 1e-6  # all five are with a chance of 1e-5


def test_the_mechanism_is_as_private_as_the_theorem_says():
    """By brute force: one class of people, sampled, released as a number if that is at least k."""
    k, beta, epsilon = 3, 0.3, 1.0
    failure = delta(k, beta, epsilon)
    for n in range(1, 40):
        with_her, without = (
            np.array([math.comb(m, j) * beta**j * (1 - beta) ** (m - j) for j in range(n + 1)])
            for m in (n, n - 1)
        )
        for each in (with_her, without):
            each[0] += each[1:k].sum()  # too few are like none
            each[1:k] = 0
        for one, other in ((with_her, without), (without, with_her)):
            assert np.maximum(one - np.exp(epsilon) * other, 0).sum() <= failure + 1e-12


# Conditions


def fitted(table=None, declared=None, **changed):
    made = Hybrid(**{**ASKED, **changed})
    return made.fit_written(table or people(), None, declared=declared, rng=np.random.default_rng(0))


def test_where_all_conditions_hold_the_promise_has_its_numbers():
    model = fitted()
    assert model.promises.sampled == SampledPrivacy.of(0.2, 20)
    assert model.promises.voided == ()
    assert model.promises.k_learned == model.promises.k >= 20
    (said,) = [note for note in model.notes if note.startswith("Differential privacy under sampling")]
    own = model.promises.sampled
    assert f"(β = 0.2, ε = {own.epsilon:.3g}, δ = {own.delta:.1e})" in said
    assert "while the seed is secret" in said


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"levels": {}}, "the levels were searched for"),
        (
            {"hierarchies": {**ASKED["hierarchies"], "age": "auto"}, "levels": {"age": 4, "sex": 0}},
            "hierarchies were made from the values of the rows",
        ),
        (
            {"hierarchies": {"age": {"intervals": [10, 50]}}, "levels": {"age": 2}},
            "columns without a hierarchy are learned as they are",
        ),
        (
            {
                "hierarchies": {"age": {"intervals": [10, 50]}},
                "levels": {"age": 2},
                "models": [{"k": 20}, {"l": 2, "column": "sex"}],
            },
            "classes are also suppressed for their sensitive values",
        ),
        ({"suppression": 0.5}, "whether anything is released depends on the rows"),
        ({"sampling": {"beta": 0.2, "when": "after"}}, "not sampled one by one before"),
        ({"sampling": {"beta": 0.2, "when": "before", "column": "sex"}}, "not sampled one by one before"),
        ({"sampling": 1.0}, "not sampled one by one before"),
        ({"transition": "conditional"}, "the transition asks the rows"),
        ({"transition": "single"}, "the transition asks the rows"),
        ({"transition": "smoothed_conditional"}, "the transition asks the rows"),
        ({"transition": "noisy_conditional"}, "the transition asks the rows"),
        (
            {"models": [{"k": 2}], "sampling": {"beta": 0.9, "when": "before"}},
            "k = 2 is too small for beta = 0.9",
        ),
        ({"declared": ["age"]}, "a schema does not declare all of sex, and the rest was read from the rows"),
    ],
)
def test_whatever_else_asks_the_rows_voids_it(changed, words):
    model = fitted(**changed)
    assert model.promises.sampled is None
    assert any(words in reason for reason in model.promises.voided)
    assert any(note.startswith("Differential privacy is not promised: ") for note in model.notes)
    assert not any("under sampling (" in note for note in model.notes)


def test_numbers_that_cannot_be_listed_void_it():
    """Whether a missing value has a class of its own would depend on the numbers that others have."""
    schema = Schema((replace(PEOPLE["age"], decimals=1), PEOPLE["sex"]))
    model = fitted(Table(schema=schema, values=people().values))
    assert any("not all values of a column can be listed" in reason for reason in model.promises.voided)


def test_single_leaves_ask_no_row():
    assert fitted(transition={"name": "single", "labels": "leaf"}).promises.sampled is not None


def test_all_columns_must_be_declared_and_the_seed_is_secret_then():
    rows = people()
    frame = {
        "age": rows.column("age").astype(int),
        "sex": np.array(["f", "m"])[rows.column("sex").astype(int)],
    }
    data = pd.DataFrame(frame)
    declared = {
        "columns": {
            "age": {"type": "integer", "low": 0, "high": 99},
            "sex": {"type": "category", "labels": ["f", "m"]},
        }
    }
    told = learn(data, generator="hybrid", settings=ASKED, schema=declared)
    assert told.model.promises.sampled is not None
    assert learn(data, generator="hybrid", settings=ASKED).model.promises.sampled is None
    drawn = [
        learn(data, generator="hybrid", settings=ASKED, schema=declared).draw(50).table.values
        for _ in range(2)
    ]
    assert not np.array_equal(*drawn)  # nobody gave a seed, so nobody can guess who was sampled
    searched = {**ASKED, "levels": {}}
    drawn = [learn(data, generator="hybrid", settings=searched).draw(50).table.values for _ in range(2)]
    np.testing.assert_array_equal(*drawn)


def test_noise_of_a_transition_is_said_and_needs_a_secret_seed():
    made = Hybrid(**{**ASKED, "transition": {"name": "noisy_conditional", "epsilon": 2}})
    assert made.needs_secret_seed
    model = made.fit(people(), rng=np.random.default_rng(0))
    assert any(note.startswith("The noise of the transition (ε = 2) covers") for note in model.notes)
    assert not Hybrid(**{**ASKED, "transition": "conditional"}).needs_secret_seed


def test_classes_are_measured_as_properties_are():
    table = load_table(hospital(300, seed=1)).table
    own = measure(table, quasi_identifiers=["sex", "smoker"], sensitive=["outcome", "ward"])
    k, diversity = measure_classes(table, ("sex", "smoker"), ("outcome", "ward"))
    assert k == own.k
    assert diversity == {each.column: each.distinct for each in own.sensitive}


def test_nobody_who_is_not_sampled_changes_anything():
    """Those who do not take part are gone before anything is generalized."""
    made, one = Hybrid(**ASKED), people()
    first = made.stages(one, rng=np.random.default_rng(5))
    taking_part = {tuple(row) for row in first.anonymization.original.values}
    other = one.values.copy()
    absent = np.array([tuple(row) not in taking_part for row in other])
    assert absent.any()
    other[absent] = [99, 1]
    second = made.stages(Table(schema=PEOPLE, values=other), rng=np.random.default_rng(5))
    np.testing.assert_array_equal(first.final.values, second.final.values)


@pytest.mark.parametrize("beta", [1e-300, 1e-9, 1e-4])
def test_a_very_small_chance_is_promised_no_less_than_a_larger_one(beta):
    found = SampledPrivacy.of(beta, 20)
    assert (found.beta, found.epsilon) == (beta, SampledPrivacy.of(1e-3, 20).epsilon)


def test_a_stored_promise_must_follow_from_the_settings(tmp_path):
    fitted().save(tmp_path / "model")
    file = tmp_path / "model" / "model.json"
    assert load_model(tmp_path / "model").promises == fitted().promises
    about = json.loads(file.read_text(encoding="utf-8"))
    for key, value in (("epsilon", 0.01), ("beta", 0.1), ("k", 50)):
        changed = json.loads(json.dumps(about))
        changed["state"]["promises"]["sampled"][key] = value
        file.write_text(json.dumps(changed), encoding="utf-8")
        with pytest.raises(ParameterError, match="is not one that follows from the settings"):
            load_model(tmp_path / "model")
    about["params"]["transition"] = "conditional"
    file.write_text(json.dumps(about), encoding="utf-8")
    with pytest.raises(ParameterError, match="is not one that follows from the settings"):
        load_model(tmp_path / "model")


def test_a_stored_noise_must_be_that_of_the_settings(tmp_path):
    fitted(transition={"name": "noisy_conditional", "epsilon": 2}, placement="post").save(tmp_path / "model")
    opened = load_model(tmp_path / "model")
    assert opened.promises.stated == (2.0, 0.0)
    assert any(text.startswith("The noise of the transition (ε = 2)") for text in opened.promises.sentences())
    file = tmp_path / "model" / "model.json"
    about = json.loads(file.read_text(encoding="utf-8"))
    about["state"]["promises"]["noise"] = 0.1
    file.write_text(json.dumps(about), encoding="utf-8")
    with pytest.raises(ParameterError, match="is not that of the settings"):
        load_model(tmp_path / "model")


def test_a_delta_that_may_give_somebody_away_is_warned_of():
    data = pd.DataFrame({"age": np.arange(4000) % 100})
    declared = {"columns": {"age": {"type": "integer", "low": 0, "high": 99}}}
    asked = {
        **ASKED,
        "hierarchies": {"age": {"intervals": [50]}},
        "levels": {"age": 1},
        "models": [{"k": 10}],
        "sampling": {"beta": 0.5, "when": "before"},
    }
    model = learn(data, generator="hybrid", settings=asked, schema=declared)
    assert model.model.promises.sampled.delta * 4000 >= 1
    assert any(note.startswith("WARNING: δ = ") for note in model.notes)
