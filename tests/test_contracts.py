"""What every metric promises, whatever it measures. A new family of metrics is one more line in METRICS."""

import json
import math
import re
from dataclasses import FrozenInstanceError, fields, replace
from inspect import signature
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from supplies.asked_metrics import (
    answer,
    as_text,
    ask,
    assert_order_does_not_matter,
    made,
    on_tables,
    shuffled,
    tables,
    words,
)
from supplies.linked_people import databases
from supplies.populations import population, split
from supplies.strategies import splits

from tabveil.core.result import Cost, Result
from tabveil.core.settings.registry import describe, is_named
from tabveil.core.table import Split
from tabveil.core.workers import working
from tabveil.engines.neighbors import Space
from tabveil.errors import ParameterError
from tabveil.metrics.attacks import ATTACKS, DomiasFlow, Linkability, MembershipViews
from tabveil.metrics.indicators import INDICATORS
from tabveil.metrics.properties import PROPERTIES
from tabveil.metrics.registry import described, explain
from tabveil.tables.linked.summaries import people_tables

EVERY = (*INDICATORS, *ATTACKS, *PROPERTIES)
METRICS = tuple(kind for kind in EVERY if kind.cost != "training")

every_metric = pytest.mark.parametrize("kind", METRICS, ids=lambda kind: kind.name)
even_deep_ones = pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.name)


def fixed(kind, tables):
    """Make a metric that column order must not matter to: linkability's own splits follow the file."""
    names = sorted(tables.schema.names)
    if not issubclass(kind, Linkability) or len(names) < 2:
        return made(kind)
    return made(kind, auxiliary=((tuple(names[::2]), tuple(names[1::2])),))


def estimates(result):
    return [
        item for item in (result.risk, result.attack, result.control, result.baseline) if item is not None
    ]


@every_metric
def test_names_labels_and_defaults(kind):
    metric = kind()
    assert metric.name == kind.name
    assert metric.name.replace("_", "").isalpha()
    assert metric.labels.pillar in {"indicator", "attack", "property"}
    assert kind.__doc__.splitlines()[0].endswith("?"), "the first line is the question answered"
    for item in fields(metric):
        with pytest.raises(FrozenInstanceError):
            setattr(metric, item.name, None)


@even_deep_ones
def test_a_metric_describes_itself(kind):
    assert kind.title
    assert kind.title != kind.name
    assert kind.cost in get_args(Cost)
    assert callable(kind.sentence)
    assert callable(kind.threat)
    assert getattr(kind, "extra", None) in {None, "deep"}


def test_titles_are_unique():
    assert len({kind.title for kind in EVERY}) == len(EVERY)


@every_metric
def test_an_answer_is_put_into_words(kind):
    metric = made(kind)
    found = described(metric, ask(metric, tables(kind)), "the press")
    assert found.title == kind.title
    assert found.key == f"{kind.name}: the press"
    assert found.sentence.endswith((".", ")."))
    assert not re.search(r"\b(None|nan|inf)\b|not computed", found.sentence)
    assert (found.threat is not None) == (kind.labels.pillar == "attack")
    assert Result.from_json(json.loads(json.dumps(found.to_json()))).to_json() == found.to_json()


@every_metric
def test_configurations_are_values(kind):
    found = ask(made(kind), tables(kind))
    assert len({item.setting for item in found.configurations}) == len(found.configurations)
    assert len({item.name for item in found.configurations}) == len(found.configurations)
    if found.configurations:
        assert found.lead.risk == found.risk
        assert found.configuration(found.leading.name) is found.lead


OWN_SCORES = {"gtcap", "ml_inference"}
"""Attacks whose score may be no share of people: the columns train and control are then left out."""


@pytest.mark.parametrize(
    "kind", [kind for kind in METRICS if kind.labels.pillar == "attack"], ids=lambda kind: kind.name
)
@pytest.mark.parametrize("sizes", [(90, 60, 80), (900, 500, 700)])
@pytest.mark.parametrize("leak", [0.0, 0.3])
def test_train_less_control_is_the_gain_where_both_are_shown(kind, sizes, leak):
    found = answer(made(kind), population("mixed", sizes, leak=leak, seed=4))
    if isinstance(found, str) or found.gain is None:
        pytest.skip("no gain here")
    attack, control = found.shares
    if attack is None or control is None:
        assert kind.name in OWN_SCORES or found.leading.statistic == "area"
    else:
        assert attack.value - control.value == pytest.approx(found.gain.value, abs=1e-9)


@even_deep_ones
def test_a_page_can_be_made_from_the_docstring(kind):
    found = explain(kind)
    assert found.question.endswith("?")
    assert found.summary
    assert found.notes
    assert found.references
    preset = {"preset"} if hasattr(kind, "presets") else set()
    assert {item.name for item in found.parameters} == {item.name for item in fields(kind)} | preset
    assert {item.name for item in found.parameters} == set(signature(kind).parameters)
    assert len(found.parameters) == len(fields(kind)) + len(preset)
    for item in found.parameters:
        assert item.description.endswith("."), item.name
        assert item.default == repr("default" if item.name in preset else getattr(kind(), item.name))
    explained = " ".join((*found.notes, *found.summary))
    for name in ("attack", "control", "baseline", "risk"):
        assert f"``{name}" in explained, f"Notes say what {name} is, or that there is none"


@even_deep_ones
def test_docstrings_claim_nothing_they_must_not(kind):
    words = set(re.findall(r"[a-z]+", kind.__doc__.lower()))
    assert not words & {"anonymous", "compliant", "safe", "safer", "safely", "thesis"}


def test_names_are_unique():
    assert len({kind.name for kind in METRICS}) == len(METRICS)


@every_metric
def test_same_seed_same_answer(kind):
    assert as_text(ask(made(kind), tables(kind))) == as_text(ask(made(kind), tables(kind)))


@every_metric
def test_threads_do_not_matter(kind):
    found = set()
    for threads in (1, 3):
        with working(threads=threads):
            found.add(as_text(ask(made(kind), tables(kind))))
    assert len(found) == 1


@every_metric
def test_row_and_column_order_do_not_matter(kind):
    assert_order_does_not_matter(fixed(kind, tables(kind)))


@every_metric
@given(tables=splits(max_rows=25))
@on_tables
def test_order_does_not_matter_on_any_tables(kind, tables):
    metric = fixed(kind, tables)
    assert as_text(answer(metric, tables)) == as_text(answer(metric, shuffled(tables, seed=2)[0]))


@every_metric
@given(tables=splits(max_rows=25))
@on_tables
def test_any_tables_have_an_answer_or_a_reason(kind, tables):
    found = answer(made(kind), tables)
    if isinstance(found, str):
        assert found.startswith(f"{kind.name}: ")
        assert found.endswith(".")
        return
    assert found.risk is not None or found.notes
    json.dumps(found.to_json(), allow_nan=False)
    for estimate in estimates(found):
        assert all(map(math.isfinite, (estimate.value, estimate.low, estimate.high)))
        assert estimate.low <= estimate.value <= estimate.high
    for scores in found.sensitive_scores:
        assert len(scores.rows) == len(scores.values) == len(set(scores.rows.tolist()))
        assert scores.rows.max() < len(getattr(tables, scores.table))
        assert np.isfinite(scores.values).all()


@every_metric
def test_inputs_and_the_global_generator_stay_untouched(kind):
    given_tables = tables(kind)
    before = [getattr(given_tables, role).values.copy() for role in ("train", "control", "synthetic")]
    state = np.random.get_state()  # noqa: NPY002 - that it stays is the point
    ask(made(kind), given_tables)
    after = np.random.get_state()  # noqa: NPY002
    assert all(np.array_equal(a, b) for a, b in zip(state, after, strict=True))
    for role, values in zip(("train", "control", "synthetic"), before, strict=True):
        np.testing.assert_array_equal(getattr(given_tables, role).values, values)


@every_metric
def test_json_round_trip(kind):
    data = ask(made(kind), tables(kind)).to_json()
    assert Result.from_json(json.loads(json.dumps(data, allow_nan=False))).to_json() == data


@every_metric
def test_params_appear_in_the_result(kind):
    metric = made(kind)
    found = ask(metric, tables(kind)).params
    assert set(found) == {item.name for item in fields(metric)}
    for name, value in found.items():
        given = getattr(metric, name)
        assert value == (describe(given) if is_named(given) else given)


@even_deep_ones
@pytest.mark.parametrize("confidence", [0.5, 1, 95, 0, -0.95, math.nan])
def test_a_confidence_level_lies_between_a_half_and_one(kind, confidence):
    told = f"{kind.__name__}: confidence must lie between 0.5 and 1, got {confidence!r}."
    with pytest.raises(ParameterError, match=re.escape(told)):
        kind(confidence=confidence)


def at_both_levels(kind):
    quick = {"max_epochs": 1, "n_flows": 1, "hidden": 4} if kind is DomiasFlow else {}
    if quick:
        pytest.importorskip("torch")
    return [ask(made(kind, confidence=level, **quick), tables(kind)).to_json() for level in (0.95, 0.99)]


def paired(at_95, at_99):
    """Walk through two answers side by side: each estimate at the one level with the same at the other.

    The largest lower bound chooses, and may choose something else at another level. What belongs to different
    choices is not compared; every configuration is, where they are listed.
    """
    if isinstance(at_95, dict) and {"value", "low", "high"} <= set(at_95):
        yield at_95, at_99
    elif isinstance(at_95, dict):
        chosen = [found.get("configuration", found.get("n_neighbors")) for found in (at_95, at_99)]
        for key in set(at_95) & set(at_99):
            if chosen[0] == chosen[1] or key in {"configurations", "by_n_neighbors"}:
                yield from paired(at_95[key], at_99[key])


def with_headline(found):
    return {**found["details"], **{side: found[side] for side in ("risk", "attack", "control", "baseline")}}


@even_deep_ones
def test_a_higher_confidence_widens_every_interval(kind):
    narrow, wide = at_both_levels(kind)
    assert (narrow["params"]["confidence"], wide["params"]["confidence"]) == (0.95, 0.99)
    pairs = list(paired(with_headline(narrow), with_headline(wide)))
    assert pairs
    for at_95, at_99 in pairs:
        assert at_99["n"] == at_95["n"]
        assert at_99["low"] <= at_95["low"] + 1e-12
        assert at_99["high"] >= at_95["high"] - 1e-12
        if at_95["low"] < at_95["high"]:  # not a known number, such as the chance of a coin
            assert at_99["high"] - at_99["low"] > at_95["high"] - at_95["low"]


def unrated(found):
    """Leave out Wilson's rates, which are drawn toward one half, by more at a higher level."""
    tried = found["details"].get("configurations", {})
    rated = {name for name, item in tried.items() if "successes_train" in item}
    kept = found["details"] if found["details"].get("configuration") in rated else with_headline(found)
    others = {name: item for name, item in tried.items() if name not in rated}
    return {**kept, "configurations": others, "secrets": None}  # what is said of single secrets repeats rates


def counted(details):
    """Return what the intervals rest on: all but them, and but what is chosen by them."""
    chosen = {"configuration", "n_neighbors", "confidence_of_each", "largest_point_estimate", "low", "high"}
    if not isinstance(details, dict):
        return details
    estimate = {"value", "low", "high"} <= set(details)
    return details["n"] if estimate else {k: counted(v) for k, v in details.items() if k not in chosen}


@even_deep_ones
def test_a_confidence_level_changes_intervals_not_what_was_found(kind):
    narrow, wide = at_both_levels(kind)
    assert counted(narrow["details"]) == counted(wide["details"])
    for at_95, at_99 in paired(unrated(narrow), unrated(wide)):
        assert at_99["value"] == at_95["value"]


def fresh_and_copied(kind):
    """Return a metric, a release of strangers to ask it about, and one of copies.

    A network that stops in time learns no single row. For it every training person stands in the release many
    times, also among the rows that tell it when to stop.
    """
    if kind is DomiasFlow:
        pytest.importorskip("torch")
        metric, sizes, times = (
            DomiasFlow(max_epochs=30, n_flows=1, hidden=16, batch_size=32),
            (30, 120, 600),
            20,
        )
    else:
        metric, sizes, times = made(kind), (120, 120, 120), 1
    if kind is MembershipViews:
        fresh = people_tables(databases(150)).split
        return metric, fresh, replace(fresh, synthetic=fresh.train)
    fresh = words(sizes, seed=5) if kind.reads_words else population("mixed", sizes, seed=5)
    repeated = np.repeat(fresh.train.values, times, axis=0)
    return metric, fresh, split(fresh.schema, fresh.train.values, fresh.control.values, repeated)


@even_deep_ones
def test_a_copy_is_riskier_than_fresh_rows(kind):
    metric, fresh, copy = fresh_and_copied(kind)
    low, high = ask(metric, fresh).risk, ask(metric, copy).risk
    assert high.low > 0
    assert high.value > low.value + 0.5


@every_metric
def test_without_control_there_is_a_note_or_a_reason(kind):
    alone = tables(kind)
    alone = Split(train=alone.train, control=alone.control.take(np.arange(0)), synthetic=alone.synthetic)
    found = answer(made(kind), alone)
    assert "control" in (found if isinstance(found, str) else found.notes[0])


@pytest.mark.parametrize(
    "kind", [k for k in METRICS if "distance" in {f.name for f in fields(k)}], ids=lambda k: k.name
)
@pytest.mark.parametrize("encoding", ["onehot", "ordinal"])
def test_every_distance_is_used(kind, encoding, monkeypatch):
    asked = []
    euclidean = Space.euclidean
    monkeypatch.setattr(
        Space, "euclidean", lambda train, encoding: asked.append(encoding) or euclidean(train, encoding)
    )
    metric = kind(distance="euclidean", encoding=encoding)
    found = ask(metric, tables(kind))
    assert asked == [encoding]
    assert found.risk.low > 0 or found.risk.value > 0.05
    assert found.params["distance"] == "euclidean"
