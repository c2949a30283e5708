"""What every risk model that plants training rows promises, and the leaky one to the last row."""

import re
from dataclasses import FrozenInstanceError, dataclass, fields
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from supplies.populations import SCHEMAS, rows
from supplies.strategies import schemas, tables

from tabveil.core.sampling import count_share
from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.errors import ParameterError, SchemaError
from tabveil.synthesis.risks import RISKS, Leaky, Noisy

NUMBERS = Schema((Numeric(name="x", low=0, high=1e6, decimals=0),))
UNMOVED = {"leaky": Leaky(), "noisy": Noisy(sigma=0, lam=0, p=0)}
STRONG = {
    "leaky": Leaky(),
    "noisy": Noisy(sigma=2.0, lam=3.0, p=1.0),
    "absolute": Noisy(sigma=2.0, lam=3.0, p=0.5, reading="absolute", sigma_moves="every"),
    "multiplicative": Noisy(sigma=2.0, lam=0, p=0.5, reading="multiplicative", sigma_moves="fine"),
}

unmoved = pytest.mark.parametrize("risk", UNMOVED.values(), ids=UNMOVED)
strong = pytest.mark.parametrize("risk", STRONG.values(), ids=STRONG)
planting = pytest.mark.parametrize("kind", [Leaky, Noisy])


def numbered(start, n_rows):
    """People and released rows are numbers, all different: where a row comes from can be read off it."""
    return Table(schema=NUMBERS, values=np.arange(start, start + n_rows, dtype=float)[:, None])


def people(n_rows, *, seed, kind="mixed"):
    return Table(schema=SCHEMAS[kind], values=rows(kind, n_rows, np.random.default_rng(seed)))


def planted(risk, train, release, level, seed=0):
    return risk(train, release, level, rng=np.random.default_rng(seed))


def same(table, other):
    return np.array_equal(table.values, other.values, equal_nan=True)


# All of them


@planting
def test_every_model_is_described(kind):
    risk = kind()
    assert risk.levels == (0, 0.2, 0.4, 0.6, 0.8, 1)
    assert re.match(r"Plant [a-z ,:]+\.\n", kind.__doc__), "the first line says what is planted"
    for item in fields(risk):
        with pytest.raises(FrozenInstanceError):
            setattr(risk, item.name, None)


@planting
def test_nobody_leaks_at_level_zero(kind):
    train, release = people(30, seed=1), people(20, seed=2)
    assert same(planted(kind(), train, release, 0), release)


@unmoved
def test_everybody_comes_from_train_at_level_one(risk):
    made = planted(risk, numbered(0, 30), numbered(1000, 30), 1)
    assert sorted(made.values.ravel()) == list(range(30))


@unmoved
@pytest.mark.parametrize(
    ("level", "n_release", "expected"),
    [(0.25, 40, 10), (0.2, 9, 1), (0.29, 100, 29), (0.999, 10, 9), (0.5, 1, 0), (1, 1, 1), (0.9, 0, 0)],
)
def test_no_more_is_planted_than_the_level_says(risk, level, n_release, expected):
    made = planted(risk, numbered(0, 50), numbered(1000, n_release), level)
    assert len(made) == n_release
    assert (made.values < 50).sum() == expected == count_share(level, n_release)
    assert len(np.unique(made.values)) == n_release  # nobody twice
    stayed = (made.values >= 50).ravel()
    assert np.array_equal(made.values[stayed], numbered(1000, n_release).values[stayed])  # nor moved


@unmoved
def test_people_come_again_only_where_there_are_too_few(risk):
    made = planted(risk, numbered(0, 4), numbered(1000, 20), 0.5)
    who, times = np.unique(made.values[made.values < 4], return_counts=True)
    assert (who.tolist(), sorted(times)) == ([0, 1, 2, 3], [2, 2, 3, 3])


@unmoved
def test_every_row_and_every_place_is_as_likely(risk):
    rng = np.random.default_rng(3)
    made = np.array([risk(numbered(0, 5), numbered(1000, 4), 0.5, rng=rng).values for _ in range(4000)])
    hit = made[:, :, 0] < 5
    assert hit.mean(axis=0) == pytest.approx(0.5, abs=0.04)  # five standard errors
    assert [(made == person).sum() / 4000 for person in range(5)] == pytest.approx([0.4] * 5, abs=0.04)


@strong
def test_a_higher_level_plants_the_rows_of_a_lower_one_and_more(risk):
    train, release = people(50, seed=1), people(80, seed=2)
    few, many = (planted(risk, train, release, level, seed=5) for level in (0.1, 0.9))
    order = np.random.default_rng(5).permutation(80)
    for made, others in ((few, order[8:]), (many, order[72:])):
        assert np.array_equal(made.values[others], release.values[others], equal_nan=True)
    assert np.array_equal(few.values[order[:8]], many.values[order[:8]], equal_nan=True)
    assert not np.isin(few.row_hash()[order[:8]], release.row_hash()).any()


@strong
def test_the_seed_decides(risk):
    train, release = people(50, seed=1), people(40, seed=2)
    assert same(*(planted(risk, train, release, 0.5, seed=7) for _ in range(2)))
    assert not same(*(planted(risk, train, release, 0.5, seed=seed) for seed in (7, 8)))


@strong
def test_the_tables_given_stay_as_they_are(risk):
    given = [people(50, seed=1), people(40, seed=2)]
    before = [table.values.copy() for table in given]
    made = planted(risk, *given, 1)
    assert all(np.array_equal(a.values, b, equal_nan=True) for a, b in zip(given, before, strict=True))
    assert not any(np.shares_memory(made.values, table.values) for table in given)


@strong
@given(data=st.data(), level=st.floats(0, 1), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_table_keeps_its_schema(risk, data, level, seed):
    schema = data.draw(schemas())
    train, release = data.draw(tables(schema)), data.draw(tables(schema, min_rows=0))
    made = planted(risk, train, release, level, seed)
    assert (made.schema, len(made)) == (schema, len(release))
    for column in schema.columns:
        cells = made.column(column.name)
        known = cells[~np.isnan(cells)]
        match column:
            case Numeric():
                assert ((column.low <= known) & (known <= column.high)).all()
                assert column.decimals is None or np.array_equal(np.round(known, column.decimals), known)
            case Categorical():
                assert np.isin(known, np.arange(len(column.labels))).all()


@strong
def test_nobody_can_be_planted_from_an_empty_table(risk):
    with pytest.raises(ParameterError, match=r"^(Leaky|Noisy): train must have a row to plant, got none\.$"):
        planted(risk, numbered(0, 0), numbered(1000, 4), 0.5)
    assert same(planted(risk, numbered(0, 0), numbered(1000, 4), 0.2), numbered(1000, 4))  # less than a row


@planting
@pytest.mark.parametrize("level", [-0.01, 1.01, float("nan")])
def test_a_level_is_a_share(kind, level):
    with pytest.raises(ParameterError, match=f"^{kind.__name__}: level must lie from 0 to 1, got {level}"):
        planted(kind(), numbered(0, 4), numbered(1000, 4), level)


@planting
def test_both_tables_must_have_one_schema(kind):
    with pytest.raises(SchemaError, match=f"^{kind.__name__}: train and release must have the same schema"):
        planted(kind(), numbered(0, 4), people(4, seed=1), 0.5)


# The leaky one


def test_places_are_drawn_first_and_then_people():
    # The detection power of stored reports rests on this very order of draws.
    rng = np.random.default_rng(11)
    places, who = rng.permutation(6)[:3], rng.permutation(2)
    expected = np.arange(1000.0, 1006.0)
    expected[places] = [who[0], who[1], who[0]]
    made = planted(Leaky(), numbered(0, 2), numbered(1000, 6), 0.5, seed=11)
    assert made.values.ravel().tolist() == expected.tolist()


def test_leaked_rows_are_whole_rows():
    train, release = people(30, seed=1), people(40, seed=2)
    made = planted(Leaky(), train, release, 0.5)
    assert np.isin(made.row_hash(), train.row_hash()).sum() == 20
    assert np.isin(made.row_hash(), release.row_hash()).sum() == 20


# Your own


@dataclass(frozen=True, kw_only=True)
class Twins:
    """Plant two copies of the first person."""

    name: ClassVar[str] = "twins"
    levels: ClassVar[tuple[float, ...]] = (0.0, 1.0)

    def __call__(self, train, release, level, *, rng):
        values = release.values.copy()
        values[: 2 * int(level)] = train.values[0]
        return Table(schema=release.schema, values=values)


def test_a_model_of_your_own_joins():
    with RISKS.adding(Twins):
        risk = RISKS.find("benchmark", "twins")()
        made = planted(risk, numbered(7, 3), numbered(1000, 3), 1)
        assert made.values.ravel().tolist() == [7, 7, 1002]
    with pytest.raises(ParameterError, match="benchmark: no risk model 'twins'"):
        RISKS.find("benchmark", "twins")
