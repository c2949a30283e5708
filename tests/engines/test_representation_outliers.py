"""Who stands apart: by hand, by planted truths, and without a value of anybody."""

import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from supplies.populations import SCHEMAS, rows
from supplies.strategies import schemas, tables

import tabveil
from tabveil.core.rng import stream
from tabveil.core.sampling import in_order
from tabveil.core.table import Numeric, Schema, Table
from tabveil.engines.embedding import Embedding
from tabveil.engines.neighbors import MeasuredColumn, Space, local_outlier_factors
from tabveil.engines.representation import Contrastive, Euclidean, Mixed, outlier_factors
from tabveil.errors import ParameterError
from tabveil.protocols import People
from tabveil.synthesis.risks import OutlierRemoval

SMALL = {"width": 32, "layers": 1, "dimension": 8, "epochs": 4, "batch_size": 128}
NUMBERS = Schema((Numeric(name="x", low=-1e4, high=1e4),))


def numbers(values):
    return Table(schema=NUMBERS, values=np.asarray(values, dtype=float)[:, None])


def planted(n=150):
    """Return people like each other, and one at position 40 who is like nobody."""
    values = rows("normal", n, np.random.default_rng(0))
    values[40] = 6, -6, 6, -6
    return Table(schema=SCHEMAS["normal"], values=values)


def mixed(table, **given):
    return tabveil.outliers(table, representation="mixed", **given)


def test_scores_by_hand():
    found = mixed(numbers([20, 21, 22, 23, 24, 90]), n_neighbors=2, share=0.2)
    assert found.scores.round(2).tolist() == [1.25, 1.25, 0.67, 1.25, 1.25, 44.33]
    assert found.order[0] == 5
    assert found.order[-1] == 2
    assert found.rows.tolist() == [5]  # a fifth of six is one and no more
    assert sorted(found.order.tolist()) == list(range(6))


@pytest.mark.parametrize(("share", "n"), [(0, 0), (0.29, 29), (0.001, 0), (1, 100)])
def test_never_more_rows_than_the_share_says(share, n):
    assert len(mixed(numbers(range(100)), share=share)) == n


def test_frames_paths_and_tables_of_ours_are_one(tmp_path):
    frame = tabveil.datasets.hospital(80, seed=1)
    frame.to_csv(tmp_path / "people.csv", index=False)
    ours = mixed(tabveil.tables.reading.load_table(frame).table)
    for source in (frame, str(tmp_path / "people.csv"), tmp_path / "people.csv"):
        np.testing.assert_allclose(mixed(source).scores, ours.scores)


@pytest.mark.parametrize(
    "near", [Mixed(), "mixed", Euclidean(), {"name": "euclidean", "encoding": "onehot"}], ids=str
)
def test_who_is_like_nobody_is_found(near):
    found = tabveil.outliers(planted(), representation=near, share=0.01)
    assert found.rows.tolist() == [40]
    assert found.scores[40] > 2


@pytest.mark.parametrize(
    "near", [{"name": "contrastive", **SMALL}, Contrastive(**SMALL)], ids=["name", "object"]
)
def test_by_an_embedding_factors_are_those_of_its_vectors(near):
    pytest.importorskip("torch")
    table = planted()
    found = tabveil.outliers(table, representation=near, seed=2)
    model = Embedding(**SMALL).fit(in_order(table).table, rng=stream(2, "outliers"))
    vectors = model.embed(table)
    axes = Schema(tuple(Numeric(name=f"{place}", low=-1, high=1) for place in range(8)))
    space = Space(
        matched=(),
        measured=tuple(MeasuredColumn(name=name, weight=1.0, decimals=None) for name in axes.names),
        power=2,
    )
    expected = local_outlier_factors(space, Table(schema=axes, values=vectors))
    np.testing.assert_allclose(found.scores, expected)


def test_the_default_is_an_embedding_of_the_table(monkeypatch):
    pytest.importorskip("torch")
    asked = []

    def view(self, split, *, rng, reference=None):
        asked.append((self, len(split.synthetic)))
        return Mixed().view(split, rng=rng)

    monkeypatch.setattr(Contrastive, "view", view)
    tabveil.outliers(planted())
    assert asked == [(Contrastive(), 150)]


def test_without_torch_the_extra_and_the_way_around_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ParameterError, match=r"pip install tabveil\[deep\]\. Or give another .* 'mixed'\.$"):
        tabveil.outliers(planted())
    assert mixed(planted(), share=0.01).rows.tolist() == [40]


def test_the_same_seed_gives_the_same_and_no_order_of_rows_has_a_part():
    pytest.importorskip("torch")
    near = {"name": "contrastive", **SMALL}
    table = planted()
    back = table.take(np.arange(150)[::-1])
    one, other = (tabveil.outliers(each, representation=near, seed=3) for each in (table, back))
    np.testing.assert_array_equal(one.scores, other.scores[::-1])
    np.testing.assert_array_equal(one.rows, 149 - other.rows)
    again = tabveil.outliers(table, representation=near, seed=4)
    assert not np.array_equal(one.scores, again.scores)


def test_who_is_removed_is_who_is_found():
    near, table = Euclidean(), planted(120)
    found = tabveil.outliers(table, representation=near, share=0.1)
    np.testing.assert_array_equal(
        found.scores, outlier_factors(table, near, n_neighbors=20, rng=np.random.default_rng(0))
    )
    parts = [table.take(part) for part in np.arange(120).reshape(3, 40)]
    people = People(**dict(zip(("train", "control", "release"), parts, strict=True)))
    split = OutlierRemoval(representation=near)(
        people, 0.1, lambda train, release: release, rng=np.random.default_rng(0)
    )
    left = np.concatenate([part.values for part in (split.train, split.control, split.synthetic)])
    np.testing.assert_array_equal(left, table.values[np.setdiff1d(np.arange(120), found.rows)])


def test_people_are_removed_by_an_embedding_too():
    pytest.importorskip("torch")
    near, table = Contrastive(**SMALL), planted(120)
    parts = [table.take(part) for part in np.arange(120).reshape(3, 40)]
    people = People(**dict(zip(("train", "control", "release"), parts, strict=True)))
    split = OutlierRemoval(representation=near)(
        people, 0.05, lambda train, release: release, rng=np.random.default_rng(0)
    )
    factors = outlier_factors(table, near, n_neighbors=20, rng=np.random.default_rng(0))
    left = np.concatenate([part.values for part in (split.train, split.control, split.synthetic)])
    np.testing.assert_array_equal(left, table.values[np.sort(np.argsort(-factors)[6:])])


def test_it_shows_counts_and_positions_and_no_value():
    frame = pd.DataFrame({"job": ["nurse"] * 60 + ["astronaut\x1b[2J"], "age": [*range(60), 187]})
    found = mixed(frame, share=0.1, n_neighbors=3)
    text = repr(found)
    assert text.startswith("6 of 61 rows stand apart (9.84%)")
    assert "3 neighbors, mixed: rows 60, " in text
    assert len(text.splitlines()) == 1
    assert "astronaut" not in text
    assert "187" not in text
    assert list(found.to_frame().columns) == ["row", "score"]
    assert found.to_frame()["row"].tolist() == found.rows.tolist()
    assert found.to_frame()["score"].is_monotonic_decreasing
    assert repr(mixed(numbers([1]))) == "0 of 1 rows stand apart."
    assert "…" in repr(mixed(numbers(range(40)), share=0.5))


def test_columns_that_name_people_are_told_and_can_be_left_out():
    frame = pd.DataFrame({"patient": [f"P{i:05}" for i in range(60)], "age": [*[30, 31] * 29, 31, 90]})
    with_names = mixed(frame)
    assert any("patient" in note and "drop_identifiers=True" in note for note in with_names.notes)
    without = mixed(frame, drop_identifiers=True)
    np.testing.assert_array_equal(without.scores, mixed(frame[["age"]]).scores)
    assert without.notes[-1] == "Left out as identifiers: patient."
    with pytest.raises(ParameterError, match="no columns are left"):
        mixed(frame[["patient"]], drop_identifiers=True)


@pytest.mark.parametrize("near", ["mixed", {"name": "contrastive", **SMALL}], ids=["mixed", "contrastive"])
@pytest.mark.parametrize("cells", [[3], [3, 3, 3], [1, np.nan, np.nan]])
def test_tables_with_little_in_them(near, cells):
    pytest.importorskip("torch")
    found = tabveil.outliers(numbers(cells), representation=near, share=1)
    assert np.isfinite(found.scores).all()
    assert len(found) == len(cells)


@given(data=st.data())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_table_has_an_order(data):
    table = data.draw(tables(data.draw(schemas())))
    found = mixed(table, share=0.3)
    expected = local_outlier_factors(Space.gower(table.schema), table)
    np.testing.assert_array_equal(found.scores, expected)
    assert (np.diff(found.scores[found.order]) <= 0).all()
    shuffle = np.random.default_rng(0).permutation(len(table))
    other = mixed(table.take(shuffle), share=0.3)
    assert table.take(found.rows).row_hash().tolist() == table.take(shuffle[other.rows]).row_hash().tolist()


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"share": 1.5}, "outliers: share must lie from 0 to 1, got 1.5"),
        ({"n_neighbors": 0}, "outliers: n_neighbors must be >= 1, got 0"),
        ({"representation": "mixd"}, "outliers: no representation 'mixd'. Did you mean 'mixed'?"),
        ({"representation": Mixed}, "outliers: representation must be"),
        ({"representation": 3}, "outliers: representation must be"),
        ({"representation": {"name": "mixed", "width": 3}}, "mixed: there are no settings, got 'width'"),
    ],
)
def test_wrong_parameters_are_refused(given, complaint):
    with pytest.raises(ParameterError) as refused:
        tabveil.outliers(numbers([1, 2]), **given)
    assert str(refused.value).startswith(complaint)


def test_a_table_without_rows_is_refused():
    with pytest.raises(ParameterError, match=r"^outliers: the table has no rows\.$"):
        mixed(numbers([]))
