"""New keys are whole numbers that no real key is, however real ones are written."""

import numpy as np

from tabveil.core.linked import Link, Linkage
from tabveil.tables.linked.keys import Place
from tabveil.workflows.databases.fresh_keys import beginning, key_spaces, written


def test_keys_have_a_length_that_no_real_key_has():
    assert beginning([5, 10, 123], 7) == 1000
    assert beginning([1000, 2000], 7) == 1
    assert beginning(["0017", " 23 ", "4.0", "A9", None], 3) == 100
    assert beginning([123], 100) == 1000  # of two digits there are 90


def test_where_every_length_is_taken_keys_are_larger_than_all():
    every = [10**length for length in range(18)]
    first = beginning(every, 5)
    assert not {first + k for k in range(5)} & set(every)
    assert first > max(every)


def test_columns_that_hold_the_same_keys_stand_together():
    linkage = Linkage(
        person="clients",
        key="client",
        links=(
            Link(table="rights", key="client", through="clients", on="client", id="right"),
            Link(table="accounts", key="number", through="rights", on="account", id="number"),
            Link(table="orders", key="account", through="accounts", on="number"),
        ),
    )
    spaces = {frozenset(space) for space in key_spaces(linkage)}
    assert spaces == {
        frozenset({Place("clients", "client"), Place("rights", "client")}),
        frozenset({Place("rights", "account"), Place("accounts", "number"), Place("orders", "account")}),
        frozenset({Place("rights", "right")}),
    }


def test_none_stays_none():
    assert written(np.array([0, -1, 2]), 100).tolist() == [100, -1, 102]
