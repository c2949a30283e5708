import math
import time

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import gaussian_kde
from supplies.configurations import by_name
from supplies.populations import adult_thirds, patients, population, risks, split

from tabveil.core.rng import stream
from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.attacks.domias.density_kernels import exponential
from tabveil.metrics.attacks.domias.density_ratios import (
    OUTLYING_MEMBERS,
    DomiasKde,
    Kernel,
    count_varying,
    gaussian_log_density,
    log_density,
    set_aside,
)
from tabveil.tables.matrices.points import Coordinates, Points

NAN = np.nan
AGE = Numeric(name="age", low=0, high=100, decimals=0)
SEX = Categorical(name="sex", labels=("f", "m"))
SCHEMA = Schema((SEX, AGE))


def ask(tables, **settings):
    return DomiasKde(**settings)(tables, rng=stream(0, "domias_kde"))


# Densities ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 3, 4, 8, 11])
@pytest.mark.parametrize("n_rows", [20, 33, 1000])
def test_equal_to_scipy(d, n_rows):
    rng = np.random.default_rng(d)
    mix = rng.normal(size=(d, d))
    rows, queries = rng.normal(size=(n_rows, d)) @ mix, 3 * rng.normal(size=(130, d)) @ mix
    peer = gaussian_kde(rows.T)
    found = gaussian_log_density(queries, rows, peer.covariance)
    np.testing.assert_allclose(found, peer.logpdf(queries.T), rtol=1e-11, atol=1e-9)


def test_cheaper_than_scipy():
    rng = np.random.default_rng(0)
    rows, queries = rng.normal(size=(8000, 8)), rng.normal(size=(1500, 8))
    peer = gaussian_kde(rows.T)
    gaussian_log_density(queries[:64], rows[:64], peer.covariance)  # compiled

    def seconds(function):
        start = time.process_time()
        function()
        return time.process_time() - start

    ours = min(seconds(lambda: gaussian_log_density(queries, rows, peer.covariance)) for _ in range(3))
    assert seconds(lambda: peer.logpdf(queries.T)) > 5 * ours


def test_densities_far_from_everything_are_told_in_logs():
    rows, queries = np.zeros((3, 2)), np.array([[1000.0, 0.0], [2000.0, 0.0]])
    found = gaussian_log_density(queries, rows, np.eye(2))
    np.testing.assert_allclose(found, -(np.array([1000.0, 2000.0]) ** 2) / 2 - math.log(2 * math.pi))


def test_the_exponential():
    z = -np.concatenate([np.linspace(0, 1, 1001), np.linspace(1, 699, 5001)])
    np.testing.assert_allclose([exponential(value) for value in z], np.exp(z), rtol=2e-14)
    assert exponential(-1e9) < 1e-300


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("most", [math.inf, 0.02])
@pytest.mark.parametrize("shape", [(0, 3), (5, 0), (6, 4)])
def test_mixed_sums_by_brute_force(shape, most, missing):
    d, c = shape
    rng = np.random.default_rng(d)
    sides = []
    for n in (70, 200):
        places = rng.random((n, d))
        places[rng.random((n, d)) < missing] = NAN
        sides.append(Points(places=places, codes=rng.integers(0, 3, (n, c)).astype(np.int32)))
    kernels = Kernel(slope=9.0, cost=1.5, most=most), Kernel(slope=4000.0, cost=5.0, most=most)
    queries, rows = sides
    gaps = np.nansum(np.minimum((queries.places[:, None] - rows.places[None]) ** 2, most), axis=2)
    mismatches = (queries.codes[:, None] != rows.codes[None]).sum(axis=2)
    found = log_density(queries, rows, kernels, 0 if missing else d)
    for kernel, sums in zip(kernels, found, strict=True):
        expected = logsumexp(-kernel.slope * gaps - kernel.cost * mismatches, axis=1) - math.log(200)
        np.testing.assert_allclose(sums, expected, rtol=1e-12, atol=1e-10)


def test_bandwidths_by_hand():
    scott = Kernel.rule("scott", 1000, 6)
    assert scott.cost == pytest.approx(0.5 * 1000 ** (2 / 10))
    assert scott.slope == pytest.approx(12 * scott.cost)
    assert Kernel.rule("silverman", 1000, 6).cost == pytest.approx(0.5 * 2000 ** (2 / 10))
    copy = Kernel.copy(0.01)
    assert copy.slope == pytest.approx(5000)
    assert math.exp(copy.cost) == pytest.approx(99)
    assert copy.slope * copy.most == pytest.approx(copy.cost)  # another number costs what another label does


# Coordinates ----------------------------------------------------------------------------------------------


def test_deviations_by_hand():
    schema = Schema((AGE, Numeric(name="year", low=7, high=7), Numeric(name="x", low=0, high=8)))
    release = Table(schema=schema, values=np.array([[40.0, 7, 4], [60.0, 7, 4]]))
    straight = Coordinates.of(release).by_deviation(release)
    asked = Table(schema=schema, values=np.array([[0.0, 7, 0], [10.0, 7, 8], [25.0, 7, 4]]))
    found = straight.points(asked).places * math.sqrt(12)
    expected = {"age": [0, 1, 2.5], "x": [0, 1, 0.5], "year": [0, 0, 0]}  # deviations of 10, none, none
    np.testing.assert_allclose(found, np.column_stack([expected[name] for name in straight.complete]))


def test_a_leak_behind_noise_is_seen():
    rng, seen = np.random.default_rng(1), 0
    for seed in range(10):
        fresh = population("mixed", (600, 600, 600), seed=seed)
        people, release = fresh.train.values[:60], fresh.synthetic.values.copy()
        moved = people + rng.normal(0, [1, 0, 0.06, 0, 0], people.shape)
        moved[:, 0] = np.clip(np.round(moved[:, 0]), 0, 90)
        release[:60] = np.clip(moved, [0, 0, -6, 0, 0], [90, 7, 9, 1, 10])
        seen += ask(split(fresh.schema, fresh.train.values, fresh.control.values, release)).risk.low > 0
    assert seen >= 6


def test_constant_columns_do_not_count():
    constant = (Numeric(name="year", low=7, high=7), Categorical(name="land", labels=("de",)))
    assert count_varying(Schema((*constant, SEX, AGE))) == 2
    tables = population("mixed", (200, 200, 200), leak=0.3, seed=1)
    wider = Schema((*tables.schema.columns, *constant))
    columns = np.tile([7.0, 0.0], (200, 1))
    sides = [np.hstack([side.values, columns]) for side in (tables.train, tables.control, tables.synthetic)]
    # The draws hang on the rows' hashes, so compare what the densities say of the same rows.
    plain, wide = (
        Coordinates.of(table) for table in (tables.synthetic, Table(schema=wider, values=sides[2]))
    )
    kernels = (Kernel.copy(0.01),)
    expected = log_density(plain.points(tables.train), plain.points(tables.synthetic), kernels, 2)
    found = log_density(
        wide.points(Table(schema=wider, values=sides[0])),
        wide.points(Table(schema=wider, values=sides[2])),
        kernels,
        2,
    )
    np.testing.assert_allclose(found, expected)


# The attack -----------------------------------------------------------------------------------------------


def test_a_copied_outlier_stands_out():
    fresh = population("normal", (300, 300, 300), seed=3)
    train, synthetic = fresh.train.values.copy(), fresh.synthetic.values.copy()
    train[7] = synthetic[7] = [5, -5, 5, -5]
    found = ask(split(fresh.schema, train, fresh.control.values, synthetic), n_attacks=None)
    scores = {item.table: dict(zip(item.rows, item.values, strict=True)) for item in found.sensitive_scores}
    assert max(scores["train"], key=scores["train"].get) == 7
    assert scores["train"][7] > max(scores["control"].values()) + 1


def test_the_reference_is_not_tested():
    tables = population("mixed", (100, 80, 100), seed=4)
    found = ask(tables, n_attacks=None)
    assert found.details["n_reference"] == 20
    assert [len(item.rows) for item in found.sensitive_scores] == [100, 60]
    assert [len(item.rows) for item in ask(tables).sensitive_scores] == [100, 60]
    reference, (_, control) = set_aside(tables, 0.25, None, rng=np.random.default_rng(0))
    together = np.concatenate([reference.row_hash(), control.table.row_hash()])
    np.testing.assert_array_equal(np.sort(together), np.sort(tables.control.row_hash()))
    np.testing.assert_array_equal(control.table.values, tables.control.values[control.rows])


def test_a_copy_is_seen():
    fresh = population("mixed", (600, 600, 600), seed=5)
    copy = split(fresh.schema, fresh.train.values, fresh.control.values, fresh.train.values)
    found = ask(copy)
    assert found.risk.value > 0.85
    smooth = by_name(found)["smooth densities, 2·AUC − 1"]["risk"]
    assert 0 < smooth.low < smooth.value < found.curve.area.value * 2 - 1


@pytest.mark.parametrize("kind", ["normal", "levels", "mixed"])
def test_fresh_rows_cover_zero(kind):
    for sizes in ((250, 250, 250), (450, 150, 250)):
        found = risks(DomiasKde(), kind, sizes, seeds=40)
        assert np.mean((found[:, 1] <= 0) & (found[:, 2] >= 0)) >= 0.9
    outliers = risks(DomiasKde(tested="outliers", outlier_share=0.3), kind, (250, 250, 250), seeds=30)
    assert np.mean((outliers[:, 1] <= 0) & (outliers[:, 2] >= 0)) >= 0.9


def test_a_leak_is_found():
    found = risks(DomiasKde(), "mixed", (400, 400, 400), leak=0.1, seeds=20)
    assert np.mean(found[:, 1] > 0) >= 0.9


def test_variants():
    tables = population("mixed", (300, 400, 300), leak=0.2, seed=6)
    outliers = ask(tables, tested="outliers")
    assert outliers.details["n_tested"] == {"train": 30, "control": 30}
    papers = ask(tables, tested="outlying_members")
    assert OUTLYING_MEMBERS in papers.notes
    of_train = [
        item.rows.tolist()
        for item in (*outliers.sensitive_scores, *papers.sensitive_scores)
        if item.table == "train"
    ]
    assert of_train[0] == of_train[1]
    assert ask(tables, bandwidth="silverman").risk.low > 0


def test_a_leak_of_one_in_a_hundred_on_adult():
    schema, (train, control, release) = adult_thirds()
    leaky = np.concatenate([train[:40], release[40:4000]])
    risk = ask(split(schema, train[:4000], control[:4000], leaky)).risk
    assert risk.low > 0
    risk = ask(split(schema, train[:4000], control[:4000], release[:4000])).risk
    assert risk.low < 0 < risk.high


def test_what_is_refused():
    with pytest.raises(NotApplicable, match="at least 2 control rows"):
        ask(split(SCHEMA, [[0, 1]], [[0, 1]], [[0, 1]]))
    for settings in (
        {"n_attacks": 0},
        {"copy_noise": 0.5},
        {"bandwidth": "wide"},
        {"tested": "all"},
        {"outlier_share": 1},
        {"reference_share": 0},
    ):
        with pytest.raises(ParameterError, match=next(iter(settings))):
            DomiasKde(**settings)


@pytest.mark.parametrize("tested", ["outliers", "outlying_members"])
def test_outlying_people_are_tested_with_all_of_their_rows(tested):
    tables = patients((60, 80, 60), seed=1, most=6)
    result = ask(tables, tested=tested, outlier_share=0.2)
    assert result.details["n_tested"] == {"train": 12, "control": 12}  # a fifth; a quarter is set aside
    for side, scored in zip((tables.train, tables.control), result.sensitive_scores, strict=True):
        whose = np.isin(side.people, side.people[scored.rows])
        assert sorted(scored.rows) == np.flatnonzero(whose).tolist()
        assert len(scored.rows) > 12


def test_the_sample_is_of_people():
    tables = patients((5, 20, 5), seed=2)
    reference, (_, tested) = set_aside(tables, 0.25, None, rng=np.random.default_rng(0))
    assert reference.n_people == 5
    assert not set(reference.people) & set(tested.table.people)
    assert len(reference) + len(tested) == len(tables.control)
