"""Outliers are removed before anything is learned, by one rule for all, so that nothing looks like a leak."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from supplies.populations import SCHEMAS, rows
from supplies.strategies import schemas, tables

from tabveil.core.settings.registry import describe
from tabveil.core.storage.plain import restore
from tabveil.core.table import Numeric, Schema, Split, Table
from tabveil.engines.representation import Euclidean, Mixed, VectorView
from tabveil.errors import ParameterError, SchemaError
from tabveil.metrics.attacks.membership import MembershipDistance
from tabveil.metrics.indicators.closest import DistanceToClosest
from tabveil.protocols import People
from tabveil.synthesis.risks import MODIFIERS, Leaky, OutlierRemoval

NUMBERS = Schema((Numeric(name="x", low=-1e4, high=1e4),))


def people(n_rows, *, seed, kind="mixed"):
    return Table(schema=SCHEMAS[kind], values=rows(kind, n_rows, np.random.default_rng(seed)))


def numbers(values):
    return Table(schema=NUMBERS, values=np.asarray(values, dtype=float)[:, None])


def thirds(n_rows, seed=0, kind="mixed"):
    everybody = people(3 * n_rows, seed=seed, kind=kind)
    parts = (everybody.take(part) for part in np.arange(3 * n_rows).reshape(3, n_rows))
    return People(**dict(zip(("train", "control", "release"), parts, strict=True)))


def released(train, release):
    """A perfect generator: people whom nobody learned from."""
    return release


def removed(given, level, *, make=released, seed=0, **settings):
    return OutlierRemoval(**settings)(given, level, make, rng=np.random.default_rng(seed))


def test_the_papers_levels():
    assert OutlierRemoval.levels == (0.01, 0.02, 0.05, 0.10)


def test_who_stands_apart_goes_from_each_table_before_anything_is_learned():
    crowd = np.random.default_rng(0).normal(size=(3, 100))
    tables = (numbers([*cells, lonely]) for cells, lonely in zip(crowd, (900, -900, 5000), strict=True))
    given = People(**dict(zip(("train", "control", "release"), tables, strict=True)))
    learned = []

    def make(train, release):
        learned.extend((train, release))
        return release

    split = removed(given, 0.01, make=make)  # 3 of 303
    assert split.train is learned[0]
    for table, cells in zip((split.train, split.control, learned[1]), crowd, strict=True):
        assert table.values.ravel().tolist() == cells.tolist()
    assert split.synthetic is learned[1]


def test_never_more_are_removed_than_the_level_says():
    for level, n_removed in ((0, 0), (0.001, 0), (0.05, 15), (0.29, 87), (0.5, 150)):
        split = removed(thirds(100), level)
        assert 300 - sum(map(len, (split.train, split.control, split.synthetic))) == n_removed


def test_equals_go_by_lot_not_by_the_table_they_stand_in():
    given = People(train=numbers([1] * 400), control=numbers([1] * 400), release=numbers([1] * 400))
    split = removed(given, 0.5)
    for table in (split.train, split.control, split.synthetic):
        assert len(table) == pytest.approx(200, abs=45)  # more than five standard errors


@pytest.mark.parametrize("kind", ["normal", "levels", "mixed"])
def test_where_nothing_leaks_nothing_seems_to(kind):
    risks = [_closest(removed(thirds(300, seed, kind), 0.1, seed=seed)) for seed in range(20)]
    assert np.mean(risks) == pytest.approx(0, abs=4 * np.std(risks) / np.sqrt(20))
    assert abs(np.mean(risks)) < 0.03


def test_a_control_that_kept_its_outliers_would_look_like_a_leak():
    by_one_rule, by_two = [], []
    for seed in range(15):
        given = thirds(300, seed, "normal")
        split = removed(given, 0.1, seed=seed)
        with_outliers = Split(train=split.train, control=given.control, synthetic=split.synthetic)
        for found, asked in ((by_one_rule, split), (by_two, with_outliers)):
            found.append(MembershipDistance()(asked, rng=np.random.default_rng(0)).risk.value)
    assert np.mean(by_one_rule) == pytest.approx(0, abs=4 * np.std(by_one_rule) / np.sqrt(15))
    assert np.mean(by_two) > np.mean(by_one_rule) + 0.05


def _closest(split):
    return DistanceToClosest()(split, rng=np.random.default_rng(0)).risk.value


def test_a_leak_stays_a_leak():
    def leak(train, release):
        return Leaky()(train, release, 0.5, rng=np.random.default_rng(1))

    split = removed(thirds(300), 0.1, make=leak)
    assert _closest(split) == pytest.approx(0.5, abs=0.05)


def test_any_representation_says_what_is_near():
    # By Gower's distance 500 of -1000 … 1000 is far. To one who sees the last digit alone, 3 is.
    class LastDigit:
        name = "last_digit"

        def view(self, split, *, rng):
            return VectorView(
                embed=lambda table, masked: table.values % 10, schema=split.schema, n_dimensions=1
            )

    cells = 10 * np.random.default_rng(0).integers(-90, 90, 60) + np.random.default_rng(1).random(60)
    given = People(train=numbers([*cells, 9500]), control=numbers([*cells, 3]), release=numbers(cells))
    plain, by_digit = (removed(given, 1 / 182, representation=each) for each in (Mixed(), LastDigit()))
    assert (len(plain.train), len(plain.control)) == (60, 61)
    assert (len(by_digit.train), len(by_digit.control)) == (61, 60)
    assert len(removed(thirds(100), 0.05, representation=Euclidean()).train) < 100


def test_no_order_of_the_rows_or_tables_changes_who_goes():
    given = thirds(100, kind="normal")
    turned = People(train=given.control, control=given.release, release=given.train)
    first, other = removed(given, 0.05), removed(turned, 0.05)
    assert np.array_equal(first.train.values, other.synthetic.values)
    assert np.array_equal(first.control.values, other.train.values)


@given(data=st.data(), level=st.floats(0, 0.9), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_tables_are_parted_or_refused_in_one_line(data, level, seed):
    schema = data.draw(schemas())
    given = People(
        train=data.draw(tables(schema)),
        control=data.draw(tables(schema, min_rows=0)),
        release=data.draw(tables(schema)),
    )
    try:
        split = removed(given, level, seed=seed)
    except ParameterError as error:
        assert str(error).startswith("OutlierRemoval: level must leave a row of ")  # noqa: PT017
        return
    for table, before in ((split.train, given.train), (split.control, given.control)):
        assert np.isin(table.row_hash(), before.row_hash()).all()


def test_one_person_each_stay_alone():
    given = People(train=numbers([1]), control=numbers([2]), release=numbers([9]))
    split = removed(given, 0.1)
    assert [len(table) for table in (split.train, split.control, split.synthetic)] == [1, 1, 1]


def test_nobody_left_to_learn_from_is_refused():
    given = People(train=numbers([900]), control=numbers(range(50)), release=numbers(range(50)))
    with pytest.raises(
        ParameterError, match=r"^OutlierRemoval: level must leave a row of train, got 0\.1\.$"
    ):
        removed(given, 0.1)


def test_tables_must_have_one_schema():
    given = People(train=numbers([1, 2]), control=people(3, seed=1), release=numbers([3]))
    with pytest.raises(
        SchemaError, match=r"^OutlierRemoval: train, control and release must have the same sch"
    ):
        removed(given, 0.1)


@pytest.mark.parametrize("level", [-0.1, 1, float("nan")])
def test_a_level_is_a_share(level):
    with pytest.raises(ParameterError, match=r"^OutlierRemoval: level must be at least 0 and below 1, got "):
        removed(thirds(5), level)


def test_wrong_parameters_are_refused_at_once():
    with pytest.raises(ParameterError, match=r"^OutlierRemoval: n_neighbors must be >= 1, got 0\.$"):
        OutlierRemoval(n_neighbors=0)
    with pytest.raises(ParameterError, match=r"^OutlierRemoval: representation must be one, such as"):
        OutlierRemoval(representation=Mixed)


def test_settings_come_back_from_a_file():
    risk = OutlierRemoval(n_neighbors=7)
    description = describe(risk)
    assert set(description["settings"]) == {"n_neighbors", "representation"}
    assert (
        restore("test", json.loads('{"name": "outlier_removal", "settings": {"n_neighbors": 7}}'), MODIFIERS)
        == risk
    )
