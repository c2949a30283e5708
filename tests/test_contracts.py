"""What every metric promises, whatever it measures. A new family of metrics is one more line in METRICS."""

import json
import math
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from populations import population, split
from strategies import splits

from tabveil.attacks import ATTACKS, Linkability
from tabveil.errors import NotApplicable
from tabveil.indicators import INDICATORS
from tabveil.neighbors import Space
from tabveil.result import Result
from tabveil.rng import stream
from tabveil.table import Split
from tabveil.workers import working

METRICS = (*INDICATORS, *ATTACKS)

every_metric = pytest.mark.parametrize("kind", METRICS, ids=lambda kind: kind.name)
on_tables = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def ask(metric, tables):
    return metric(tables, rng=stream(3, metric.name))


def answer(metric, tables):
    """Return the result, or the reason why there is none."""
    try:
        return ask(metric, tables)
    except NotApplicable as reason:
        return str(reason)


def fixed(kind, tables):
    """Make a metric that column order must not matter to: linkability's own splits follow the file."""
    names = sorted(tables.schema.names)
    if kind is not Linkability or len(names) < 2:
        return kind()
    return Linkability(auxiliary=((tuple(names[::2]), tuple(names[1::2])),))


def as_text(found):
    return found if isinstance(found, str) else json.dumps(found.to_json(), allow_nan=False)


def tables():
    return population("mixed", (90, 60, 80), leak=0.3, seed=4)


def estimates(result):
    return [
        item for item in (result.risk, result.attack, result.control, result.baseline) if item is not None
    ]


def shuffled(tables, seed):
    """Return the tables with rows and columns in another order, and the order of each table's rows."""
    rng = np.random.default_rng(seed)
    names = [tables.schema.names[position] for position in rng.permutation(len(tables.schema))]
    orders = {role: rng.permutation(len(getattr(tables, role))) for role in ("train", "control", "synthetic")}
    moved = {role: getattr(tables, role).take(order).select(names) for role, order in orders.items()}
    return Split(**moved), orders


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


def test_names_are_unique():
    assert len({kind.name for kind in METRICS}) == len(METRICS)


@every_metric
def test_same_seed_same_answer(kind):
    assert as_text(ask(kind(), tables())) == as_text(ask(kind(), tables()))


@every_metric
def test_threads_do_not_matter(kind):
    found = set()
    for threads in (1, 3):
        with working(threads=threads):
            found.add(as_text(ask(kind(), tables())))
    assert len(found) == 1


@every_metric
def test_row_and_column_order_do_not_matter(kind):
    metric = fixed(kind, tables())
    plain = ask(metric, tables())
    moved_tables, orders = shuffled(tables(), seed=1)
    moved = ask(metric, moved_tables)
    assert as_text(plain) == as_text(moved)
    for before, after in zip(plain.scores, moved.scores, strict=True):
        original = orders[after.table][after.rows]
        assert dict(zip(original, after.values, strict=True)) == dict(
            zip(before.rows, before.values, strict=True)
        )


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
    found = answer(kind(), tables)
    if isinstance(found, str):
        assert found.startswith(f"{kind.name}: ")
        assert found.endswith(".")
        return
    assert found.risk is not None or found.notes
    json.dumps(found.to_json(), allow_nan=False)
    for estimate in estimates(found):
        assert all(map(math.isfinite, (estimate.value, estimate.low, estimate.high)))
        assert estimate.low <= estimate.value <= estimate.high
    for scores in found.scores:
        assert len(scores.rows) == len(scores.values) == len(set(scores.rows.tolist()))
        assert scores.rows.max() < len(getattr(tables, scores.table))
        assert np.isfinite(scores.values).all()


@every_metric
def test_inputs_and_the_global_generator_stay_untouched(kind):
    given_tables = tables()
    before = [getattr(given_tables, role).values.copy() for role in ("train", "control", "synthetic")]
    state = np.random.get_state()  # noqa: NPY002 - that it stays is the point
    ask(kind(), given_tables)
    after = np.random.get_state()  # noqa: NPY002
    assert all(np.array_equal(a, b) for a, b in zip(state, after, strict=True))
    for role, values in zip(("train", "control", "synthetic"), before, strict=True):
        np.testing.assert_array_equal(getattr(given_tables, role).values, values)


@every_metric
def test_json_round_trip(kind):
    data = ask(kind(), tables()).to_json()
    assert Result.from_json(json.loads(json.dumps(data, allow_nan=False))).to_json() == data


@every_metric
def test_params_appear_in_the_result(kind):
    metric = kind()
    assert ask(metric, tables()).params == {item.name: getattr(metric, item.name) for item in fields(metric)}


@every_metric
def test_a_copy_is_riskier_than_fresh_rows(kind):
    fresh = population("mixed", (120, 120, 120), seed=5)
    copy = split(fresh.schema, fresh.train.values, fresh.control.values, fresh.train.values)
    low, high = ask(kind(), fresh).risk, ask(kind(), copy).risk
    assert high.low > 0
    assert high.value > low.value + 0.5


@every_metric
def test_without_control_there_is_a_note_or_a_reason(kind):
    alone = tables()
    alone = Split(train=alone.train, control=alone.control.take(np.arange(0)), synthetic=alone.synthetic)
    found = answer(kind(), alone)
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
    found = ask(metric, tables())
    assert asked == [encoding]
    assert found.risk.low > 0 or found.risk.value > 0.05
    assert found.params["distance"] == "euclidean"
