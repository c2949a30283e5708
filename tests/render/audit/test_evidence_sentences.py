"""One plain sentence for every metric, in the terms of that metric."""

from dataclasses import replace

import pytest
from supplies import made_reports as made

from tabveil.core.findings import Configuration, Setting
from tabveil.core.result import Labels, Result
from tabveil.core.settings.registry import completed
from tabveil.metrics.attacks import (
    Attribution,
    DomiasKde,
    Inference,
    Linkability,
    MembershipDistance,
    MLInference,
    NeighborVote,
    SinglingOut,
)
from tabveil.metrics.indicators import (
    AdversarialAccuracy,
    ClosestShare,
    DistanceToClosest,
    IdenticalMatchShare,
    MaximumMeanDiscrepancy,
    NearestNeighbors,
    NeighborDistanceRatio,
)
from tabveil.metrics.registry import described
from tabveil.protocols import Metric
from tabveil.render.audit.evidence import risk_sentence

AGE = Setting(label="age", target="age")


def result(setting, rates, **facts):
    """A result of one configuration; the rates are those on train, on control, and without the release."""
    attack, control, baseline = map(made.estimate, rates)
    return Result(
        metric="any",
        labels=Labels(pillar="attack", wp29="inference", mechanism="ML"),
        risk=made.estimate(0.01),
        attack=attack,
        control=control,
        baseline=baseline,
        leading=setting,
        configurations=(Configuration(setting=setting, facts=facts),),
    )


def sentence(metric, found):
    """The sentence, which does not depend on who the attacker was."""
    told = {
        described(completed(metric(), Metric), found, attacker).sentence for attacker in (None, "the press")
    }
    assert len(told) == 1
    return told.pop()


def test_singling_out(as_said):
    counted = {"people_train": 24, "n_train": 2000, "people_control": 6, "n_control": 1000, "naive": 0.003}
    rates = (0.012, 0.006, 0.003)
    found = result(Setting(label="window", n_columns=3, width=0.1), rates, guesses=2000, **counted)
    told = sentence(SinglingOut, found)
    assert told == as_said(told, "descriptions")
    some = result(Setting(label="age, cost", n_columns=2, columns=("age", "cost")), rates, **counted)
    told = sentence(SinglingOut, some)
    assert told == as_said(told, "values of some columns")


def test_linkability(as_said):
    found = result(
        Setting(label="first 2 | other 3 columns, k = 1", n_neighbors=1, level=0.1),
        (0.003, 0.002, 0.001),
        successes_train=5,
        n_train=2000,
        successes_control=2,
        n_control=1000,
    )
    told = sentence(Linkability, found)
    assert told == as_said(told)


def test_inference(as_said):
    found = result(
        Setting(label="age", target="age"),
        (0.25, 0.1, 0.05),
        successes_train=500,
        n_train=2000,
        successes_control=100,
        n_control=1000,
    )
    told = sentence(Inference, found)
    assert told == as_said(told)


def test_a_number_learned(as_said):
    found = result(Setting(label="income", target="income"), (0.9, 0.88, 0.8), n_train=2000, n_control=1000)
    told = sentence(MLInference, found)
    assert told == as_said(told)


def test_votes(as_said):
    found = result(Setting(label="5 neighbors", n_neighbors=5), (0.5, 0.45, 0.3), n_train=2000)
    told = sentence(NeighborVote, found)
    assert told == as_said(told)


def test_claims(as_said):
    found = result(
        Setting(label="income, radius 0.02", target="income", radius=0.02), (0.5, 0.25, 0.1), claims_kept=13
    )
    told = sentence(Attribution, found)
    assert told == as_said(told)


def test_the_area_of_membership(as_said):
    found = result(Setting(label="distance, 2·AUC − 1", statistic="area"), (0.55, 0.5, 0.5))
    told = sentence(MembershipDistance, found)
    assert told == as_said(told)


def test_members_at_a_low_rate(as_said):
    found = result(
        Setting(label="density ratio", level=0.01),
        (0.04, 0.01, 0.01),
        successes_train=40,
        n_train=1000,
        successes_control=10,
        n_control=1000,
    )
    told = sentence(DomiasKde, found)
    assert told == as_said(told)


class Own:
    """Somebody's own metric, which says nothing of itself."""

    name = "own"
    labels = Labels(pillar="indicator", wp29="propensity", mechanism="ML")


@pytest.mark.parametrize(
    ("metric", "details"),
    [
        (IdenticalMatchShare, {"matches_in_train": 1}),
        (IdenticalMatchShare, {}),
        (DistanceToClosest, {}),
        (NearestNeighbors, {"n_neighbors": 5}),
        (ClosestShare, {}),
        (NeighborDistanceRatio, {}),
        (AdversarialAccuracy, {}),
        (MaximumMeanDiscrepancy, {"mmd2_synthetic_train": 0.001, "mmd2_synthetic_control": 0.002}),
        (Own, {}),
    ],
    ids=lambda item: item.name if isinstance(item, type) else ", ".join(item) or "no details",
)
def test_indicators(metric, details, as_said):
    found = replace(result(AGE, (0.2, 0.1, 0.0)), baseline=None, details=details)
    told = sentence(metric, found)
    assert told == as_said(told)


def test_a_metric_without_words_or_score():
    assert sentence(Own, replace(result(AGE, (0.2, 0.1, 0.0)), attack=None)) == "No score was measured."


def test_a_risk_has_its_scale_its_level_and_its_interval(as_said):
    told = risk_sentence(result(AGE, (0.2, 0.19, 0.1)), 0.99)
    assert told == as_said(told)


def test_no_risk_has_its_reason():
    found = replace(result(AGE, (0.2, 1.0, 0.1)), risk=None)
    assert "no room for a risk" in risk_sentence(found, 0.95)
    assert "people the generator never saw" in risk_sentence(replace(found, control=None), 0.95)


@pytest.mark.parametrize("metric", [Linkability, Inference, MembershipDistance, SinglingOut, Attribution])
def test_without_control_nothing_is_said_about_it(metric):
    found = replace(result(AGE, (0.2, 0.1, 0.1), successes_train=4, n_train=20), control=None)
    told = sentence(metric, found)
    assert "0.100 with rows" not in told
    assert "10.0% of people the generator" not in told
    assert told.endswith((".", "%."))


def test_counts_stand_beside_counts():
    counted = {
        "successes_train": 2,
        "n_train": 1000,
        "successes_control": 0,
        "n_control": 500,
        "naive": 0.001,
    }
    told = sentence(Inference, result(AGE, (0.004, 0.002, 0.003), **counted))
    assert "2 of 1,000 training people (0.20%) and 0 of 500 people the generator never saw (0%)" in told
    assert told.endswith("it would be 0.10%.")


def test_the_other_direction_is_told_the_other_way_round(as_said):
    metric = DistanceToClosest(direction="real_to_synthetic")
    told = metric.sentence(result(AGE, (0.2, 0.1, 0)))
    assert told == as_said(told)
