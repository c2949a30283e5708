"""The pictures of a release: by hand, with known truths, and never about fewer than ten rows."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from supplies.populations import SCHEMAS, population, rows, split
from supplies.strategies import splits

import tabveil
from tabveil.core.people import LEAST_SHARED
from tabveil.core.table import Categorical, Numeric, Schema, Split, Table
from tabveil.datasets import hospital
from tabveil.engines.embedding import Embedding
from tabveil.engines.representation import VectorView
from tabveil.errors import NotApplicable
from tabveil.metrics.portrait import Cell, Map, Outlying, OutlyingCell, Portrait, _curve, _grid, draw
from tabveil.metrics.portrait.maps import MOST_LABELS, Projection, _outlying, count_rows

NAN = np.nan
on_tables = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
AGE = Schema((Numeric(name="age", low=0, high=100, decimals=0), Categorical(name="sex", labels=("f", "m"))))


def drawn(tables, seed=0):
    return draw(tables, rng=np.random.default_rng(seed))


def shuffled(tables, seed):
    rng = np.random.default_rng(seed)
    names = [tables.schema.names[position] for position in rng.permutation(len(tables.schema))]
    return Split(
        **{
            role: (table := getattr(tables, role)).take(rng.permutation(len(table))).select(names)
            for role in ("train", "control", "synthetic")
        }
    )


def at(distances, curve, distance):
    """Read a step curve: its height at the last grid point no farther than a distance."""
    position = np.searchsorted(distances.grid, distance, side="right") - 1
    return getattr(distances, curve)[position]


# Distances


def test_curves_by_hand():
    # 10 synthetic rows equal a train row, 10 differ by 10 years of 100, 20 by sex: distances 0, 0.05, 0.5
    synthetic = [[20, 0]] * 10 + [[30, 0]] * 10 + [[20, 1]] * 20
    control = [[20, NAN]] * 10 + [[60, 0]] * 10  # 0.5 and 0.2
    found = drawn(split(AGE, [[20, 0]], control, synthetic)).distances
    assert found.grid[0] == 0
    assert found.grid[-1] == 0.5
    assert len(found.grid) <= 100
    expected = {
        0: (0.25, 0),
        0.049: (0.25, 0),
        0.06: (0.5, 0),
        0.21: (0.5, 0.5),
        0.49: (0.5, 0.5),
        0.5: (1, 1),
    }
    for distance, heights in expected.items():
        assert (at(found, "synthetic", distance), at(found, "control", distance)) == heights
    assert (found.median_synthetic, found.median_control) == (0.275, 0.35)


def test_copies_are_at_distance_zero():
    tables = population("mixed", (200, 150, 200))
    copies = split(tables.schema, tables.train.values, tables.control.values, tables.train.values)
    found = drawn(copies).distances
    assert set(found.synthetic) == {1.0}
    assert found.median_synthetic == 0
    assert found.control[0] < 0.5 < found.control[-1] == 1


def test_all_rows_equal():
    same = [[1, 0]] * 20
    found = drawn(split(AGE, same, same, same)).distances
    assert set(found.synthetic) == set(found.control) == {1.0}
    assert found.grid[0] == 0 < found.grid[-1]


def test_fresh_rows_have_the_curve_of_control_rows_and_leaks_rise_above_it():
    fresh = drawn(population("normal", (800, 800, 800))).distances
    assert max(np.abs(np.subtract(fresh.synthetic, fresh.control))) < 0.08
    leaked = drawn(population("normal", (800, 800, 800), leak=0.25)).distances
    assert leaked.synthetic[0] == 0.25
    assert leaked.control[0] == 0


def test_a_step_waits_for_enough_rows():
    grid = np.array([0.0, 0.1, 0.2, 0.3, 0.4])
    distances = np.array([0.0] * 9 + [0.1] + [0.2] * 9 + [0.3] * 12 + [0.4] * 9)
    # nine copies wait for the tenth row; twelve would leave nine alone at the end
    assert _curve(distances, grid) == (0, 0.25, 0.25, 0.25, 1)


def test_the_last_point_counts_the_farthest_rows_without_telling_how_far():
    near, far = np.full(30, 0.1), np.linspace(0.6, 0.9, 9)
    both = np.sort(np.concatenate([near, far]))
    grid = _grid([both])
    assert grid[-1] == pytest.approx(0.1)
    assert _curve(both, grid)[-1] == 1


@pytest.mark.parametrize(
    ("high", "end"), [(0.1234, 0.13), (0.5, 0.5), (0.999, 1.0), (1.0, 1.0), (0, 0.001), (2e-7, 0.001)]
)
def test_the_grid_ends_at_a_round_number(high, end):
    grid = _grid([np.full(20, high)])
    assert grid[-1] == pytest.approx(end)
    assert grid[0] == 0
    assert (np.diff(grid) > 0).all()


@pytest.mark.parametrize("n_control", [0, 9])
def test_without_control_there_is_one_curve_and_a_note(n_control):
    found = drawn(population("mixed", (100, n_control, 100)))
    assert found.distances.control is None
    assert found.distances.median_control is None
    assert any("synthetic rows only" in note for note in found.notes)


def test_large_tables_are_sampled_and_it_is_said(monkeypatch):
    monkeypatch.setattr("tabveil.metrics.portrait.MOST_ROWS", 40)
    monkeypatch.setattr("tabveil.metrics.portrait.maps.MOST_ROWS", 60)
    tables = population("mixed", (100, 80, 120))
    found = drawn(tables)
    assert found == drawn(shuffled(tables, seed=2))  # whichever rows are drawn, it is not for their place
    assert found != drawn(tables, seed=1)
    assert "The distances are drawn for 40 of 120 synthetic rows." in found.notes
    assert "The distances are drawn for 40 of 80 control rows." in found.notes
    assert "The map is drawn from 60 of 180 real rows." in found.notes


# The map


def test_axes_of_numbers_by_hand():
    schema = Schema((Numeric(name="b", low=0, high=4), Numeric(name="a", low=0, high=2)))
    # standardized, a and b have correlation 0.8: variances 1.8 and 0.2 along the diagonals
    table = Table(schema=schema, values=np.array([[0, 0]] * 9 + [[4, 2]] * 9 + [[0, 2], [4, 0]], dtype=float))
    found = Projection.of(table)
    assert found.explained == (pytest.approx(0.9), pytest.approx(0.1))
    assert found.axes == pytest.approx(np.array([[1, 1], [1, -1]]) / np.sqrt(2))
    assert found.places(table)[[0, 9, 18]] == pytest.approx(np.array([[-1, 0], [1, 0], [0, 1]]) * np.sqrt(2))


def test_different_labels_lie_one_apart_and_missing_is_a_label():
    schema = Schema((Categorical(name="a", labels=("x", "y")), Categorical(name="b", labels=("x", "y"))))
    cells = [[0, 0], [0, NAN], [1, 0], [1, NAN]]
    table = Table(schema=schema, values=np.array(cells * 5, dtype=float))
    places = Projection.of(table).places(table)[:4]
    gaps = np.linalg.norm(places[:, None] - places[None], axis=2)
    assert gaps == pytest.approx(np.sqrt([[0, 1, 1, 2], [1, 0, 2, 1], [1, 2, 0, 1], [2, 1, 1, 0]]))


def test_thousands_of_labels_and_unseen_ones():
    schema = Schema(
        (Categorical(name="id", labels=tuple(map(str, range(10_000)))), Numeric(name="x", low=0, high=1))
    )
    rng = np.random.default_rng(0)
    real = Table(schema=schema, values=np.column_stack([rng.permutation(9000), rng.random(9000)]))
    found = Projection.of(real)
    assert len(found.center) == MOST_LABELS + 1
    unseen = Table(schema=schema, values=np.array([[9999, 0.5], [NAN, NAN]]))
    assert np.isfinite(found.places(unseen)).all()


def test_cells_by_hand():
    corners = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]])
    real = np.repeat(corners, [40, 30, 20, 10], axis=0)
    synthetic = np.repeat(corners, [9, 11, 0, 80], axis=0)
    assert count_rows((real, synthetic), 4, (0.6, 0.3)) == Map(
        columns=4,
        rows=4,
        cells=(
            Cell(x=0, y=0, real=0.4, synthetic=None),
            Cell(x=3, y=0, real=0.3, synthetic=0.11),
            Cell(x=0, y=3, real=0.2, synthetic=None),
            Cell(x=3, y=3, real=0.1, synthetic=0.8),
        ),
        explained=(0.6, 0.3),
        hidden_real=0.0,
        hidden_synthetic=0.09,
    )


def test_outliers_are_hidden_and_do_not_stretch_the_map():
    rng = np.random.default_rng(0)
    tables = [rows("normal", 2000, rng) for _ in range(3)]
    plain = drawn(split(SCHEMAS["normal"], *tables)).map
    tables[0][:5] = 6, 6, 6, 6
    found = drawn(split(SCHEMAS["normal"], *tables)).map
    assert found.hidden_real > 0
    assert len(found.cells) == pytest.approx(len(plain.cells), rel=0.1)


def test_a_moved_release_lies_elsewhere():
    rng = np.random.default_rng(0)
    train, control, synthetic = (rows("mixed", 2000, rng) for _ in range(3))

    def overlap(release):
        found = drawn(split(SCHEMAS["mixed"], train, control, release)).map
        return sum(min(cell.real or 0, cell.synthetic or 0) for cell in found.cells)

    moved = synthetic.copy()
    moved[:, 0] = np.minimum(moved[:, 0] + 40, 90)
    assert overlap(moved) < 0.6
    assert overlap(synthetic) > 0.8


@pytest.mark.parametrize(
    ("schema", "cells", "reason"),
    [
        (AGE.select(["age"]), [[n] for n in range(30)], "two columns"),
        (AGE, [[1, 0]] * 30, "fewer than two directions"),
        (AGE, [[NAN, NAN]] * 30, "fewer than two directions"),
        (AGE, [[n, 0] for n in range(30)], "fewer than two directions"),
        (AGE, [[1, 0]], "at least 10 real rows"),
        (AGE, [[n, n % 2] for n in range(9)], "at least 10 synthetic rows"),
    ],
)
def test_a_map_that_cannot_be_drawn_has_a_reason(schema, cells, reason):
    found = drawn(split(schema, cells, cells, cells))
    assert found.map is None
    assert any(note.startswith("The map is not drawn: ") and reason in note for note in found.notes)


def test_numbers_of_any_size():
    rng = np.random.default_rng(0)
    schema = Schema((Numeric(name="huge", low=-5e99, high=5e99), Numeric(name="tiny", low=0, high=1e-299)))

    def cells():
        return np.column_stack([rng.uniform(-5e99, 5e99, 200), rng.integers(0, 2, 200) * 1e-299])

    found = drawn(split(schema, cells(), cells(), cells()))
    assert found.map.cells
    assert found.map.explained == pytest.approx((0.5, 0.5), abs=0.1)
    assert found.distances is not None


# The learned space


class Turned:
    """Sees rows of two numbers as vectors: those numbers, and one that is always the same."""

    name = "turned"
    learns = True

    def view(self, split, *, rng, reference=None):
        def embed(table, masked):
            assert not masked, "the map shows all that is known"
            return np.column_stack([table.values, np.ones(len(table))])

        return VectorView(embed=embed, schema=split.schema, n_dimensions=3)


PLANE = Schema((Numeric(name="a", low=-1e3, high=1e3), Numeric(name="b", low=-1e3, high=1e3)))


def in_the_plane(n=400, seed=0, apart=0):
    """Return people around the origin, of whom synthetic ones have some in a corner far away."""
    rng = np.random.default_rng(seed)
    train, control, synthetic = (rng.normal(0, (40, 20), (n, 2)) for _ in range(3))
    synthetic[:apart] = rng.uniform((120, 60), (240, 120), (apart, 2))
    return split(PLANE, train, control, synthetic)


def learned(tables, seed=0):
    return draw(tables, rng=np.random.default_rng(seed), representation=Turned())


def test_vectors_are_drawn_as_they_are():
    tables = in_the_plane(2000)
    found = Projection(lambda table: table.values, tables.train)
    assert np.abs(found.axes) == pytest.approx(np.eye(2), abs=0.05)  # not standardized: a is the longer one
    assert found.explained == (pytest.approx(0.8, abs=0.02), pytest.approx(0.2, abs=0.02))


def test_the_other_pictures_are_those_of_an_audit_that_learns_nothing():
    tables = in_the_plane()
    with_it, without = learned(tables), drawn(tables)
    assert (with_it.distances, with_it.map) == (without.distances, without.map)
    assert without.learned is None
    assert with_it.learned.cells
    assert with_it.learned.explained == pytest.approx((0.8, 0.2), abs=0.05)


def test_rows_that_stand_apart_are_ringed_where_they_lie(monkeypatch):
    asked = []

    def factors(space, table, *, n_neighbors):
        asked.append((space.power, len(space.measured), len(table), n_neighbors))
        return table.values[:, 0]  # who has the largest a, which is the first direction of the map

    monkeypatch.setattr("tabveil.metrics.portrait.maps.local_outlier_factors", factors)
    found = learned(in_the_plane(1000)).learned.outlying
    assert asked == [(2, 3, 1000, 20)]  # synthetic rows alone, by the distance between vectors
    assert (found.share, found.n_neighbors, found.columns, found.rows) == (0.1, 20, 2, 2)
    assert [cell.x for cell in found.cells] == [1, 1]
    assert sum(cell.share for cell in found.cells) + found.hidden == pytest.approx(1)


def test_rings_by_hand():
    corners = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]])
    real = np.repeat(corners, 100, axis=0)
    factors = np.repeat([1.0, 2.0, 1.0, 3.0], [200, 15, 176, 9])
    places = np.repeat(corners[[0, 1, 2, 3]], [200, 15, 176, 9], axis=0)
    # forty of four hundred: nine, who are too few to be shown, fifteen, and the first sixteen of all others
    assert _outlying((real, places), factors) == Outlying(
        share=0.1,
        n_neighbors=20,
        columns=2,
        rows=2,
        cells=(OutlyingCell(x=0, y=0, share=0.4), OutlyingCell(x=1, y=0, share=0.375)),
        hidden=0.225,
    )
    assert _outlying((real, places[:90]), factors[:90]) is None  # nine


def test_the_learned_map_does_not_depend_on_the_order_of_rows_and_columns(monkeypatch):
    monkeypatch.setattr("tabveil.metrics.portrait.maps.MOST_ROWS_LEARNED", 300)
    tables = in_the_plane(apart=30)

    class Sorted(Turned):
        def view(self, split, *, rng, reference=None):
            def embed(table, masked):
                return table.select(["a", "b"]).values

            return VectorView(embed=embed, schema=split.schema, n_dimensions=2)

    def seen(given, seed=0):
        return draw(given, rng=np.random.default_rng(seed), representation=Sorted())

    assert seen(tables) == seen(shuffled(tables, seed=2))
    assert seen(tables) != seen(tables, seed=1)
    assert "The map of the learned space is drawn from 300 of 800 real rows." in seen(tables).notes


def test_a_learned_map_that_cannot_be_drawn_has_a_reason():
    class Absent(Turned):
        def view(self, split, *, rng, reference=None):
            raise NotApplicable("contrastive: needs PyTorch.")

    found = draw(in_the_plane(), rng=np.random.default_rng(0), representation=Absent())
    assert found.learned is None
    assert found.map is not None
    assert "The map of the learned space is not drawn: contrastive: needs PyTorch." in found.notes
    few = learned(in_the_plane(9))
    assert few.learned is None
    assert any("learned space is not drawn: that needs at least 10 synthetic" in note for note in few.notes)


def test_an_audit_draws_the_space_its_attacks_learned_without_learning_again(monkeypatch):
    pytest.importorskip("torch")
    trained, fit = [], Embedding.fit
    monkeypatch.setattr(
        Embedding, "fit", lambda self, table, *, rng: trained.append(1) or fit(self, table, rng=rng)
    )
    train, release, control = (hospital(150, seed=seed) for seed in (1, 2, 3))
    near = {"name": "contrastive", "width": 16, "layers": 1, "dimension": 4, "epochs": 2}
    attack = {"name": "membership_distance", "representation": near}
    report = tabveil.audit(train, release, control, metrics=["mmd", attack], portrait=True)
    assert len(trained) == 1
    assert report.portrait.learned.cells
    again = tabveil.Report.from_json(report.to_json())
    assert again.portrait == report.portrait
    assert tabveil.html_page(again) == tabveil.html_page(report)
    assert "Map of the learned space" in tabveil.html_page(again)
    plain = tabveil.audit(train, release, control, metrics=["mmd"], portrait=True)
    assert plain.portrait.learned is None
    assert plain.portrait.map == report.portrait.map


@pytest.mark.parametrize("apart", [0, 3, 12, 60])
def test_nobody_who_stands_apart_is_shown_alone(apart):
    found = learned(in_the_plane(apart=apart, seed=apart))
    hides_everybody(found, 800, 400, 400)
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert Portrait.from_json(data) == found
    data.pop("learned")  # as reports had it before there was such a map
    assert Portrait.from_json(data).learned is None


# Both


def hides_everybody(found, n_real, n_synthetic, n_control):
    """Check that every share of the pictures rests on at least ten rows."""
    for each in filter(None, (found.map, found.learned)):
        for cell in each.cells:
            for share, n in ((cell.real, n_real), (cell.synthetic, n_synthetic)):
                assert share is None or round(share * n) >= LEAST_SHARED
        for name in ("real", "synthetic"):
            shown = sum(getattr(cell, name) or 0 for cell in each.cells)
            assert shown + getattr(each, f"hidden_{name}") == pytest.approx(1, abs=1e-3)
        if each.outlying is not None:
            for cell in each.outlying.cells:
                assert round(cell.share * each.outlying.share * n_synthetic) >= LEAST_SHARED
    if found.distances is not None:
        for curve, n in ((found.distances.synthetic, n_synthetic), (found.distances.control, n_control)):
            if curve is not None:
                steps = np.diff(np.append(0, np.array(curve) * n)).round().astype(int)
                assert ((steps == 0) | (steps >= LEAST_SHARED)).all()
                assert curve[-1] == 1


@given(tables=splits(max_rows=120))
@on_tables
def test_any_tables_are_drawn_and_hide_everybody(tables):
    found = drawn(tables)
    hides_everybody(
        found, len(tables.train) + len(tables.control), len(tables.synthetic), len(tables.control)
    )
    assert drawn(shuffled(tables, seed=1)) == found
    assert (found.distances is None) == (len(tables.synthetic) < LEAST_SHARED)
    text = json.dumps(found.to_json(), allow_nan=False)
    assert Portrait.from_json(json.loads(text)) == found


@pytest.mark.parametrize("seed", range(10))
def test_outliers_are_never_alone(seed):
    rng = np.random.default_rng(seed)
    tables = population("mixed", (300, 200, 250), leak=0.2, seed=seed)
    values = tables.train.values.copy()
    values[: seed + 1, 0] = rng.integers(80, 91, seed + 1)
    outlying = split(tables.schema, values, tables.control.values, tables.synthetic.values)
    hides_everybody(drawn(outlying), 500, 250, 200)


def test_same_seed_same_picture_and_json_round_trip():
    tables = population("mixed", (900, 300, 500), leak=0.1)
    found = drawn(tables)
    assert found == drawn(tables)
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert Portrait.from_json(data) == found
    assert Portrait.from_json(data).to_json() == data
    assert found.seconds > 0


def test_without_pictures_json_round_trip():
    found = drawn(population("mixed", (5, 0, 5)))
    assert (found.distances, found.map) == (None, None)
    assert Portrait.from_json(found.to_json()) == found


def test_inputs_and_the_global_generator_stay_untouched():
    tables = population("mixed", (60, 50, 40))
    before = tables.train.values.copy()
    state = np.random.get_state()[1].copy()  # noqa: NPY002 - that it stays is the point
    drawn(tables)
    assert np.array_equal(state, np.random.get_state()[1])  # noqa: NPY002
    np.testing.assert_array_equal(tables.train.values, before)
