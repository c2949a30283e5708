"""What a store tells about metrics, against numbers computed by hand."""

import json
import math

import pytest
from supplies import made_benchmarks as made

from tabveil.errors import ParameterError
from tabveil.workflows.benchmark import Store
from tabveil.workflows.benchmark.curves import mean, share
from tabveil.workflows.benchmark.findings import Findings, find
from tabveil.workflows.benchmark.trials import MetricAnswer

VALUES = {0.0: (0.0, 0.2), 0.5: (0.4, 0.6), 1.0: (1.0, 1.2)}


def tabled(place):
    return made.answer(VALUES[place.level][place.repeat], seen=place.level > 0, largest=2.0)


def one_card(answered, **plan):
    plan = made.plan([made.metric("one")], **plan)
    (card,) = made.found(plan, answered).cards
    return card


def test_a_curve_has_means_intervals_and_shares_of_what_was_seen():
    (curve,) = made.found(made.plan([made.metric("one")]), tabled).curves
    assert [point.level for point in curve.points] == [0.0, 0.5, 1.0]
    assert (curve.varied, curve.held, curve.figure) == ("risk", None, None)
    first = curve.points[0]
    deviation = math.sqrt(0.02)
    half = 12.7062047 * deviation / math.sqrt(2)  # Student's quantile with one degree of freedom
    assert first.mean.value == pytest.approx(0.1)
    assert first.mean.deviation == pytest.approx(deviation)
    assert (first.mean.low, first.mean.high) == pytest.approx((0.1 - half, 0.1 + half))
    assert (first.seen.count, first.seen.n) == (0, 2)
    assert first.seen.high == pytest.approx(1 - math.sqrt(0.025))
    assert curve.points[1].seen.low == pytest.approx(math.sqrt(0.025))
    assert first.largest.value == 2.0
    assert first.cpu_seconds == 0.5


def test_a_score_card():
    card = one_card(tabled)
    assert card.bias.value == pytest.approx(0.1)
    assert (card.false_alarms.count, card.false_alarms.n) == (0, 2)
    # Levels have the ranks 1.5, 1.5, 3.5, 3.5, 5.5, 5.5 and values 1 … 6.
    assert card.rank_correlation.value == pytest.approx(16 / math.sqrt(16 * 17.5))
    # Means 0.1, 0.5, 1.1: the line has slope 1, and of a total of 1.0733 the residuals are 0.0733.
    assert card.linearity.value == pytest.approx(
        1 - (0.06 + 2 * (0.2 / 6) ** 2 * 2 + 2 * (0.4 / 6) ** 2) / _total()
    )
    assert card.deviation.value == pytest.approx(math.sqrt(0.02))
    assert (card.smallest.level, card.smallest.seen.count) == (0.5, 2)
    assert (card.n_answers, card.n_planned, card.n_repeats) == (6, 6, 2)
    assert card.cpu_seconds.value == 0.5


def _total():
    values = [value for pair in VALUES.values() for value in pair]
    middle = sum(values) / 6
    return sum((value - middle) ** 2 for value in values)


def test_the_smallest_level_is_seen_at_every_larger_one_too():
    def patchy(place):
        return made.answer(place.level, seen=place.level in {0.2, 0.6, 1.0})

    card = one_card(patchy, risks=(made.series((0.0, 0.2, 0.4, 0.6, 1.0)),))
    assert card.smallest.level == 0.6


@pytest.mark.parametrize(("n_seen", "level"), [(19, 1.0), (18, None)])
def test_95_percent_of_repeats_are_enough(n_seen, level):
    card = one_card(
        lambda place: made.answer(place.level, seen=place.repeat < n_seen),
        risks=(made.series((0.0, 1.0)),),
        repeats=20,
    )
    assert card.smallest.level == level
    assert card.smallest.seen.count == n_seen
    assert (card.smallest.why is None) == (level is not None)
    assert card.false_alarms.count == n_seen


def test_a_constant_value_has_no_correlation_and_says_why():
    card = one_card(lambda place: made.answer(0.3))
    assert (card.rank_correlation.value, card.rank_correlation.why) == (None, "its value never changes")
    assert card.linearity.value is None
    assert card.deviation.value == 0.0


def test_values_too_small_to_be_squared_still_have_a_correlation():
    card = one_card(lambda place: made.answer(place.level * 1e-200))
    assert card.linearity.value == pytest.approx(1.0)


def test_one_repeat_has_no_interval_and_no_deviation():
    card = one_card(lambda place: made.answer(place.level), repeats=1)
    assert (card.bias.value, card.bias.low, card.bias.deviation) == (0.0, None, None)
    assert (card.deviation.value, card.deviation.why) == (None, "one repeat only")
    assert card.rank_correlation.value == pytest.approx(1.0)


def test_one_level_has_no_correlation():
    card = one_card(lambda place: made.answer(0.1 * place.repeat), risks=(made.series((0.0,)),), repeats=4)
    assert card.rank_correlation.why == "one level only"
    assert (card.smallest.level, card.smallest.why) == (None, "nothing was inserted")
    assert card.false_alarms.count == 3


def test_all_skipped_is_a_card_of_reasons_and_a_gap():
    plan = made.plan([made.metric("one"), made.metric("two")])
    found = made.found(
        plan, lambda place: MetricAnswer(skipped="no control") if place.metric == "one" else tabled(place)
    )
    card = found.cards[0]
    assert (card.n_answers, card.bias, card.false_alarms, card.no_zero) == (0, None, None, "no answers")
    for reading in (card.rank_correlation, card.linearity, card.deviation, card.cpu_seconds):
        assert reading.value is None
        assert reading.why
    assert [(gap.metric, gap.kind, gap.why, gap.n) for gap in found.gaps] == [
        ("one", "skipped", "no control", 6)
    ]
    assert found.correlations[0].values == ((1.0, None), (None, 1.0))
    assert (found.choices[0].metric, found.choices[0].unanswered) == ("two", ("one",))


def test_what_failed_or_was_not_run_is_counted_by_reason():
    plan = made.plan([made.metric("one")])
    missing = [place.key for place in plan.places if place.level == 1.0]
    found = made.found(
        plan,
        lambda place: None if place.level == 1.0 else tabled(place),
        failures={missing[0]: "out of memory"},
    )
    assert sorted((gap.kind, gap.why, gap.n) for gap in found.gaps) == [
        ("failed", "out of memory", 1),
        ("not run", "not run yet", 1),
    ]
    assert found.cards[0].smallest.why == "no answers"
    assert found.curves[0].points[-1].mean is None
    assert found.curves[0].points[-1].n_missing == 2
    assert found.cards[0].n_repeats == 0


def test_a_value_that_is_no_number_is_missing():
    plan = made.plan([made.metric("one")])
    found = made.found(plan, lambda place: made.answer(math.nan if place.repeat else place.level, seen=False))
    assert [(gap.kind, gap.n) for gap in found.gaps] == [("without a value", 3)]
    assert found.cards[0].n_answers == 3
    json.dumps(found.to_json(), allow_nan=False)


def test_a_modifier_of_several_levels_is_the_axis_and_each_risk_has_a_curve():
    risk = made.series((1.0, 1.6), model="overfit", modifier="outlier_removal", modifier_levels=(0.0, 0.1))
    plan = made.plan([made.metric("one")], (risk,))
    found = made.found(plan, lambda place: made.answer(place.level - place.modifier_level))
    assert [(curve.held, curve.varied) for curve in found.curves] == [(1.0, "modifier"), (1.6, "modifier")]
    assert [point.mean.value for point in found.curves[1].points] == pytest.approx([1.6, 1.5])
    card = found.cards[0]
    assert (card.bias, card.false_alarms, card.smallest.level) == (None, None, None)
    assert card.rank_correlation.value == pytest.approx(-1.0)
    assert found.choices == ()


def test_a_modifier_of_one_level_leaves_the_risk_on_the_axis():
    risk = made.series((0.0, 1.0), modifier="canaries", modifier_levels=(100.0,))
    found = made.found(made.plan([made.metric("one")], (risk,)), lambda place: made.answer(place.level))
    assert [(curve.held, curve.varied) for curve in found.curves] == [(None, "risk")]
    assert found.cards[0].smallest.level == 1.0


def test_what_a_generator_betrays_is_no_false_alarm():
    risk = made.series((0.0,), model="generated")
    found = made.found(made.plan([made.metric("one")], (risk,)), lambda place: made.answer(0.3))
    assert (found.cards[0].bias, found.cards[0].false_alarms) == (None, None)
    assert found.choices == ()


def test_figures_and_facts_are_summed_up_beside_the_measure():
    plan = made.plan([made.metric("one"), made.metric("utility", kind=None)])
    found = made.found(
        plan,
        lambda place: (
            MetricAnswer(figures={"correlation": place.level + place.repeat}, facts={"ratio": 1.5})
            if place.metric == "utility"
            else tabled(place)
        ),
    )
    (utility,) = (curve for curve in found.curves if curve.metric == "utility")
    assert utility.figure == "correlation"
    assert [point.mean.value for point in utility.points] == [0.5, 1.0, 1.5]
    assert utility.points[0].facts == {"ratio": 1.5}
    assert [point.seen for point in utility.points] == [None] * 3
    assert found.gaps == ()
    assert [card.metric for card in found.cards] == ["one"]


def test_metrics_are_correlated_trial_by_trial():
    plan = made.plan([made.metric("one"), made.metric("two"), made.metric("same")])

    def answered(place):
        value = VALUES[place.level][place.repeat]
        return {"one": made.answer(value), "two": made.answer(-value), "same": made.answer(0.1)}[place.metric]

    (found,) = made.found(plan, answered).correlations
    assert found.n_trials == 6
    assert found.values[0][1] == pytest.approx(-1.0)
    assert found.values[2] == (None, None, 1.0)


def test_times_are_those_of_all_answers():
    plan = made.plan([made.metric("one"), made.metric("never")], datasets=("adult", "census"))
    found = made.found(
        plan,
        lambda place: tabled(place) if place.metric == "one" else MetricAnswer(skipped="no"),
        cpu_seconds={"one": 2.0},
    )
    assert [(time.dataset, time.mean, time.total, time.n) for time in found.times] == [
        ("adult", 2.0, 12.0, 6),
        ("census", 2.0, 12.0, 6),
    ]


def choice(smallest, *, alarms=(), cpu_seconds=None, repeats=80):
    """Metrics that see from a level on, some of them also what is not there; the choice among them."""
    plan = made.plan(
        [made.metric(name) for name in smallest], (made.series((0.0, 0.1, 0.5, 1.0)),), repeats=repeats
    )

    def answered(place):
        from_level = smallest[place.metric]
        sees = place.level >= from_level if place.level else place.metric in alarms
        return made.answer(place.level, seen=sees)

    (found,) = made.found(plan, answered, cpu_seconds=cpu_seconds).choices
    return found


def test_the_metric_that_sees_the_smallest_level_is_taken_and_among_equals_the_fastest():
    found = choice(
        {"slow": 0.1, "fast": 0.1, "late": 0.5, "late and fast": 0.5, "blind": 2.0},
        cpu_seconds={"slow": 9.0, "fast": 1.0, "late": 5.0, "late and fast": 0.1, "blind": 0.1},
    )
    assert (found.metric, found.level, found.cpu_seconds) == ("fast", 0.1, 1.0)
    assert found.as_good == ("slow",)
    assert found.blind == ("blind",)
    assert [(item.metric, item.by) for item in found.dominated] == [("late", "fast")]
    assert (found.n_repeats, found.seen.n) == (80, 80)


def test_false_alarms_bar_a_metric():
    found = choice({"loud": 0.1, "quiet": 0.5}, alarms={"loud"})
    assert (found.metric, found.alarming) == ("quiet", ("loud",))


def test_one_repeat_bars_nobody():
    """One false alarm of one may be chance: its interval begins at 2.5 %."""
    assert choice({"loud": 0.1, "quiet": 0.5}, alarms={"loud"}, repeats=1).alarming == ()


def test_attacks_and_indicators_are_chosen_apart():
    plan = made.plan([made.metric("a"), made.metric("b", "indicator"), made.metric("c", "membership")])
    found = made.found(plan, tabled).choices
    assert [(item.purpose, item.metric) for item in found] == [
        ("linkability", "a"),
        ("membership", "c"),
        ("diagnosis", "b"),
    ]


def test_findings_are_json_and_back():
    plan = made.plan([made.metric("one"), made.metric("two")], repeats=1)
    found = made.found(
        plan, lambda place: tabled(place) if place.metric == "one" else MetricAnswer(skipped="no")
    )
    data = json.loads(found.json_text())
    assert Findings.from_json(data) == found
    assert data["plan"]["places"] == []


def test_a_store_is_read_with_its_failures(tmp_path):
    store = Store(tmp_path)
    store.prepare()
    plan = made.plan([made.metric("one")])
    store.write_plan(plan)
    store.write_failure(plan.places[0].key, "lost")
    for place in plan.places[1:]:
        trial = {"level": place.level, "modifier_level": None, "repeat": place.repeat}
        cell = {"trial": trial, "metric": "one", "answer": tabled(place).to_json()}
        (tmp_path / "cells" / f"{place.key}.json").write_text(json.dumps(cell), encoding="utf-8")
    found = find(tmp_path)
    assert [(gap.kind, gap.why) for gap in found.gaps] == [("failed", "lost")]
    assert found.cards[0].n_answers == 5
    assert found.cards[0].cpu_seconds.why == "no answers"
    assert found.times == ()


def test_a_folder_without_a_benchmark_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="holds no benchmark"):
        find(tmp_path)


@pytest.mark.parametrize(
    ("count", "n", "low", "high"),
    [(0, 10, 0.0, 0.3084971), (10, 10, 0.6915029, 1.0), (1, 20, 0.0012651, 0.2487328), (0, 1, 0.0, 0.975)],
)
def test_exact_intervals_are_those_of_tables(count, n, low, high):
    found = share(count, n)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-6)


def test_nothing_has_no_mean_and_no_share():
    assert mean([]) is None
    assert mean([math.nan]) is None
    assert share(0, 0) is None
