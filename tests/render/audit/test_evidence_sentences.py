"""One plain sentence for every metric, in the terms of that metric."""

from dataclasses import replace

import pytest
from supplies import made_reports as made

from tabveil.core.result import Configuration, Labels, Result, Setting
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
    told = {described(metric(), found, attacker).sentence for attacker in (None, "the press")}
    assert len(told) == 1
    return told.pop()


def test_singling_out():
    counted = {"people_train": 24, "n_train": 2000, "people_control": 6, "n_control": 1000, "naive": 0.003}
    rates = (0.012, 0.006, 0.003)
    found = result(Setting(label="window", n_columns=3, width=0.1), rates, guesses=2000, **counted)
    told = (
        "24 of 2,000 training people (1.20%) and 6 of 1,000 people the generator never saw (0.60%) are "
        "singled out: nobody else of all real people fits. Guessing without the release would do so for "
        "0.30%."
    )
    assert sentence(SinglingOut, found) == f"By 2,000 descriptions read off the release, {told}"
    some = result(Setting(label="age, cost", n_columns=2, columns=("age", "cost")), rates, **counted)
    assert sentence(SinglingOut, some) == (
        f"By their values of age, cost, which stand together in a released row, {told}"
    )


def test_linkability():
    found = result(
        Setting(label="first 2 | other 3 columns, k = 1", n_neighbors=1, level=0.1),
        (0.003, 0.002, 0.001),
        successes_train=5,
        n_train=2000,
        successes_control=2,
        n_control=1000,
    )
    assert sentence(Linkability, found) == (
        "Counting only guesses as sure as the surest 10% about people the generator never saw: two parts "
        "of a person's data are matched for 5 of 2,000 training people (0.25%) and 2 of 1,000 people the "
        "generator never saw (0.20%) (columns split as: first 2 | other 3 columns, k = 1). Guessing "
        "without the release would do so for 0.10%."
    )


def test_inference():
    found = result(
        Setting(label="age", target="age"),
        (0.25, 0.1, 0.05),
        successes_train=500,
        n_train=2000,
        successes_control=100,
        n_control=1000,
    )
    assert sentence(Inference, found) == (
        "The value of “age” is guessed right for 500 of 2,000 training people (25.0%) and 100 of 1,000 "
        "people the generator never saw (10.0%). Guessing without the release would do so for 5.00%."
    )


def test_a_number_learned():
    found = result(Setting(label="income", target="income"), (0.9, 0.88, 0.8), n_train=2000, n_control=1000)
    assert sentence(MLInference, found) == (
        "Guesses of “income” are typically off by 10.0% of its range for training people and by 12.0% for"
        " people the generator never saw; always naming the mean is off by 20.0% (root mean square)."
    )


def test_votes():
    found = result(Setting(label="5 neighbors", n_neighbors=5), (0.5, 0.45, 0.3), n_train=2000)
    assert sentence(NeighborVote, found) == (
        "50.0% of the unknown facts about training people are filled in right, and 45.0% of those about "
        "people the generator never saw; without the release 30.0%. Columns in which people differ more "
        "count more."
    )


def test_claims():
    found = result(
        Setting(label="income, radius 0.02", target="income", radius=0.02), (0.5, 0.25, 0.1), claims_kept=13
    )
    assert sentence(Attribution, found) == (
        "The release makes 13 claims of the kind “people with these data have this income”. Among the "
        "training people whom a claim fits it is true of 50.0% on average, among people the generator "
        "never saw of 25.0%; always claiming the most usual value is true of 10.0%. A claim that fits "
        "nobody counts as 0%."
    )


def test_the_area_of_membership():
    found = result(Setting(label="distance, 2·AUC − 1", statistic="area"), (0.55, 0.5, 0.5))
    assert sentence(MembershipDistance, found) == (
        "Shown one training person and one of the people the generator never saw, the attack tells which "
        "is which in 55.0% of cases; a coin is right in 50%."
    )


def test_members_at_a_low_rate():
    found = result(
        Setting(label="density ratio", level=0.01),
        (0.04, 0.01, 0.01),
        successes_train=40,
        n_train=1000,
        successes_control=10,
        n_control=1000,
    )
    assert sentence(DomiasKde, found) == (
        "An attacker who would take at most about 1% of people the generator never saw for members names "
        "40 of 1,000 training people (4.00%) and 10 of 1,000 people the generator never saw (1.00%). "
        "Equal shares would mean that membership does not show."
    )


class Own:
    """Somebody's own metric, which says nothing of itself."""

    name = "own"
    labels = Labels(pillar="indicator", wp29="propensity", mechanism="ML")


@pytest.mark.parametrize(
    ("metric", "details", "said"),
    [
        (
            IdenticalMatchShare,
            {"matches_in_train": 1},
            "1 synthetic row equals a training row, 20.0% of all;",
        ),
        (IdenticalMatchShare, {}, "20.0% of synthetic rows equal a training row; by chance 10.0% would."),
        (
            DistanceToClosest,
            {},
            "10.0% of fresh real rows lie very close to a training row: as close as the closest 2% of fresh",
        ),
        (NearestNeighbors, {"n_neighbors": 5}, "fresh rows come, by the mean distance to the 5 nearest."),
        (ClosestShare, {}, "20.0% of synthetic rows are nearer to a training row than to a row the"),
        (NeighborDistanceRatio, {}, "is 0.200 on average among training records and 0.100 among"),
        (AdversarialAccuracy, {}, "from training rows with accuracy 0.200, from rows never seen with 0.100"),
        (
            MaximumMeanDiscrepancy,
            {"mmd2_synthetic_train": 0.001, "mmd2_synthetic_control": 0.002},
            "by 0.001 (MMD², 0 = same",
        ),
        (Own, {}, "The metric scores 0.200 with the training rows and 0.100 with rows the"),
    ],
)
def test_indicators(metric, details, said):
    found = replace(result(AGE, (0.2, 0.1, 0.0)), baseline=None, details=details)
    assert said in sentence(metric, found)


def test_a_metric_without_words_or_score():
    assert sentence(Own, replace(result(AGE, (0.2, 0.1, 0.0)), attack=None)) == "No score was measured."


def test_a_risk_has_its_scale_its_level_and_its_interval():
    found = result(AGE, (0.2, 0.19, 0.1))
    assert risk_sentence(found, 0.99) == (
        "Risk 0.010 (0 = like fresh data, 1 = the worst case; 99% interval 0.006 to 0.014)."
    )


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
    assert told.endswith("would do so for 0.10%.")


def test_the_other_direction_is_told_the_other_way_round():
    metric = DistanceToClosest(direction="real_to_synthetic")
    assert metric.sentence(result(AGE, (0.2, 0.1, 0))) == (
        "20.0% of training rows and 10.0% of fresh real rows lie very close to a synthetic row: as close as "
        "the closest 2% of fresh rows come."
    )
