"""What an attack calls near is a parameter: the mixed distance, the Euclidean one, or any embedding."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from supplies.populations import population, split

from tabveil.core.result import Result
from tabveil.core.rng import stream
from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.engines.neighbors import Neighbors
from tabveil.engines.representation import REPRESENTATIONS, Euclidean, Mixed, Tolerant, VectorView
from tabveil.errors import ParameterError
from tabveil.metrics.attacks import (
    Inference,
    Linkability,
    MembershipCalibrated,
    MembershipDistance,
    MembershipRatio,
    NeighborVote,
)
from tabveil.tables.matrices.ordinal import unit

NAN = np.nan

ATTACKS = (
    Inference,
    Linkability,
    MembershipCalibrated,
    MembershipDistance,
    MembershipRatio,
    NeighborVote,
)


@dataclass(frozen=True, kw_only=True)
class Stretched:
    """An embedding made by hand: numbers on their range, categories one-hot, masked columns zero."""

    name: ClassVar[str] = "stretched"

    factor: float = 2.0

    def view(self, split, *, rng, reference=None):
        widths = [len(c.labels) if isinstance(c, Categorical) else 1 for c in split.schema.columns]
        return VectorView(embed=self.embed, schema=split.schema, n_dimensions=sum(widths))

    def embed(self, table, masked):
        cells, parts = unit(table), []
        for position, column in enumerate(table.schema.columns):
            known = column.name not in masked
            if isinstance(column, Categorical):
                parts.append((cells[:, [position]] == np.arange(len(column.labels))) * np.sqrt(0.5) * known)
            else:
                parts.append(np.nan_to_num(cells[:, [position]], nan=-1) * known)
        return self.factor * np.hstack(parts)


every_attack = pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
every_kind = pytest.mark.parametrize(
    "kind", [Mixed, Euclidean, Tolerant, Stretched], ids=lambda kind: kind.name
)


def ask(metric, tables):
    return metric(tables, rng=stream(3, metric.name))


def tables():
    return population("mixed", (120, 120, 120), seed=5)


@every_attack
@every_kind
def test_a_copy_is_riskier_than_fresh_rows(attack, kind):
    fresh = tables()
    copy = split(fresh.schema, fresh.train.values, fresh.control.values, fresh.train.values)
    metric = attack(representation=kind())
    low, high = ask(metric, fresh).risk, ask(metric, copy).risk
    assert high.low > 0
    assert high.value > low.value + 0.5
    assert low.low <= 0


@every_attack
def test_what_is_meant_if_nothing_is_said(attack):
    meant = Tolerant() if attack is MembershipCalibrated else Mixed()
    asked, given = ask(attack(), tables()), ask(attack(representation=meant), tables())
    assert asked.to_json() == given.to_json()


@every_attack
def test_the_representation_decides_what_is_found(attack):
    mixed, other = ask(attack(), tables()), ask(attack(representation=Euclidean()), tables())
    assert mixed.to_json()["details"] != other.to_json()["details"]


@every_attack
@pytest.mark.parametrize("given", ["mixed", None, Mixed])
def test_something_else_is_refused(attack, given):
    with pytest.raises(ParameterError, match=f"{attack.__name__}: representation must be one"):
        attack(representation=given)


def test_vectors_are_compared_by_the_engine_as_by_hand():
    rows = tables()
    view = Stretched().view(rows, rng=np.random.default_rng(0))
    known = rows.schema.names[:3]
    seen = [view.see(table, known) for table in (rows.train, rows.control)]
    found = Neighbors(view.space(known), seen[0]).nearest(seen[1], 2)
    distances = np.linalg.norm(seen[1].values[:, None] - seen[0].values[None], axis=2)
    np.testing.assert_allclose(found.distance, np.sort(distances, axis=1)[:, :2], atol=1e-9)


def test_what_is_not_known_has_no_part():
    rows = tables()
    view = Stretched().view(rows, rng=np.random.default_rng(0))
    known = rows.schema.names[:2]
    changed = rows.train.values.copy()
    changed[:, 2:] = 0
    other = split(rows.schema, changed, rows.control.values, rows.synthetic.values).train
    np.testing.assert_array_equal(view.see(rows.train, known).values, view.see(other, known).values)


@pytest.mark.parametrize(
    "vectors", [np.zeros((3, 2)), np.zeros(3), np.full((120, 2), np.nan)], ids=["few", "flat", "nan"]
)
def test_an_embedding_that_returns_something_else_is_told(vectors):
    rows = tables()
    view = VectorView(embed=lambda table, masked: vectors, schema=rows.schema, n_dimensions=2)
    with pytest.raises(ParameterError, match=r"must return finite vectors of shape \(120, 2\)"):
        view.see(rows.train, rows.schema.names)


def test_representations_have_names():
    assert list(REPRESENTATIONS) == ["mixed", "euclidean", "tolerant", "contrastive"]
    with pytest.raises(ParameterError, match="encoding must be one of"):
        Euclidean(encoding="binary")


def test_columns_that_differ_by_hand():
    schema = Schema((Numeric(name="x", low=0, high=100), Categorical(name="c", labels=("a", "b"))))
    rows = split(schema, [[50, 0], [NAN, 0]], [], [[40, 0], [60, 1]])  # a standard deviation of 10
    asked = np.array([[50, 0], [52, 0], [50, 1], [99, 1], [NAN, 0]])
    view = Tolerant(tolerance=0.4).view(rows, rng=np.random.default_rng(0))
    people = Table(schema=schema, values=asked)
    found = Neighbors(view.space(schema.names), rows.train.take([0])).nearest(people).distance[:, 0]
    np.testing.assert_allclose(found, [0, 0.5 * (2 / 4) ** 2, 0.5, 1, 0.5])
    found = Neighbors(view.space(schema.names), rows.train.take([1])).nearest(people).distance[:, 0]
    np.testing.assert_allclose(found, [0.5, 0.5, 1, 1, 0])
    with pytest.raises(ParameterError, match="tolerance"):
        Tolerant(tolerance=0)


def test_where_the_release_does_not_vary_a_range_is_the_scale():
    schema = Schema((Numeric(name="x", low=0, high=10),))
    rows = split(schema, [[5]], [], [[5], [5]])
    view = Tolerant(tolerance=0.4).view(rows, rng=np.random.default_rng(0))
    people = Table(schema=schema, values=np.array([[5.0], [7.0], [10.0]]))
    found = Neighbors(view.space(schema.names), rows.train).nearest(people).distance[:, 0]
    np.testing.assert_allclose(found, [0, 0.25, 1])


def test_a_result_says_which_representation_it_was():
    found = ask(MembershipDistance(representation=Euclidean(encoding="ordinal")), tables())
    stored = Result.from_json(found.to_json()).params["representation"]
    assert stored == {"name": "euclidean", "settings": {"encoding": "ordinal"}}
