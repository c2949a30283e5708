"""Any metric made small, the tables that it reads, and what it answers."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from supplies.linked_people import databases, leaky
from supplies.populations import population
from supplies.words_of_people import names, split_of, texts
from tabveil.core.rng import stream
from tabveil.core.table import Split
from tabveil.engines.representation import Contrastive
from tabveil.errors import NotApplicable
from tabveil.metrics.registry import contrastive
from tabveil.tables.linked.summaries import people_tables

TINY = Contrastive(width=16, layers=1, dimension=8, epochs=2, batch_size=64)
on_tables = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def made(kind, **given):
    """Make a metric; one that trains an embedding trains a small one."""
    if kind.name in contrastive():
        pytest.importorskip("torch")
        given = {"representation": TINY, **given}
    return kind(**given)


def ask(metric, tables):
    return metric(tables, rng=stream(3, metric.name))


def answer(metric, tables):
    """Return the result, or the reason why there is none."""
    try:
        return ask(metric, tables)
    except NotApplicable as reason:
        return str(reason)


def as_text(found):
    return found if isinstance(found, str) else json.dumps(found.to_json(), allow_nan=False)


def tables(kind):
    if kind.name == "membership_views":
        return people_tables(leaky(databases(80), 20)).split
    if kind.reads_words:
        return words((90, 60, 80), leak=0.3, seed=4)
    return population("mixed", (90, 60, 80), leak=0.3, seed=4)


def words(sizes, *, leak=0.0, seed):
    """Tables of names and texts, of which a share of the release is that of training people."""
    rng = np.random.default_rng(seed)
    train, control, synthetic = (
        {"name": names(n, rng), "notes": texts(n, rng), "ward": rng.choice(["a", "b"], n).tolist()}
        for n in sizes
    )
    copied = round(leak * sizes[2])
    for column, own in train.items():
        synthetic[column][:copied] = own[:copied]
    return split_of(train, control, synthetic, notes="text")


def shuffled(tables, seed):
    """Return the tables with rows and columns in another order, and the order of each table's rows."""
    rng = np.random.default_rng(seed)
    names = [tables.schema.names[position] for position in rng.permutation(len(tables.schema))]
    orders = {role: rng.permutation(len(getattr(tables, role))) for role in ("train", "control", "synthetic")}
    moved = {role: getattr(tables, role).take(order).select(names) for role, order in orders.items()}
    return Split(**moved), orders


def assert_order_does_not_matter(metric):
    """Ask the same of the tables and of the same ones with rows and columns in another order."""
    asked = tables(type(metric))
    plain = ask(metric, asked)
    moved_tables, orders = shuffled(asked, seed=1)
    moved = ask(metric, moved_tables)
    assert as_text(plain) == as_text(moved)
    for before, after in zip(plain.sensitive_scores, moved.sensitive_scores, strict=True):
        original = orders[after.table][after.rows]
        assert dict(zip(original, after.values, strict=True)) == dict(
            zip(before.rows, before.values, strict=True)
        )
