"""The whole measurement: any tables have an answer, always the same one, and planted truths are found.

One figure alone is that of the whole.
"""

import json
import math
from statistics import fmean

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from supplies.populations import SCHEMAS, population, rows, split
from supplies.strategies import splits

from tabveil.core.rng import stream
from tabveil.core.table import Categorical, Numeric, Schema, Split
from tabveil.core.workers import working
from tabveil.datasets import hospital
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.utility import MEANINGS, NAMES, Utility, loss, measure, measure_one
from tabveil.tables.reading import load_split

on_tables = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def asked(tables, **options):
    return measure(tables, rng=stream(3, "utility"), **options)


def as_text(found):
    return json.dumps({**found.to_json(), "seconds": 0}, allow_nan=False)


def tables():
    return population("mixed", (90, 60, 80), leak=0.3, seed=4)


def shuffled(tables, seed):
    rng = np.random.default_rng(seed)
    names = [tables.schema.names[position] for position in rng.permutation(len(tables.schema))]
    return Split(
        **{
            role: (table := getattr(tables, role)).take(rng.permutation(len(table))).select(names)
            for role in ("train", "control", "synthetic")
        }
    )


def estimates(found):
    figures = [
        *found.figures.values(),
        *(item for column in found.columns for item in column.figures.values()),
    ]
    for target in found.targets:
        figures += [target.figure, *([target.range_score] if target.range_score else [])]
        yield target.baseline
        if target.gap:
            yield target.gap
    for figure in figures:
        yield figure.value
        if figure.reference:
            yield figure.reference


def test_everything_is_measured():
    found = asked(tables())
    assert list(found.figures) == list(MEANINGS)
    assert all(figure.reference is not None for figure in found.figures.values())
    assert [column.name for column in found.columns] == sorted(tables().schema.names)
    assert all(MEANINGS[name].per_column for column in found.columns for name in column.figures)
    assert found.skipped == ()
    assert found.targets


def test_same_seed_same_answer_on_any_number_of_threads():
    found = set()
    for threads in (1, 3):
        with working(threads=threads):
            found.add(as_text(asked(tables())))
    assert len(found) == 1


def test_row_and_column_order_do_not_matter():
    assert as_text(asked(tables())) == as_text(asked(shuffled(tables(), seed=1)))


@given(tables=splits(max_rows=45))
@on_tables
def test_any_tables_have_an_answer_or_a_reason(tables):
    found = asked(tables)
    assert as_text(found) == as_text(asked(shuffled(tables, seed=2)))
    for estimate in estimates(found):
        assert all(map(math.isfinite, (estimate.value, estimate.low, estimate.high)))
        assert estimate.low <= estimate.value <= estimate.high
    for item in found.skipped:
        assert item.reason.startswith(f"{item.metric}: ")
        assert item.reason.endswith(".")
    measured = set(found.figures) | {item.metric for item in found.skipped}
    assert {"discriminator", "correlation", "mmd", "total_variation"} <= measured
    assert found.targets or "downstream" in measured


def test_inputs_and_the_global_generator_stay_untouched():
    given_tables = tables()
    before = given_tables.synthetic.values.copy()
    state = np.random.get_state()[1].copy()  # noqa: NPY002 - that it stays is the point
    asked(given_tables)
    assert np.array_equal(state, np.random.get_state()[1])  # noqa: NPY002
    np.testing.assert_array_equal(given_tables.synthetic.values, before)


def test_json_round_trip():
    found = asked(tables(), target=["sex", "age"])
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert Utility.from_json(data) == found
    assert Utility.from_json(data).to_json() == data


def test_named_targets():
    found = asked(tables(), target="age")
    assert [(target.name, target.score) for target in found.targets] == [("age", "r2")]
    assert found.params == {"target": ["age"], "halved": True, "confidence": 0.95, "rare": False}
    with pytest.raises(ParameterError, match="utility: no column 'agee'"):
        asked(tables(), target="agee")


def test_without_control_there_is_a_note():
    found = asked(population("mixed", (200, 0, 80)))
    assert "No control" in found.notes[0]
    assert found.figures["discriminator"].reference is not None


def test_one_column_and_one_row():
    found = asked(split(SCHEMAS["mixed"], *(rows("mixed", n, np.random.default_rng(0)) for n in (1, 1, 1))))
    assert {item.metric for item in found.skipped} == {"mmd", "discriminator", "downstream", "rules"}
    assert found.fidelity is None
    found = asked(tables().select(["age"]))
    assert {item.metric for item in found.skipped} == {"correlation", "pair_variation", "downstream"}
    assert found.fidelity is None


@pytest.fixture(scope="module")
def planted():
    """Measure fresh rows, rows with shuffled columns, and a shift of one column."""
    rng = np.random.default_rng(8)
    train, control, fresh = (rows("mixed", 1200, rng) for _ in range(3))
    shuffled_columns = np.column_stack([rng.permutation(column) for column in fresh.T])
    moved = fresh.copy()
    moved[:, 0] = np.minimum(moved[:, 0] + 20, 90)
    releases = {"fresh": fresh, "shuffled": shuffled_columns, "moved": moved}
    return {
        name: asked(split(SCHEMAS["mixed"], train, control, release)) for name, release in releases.items()
    }


def test_fresh_rows_look_like_their_reference(planted):
    figures = planted["fresh"].figures
    assert figures["discriminator"].value.low < 0.5 < figures["discriminator"].value.high
    for name, figure in figures.items():
        assert figure.value.low <= MEANINGS[name].best <= figure.value.high
        assert figure.value.value < 2 * figure.reference.high
    for target in planted["fresh"].targets:
        assert target.gap.low < 0.02


def test_shuffled_columns_keep_marginals_and_lose_the_rest(planted):
    fresh, found = planted["fresh"].figures, planted["shuffled"].figures
    for name, meaning in MEANINGS.items():
        if meaning.per_column:
            assert found[name].value.value == fresh[name].value.value
    assert found["correlation"].value.low > 0
    assert found["correlation"].value.value > found["correlation"].reference.high
    assert max(target.gap.low for target in planted["shuffled"].targets) > 0


def test_a_moved_column_is_found_and_named(planted):
    figures = planted["moved"].figures
    for name in ("discriminator", "mmd", "total_variation", "wasserstein", "kolmogorov_smirnov", "cramers_v"):
        assert figures[name].value.low > MEANINGS[name].best
        assert figures[name].value.value > figures[name].reference.high
    for column in planted["moved"].columns:
        moved = column.name == "age"
        assert (column.figures["total_variation"].value.low > 0.1) == moved
        assert (column.chi_squared.p_value < 1e-6) == moved
    age = next(column for column in planted["moved"].columns if column.name == "age")
    assert age.figures["wasserstein"].value.value == pytest.approx(20 / 90, abs=0.03)


def test_rare_values_are_never_written():
    train = rows("mixed", 300, np.random.default_rng(0))
    train[:, 1] = np.where(np.arange(300) < 9, 7, 0)  # nine people live in h
    train[0, 0] = 89.0
    found = asked(split(SCHEMAS["mixed"], train, train[:0], train))
    region, age = (next(c for c in found.columns if c.name == name) for name in ("region", "age"))
    assert {bar.label for bar in region.bars} == {"a"}, "and nine are no pool"
    assert 89.0 not in {bar.low for bar in age.bars} | {bar.high for bar in age.bars}


def test_rare_labels_are_named_when_asked_for():
    found = asked(population("mixed", (60, 40, 50)), rare=True)
    region = next(column for column in found.columns if column.name == "region")
    few = [bar for bar in region.bars if bar.kind == "label" and bar.real < 10 / 100]
    assert few
    assert "other" not in {bar.kind for bar in region.bars}


def test_confidence_widens_every_interval_and_moves_no_value():
    narrow, wide = (asked(tables(), target=["sex", "age"], confidence=level) for level in (0.8, 0.99))
    pairs = list(zip(estimates(narrow), estimates(wide), strict=True))
    assert len(pairs) > 40
    for less, more in pairs:
        assert (less.value, less.n) == (more.value, more.n)
        assert more.low <= less.low <= less.high <= more.high
        assert less.high < more.high or (less.low, less.high) == (
            0,
            0,
        )  # predicting the mean scores 0, exactly


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 95, math.nan])
def test_confidence_lies_between_0_and_1(confidence):
    with pytest.raises(ParameterError, match="utility: confidence must lie between 0 and 1"):
        asked(tables(), confidence=confidence)


def wide_tables(n_rows=300, n_columns=70):
    """Draw columns that all follow from two hidden numbers; a third of them as labels."""
    schema = Schema(
        tuple(
            Categorical(name=f"c{i:02}", labels=tuple("abc"))
            if i % 3 == 0
            else Numeric(name=f"c{i:02}", low=-9, high=9)
            for i in range(n_columns)
        )
    )
    rng = np.random.default_rng(5)
    loads = rng.normal(size=(2, n_columns))
    is_label = np.arange(n_columns) % 3 == 0

    def draw():
        cells = np.clip(rng.normal(size=(n_rows, 2)) @ loads + rng.normal(size=(n_rows, n_columns)), -9, 9)
        return np.where(is_label, np.digitize(cells, [-1, 1]), cells)

    return split(schema, draw(), draw(), draw())


def test_wide_tables_are_measured_whole_and_listed_in_part():
    found = asked(wide_tables())
    assert found.skipped == ()
    assert len(found.columns) == 70
    assert len(found.associations.names) == len(found.associations.real) == 64
    assert any("64 of 70 columns" in note for note in found.notes)
    assert found.figures["discriminator"].value.low < 0.5 < found.figures["discriminator"].value.high
    for target in found.targets:
        assert target.figure.value.low > target.baseline.high  # few columns of many, but the right ones
        assert abs(target.gap.value) < 0.1
    assert as_text(found) == as_text(asked(shuffled(wide_tables(), seed=3)))


def test_numbers_of_any_size():
    rng = np.random.default_rng(0)
    schema = Schema(
        (
            Categorical(name="id", labels=tuple(map(str, range(500)))),
            Numeric(name="huge", low=-5e99, high=5e99),
            Numeric(name="tiny", low=0, high=1e-299),
            Numeric(name="far", low=1e15, high=1e15 + 100, decimals=0),
        )
    )

    def draw():
        columns = rng.permutation(500)[:60], rng.uniform(-5e99, 5e99, 60), rng.integers(0, 2, 60) * 1e-299
        return np.column_stack([*columns, 1e15 + rng.integers(0, 101, 60)]).astype(float)

    found = asked(split(schema, draw(), draw(), draw()), target=["huge", "far"])
    assert found.skipped == ()
    assert all(map(math.isfinite, (estimate.high for estimate in estimates(found))))
    assert [target.name for target in found.targets] == ["far", "huge"]


@pytest.fixture(scope="module")
def hospitals():
    tables = [hospital(n, seed=seed) for n, seed in ((150, 1), (120, 2), (110, 3))]
    return load_split(*tables).split


@pytest.fixture(scope="module")
def everything(hospitals):
    return measure(hospitals, rng=np.random.default_rng(5))


@pytest.mark.parametrize("name", NAMES)
def test_one_figure_is_what_all_together_say(name, hospitals, everything):
    found = measure_one(hospitals, name, rng=np.random.default_rng(5))
    if name == "downstream":
        assert found == fmean(item.gap.value for item in everything.targets)
    else:
        assert found == everything.figures[name].value.value


def test_targets_may_be_named_and_must_be_there(hospitals):
    named = measure(hospitals, target="outcome", rng=np.random.default_rng(5)).targets[0].gap.value
    assert measure_one(hospitals, "downstream", target="outcome", rng=np.random.default_rng(5)) == named
    with pytest.raises(ParameterError, match="no column 'outcom'"):
        measure_one(hospitals, "downstream", target="outcom", rng=np.random.default_rng(5))


def test_a_figure_of_numbers_where_there_are_none_does_not_apply(hospitals):
    labels = hospitals.select(["sex", "region"])
    with pytest.raises(NotApplicable, match="no column that it can be measured on"):
        measure_one(labels, "wasserstein", rng=np.random.default_rng(0))


def test_nothing_lost_is_zero_and_chance_may_go_below():
    assert loss("discriminator", 0.5) == 0
    assert loss("discriminator", 0.45) == pytest.approx(-0.05)
    assert loss("total_variation", 0.2) == pytest.approx(0.2)


def with_identifier(seed=4):
    """Add numbers of people: of real ones below, of made ones above a thousand."""
    real = np.random.default_rng(0).permutation(230).astype(float)
    tables = population("mixed", (120, 110, 115), seed=seed)
    schema = Schema((*tables.schema.columns, Numeric(name="case", low=0, high=3000, decimals=0)))
    numbers = real[:120], real[120:], 1500 + np.arange(115.0)
    roles = (tables.train, tables.control, tables.synthetic)
    return split(
        schema, *(np.column_stack([role.values, ids]) for role, ids in zip(roles, numbers, strict=True))
    )


def test_an_identifier_is_left_out_of_all_but_rules_unless_it_is_a_target():
    told, found = asked(with_identifier()), asked(with_identifier(), left_out=["case"])
    assert told.figures["discriminator"].value.value > 0.9
    assert told.telling[0].column == "case"
    assert told.telling[0].left.low < 0.5 < told.telling[0].left.high
    plain = asked(with_identifier().select(SCHEMAS["mixed"].names))
    assert (found.figures, found.fidelity, found.columns) == (plain.figures, plain.fidelity, plain.columns)
    assert (found.left_out, told.left_out) == (("case",), ())
    assert "case" in {name for rule in told.rules.found for name in rule.columns} or not told.rules.found
    assert found.rules == told.rules
    wanted = asked(with_identifier(), left_out=["case"], target="case")
    assert wanted.left_out == ()
    assert [item.name for item in wanted.targets] == ["case"]


def test_where_all_columns_are_identifiers_none_is_left_out():
    found = asked(with_identifier().select(["case"]), left_out=["case"])
    assert found.left_out == ()
    assert [column.name for column in found.columns] == ["case"]


def test_what_is_not_explained_has_the_same_figures():
    found, brief = asked(with_identifier()), asked(with_identifier(), explained=False)
    assert (brief.figures, brief.fidelity) == (found.figures, found.fidelity)
    assert (brief.telling, brief.pairs) == ((), ())
