"""One plain sentence for every metric, in the terms of that metric."""

from dataclasses import replace

import made_reports as made
import pytest

from tabveil.render.sentences import risk_sentence, sentence
from tabveil.result import Labels, Result


def result(metric, configuration, rates, **facts):
    """A result of one configuration; the rates are those on train, on control, and without the release."""
    attack, control, baseline = map(made.estimate, rates)
    return Result(
        metric=metric,
        labels=Labels(pillar="attack", wp29="inference", mechanism="ML"),
        risk=made.estimate(0.01),
        attack=attack,
        control=control,
        baseline=baseline,
        details={"configuration": configuration, "configurations": {configuration: facts}},
    )


def test_singling_out():
    found = result("singling_out", "3 columns", (0.012, 0.006, 0.003), guesses=2000, independent_guesses=900)
    assert sentence(found) == (
        "Of 2,000 descriptions read off the release (worth 900 independent ones), 1.20% fit exactly one "
        "training person, and 0.60% fit exactly one of the people the generator never saw. Descriptions "
        "made up without the release: 0.30%."
    )
    assert sentence(replace(found, metric="singling_out: the press")) == sentence(found)


def test_linkability():
    found = result(
        "linkability",
        "first 2 | other 3 columns, k = 1, 10.0% most confident",
        (0.003, 0.002, 0.001),
        successes_train=5,
        n_train=2000,
        successes_control=2,
        n_control=1000,
    )
    assert sentence(found) == (
        "Counting only guesses as sure as the surest 10% about people the generator never saw: two parts "
        "of a person's data are matched for 5 of 2,000 training people (0.25%) and 2 of 1,000 people the "
        "generator never saw (0.20%) (columns split as: first 2 | other 3 columns, k = 1). Guessing "
        "without the release would do so for 0.10%."
    )
    assert sentence(replace(found, metric="linkability: the press")) == sentence(found)


def test_inference():
    found = result(
        "inference",
        "age",
        (0.25, 0.1, 0.05),
        successes_train=500,
        n_train=2000,
        successes_control=100,
        n_control=1000,
    )
    assert sentence(found) == (
        "The value of “age” is guessed right for 500 of 2,000 training people (25.0%) and 100 of 1,000 "
        "people the generator never saw (10.0%). Guessing without the release would do so for 5.00%."
    )
    assert sentence(replace(found, metric="inference: the press")) == sentence(found)


def test_a_number_learned():
    found = result("ml_inference", "income", (0.9, 0.88, 0.8), n_train=2000, n_control=1000)
    assert sentence(found) == (
        "Guesses of “income” are typically off by 10.0% of its range for training people and by 12.0% for"
        " people the generator never saw; always naming the mean is off by 20.0% (root mean square)."
    )
    assert sentence(replace(found, metric="ml_inference: the press")) == sentence(found)


def test_votes():
    found = result("neighbor_vote", "5 neighbors", (0.5, 0.45, 0.3), n_train=2000)
    assert sentence(found) == (
        "50.0% of the unknown facts about training people are filled in right, and 45.0% of those about "
        "people the generator never saw; without the release 30.0%. Columns in which people differ more "
        "count more."
    )
    assert sentence(replace(found, metric="neighbor_vote: the press")) == sentence(found)


def test_claims():
    found = result("gtcap", "income, radius 0.02", (0.5, 0.25, 0.1), claims_kept=13)
    assert sentence(found) == (
        "The release makes 13 claims of the kind “people with these data have this income”. Among the "
        "training people whom a claim fits it is true of 50.0% on average, among people the generator "
        "never saw of 25.0%; always claiming the most usual value is true of 10.0%. A claim that fits "
        "nobody counts as 0%."
    )
    assert sentence(replace(found, metric="gtcap: the press")) == sentence(found)


def test_the_area_of_membership():
    found = result("membership_distance", "distance, 2·AUC − 1", (0.55, 0.5, 0.5))
    assert sentence(found) == (
        "Shown one training person and one of the people the generator never saw, the attack tells which "
        "is which in 55.0% of cases; a coin is right in 50%."
    )
    assert sentence(replace(found, metric="membership_distance: the press")) == sentence(found)


def test_members_at_a_low_rate():
    found = result(
        "domias_kde",
        "density ratio, 1.0% most confident",
        (0.04, 0.01, 0.01),
        successes_train=40,
        n_train=1000,
        successes_control=10,
        n_control=1000,
    )
    assert sentence(found) == (
        "An attacker who would take at most about 1% of people the generator never saw for members names "
        "40 of 1,000 training people (4.00%) and 10 of 1,000 people the generator never saw (1.00%). "
        "Equal shares would mean that membership does not show."
    )
    assert sentence(replace(found, metric="domias_kde: the press")) == sentence(found)


def test_equal_sizes_are_mentioned_where_they_were_made_equal():
    found = result("singling_out", "univariate", (0.1, 0.1, 0.1), guesses=1)
    told = sentence(replace(found, notes=("Train and control differ in size: adjusted.",)))
    assert "Of 1 description read off the release, 10.0%" in told
    assert "both are adjusted to tables of equal size" in told


@pytest.mark.parametrize(
    ("metric", "details", "said"),
    [
        ("identical_match_share", {"matches_in_train": 1}, "1 synthetic row equals a training row."),
        ("identical_match_share", {}, "20.0% of synthetic rows equal a training row, and 10.0% equal a row"),
        (
            "distance_to_closest",
            {},
            "20.0% of synthetic rows and 10.0% of fresh real rows lie very close to a training row",
        ),
        (
            "nearest_neighbors",
            {"n_neighbors": 5},
            "few fresh rows come, by the mean distance to the 5 nearest.",
        ),
        ("closest_share", {}, "20.0% of synthetic rows are nearer to a training row than to a row the"),
        ("neighbor_distance_ratio", {}, "is 0.200 on average among training records and 0.100 among"),
        (
            "adversarial_accuracy",
            {},
            "from training rows with accuracy 0.200, from rows never seen with 0.100",
        ),
        ("mmd", {"mmd2_synthetic_train": 0.001, "mmd2_synthetic_control": 0.002}, "by 0.001 (MMD², 0 = same"),
        ("somebody_s_own", {}, "The metric scores 0.200 with the training rows and 0.100 with rows the"),
    ],
)
def test_indicators(metric, details, said):
    found = replace(result(metric, "", (0.2, 0.1, 0.0)), baseline=None, details=details)
    assert said in sentence(found)


def test_a_risk_has_its_scale_its_level_and_its_interval():
    found = result("inference", "age", (0.2, 0.19, 0.1))
    assert risk_sentence(found, 0.99) == (
        "Risk 0.010 (0 = like fresh data, 1 = the worst case; 99% interval 0.006 to 0.014)."
    )


def test_no_risk_has_its_reason():
    found = replace(result("inference", "age", (0.2, 1.0, 0.1)), risk=None)
    assert "no room for a risk" in risk_sentence(found, 0.95)
    assert "people the generator never saw" in risk_sentence(replace(found, control=None), 0.95)


@pytest.mark.parametrize(
    "metric", ["linkability", "inference", "membership_distance", "singling_out", "gtcap"]
)
def test_without_control_nothing_is_said_about_it(metric):
    found = replace(result(metric, "age", (0.2, 0.1, 0.1), successes_train=4, n_train=20), control=None)
    told = sentence(found)
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
    told = sentence(result("inference", "age", (0.004, 0.002, 0.003), **counted))
    assert "2 of 1,000 training people (0.20%) and 0 of 500 people the generator never saw (0%)" in told
    assert told.endswith("would do so for 0.10%.")


def test_the_other_direction_is_told_the_other_way_round():
    found = replace(
        result("distance_to_closest", "", (0.2, 0.1, 0)),
        params={"direction": "real_to_synthetic", "alpha": 0.02},
    )
    assert sentence(found) == (
        "20.0% of training rows and 10.0% of fresh real rows lie very close to a synthetic row: as close as "
        "the closest 2% of fresh rows come."
    )
