"""The attacks in the contrastive space: planted truths, small cases by hand, tables with little in them."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from supplies.populations import population, split

import tabveil
from tabveil.core.rng import stream
from tabveil.core.table import Categorical, Numeric, Schema, Split, Table
from tabveil.engines.embedding import Embedding
from tabveil.engines.representation import UNION, Contrastive, Mixed, VectorView
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.attacks import (
    InferenceContrastive,
    LinkabilityContrastive,
    MembershipContrastive,
    SinglingOutContrastive,
)
from tabveil.metrics.attacks.inference import Candidates, predict
from tabveil.metrics.attacks.singling_out.predicates import around_rows, bins, match
from tabveil.metrics.indicators import DistanceToClosestContrastive
from tabveil.metrics.registry import METRICS, contrastive
from tabveil.tables.matrices.ranked_tables import ValueRanks

NAN = np.nan
NEAR = Contrastive(width=32, layers=1, dimension=12, epochs=6, batch_size=128)
ALL = (
    SinglingOutContrastive,
    LinkabilityContrastive,
    InferenceContrastive,
    MembershipContrastive,
    DistanceToClosestContrastive,
)
every_one = pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.name)
needs_torch = pytest.mark.usefixtures("torch")


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@dataclass(frozen=True, kw_only=True)
class OneHot:
    """Place a row by hand: a number as it is, a label as an axis of its own, what is not known as zeros."""

    name: ClassVar[str] = "one_hot"

    def view(self, split, *, rng, reference=None):
        def embed(table, masked):
            parts = []
            for column in table.schema.columns:
                cells = table.column(column.name)
                if isinstance(column, Numeric):
                    part = np.nan_to_num(cells)[:, None] / 100
                else:
                    part = (cells[:, None] == np.arange(len(column.labels))).astype(float)
                parts.append(np.zeros_like(part) if column.name in masked else part)
            return np.hstack(parts)

        width = embed(split.synthetic, ()).shape[1]
        return VectorView(embed=embed, schema=split.schema, n_dimensions=width)


HAND = OneHot()


def ask(metric, tables):
    return metric(tables, rng=stream(3, metric.name))


def answer(metric, tables):
    """Return the result, or the reason why there is none."""
    try:
        return ask(metric, tables)
    except NotApplicable as reason:
        return str(reason)


def fresh(sizes=(150, 150, 150)):
    return population("mixed", sizes, seed=5)


def test_there_are_five_and_an_audit_must_ask_for_them():
    assert set(contrastive()) == {kind.name for kind in ALL}
    for kind in ALL:
        assert (kind.extra, kind.on_request) == ("deep", True)
        assert set(kind.beside) <= set(METRICS)
        assert kind().representation == Contrastive()


@needs_torch
@every_one
def test_a_copy_is_seen_and_fresh_rows_are_not(kind):
    metric = kind(representation=NEAR)
    low, high = ask(metric, fresh()), ask(metric, replace(fresh(), synthetic=fresh().train))
    assert high.risk.low > 0.1
    assert high.risk.value > 0.4
    assert high.measure.low > 0
    assert low.measure.low <= 0
    assert abs(low.risk.value) < 0.3


@needs_torch
@every_one
def test_sizes_may_differ(kind):
    few = fresh((150, 60, 200))
    copy = replace(few, synthetic=few.train.take(np.arange(110)))
    metric = kind(representation=NEAR)
    assert ask(metric, few).measure.low <= 0
    assert ask(metric, copy).risk.value > 0.4


@needs_torch
@every_one
@pytest.mark.parametrize("sizes", [(1, 1, 1), (1, 5, 1), (5, 1, 30)])
def test_tables_of_one_row_have_an_answer_or_a_reason(kind, sizes):
    found = answer(kind(representation=NEAR), fresh(sizes))
    if isinstance(found, str):
        assert found.startswith(f"{kind.name}: ")
    else:
        assert found.measure is None or np.isfinite(found.measure.value)


@needs_torch
@every_one
def test_constant_columns_missing_values_and_labels_the_release_never_shows(kind):
    schema = Schema(
        (
            Categorical(name="alike", labels=("only",)),
            Categorical(name="ward", labels=("a", "b", "c", "never")),
            Numeric(name="x", low=0, high=1),
            Numeric(name="empty", low=0, high=1),
            Numeric(name="y", low=0, high=50, decimals=0),
        )
    )
    rng = np.random.default_rng(1)

    def rows(n, labels):
        cells = np.column_stack(
            [np.zeros(n), rng.integers(0, labels, n), rng.random(n), np.full(n, NAN), rng.integers(0, 51, n)]
        )
        cells[rng.random(n) < 0.2, 1] = NAN
        cells[rng.random(n) < 0.2, 4] = NAN
        return cells

    tables = split(schema, rows(90, 4), rows(90, 4), rows(90, 3))
    found = ask(kind(representation=NEAR), tables)
    assert found.measure.low <= 0
    copied = ask(kind(representation=NEAR), replace(tables, synthetic=tables.train))
    assert copied.risk.value > found.risk.value + 0.3


@needs_torch
def test_one_training_serves_all_five(monkeypatch):
    trained, fit = [], Embedding.fit
    monkeypatch.setattr(
        Embedding, "fit", lambda self, table, *, rng: trained.append(len(table)) or fit(self, table, rng=rng)
    )
    train, control, release = (tabveil.datasets.hospital(60, seed=seed) for seed in (1, 2, 3))
    report = tabveil.audit(train, release, control, metrics="mmd", contrastive=NEAR, seed=4)
    assert trained in ([60], [60, 60])  # once more for planted people, if a risk would be within
    assert [item.metric for item in (*report.results, *report.skipped)] == ["mmd", *contrastive()]
    alone = ask_alone(train, control, release, InferenceContrastive(representation=NEAR))
    assert alone.risk == report["inference_contrastive"].risk, "who came first has no part in it"


def ask_alone(train, control, release, metric):
    return tabveil.audit(train, release, control, metrics=metric, seed=4)[metric.name]


@needs_torch
@every_one
def test_the_union_is_labeled(kind):
    assert UNION in ask(kind(representation=replace(NEAR, train_on="union")), fresh()).notes
    assert UNION not in ask(kind(representation=NEAR), fresh()).notes


# Linkability


def test_the_other_set_is_masked_in_both_tables():
    # By age and ward a person is the first synthetic row, whatever its other columns hold.
    schema = Schema(
        (
            Numeric(name="age", low=0, high=100, decimals=0),
            Categorical(name="ward", labels=("a", "b")),
            Numeric(name="days", low=0, high=100, decimals=0),
            Categorical(name="sex", labels=("f", "m")),
        )
    )
    people = [[10, 0, 90, 1], [50, 1, 20, 0]]
    swapped = [[10, 0, 20, 0], [50, 1, 90, 1]]
    pair = ((("age", "ward"), ("days", "sex")),)
    metric = LinkabilityContrastive(auxiliary=pair, n_neighbors=(1,), representation=HAND)
    linked = ask(metric, split(schema, people, swapped, people)).facts
    assert (linked["successes_train"], linked["successes_control"]) == (2, 0)


# Inference


def test_the_candidate_that_is_more_like_the_person_wins():
    both = Candidates(
        own=np.array([1.0, 2.0]),
        predicted=np.array([3.0, 2.0]),
        vectors=np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]),
        which=np.array([[0, 1], [2, 1]]),
    )
    people = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    assert both.better(people, np.array([0, 0, 1])).tolist() == [1.0, 3.0, 2.0]


def test_candidates_are_embedded_once_each_with_all_else_masked():
    schema = Schema((Categorical(name="ward", labels=("a", "b", "c")), Numeric(name="x", low=0, high=9)))
    rows = Table(schema=schema, values=np.array([[0.0, 5.0], [2.0, 6.0], [NAN, 7.0]]))
    asked = []

    class Seen:
        def see(self, table, known):
            asked.append((table.column("ward").tolist(), known))
            return Table(schema=schema, values=np.column_stack([table.column("ward"), np.ones(len(table))]))

    found = Candidates.of(Seen(), rows, "ward", rows.column("ward"), np.array([2.0, 2.0, 0.0]))
    ((cells, known),) = asked
    np.testing.assert_array_equal(cells, [0.0, 2.0, NAN])
    assert known == ("ward",)
    assert found.which.tolist() == [[0, 1, 2], [1, 1, 0]]


def test_a_model_predicts_for_synthetic_rows_and_stays_in_range():
    schema = Schema(
        (
            Numeric(name="x", low=0, high=10),
            Numeric(name="y", low=0, high=10),
            Categorical(name="ward", labels=("a", "b", "never")),
        )
    )
    x = np.linspace(0, 10, 60)
    rows = Table(schema=schema, values=np.column_stack([x, x, (x > 5).astype(float)]))
    guesses = predict(rows, schema["y"], ("ward", "x"))
    assert np.abs(guesses - x).max() < 1
    assert guesses.min() >= 0
    assert guesses.max() <= 10
    np.testing.assert_array_equal(predict(rows, schema["ward"], ("x", "y")), x > 5)


def test_both_ways_are_configurations_and_the_model_corrects_a_neighbor():
    # The ward follows from the age, but for one synthetic row, whose ward is wrong.
    schema = Schema(
        (Numeric(name="age", low=0, high=100, decimals=0), Categorical(name="ward", labels=("a", "b")))
    )
    ages = np.arange(2, 100, 2.0)
    rows = np.column_stack([ages, ages > 50])
    wrong = rows.copy()
    wrong[10, 1] = 1
    people = split(schema, rows[10:11], rows[12:13], wrong)

    @dataclass(frozen=True, kw_only=True)
    class ByAge:
        """Put age and ward on one line, so that they can be compared."""

        name: ClassVar[str] = "by_age"

        def view(self, split, *, rng, reference=None):
            def embed(table, masked):
                age, ward = table.column("age"), table.column("ward")
                angle = np.where(ward == 1, 1.5, 0.0) if "age" in masked else age / 66
                return np.column_stack([np.cos(angle), np.sin(angle)])

            return VectorView(embed=embed, schema=split.schema, n_dimensions=2)

    metric = InferenceContrastive(secrets=("ward",), representation=ByAge())
    looked = ask(
        replace(metric, representation=ByAge()),
        replace(people, train=Table(schema=schema, values=np.vstack([rows[10:11], rows[40:41]]))),
    )
    tried = {item.setting.label: item.facts["successes_train"] for item in looked.configurations}
    assert tried == {"ward": 1, "ward, or a model": 2}


def test_many_labels_have_no_model():
    tables = fresh()
    metric = InferenceContrastive(secrets=("region", "sex"), most_labels=2, representation=HAND)
    tried = {item.setting.label for item in ask(metric, tables).configurations}
    assert tried == {"region", "sex", "sex, or a model"}


def test_what_is_no_vector_cannot_be_compared():
    with pytest.raises(ParameterError, match="representation must place rows as vectors"):
        ask(InferenceContrastive(representation=Mixed()), fresh())


# Singling out


def test_bins_are_equally_wide_and_end_with_the_release():
    schema = Schema((Numeric(name="x", low=-50, high=150),))
    release = [[0.0], [9.0], [10.0], [55.0], [99.0], [100.0], [NAN]]
    tables = split(schema, [[-20.0], [4.0], [120.0]], [[91.0]], release)
    ranks = ValueRanks.of(tables.train, tables.control, tables.synthetic)
    form = bins(ranks.encode(tables.synthetic), 10)
    values = [-20, 0, 4, 9, 10, 55, 91, 99, 100, 120]  # codes 1 to 10, missing before
    low, high = form.low[: len(values) + 1], form.high[: len(values) + 1]
    found = {v: (values[a - 1], values[b - 1]) for v, a, b in zip(values, low[1:], high[1:], strict=True)}
    assert found[4] == found[0] == found[9] == (0, 9)
    assert found[10] == (10, 10)
    assert found[91] == found[99] == found[100] == (91, 100)
    assert found[-20] == (-20, -20)
    assert found[120] == (120, 120)
    assert (low[0], high[0]) == (0, 0)


@pytest.mark.parametrize("cells", [[7.0, 7.0], [NAN, NAN]])
def test_bins_of_a_constant_column_hold_its_value(cells):
    schema = Schema((Numeric(name="x", low=0, high=150),))
    tables = split(schema, [[3.0]], [[8.0]], np.array(cells)[:, None])
    ranks = ValueRanks.of(tables.train, tables.control, tables.synthetic)
    form = bins(ranks.encode(tables.synthetic), 5)
    held = ranks.encode(tables.synthetic).codes[0, 0]
    assert (form.low[held], form.high[held]) == (held, held)


def test_each_of_some_rows_is_described_once():
    schema = Schema(tuple(Numeric(name=name, low=0, high=9, decimals=0) for name in "abc"))
    table = Table(schema=schema, values=np.arange(30.0).reshape(10, 3) % 10)
    ranked = ValueRanks.of(table).encode(table)
    drawn = around_rows(ranked, bins(ranked, 10), 2, np.array([8, 3, 5]), rng=np.random.default_rng(0))
    found = match(drawn, ranked)
    assert (found.counts == 1).all()
    assert found.people[:, 0].tolist() == [8, 3, 5]


def test_only_outliers_are_described_the_most_outlying_first():
    schema = Schema((Numeric(name="x", low=0, high=100), Numeric(name="y", low=0, high=100)))
    crowd = np.column_stack([np.linspace(10, 11, 40), np.linspace(10, 11, 40)])
    release = np.vstack([crowd, [[90.0, 90.0]], [[30.0, 12.0]]])
    metric = SinglingOutContrastive(
        n_columns=(2,), contamination=1 / 21, n_neighbors=5, n_bins=10, representation=HAND
    )
    tables = split(schema, [[89.0, 88.0], [30.0, 12.0], [10.2, 10.2]], [[50.0, 50.0]] * 3, release)
    assert metric._unusual(tables, rng=np.random.default_rng(0)).tolist() == [40, 41]
    found = ask(metric, tables)
    assert found.facts["guesses"] == 2
    assert (found.facts["people_train"], found.facts["people_control"]) == (2, 0)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"contamination": 0}, "contamination must be above 0 and at most 1, got 0"),
        ({"n_bins": 0}, "n_bins must be >= 1"),
        ({"n_neighbors": 0}, "n_neighbors must be >= 1"),
        ({"n_columns": (0,)}, "number of columns must be >= 1"),
    ],
)
def test_wrong_parameters_are_refused(given, told):
    with pytest.raises(ParameterError, match=f"SinglingOutContrastive: {told}"):
        SinglingOutContrastive(**given)


# Membership


def test_scores_do_not_know_who_was_trained_on():
    tables = fresh((40, 40, 40))
    metric = MembershipContrastive(representation=HAND)
    people = Table(schema=tables.schema, values=np.concatenate([tables.train.values, tables.control.values]))
    turned = Split(train=tables.control, control=tables.train, synthetic=tables.synthetic)
    one, other = (
        metric._suspicion(found, people, rng=np.random.default_rng(0)) for found in (tables, turned)
    )
    assert list(one) == [
        *("both spaces, calibrated", "both spaces, difference", "contrastive, calibrated"),
        *("tolerant, calibrated", "contrastive, difference", "tolerant, difference"),
    ]
    for name, (score, rare) in one.items():
        np.testing.assert_array_equal(score, other[name][0])
        np.testing.assert_array_equal(rare, other[name][1])


def test_differences_and_ranks_by_hand():
    schema = Schema((Numeric(name="x", low=0, high=100, decimals=0),))
    tables = split(schema, [[10], [20], [50]], [[12], [90]], [[11], [60]])
    people = Table(schema=schema, values=np.concatenate([tables.train.values, tables.control.values]))
    found = MembershipContrastive(representation=HAND)._suspicion(
        tables, people, rng=np.random.default_rng(0)
    )
    # To the release 1, 9, 10, 1, 30; to other people 2, 8, 30, 2, 40.
    np.testing.assert_allclose(found["contrastive, difference"][0], [0.01, -0.01, 0.2, 0.01, 0.1])
    # The release has a deviation of 24.5, so 9.8 and more is different.
    small, large = (2**2 - 1**2) / 9.8**2, (8**2 - 9**2) / 9.8**2
    np.testing.assert_allclose(found["tolerant, difference"][0], [small, large, 0, small, 0], atol=1e-12)
    # Ranks 2.5, 1, 5, 2.5, 4 and 4.5, 1, 2.5, 4.5, 2.5.
    np.testing.assert_allclose(found["both spaces, difference"][0], [3.5, 1, 3.75, 3.5, 3.25])


@needs_torch
def test_it_is_exact_where_nothing_leaks():
    p_values = []
    for seed in range(12):
        tables = population("mixed", (60, 60, 60), seed=seed)
        metric = MembershipContrastive(representation=NEAR, n_permutations=99)
        p_values.append(metric(tables, rng=np.random.default_rng(seed)).p_value)
    assert sum(p <= 0.05 for p in p_values) <= 3  # more in 1 of 500 such tests
    assert np.mean(p_values) > 0.25
