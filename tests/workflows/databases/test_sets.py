"""Rows of a set are drawn given the row they hang on, and the row before."""

import numpy as np

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.workflows.databases.sets import SetModel, least_leaf

KIND = Schema((Categorical(name="kind", labels=("a", "b")),))
EVENTS = Schema((Numeric(name="day", low=0, high=10_000, decimals=0), *KIND.columns))


def rng():
    return np.random.default_rng(0)


def learned(n=80, k=4, order="day"):
    """Each of n parents has a kind that all their rows have, and a row every ten days."""
    hub = np.repeat(np.arange(n), k)
    kind = np.arange(n) % 2
    cells = np.column_stack([100.0 + hub % 7 + 10.0 * (np.arange(n * k) % k), kind[hub]])
    known = Table(schema=Schema((Categorical(name="p: kind", labels=("a", "b")),)), values=kind[hub][:, None])
    model = SetModel.fit(
        Table(schema=EVENTS, values=cells), known, hub, order=order, sizes=np.full(n, k), rng=rng()
    )
    return model, known, hub


def test_rows_follow_their_parent_and_the_row_before():
    model, known, hub = learned()
    drawn = model.draw(known, hub, rng=rng())
    assert (drawn.column("kind") == known.column("p: kind")).mean() > 0.95
    gaps = np.diff(drawn.column("day"))[np.diff(hub) == 0]
    assert (gaps == 10).all()


def test_no_row_stands_after_the_last_times_of_the_data():
    model, known, _ = learned()
    longer = np.repeat(np.arange(20), 16)
    drawn = model.draw(known.take(longer), longer, rng=rng())
    assert drawn.column("day").max() <= model.latest <= 136
    assert (np.diff(drawn.column("day"))[np.diff(longer) == 0] >= 0).all()


def test_rows_without_an_order_are_drawn_at_once_and_none_from_nothing():
    model, known, hub = learned(order=None)
    assert model.following is None
    assert len(model.draw(known, hub, rng=rng())) == len(hub)
    assert len(model.draw(known.take(hub[:0]), hub[:0], rng=rng())) == 0
    empty = Table(schema=Schema(()), values=np.zeros((20, 0)))
    nothing = SetModel.fit(
        empty, known.take(np.arange(20)), np.arange(20), order=None, sizes=np.ones(20, int), rng=rng()
    )
    assert nothing.draw(known.take(np.arange(5)), np.arange(5), rng=rng()).values.shape == (5, 0)


def test_leaves_hold_about_twenty_people():
    assert least_leaf(np.array([0, 0])) == 20
    assert least_leaf(np.array([1, 3])) == 20 * 3  # a row is of somebody with 2.5 rows on average
