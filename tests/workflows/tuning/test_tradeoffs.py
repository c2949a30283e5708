"""Which configurations are worth a look, and which one is taken, computed by hand."""

import pytest
from supplies.made_searches import score, tried

from tabveil.auditing.policy import Policy, Thresholds
from tabveil.core.estimate import Estimate
from tabveil.workflows.benchmark.trials import MetricAnswer
from tabveil.workflows.tuning.tradeoffs import NoNumber, Objectives, choose, front, is_within

RISKS = {"linkability": "linkability", "inference": "inference"}
POLICY = Policy(thresholds=Thresholds(linkability=0.1, inference=0.2))


def judged(number, **given):
    item = score(**given)
    return tried(number, item, within=is_within(item, RISKS, POLICY))


def test_the_front_is_what_no_other_beats_in_the_order_of_risk():
    found = [
        tried(1, score(linkability=0.3, loss=0.1)),
        tried(2, score(linkability=0.1, loss=0.3)),
        tried(3, score(linkability=0.3, loss=0.2)),  # 1 is as private and more useful
        tried(4, score(linkability=0.2, loss=0.2)),
        tried(5, None),
        tried(6, score(linkability=0.2, loss=0.2)),  # equal to 4: neither beats the other
        tried(7, score(linkability=0.4, loss=0.4)),
    ]
    assert front(found) == (2, 4, 6, 1)
    assert front([]) == ()


def test_the_one_that_loses_least_within_every_threshold_is_taken():
    found = [
        judged(1, linkability=0.09, inference=0.19, loss=0.3),
        judged(2, linkability=0.09, inference=0.21, loss=0.1),  # one attack is above its own threshold
        judged(3, linkability=0.1, inference=0.2, loss=0.2),  # at the threshold is within
        judged(4, linkability=0.01, inference=0.01, loss=0.4),
    ]
    assert [item.within for item in found] == [True, False, True, True]
    choice = choose(found, RISKS, POLICY)
    assert (choice.number, choice.within) == (3, True)


def test_of_equals_the_one_with_less_risk_is_taken_and_then_the_first():
    found = [
        judged(1, linkability=0.09, inference=0.1, loss=0.2),
        judged(2, linkability=0.05, inference=0.06, loss=0.2),
        judged(3, linkability=0.05, inference=0.06, loss=0.2),
    ]
    assert choose(found, RISKS, POLICY).number == 2


def test_if_none_is_within_the_nearest_to_its_threshold_is_named():
    found = [
        judged(1, linkability=0.3, inference=0.1, loss=0.1),  # three times its threshold
        judged(2, linkability=0.01, inference=0.5, loss=0.3),  # two and a half times
        judged(3, linkability=0.26, inference=0.1, loss=0.2),
    ]
    choice = choose(found, RISKS, POLICY)
    assert (choice.number, choice.within) == (2, False)
    assert choose([tried(1, None)], RISKS, POLICY) is None


def test_an_attack_that_is_no_better_than_its_baseline_vouches_for_nothing():
    blind = score(linkability=0.01, inference=0.01, uninformative=["inference"])
    assert not is_within(blind, RISKS, POLICY)
    both = {**RISKS, "ml_inference": "inference"}
    helped = score(linkability=0.01, inference=0.01, ml_inference=0.01, uninformative=["inference"])
    assert is_within(helped, both, POLICY), "another attack on the same risk can tell"


def answer(value, half=0.02, **more):
    return MetricAnswer(gain=Estimate(value=value, low=value - half, high=value + half, n=10), **more)


def objectives(**given):
    return Objectives.read({"privacy": ["linkability", "inference"], **given}, POLICY)


@pytest.mark.parametrize(("by", "privacy"), [("upper", 0.16), ("value", 0.11)])
def test_the_largest_mean_counts_by_the_end_that_was_asked_for(by, privacy):
    answers = {"linkability": [answer(0.0), answer(0.22)], "inference": [answer(0.1, 0.06)] * 2}
    found = objectives(by=by).score(answers, [0.7, 0.8])
    assert found.privacy == pytest.approx(privacy)
    assert found.largest == ("inference" if by == "upper" else "linkability")
    assert (found.figure, found.loss) == pytest.approx((0.75, 0.25))
    assert found.risks["linkability"].high == pytest.approx(0.13)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (MetricAnswer(skipped="linkability: too few columns."), "too few columns"),
        (MetricAnswer(), "no risk could be derived"),
        (answer(float("nan")), "no risk could be derived"),
    ],
)
def test_a_metric_without_a_number_in_any_repeat_leaves_the_configuration_without(given, message):
    with pytest.raises(NoNumber, match=message):
        objectives().score({"linkability": [answer(0.1), given], "inference": [answer(0.1)] * 2}, [0.5, 0.5])


def test_intervals_are_as_sure_as_the_policy_wants_them():
    found = Objectives.read({"privacy": "linkability"}, Policy(confidence=0.8))
    assert found.metrics["linkability"].confidence == 0.8
