"""Hubs: which rows lead to the same rows of the next table, learned and drawn."""

import numpy as np

from tabveil.core.linked import Link, Linkage
from tabveil.core.table import Categorical, Schema, Table
from tabveil.workflows.databases.structure import Counted, Hubs, joint_of

LINKAGE = Linkage(
    person="clients",
    key="client",
    links=(
        Link(table="rights", key="client", through="clients", on="client"),
        Link(table="orders", key="account", through="rights", on="account"),
    ),
)
RIGHTS = Schema((Categorical(name="kind", labels=("owner", "user")),))


def joint(account, kind=None, client=None):
    n = len(account)
    rows = Table(schema=RIGHTS, values=np.zeros((n, 1)) if kind is None else np.array(kind, float)[:, None])
    client = np.arange(n) if client is None else np.array(client)
    keys = {"account": np.array(account), "client": client}
    return joint_of(LINKAGE, "rights", "account", keys=keys, rows=rows, whose=client)


def drawn(found, codes, whose=None):
    n = len(codes)
    rows = Table(schema=Schema((found.column,)), values=np.array(codes, float)[:, None])
    whose = np.arange(n) if whose is None else np.array(whose)
    return found.drawn(rows, np.arange(n), whose, rng=np.random.default_rng(0))


def test_rows_with_keys_of_their_own_are_hubs_of_their_own():
    assert joint([4, 2, 3]).kind == "own"


def test_shared_keys_are_learned_by_what_the_rows_hold():
    pairs = np.repeat(np.arange(12), 2)
    found = joint([*pairs, *range(12, 24)], kind=[1, 0] * 12 + [0] * 12)
    assert (found.kind, found.within) == ("shared", False)
    assert found.labels == ("1 of 1", "1 of 2", "2 of 2")
    told = [found.labels[int(code)] for code in found.codes]
    assert told == ["2 of 2", "1 of 2"] * 12 + ["1 of 1"] * 12  # owners first, users after them


def test_what_few_rows_share_is_not_drawn_as_shared():
    found = joint([0, 0, *range(1, 30)])
    assert found.labels == ("1 of 1",)


def test_rows_meet_by_chance_and_who_finds_nobody_stays_alone():
    found = joint([*np.repeat(np.arange(12), 2), *range(12, 24)])
    one, first, second = (found.labels.index(label) for label in ("1 of 1", "1 of 2", "2 of 2"))
    hubs = drawn(found, [one, first, second, first, second, first])
    assert sorted(hubs.sizes.tolist()) == [1, 1, 2, 2]
    assert len(np.unique(hubs.of_row)) == 4


def test_rows_of_one_person_meet_each_other():
    client = np.repeat(np.arange(15), 2)
    found = joint(client, client=client)
    assert found.within
    first, second = found.labels.index("1 of 2"), found.labels.index("2 of 2")
    hubs = drawn(found, [first, second] * 5, whose=np.repeat(np.arange(5), 2))
    assert hubs.of_row.tolist() == np.repeat(np.arange(5), 2).tolist()


def test_rows_that_lead_nowhere_have_no_hub():
    found = joint([-1] * 12 + list(range(20)))
    nowhere, alone = found.labels.index("none"), found.labels.index("1 of 1")
    assert drawn(found, [nowhere, alone, nowhere]).of_row.tolist() == [-1, 0, -1]


def test_counts_are_of_hubs_and_zero_for_rows_that_lead_nowhere():
    hubs = Hubs.of(np.array([5, 5, -1, 9]), np.array([1, 0, 0, 0]))
    assert hubs.first.tolist() == [1, 3]
    counted = Counted.of("orders", hubs, np.array([0, 0, 0, 1]))
    assert counted.counts.tolist() == [3, 3, 0, 1]
    assert counted.always is None
    assert Counted.of("orders", Hubs.of(np.arange(3), np.zeros(3)), np.arange(3)).always == 1
