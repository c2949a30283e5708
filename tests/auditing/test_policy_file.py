"""A policy file to edit: it is read as what it says, and tells whose thresholds these are."""

import pytest
import yaml

from tabveil.auditing.policy import RELEASE_MODELS, RISKS, SENSITIVITIES, Policy, read_policy
from tabveil.auditing.policy_file import template
from tabveil.errors import SchemaError


@pytest.mark.parametrize("model", RELEASE_MODELS)
@pytest.mark.parametrize(("sensitivity", "threshold"), [("low", 0.09), ("medium", 0.075), ("high", 0.05)])
def test_templates_have_the_thresholds_of_their_sensitivity(model, sensitivity, threshold):
    policy = read_policy(yaml.safe_load(template(model, sensitivity)))
    assert {policy.thresholds.of(risk) for risk in RISKS} == {threshold}
    assert (policy.release_model, policy.sensitivity) == (model, sensitivity)
    assert policy.with_threshold(0.05) == Policy(
        release_model=model, sensitivity=sensitivity, frameworks=policy.frameworks
    )


def test_a_template_is_strict_where_nobody_says_how_sensitive_data_are():
    assert read_policy(yaml.safe_load(template("internal"))).sensitivity == SENSITIVITIES[-1]


def test_a_template_says_whose_thresholds_these_are_and_how_ours_differ():
    told = " ".join(template("public").replace("#", " ").split())
    for words in ("European Medicines Agency", "Health Canada", "Ontario", "Read in summaries"):
        assert words in told
    assert "Theirs is a probability" in told
    assert "Ours is a gain" in told
    assert max(map(len, template("public").splitlines())) <= 110


def test_nothing_but_remarks_stands_where_somebody_must_say_something():
    policy = read_policy(yaml.safe_load(template("controlled")))
    assert not any(
        (policy.recipient, policy.context, policy.purpose, policy.responsible, policy.intruder.who)
    )


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("release_model", "open", "release_model"),
        ("sensitivity", "extreme", "sensitivity"),
        ("review_date", "soon", "review_date"),
        ("frameworks", ["gdpr"], "frameworks"),
        ("intruder", {"name": "x"}, "intruder.name: unknown key"),
        ("purpose", "x" * 501, "purpose"),
        ("earlier_releases", "v1", "earlier_releases"),
    ],
)
def test_what_a_field_cannot_be_is_refused_by_its_name(field, value, words):
    with pytest.raises(SchemaError, match=words):
        read_policy({field: value})


def test_fields_of_words_judge_nothing():
    assert Policy(purpose="teaching", frameworks=("ico", "wp29", "ico")).judges_by_default
    assert Policy(frameworks=("ico", "wp29", "ico")).frameworks == ("ico", "wp29")
    assert not Policy(copies=0.01).judges_by_default
