"""People are planted with all their rows: as many as the level says, in every table, behind noise or not."""

import numpy as np
import pytest

from tabveil.core.linked import Link, Linkage, LinkedRows, LinkedTables
from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.errors import ParameterError, SchemaError
from tabveil.synthesis.risks import LeakyPeople, Noisy, NoisyPeople

LINKAGE = Linkage(
    person="people",
    key="id",
    links=(Link(table="events", key="id", through="people", on="id", order="day"),),
)
OWN = Schema((Numeric(name="age", low=0, high=999, decimals=0),))
EVENTS = Schema(
    (Numeric(name="day", low=0, high=9999, decimals=0), Categorical(name="kind", labels=("a", "b", "c")))
)


def people(n, first=0, shared=False):
    """Each of n people has an age of their own, and three events with days of their own; none the last."""
    own = Table(schema=OWN, values=np.arange(first, first + n, dtype=float)[:, None])
    person = np.repeat(np.arange(n - 1), 3)
    cells = np.column_stack([3.0 * first + np.arange(3 * (n - 1)), np.arange(3 * (n - 1)) % 3])
    row = np.arange(len(person))
    if shared:  # the second person also has the events of the first
        person, row = np.append(person, [1, 1, 1]), np.append(row, [0, 1, 2])
    table = Table(schema=EVENTS, values=cells)
    events = LinkedRows.of(table, person, row, n, order="day")
    return LinkedTables(linkage=LINKAGE, own=own, linked={"events": events})


def rng():
    return np.random.default_rng(0)


def copies(release, train):
    return int(np.isin(release.person_hash(), train.person_hash()).sum())


@pytest.mark.parametrize("level", [0.0, 0.1, 0.5, 1.0])
def test_so_many_people_are_planted_with_all_their_rows(level):
    train, release = people(40), people(20, first=100)
    leak = LeakyPeople()(train, release, level, rng=rng())
    assert len(leak) == 20
    assert copies(leak, train) == 20 * level
    assert copies(leak, release) == 20 * (1 - level)


def test_a_higher_level_plants_the_people_of_a_lower_one_and_more():
    train, release = people(40), people(20, first=100)
    low, high = (
        set(LeakyPeople()(train, release, level, rng=rng()).person_hash().tolist()) for level in (0.2, 0.6)
    )
    planted = set(train.person_hash().tolist())
    assert low & planted < high & planted


def test_people_come_again_only_where_train_has_too_few():
    train, release = people(5), people(20, first=100)
    leak = LeakyPeople()(train, release, 1.0, rng=rng())
    assert sorted(np.unique(leak.own.column("age"), return_counts=True)[1]) == [4] * 5


def test_a_row_that_two_planted_people_share_stands_once():
    train, release = people(4, shared=True), people(4, first=100)
    leak = LeakyPeople()(train, release, 1.0, rng=rng())
    assert leak.linked["events"].n_shared == 3
    assert len(leak.linked["events"]) == len(train.linked["events"])


def test_own_rows_or_linked_rows_leak_alone():
    train, release = people(40), people(20, first=100)
    ages, sets = train.own.row_hash(), train.linked["events"].set_hash()[:-1]
    own = LeakyPeople(part="own")(train, release, 0.5, rng=rng())
    assert np.isin(own.own.row_hash(), ages).sum() == 10
    assert np.isin(own.linked["events"].set_hash(), sets).sum() == 0
    linked = LeakyPeople(part="linked")(train, release, 0.5, rng=rng())
    assert np.isin(linked.own.row_hash(), ages).sum() == 0
    assert np.isin(linked.linked["events"].set_hash(), sets).sum() in (9, 10)  # one has no events


def test_noise_moves_people_and_keeps_them_the_same_ones():
    train, release = people(40), people(20, first=100)
    noisy = NoisyPeople(noise=Noisy(lam=5.0, p=0.5))(train, release, 0.5, rng=rng())
    leaky = LeakyPeople()(train, release, 0.5, rng=rng())
    assert copies(noisy, train) < 5
    assert copies(noisy, release) == 10
    assert (noisy.linked["events"].sizes == leaky.linked["events"].sizes).all()
    events = noisy.linked["events"]
    days = events.table.column("day")[events.rows]
    assert (np.diff(days)[np.diff(events.whose) == 0] >= 0).all()  # in their order again
    still = NoisyPeople(noise=Noisy(sigma=0, lam=0, p=0))(train, release, 0.5, rng=rng())
    assert (still.person_hash() == leaky.person_hash()).all()


def test_what_cannot_be_planted_is_refused():
    with pytest.raises(ParameterError, match="part"):
        LeakyPeople(part="half")
    with pytest.raises(ParameterError, match="level"):
        LeakyPeople()(people(4), people(4), 1.5, rng=rng())
    other = people(4)
    other = LinkedTables(linkage=LINKAGE, own=other.own, linked={})
    with pytest.raises(SchemaError, match="same tables"):
        LeakyPeople()(people(4), other, 0.5, rng=rng())
