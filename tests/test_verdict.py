"""Verdicts by hand: every road to the three states, and what their sentences may say."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tabveil import verdict
from tabveil.errors import SchemaError
from tabveil.estimate import Estimate
from tabveil.result import Labels, Result, Skipped
from tabveil.verdict import RISKS, Policy, Verdict, judge
from tabveil.verdict.judgment import NO_CONTROL, NOT_INFORMATIVE, TOO_FEW
from tabveil.verdict.template import template

WP29 = {
    "singling_out": "singling out",
    "linkability": "linkability",
    "inference": "inference",
    "membership_distance": "propensity",
}
FORBIDDEN = re.compile(r"\b(anonymous|gdpr[ -]compliant|safe|safely|zero risk|risk-free)\b", re.IGNORECASE)


def attack(metric, low, value, high, *, wp29=None, rate=0.5, naive=0.1, pillar="attack"):
    return Result(
        metric=metric,
        labels=Labels(pillar=pillar, wp29=wp29 or WP29[metric], mechanism="distance"),
        risk=None if value is None else Estimate(value=value, low=low, high=high, n=100),
        attack=Estimate(value=rate, low=rate, high=rate, n=100),
        control=Estimate(value=0.4, low=0.4, high=0.4, n=100),
        baseline=Estimate(value=naive, low=naive, high=naive, n=100),
    )


def clean(**changes):
    found = {name: attack(name, -0.01, 0.0, 0.01) for name in WP29}
    found.update(changes)
    return [result for result in found.values() if result is not None]


def judged(results, policy=None, *, has_control=True, skipped=()):
    return judge(results, skipped, policy=policy or Policy(), has_control=has_control)


def by_risk(found):
    return {item.risk: item.state for item in found.risks}


def test_all_below_is_within():
    found = judged(clean())
    assert found.state == "within threshold"
    assert set(by_risk(found).values()) == {"within threshold"}
    assert "0.010 (threshold 0.05)" in found.sentence
    assert "no others; the decision belongs to the controller" in found.sentence


@pytest.mark.parametrize("bound", [float("nan"), float("inf")])
def test_a_bound_that_is_no_number_says_nothing(bound):
    found = judged(clean(inference=attack("inference", 0.1, 0.2, bound)))
    assert found.state == "inconclusive"


def test_the_upper_bound_decides_not_the_value():
    found = judged(clean(inference=attack("inference", 0.01, 0.04, 0.07)))
    assert found.state == "above threshold"
    assert by_risk(found) == {**dict.fromkeys(RISKS, "within threshold"), "inference": "above threshold"}
    assert "inference up to 0.070 (threshold 0.05)" in found.sentence


def test_the_bound_itself_is_within():
    assert judged(clean(inference=attack("inference", -0.05, 0.0, 0.05))).state == "within threshold"


def test_above_without_a_leak_seen_when_the_interval_is_narrow_enough():
    found = judged(clean(inference=attack("inference", -0.005, 0.03, 0.06)))
    assert found.state == "above threshold"


def test_a_wide_interval_around_zero_is_too_few_guesses():
    found = judged(clean(linkability=attack("linkability", -0.2, 0.0, 0.2)))
    assert found.state == "inconclusive"
    assert TOO_FEW in found.sentence
    assert by_risk(found)["linkability"] == "inconclusive"


def test_a_wide_interval_above_zero_is_above():
    assert judged(clean(linkability=attack("linkability", 0.01, 0.3, 0.6))).state == "above threshold"


def test_an_attack_no_better_than_guessing_says_nothing():
    found = judged(clean(inference=attack("inference", -0.01, 0.0, 0.01, rate=0.1, naive=0.2)))
    assert found.state == "inconclusive"
    assert NOT_INFORMATIVE in found.sentence


def test_an_attack_that_is_not_required_cannot_make_a_risk_inconclusive_but_above():
    useless = attack("gtcap", -0.01, 0.0, 0.01, wp29="inference", rate=0.1, naive=0.2)
    assert judged([*clean(), useless]).state == "within threshold"
    leaking = attack("gtcap", 0.1, 0.2, 0.3, wp29="inference")
    assert judged([*clean(), leaking]).state == "above threshold"


def test_no_control_is_inconclusive():
    results = [attack(name, None, None, None) for name in WP29]
    found = judged(results, has_control=False)
    assert found.state == "inconclusive"
    assert "no control table" in found.sentence
    assert {item.reason for item in found.risks} == {NO_CONTROL}


def test_a_leak_is_above_even_where_another_risk_is_inconclusive():
    found = judged(
        clean(
            singling_out=attack("singling_out", 0.2, 0.25, 0.3),
            linkability=attack("linkability", -0.2, 0.0, 0.2),
        )
    )
    assert found.state == "above threshold"


def test_a_required_metric_that_was_skipped_or_not_run_is_inconclusive():
    found = judged(
        clean(linkability=None), skipped=[Skipped(metric="linkability", reason="needs 4 columns.")]
    )
    assert found.state == "inconclusive"
    assert "linkability (needs 4 columns)" in found.sentence
    assert "required by the policy, but not run" in judged(clean(linkability=None)).sentence


def test_indicators_alone_never_give_a_verdict():
    results = [attack("identical_match_share", 0.9, 0.95, 1.0, wp29="propensity", pillar="indicator")]
    found = judged(results, Policy(required=()))
    assert found.state == "inconclusive"
    assert all(not item.metrics for item in found.risks)


def test_without_required_metrics_one_answer_is_enough():
    policy = Policy(required=())
    useless = attack("gtcap", -0.01, 0.0, 0.01, wp29="inference", rate=0.1, naive=0.2)
    assert judged([*clean(), useless], policy).state == "within threshold"
    assert judged([*clean(inference=None), useless], policy).state == "inconclusive"


def test_a_leak_below_the_threshold_is_said():
    found = judged(clean(inference=attack("inference", 0.01, 0.02, 0.03)))
    assert found.state == "within threshold"
    assert "A leak was seen all the same, smaller than accepted: inference." in found.sentence


def test_each_risk_has_its_own_threshold():
    policy = verdict.read({"thresholds": {"membership": 0.005}})
    results = clean(membership_distance=attack("membership_distance", 0.001, 0.004, 0.007))
    assert by_risk(judged(results, policy))["membership"] == "above threshold"
    assert judged(results, policy.with_threshold(0.01)).state == "within threshold"


def test_confidence_is_named():
    assert "99% interval" in judged(clean(), Policy(confidence=0.99)).sentence


def test_a_title_with_an_attacker_counts_for_its_risk():
    profile = replace(attack("inference", 0.1, 0.2, 0.3), attacker="neighbor")
    found = judged([*clean(), profile])
    assert found.risks[2].leading.metric == "inference: neighbor"


@st.composite
def results(draw):
    number = st.floats(-0.5, 1.0)
    found = []
    for name in draw(st.sets(st.sampled_from(sorted(WP29)))):
        low, value, high = sorted(draw(st.tuples(number, number, number)))
        found.append(
            attack(name, low, draw(st.sampled_from([value, None])), high, rate=draw(st.floats(0, 1)))
        )
    return found


@given(results(), st.booleans())
def test_any_verdict_survives_json_and_promises_nothing(found, has_control):
    one = judged(found, has_control=has_control)
    assert Verdict.from_json(one.to_json()) == one
    assert not FORBIDDEN.search(one.sentence)
    assert one.sentence.lower().startswith(one.state)


@given(results(), st.floats(0.01, 0.5))
def test_a_stricter_policy_never_turns_above_into_within(found, threshold):
    strict = judged(found, Policy().with_threshold(threshold)).state
    lax = judged(found, Policy().with_threshold(min(2 * threshold, 1.0))).state
    assert not (lax == "above threshold" and strict == "within threshold")


def test_the_template_is_the_default_policy():
    assert verdict.read(yaml.safe_load(template())) == Policy()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("thresholds: {inference: 2}", "thresholds.inference"),
        ("thresholds: {inference: 0}", "thresholds.inference"),
        ("thresholds: {inference: .nan}", "thresholds.inference"),
        ("thresholds: {outliers: 0.1}", "unknown key"),
        ("confidence: 95", "confidence"),
        ("confidence: 0.5", "confidence"),
        ("threshold: 0.1", "unknown key"),
        ("required: inference", "required"),
        ("- 0.1", "top level"),
        ("thresholds: [0.1", "not valid YAML"),
    ],
)
def test_a_wrong_policy_is_refused_by_name(text, problem, tmp_path):
    file = Path(tmp_path / "policy.yaml")
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SchemaError, match=re.escape(problem)):
        verdict.read(file)
