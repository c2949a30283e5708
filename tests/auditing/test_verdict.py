"""Verdicts by hand: every road to the three states, and what their sentences may say."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tabveil.auditing.detection import PositiveControl
from tabveil.auditing.judging import Grounds, judge, rows_needed
from tabveil.auditing.policy import RISKS, Policy, read_policy
from tabveil.auditing.policy_file import template
from tabveil.auditing.verdict import (
    BAD_CONTROL,
    COULD_NOT_SEE,
    HIDDEN,
    NEARLY,
    NO_CONTROL,
    NOT_TESTED,
    SIZE_UNCLEAR,
    TOO_FEW,
    Verdict,
)
from tabveil.core.estimate import Estimate
from tabveil.core.result import Labels, Omission, Result
from tabveil.errors import SchemaError
from tabveil.metrics.control.copies import Copies, NearCopies
from tabveil.metrics.traces import Trace

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
        gain=None if value is None else Estimate(value=value, low=low, high=high, n=100),
        p_value=None if value is None else 1e-6 if low > 0 else 0.3,
        attack=Estimate(value=rate, low=rate, high=rate, n=100),
        control=Estimate(value=0.4, low=0.4, high=0.4, n=100),
        baseline=Estimate(value=naive, low=naive, high=naive, n=100),
    )


def clean(**changes):
    found = {name: attack(name, -0.01, 0.0, 0.01) for name in WP29}
    found.update(changes)
    return [result for result in found.values() if result is not None]


def judged(results, policy=None, *, has_control=True, skipped=(), **grounds):
    sizes = {"n_train": 4000, "n_control": 1000 if has_control else 0}
    return judge(Grounds(results=results, skipped=skipped, **sizes, **grounds), policy or Policy())


def by_risk(found):
    return {item.risk: item.state for item in found.risks}


def test_all_below_is_within(as_said):
    found = judged(clean())
    assert found.state == "within threshold"
    assert set(by_risk(found).values()) == {"within threshold"}
    assert found.sentence == as_said(found.sentence)


@pytest.mark.parametrize("bound", [float("nan"), float("inf")])
def test_a_bound_that_is_no_number_says_nothing(bound):
    found = judged(clean(inference=attack("inference", 0.1, 0.2, bound)))
    assert found.state == "inconclusive"


def test_above_needs_what_is_measured_to_be_above(as_said):
    found = judged(clean(inference=attack("inference", 0.04, 0.06, 0.08)))
    assert found.state == "above threshold"
    assert by_risk(found) == {**dict.fromkeys(RISKS, "within threshold"), "inference": "above threshold"}
    assert found.sentence == as_said(found.sentence)


def test_a_leak_whose_size_is_unclear_is_open(as_said):
    found = judged(clean(membership_distance=attack("membership_distance", 0.001, 0.013, 0.1105)))
    risk = found.risks[3]
    assert found.state == risk.state == "inconclusive"
    assert risk.reason == SIZE_UNCLEAR
    assert found.leak_seen("membership_distance")
    assert found.sentence == as_said(found.sentence)
    assert "breaks the policy" not in found.sentence
    assert risk.rows_needed > 1000


def test_a_lower_bound_above_the_threshold_is_above():
    assert judged(clean(inference=attack("inference", 0.06, 0.07, 0.08))).state == "above threshold"


def test_a_leak_may_be_seen_by_what_is_no_share_of_people(as_said):
    diffuse = replace(attack("membership_distance", -0.01, 0.01, 0.08), p_value=1e-9)
    found = judged(clean(membership_distance=diffuse))
    assert found.risks[3].reason == SIZE_UNCLEAR
    small = replace(attack("membership_distance", -0.01, 0.01, 0.04), p_value=1e-9)
    found = judged(clean(membership_distance=small))
    assert found.state == "within threshold"
    assert found.sentence == as_said(found.sentence)


def test_without_a_p_value_the_lower_bound_tells():
    for low, seen in ((0.001, True), (-0.001, False)):
        result = replace(attack("inference", low, 0.02, 0.03), p_value=None)
        assert judged(clean(inference=result)).leak_seen("inference") == seen


def test_the_bound_itself_is_within():
    assert judged(clean(inference=attack("inference", -0.05, 0.0, 0.05))).state == "within threshold"


def test_bounds_are_rounded_outward(as_said):
    found = judged(clean(inference=attack("inference", 0.01, 0.04, 0.05001)))
    assert found.state == "inconclusive"
    assert found.sentence == as_said(found.sentence)


def test_at_most_is_one_number_over_all_attacks(as_said):
    lead = attack("inference", 0.04, 0.06, 0.07)
    wide = attack("gtcap", -0.2, 0.01, 0.111, wp29="inference")
    found = judged([*clean(inference=lead), wide])
    risk = found.risks[2]
    assert risk.state == "above threshold"
    assert (risk.value, risk.high, risk.within_at) == (0.06, 0.111, 0.111)
    assert (risk.leading.metric, risk.strongest.metric) == ("gtcap", "inference")
    assert found.sentence == as_said(found.sentence)


def test_a_risk_says_at_which_threshold_it_would_be_within():
    found = judged(clean(inference=attack("inference", 0.04, 0.06, 0.08)))
    risk = found.risks[2]
    assert risk.within_at == 0.08
    assert [risk.state_at(t) for t in (0.09, 0.08, 0.07, 0.05)] == [
        "within threshold",
        "within threshold",
        "inconclusive",
        "above threshold",
    ]
    assert judged(clean(inference=None)).risks[2].within_at is None
    unfit = judged(clean(), control_faults=("The control table holds rows of train.",))
    assert {item.within_at for item in unfit.risks} == {None}
    assert {item.state_at(0.9) for item in unfit.risks} == {"inconclusive"}


def test_above_needs_a_leak_that_is_seen():
    found = judged(clean(inference=attack("inference", -0.005, 0.06, 0.08)))
    assert found.state == "inconclusive"
    assert found.risks[2].reason == TOO_FEW


def test_the_more_attacks_the_clearer_a_leak_must_be():
    doubtful = replace(attack("inference", 0.001, 0.06, 0.08), p_value=0.02)
    assert judged([doubtful], Policy(required=())).state == "above threshold"
    assert judged(clean(inference=doubtful)).state == "inconclusive"  # 0.02 is more than a fourth of 0.05
    assert judged(clean(inference=replace(doubtful, p_value=0.01))).state == "above threshold"


def test_reasons_come_in_the_order_of_their_weight():
    unclear, few = attack("inference", 0.01, 0.02, 0.08), attack("gtcap", -0.1, 0.0, 0.1, wp29="inference")
    for results in ([*clean(inference=unclear), few], [few, *clean(inference=unclear)]):
        assert judged(results).risks[2].reason == SIZE_UNCLEAR
    found = judged(
        clean(inference=unclear, linkability=attack("linkability", -0.1, 0.0, 0.1), singling_out=None)
    )
    told = found.sentence
    assert [item.reason for item in found.risks[:3]] == [NOT_TESTED, TOO_FEW, SIZE_UNCLEAR]
    assert told.index("its size is unclear") < told.index("No leak is seen elsewhere") < told.index("not run")


def test_no_leak_is_not_said_where_one_is_seen_that_is_accepted():
    small = attack("singling_out", 0.01, 0.02, 0.03)
    few = attack("linkability", -0.1, 0.0, 0.1)
    unclear = attack("inference", 0.01, 0.02, 0.08)
    found = judged(clean(singling_out=small, linkability=few))
    assert found.state == "inconclusive"
    said = "singling_out saw a leak smaller than accepted. No other leak is seen, but there are too few rows"
    assert said in found.sentence
    both = judged(clean(singling_out=small, linkability=few, inference=unclear)).sentence
    assert both.index("its size is unclear") < both.casefold().index("singling_out saw a leak smaller")
    assert "No other leak is seen" in both
    alone = judged(clean(singling_out=small, inference=unclear)).sentence
    assert "singling_out saw a leak smaller than accepted." in alone.casefold()
    assert "no leak is seen" not in alone.casefold()


def test_a_leak_is_seen_only_where_something_can_be_seen():
    leaking = attack("inference", 0.01, 0.02, 0.03)
    assert judged(clean(inference=leaking)).leak_seen("inference")
    assert not judged(clean(inference=leaking)).leak_seen("linkability")
    hint = replace(leaking, p_value=0.02)
    assert not judged(clean(inference=hint)).leak_seen("inference")
    unfit = judged(clean(inference=leaking), control_faults=("The control table holds rows of train.",))
    assert not unfit.leak_seen("inference")


def test_a_metric_that_is_missing_goes_by_its_title(as_said):
    titles = {"linkability": "Linkability of records"}
    found = judged(clean(linkability=None), titles=titles)
    assert found.sentence == as_said(found.sentence, "found")
    unknown = judged(clean(), Policy(required=("my_metric",)), titles=titles)
    assert unknown.sentence == as_said(unknown.sentence, "unknown")


def test_too_few_rows_say_how_many_would_settle_it(as_said):
    found = judged(clean(linkability=attack("linkability", -0.2, 0.0, 0.1)))
    assert found.state == "inconclusive"
    assert by_risk(found)["linkability"] == "inconclusive"
    assert found.risks[1].reason == TOO_FEW
    # 0.1 and what four of five draws may be off make 0.14294: of the variance 1 / 4000 + 1 / 1000 the part
    # (0.05 / 0.14294)**2 = 0.12236 may stay, 1.5295e-4. Train alone leaves more, so both tables.
    assert found.risks[1].rows_needed == pytest.approx(2 / 1.5295e-4, abs=2)
    assert found.sentence == as_said(found.sentence)


def test_where_a_part_was_attacked_only_its_size_says_what_is_needed():
    open_ = attack("membership_distance", -0.1, 0.0, 0.1)
    part = replace(open_, details={"attacked": [400, 400]}, title="Membership over linked rows")
    judged_all, judged_part = (
        judge(
            Grounds(
                results=clean(membership_distance=one), n_train=50_000, n_control=50_000, counted="people"
            ),
            Policy(),
        )
        for one in (open_, part)
    )
    alone = rows_needed(open_.gain, 0.05, 400, 400)
    few, many = (found.risks[3].rows_needed for found in (judged_part, judged_all))
    assert few == alone < 50_000 < many
    assert "attacked 400 control people, drawn at random" in judged_part.sentence
    assert "control people, all of them attacked (n_attacks: " in judged_part.sentence
    assert "attacked" not in judged_all.sentence


def test_control_rows_alone_are_asked_for_where_they_are_what_lacks(as_said):
    few = Grounds(
        results=clean(linkability=attack("linkability", -0.2, 0.0, 0.1)), n_train=100_000, n_control=500
    )
    # 0.12236 of 1 / 100,000 + 1 / 500, less what train leaves: 1 / 0.00023594.
    told = judge(few, Policy()).sentence
    assert told == as_said(told)


def test_the_rows_needed_follow_the_side_on_which_the_value_lies():
    def rows(value, low, high):
        return rows_needed(Estimate(value=value, low=low, high=high, n=500), 0.05, 10**9, 500)

    off = 1 + 0.8416 / 1.95996  # what four of five draws may be off, in units of the interval
    assert rows(0.0, -0.1, 0.1) == pytest.approx(500 * (0.1 * off / 0.05) ** 2, rel=1e-3)
    assert rows(-0.03, -0.1, 0.1) == pytest.approx(
        500 * (0.13 * off / 0.05) ** 2, rel=1e-3
    )  # below zero: chance
    assert rows(0.02, -0.1, 0.1) == pytest.approx(500 * (0.08 * off / 0.03) ** 2, rel=1e-3)
    assert rows(0.049, -0.1, 0.1) == pytest.approx(
        500 * (0.051 * off / 0.025) ** 2, rel=1e-3
    )  # not without end
    assert rows(0.08, -0.1, 0.2) == pytest.approx(500 * (0.18 * off / 0.08) ** 2, rel=1e-3)  # above zero
    assert rows(0.08, 0.08, 0.08) > 500  # a leak that is not seen, for all that


def test_an_attack_that_is_not_required_but_cannot_tell_leaves_the_risk_open():
    wide = attack("gtcap", -0.2, 0.0, 0.2, wp29="inference")
    assert by_risk(judged([*clean(), wide]))["inference"] == "inconclusive"


def test_a_control_that_does_not_fit_settles_nothing():
    leaking = clean(inference=attack("inference", 0.5, 0.6, 0.7))
    for results in (clean(), leaking):
        found = judged(results, control_faults=("The control table holds rows of train.",))
        assert found.state == "inconclusive"
        assert found.sentence.startswith("Inconclusive: The control table holds rows of train.")
        assert set(by_risk(found).values()) == {"inconclusive"}


def counted(equal_train, equal_control, low, value, high, p_value, near=None):
    return Copies(
        n_synthetic=1000,
        n_train=4000,
        n_control=1000,
        equal_train=equal_train,
        equal_control=equal_control,
        repeated=equal_control,
        expected=equal_train - 1000 * value,
        share=Estimate(value=value, low=low, high=high, n=1000),
        p_value=p_value,
        people=equal_train,
        near=near,
    )


def test_copies_break_the_policy_however_few_people_they_are(as_said):
    found = judged(clean(), copies=counted(30, 0, 0.025, 0.03, 0.03, 1e-9))
    assert found.state == "above threshold"
    assert found.copies.state == "above threshold"
    assert found.sentence == as_said(found.sentence)
    assert judged(clean(), Policy(copies=0.05), copies=found.copies.found).state == "within threshold"


def test_no_copies_are_said_and_within(as_said):
    found = judged(clean(), copies=counted(0, 0, 0.0, 0.0, 0.0, 1.0))
    assert found.state == found.copies.state == "within threshold"
    assert found.sentence == as_said(found.sentence)


def test_a_few_equal_rows_are_open_while_control_is_too_small_to_tell():
    assert judged(clean(), copies=counted(4, 0, 0.0, 0.004, 0.004, 0.1)).state == "inconclusive"


def near(rows, low, high, p_value):
    return NearCopies(
        distance=0.01,
        rate=0.0001,
        near_train=rows,
        near_control=0,
        expected=0.0,
        share=Estimate(value=rows / 1000, low=low, high=high, n=1000),
        p_value=p_value,
    )


def test_near_copies_are_judged_beside_the_exact_ones(as_said):
    exact = counted(30, 0, 0.025, 0.03, 0.03, 1e-9, near=near(50, 0.04, 0.05, 1e-9))
    found = judged(clean(), copies=exact)
    assert found.sentence == as_said(found.sentence, "found")
    assert found.copies.high == 0.05
    alone = judged(clean(), copies=counted(0, 0, 0.0, 0.0, 0.0, 1.0, near=near(50, 0.04, 0.05, 1e-9)))
    assert alone.state == "above threshold"
    assert alone.sentence == as_said(alone.sentence, "alone")


def test_copies_whose_number_is_unclear_are_open(as_said):
    found = judged(clean(), Policy(copies=0.01), copies=counted(9, 0, 0.001, 0.008, 0.02, 1e-4))
    assert found.state == found.copies.state == "inconclusive"
    assert found.copies.reason == SIZE_UNCLEAR
    assert found.sentence == as_said(found.sentence)


def test_what_is_proven_without_the_control_is_above_whatever_it_is_like():
    proof = {"proven": 30, "proven_people": 28, "proven_expected": 1.0, "proven_p": 1e-9}
    few = counted(30, 0, -0.01, 0.03, 0.03, 0.5)
    fault = "The control table holds rows of train."
    for copied, grounds in (
        (few, {"control_faults": (fault,)}),
        (replace(few, share=None, p_value=None, expected=None), {"has_control": False}),
    ):
        assert judged(clean(), copies=copied, **grounds).state == "inconclusive"
        found = judged(clean(), copies=replace(copied, **proof), **grounds)
        assert found.state == found.copies.state == "above threshold"
        assert found.copies.proven
        assert found.copies.reason == ""
        assert set(by_risk(found).values()) == {"inconclusive"}
        assert "30 rows of the release equal a row of 28 training people unlike all others" in found.sentence
        assert "That is certain without the control." in found.sentence
    assert fault in judged(clean(), copies=replace(few, **proof), control_faults=(fault,)).sentence
    chance = replace(few, **{**proof, "proven_p": 0.2})
    assert judged(clean(), copies=chance, control_faults=(fault,)).copies.reason == BAD_CONTROL


def trace(p_value, share, *, proven=False):
    return Trace(
        name="letters",
        title="Letters",
        sentence="120 of 4,000 training people have a letter in the release; of 1,000 others 0",
        p_value=p_value,
        people=120,
        n_people=4000,
        n_control=1000,
        gain=Estimate(value=share, low=share / 2, high=2 * share, n=4000),
        proven=proven,
    )


def test_traces_speak_for_themselves(as_said):
    above = judged(clean(), traces=(trace(1e-9, 0.03),))
    assert above.state == "above threshold"
    assert above.sentence == as_said(above.sentence)
    accepted = judged(clean(), Policy(copies=0.05), traces=(trace(1e-9, 0.03),))
    assert accepted.state == "within threshold"
    assert "smaller than accepted: Letters." in accepted.sentence
    fault = ("The control table holds rows of train.",)
    assert judged(clean(), traces=(trace(1e-9, 0.03),), control_faults=fault).state == "inconclusive"
    proven = judged(clean(), traces=(trace(1e-9, 0.03, proven=True),), control_faults=fault)
    assert proven.state == "above threshold"


def planted(risk, *, seen, metric="inference"):
    return PositiveControl(
        risk=risk, metric=metric, title=metric, threshold=0.05, share=0.1, n_planted=400, seen=seen
    )


def test_within_needs_attacks_that_could_have_seen(as_said):
    tried = [planted(risk, seen=True) for risk in RISKS]
    found = judged(clean(), positive=tried)
    assert found.state == "within threshold"
    assert "saw training people who were planted" in found.sentence
    found = judged(clean(), positive=[*tried, planted("linkability", seen=False, metric="linkability")])
    assert found.state == found.risks[1].state == "inconclusive"
    assert (found.risks[1].reason, found.risks[1].blind) == (COULD_NOT_SEE, ("linkability",))
    assert found.risks[1].within_at is None
    assert found.risks[1].state_at(0.9) == "inconclusive"
    assert found.sentence == as_said(found.sentence)


def test_a_few_near_rows_are_open_whatever_else_repeats():
    few = near(4, -0.001, 0.004, 0.1)
    for exact in (counted(0, 0, 0.0, 0.0, 0.0, 1.0), counted(84, 20, -0.01, 0.004, 0.02, 0.3)):
        open_yet = judged(clean(), copies=replace(exact, near=few))
        assert open_yet.state == open_yet.copies.state == "inconclusive"
        assert f"copies ({NEARLY})" in open_yet.sentence


def test_copies_among_rows_that_repeat_may_be_no_more_than_attacks_may_expose():
    many = counted(84, 20, -0.01, 0.004, 0.06, 0.3)
    assert judged(clean(), copies=many).copies.state == "inconclusive"
    assert judged(clean(), Policy().with_threshold(0.1), copies=many).copies.state == "within threshold"
    assert judged(clean(), copies=counted(84, 2, -0.01, 0.004, 0.02, 0.3)).copies.state == "inconclusive"


def test_rows_that_repeat_by_themselves_are_no_copies(as_said):
    found = judged(clean(), copies=counted(84, 20, -0.01, 0.004, 0.02, 0.3))
    assert found.state == "within threshold"
    assert found.copies.reason == HIDDEN
    assert found.sentence == as_said(found.sentence)
    assert judged(clean(), copies=counted(184, 20, 0.05, 0.1, 0.12, 1e-9)).state == "above threshold"


def test_a_wide_interval_above_zero_is_above():
    assert judged(clean(linkability=attack("linkability", 0.01, 0.3, 0.6))).state == "above threshold"


def test_an_attack_no_better_than_guessing_is_judged_by_its_gain():
    useless = attack("inference", -0.01, 0.0, 0.01, rate=0.1, naive=0.2)
    assert judged(clean(inference=useless)).state == "within threshold"


def test_an_attack_that_is_not_required_counts_as_others_do():
    leaking = attack("gtcap", 0.1, 0.2, 0.3, wp29="inference")
    assert judged([*clean(), leaking]).state == "above threshold"
    silent = attack("gtcap", None, None, None, wp29="inference")
    assert judged([*clean(), silent]).state == "within threshold"
    assert judged(clean(inference=attack("inference", None, None, None))).state == "inconclusive"


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
        clean(linkability=None), skipped=[Omission(metric="linkability", reason="needs 4 columns.")]
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
    other = attack("gtcap", -0.01, 0.0, 0.01, wp29="inference")
    silent = attack("ml_inference", None, None, None, wp29="inference")
    assert judged([*clean(inference=None), other, silent], policy).state == "within threshold"
    assert judged([*clean(inference=None), silent], policy).state == "inconclusive"


def test_a_leak_below_the_threshold_is_said(as_said):
    found = judged(clean(inference=attack("inference", 0.01, 0.02, 0.03)))
    assert found.state == "within threshold"
    assert found.sentence == as_said(found.sentence)


def test_each_risk_has_its_own_threshold():
    policy = read_policy({"thresholds": {"membership": 0.005}})
    results = clean(membership_distance=attack("membership_distance", 0.001, 0.006, 0.007))
    assert by_risk(judged(results, policy))["membership"] == "above threshold"
    assert judged(results, policy.with_threshold(0.01)).state == "within threshold"


def test_confidence_is_named():
    assert "upper bounds at 99%" in judged(clean(), Policy(confidence=0.99)).sentence


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
    assert read_policy(yaml.safe_load(template())) == Policy()


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
        read_policy(file)
