"""A number that few rows share never comes out of a generator as it went in, nor does the largest of all."""

import numpy as np
import pytest

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.synthesis.generators import GENERATORS
from tabveil.synthesis.generators.rare_values import redraw_rare_numbers

SMALL = {
    "ctgan": {"epochs": 20, "batch_size": 100, "layers": (32,), "embedding": 16},
    "diffusion": {"steps": 200, "batch_size": 128, "timesteps": 20, "width": 32, "layers": 1},
    "transformer": {"width": 16, "layers": 1, "heads": 2, "epochs": 8},
}
EXTREME = {"cost": (12, 4321), "children": (9, 11)}
CHILDREN = {0: 200, 1: 120, 2: 60, 3: 18, 9: 1, 11: 1}


def rng(seed=0):
    return np.random.default_rng(seed)


def number(name, cells, decimals=0):
    return Numeric(name=name, low=np.nanmin(cells), high=np.nanmax(cells), decimals=decimals)


@pytest.fixture(scope="module")
def people():
    """Costs, doses and numbers of children, of which some people have more than anybody else; one was ill."""
    random = rng()
    columns = {
        "cost": np.round(random.normal(1000, 100, 400)),
        "dose": random.normal(size=400),
        "children": np.repeat([*CHILDREN], [*CHILDREN.values()]).astype(float),
        "ill": np.full(400, np.nan),
        "ward": random.integers(0, 3, 400).astype(float),
    }
    columns["cost"][:2], columns["dose"][0], columns["ill"][5] = EXTREME["cost"], 31.4, 17
    decimals = {"dose": None}
    schema = [number(name, cells, decimals.get(name, 0)) for name, cells in columns.items() if name != "ward"]
    schema.append(Categorical(name="ward", labels=("a", "b", "c")))
    return Table(schema=Schema(tuple(schema)), values=np.column_stack(list(columns.values())))


def note_about(table):
    """Count cells by hand: every cell is compared with its whole column."""
    numbers = table.values[:, :4]
    shared = (numbers[:, None] == numbers).sum(axis=0)  # (n, 4); missing equals nothing
    n_cells = ((shared > 0) & (shared < 10)).sum()
    return (
        f"Rare numbers: those that fewer than ten rows share, in {n_cells} cells of 4 columns, learned as "
        "numbers near them, none beyond what ten rows reach."
    )


@pytest.mark.parametrize("name", SMALL)
def test_nobody_s_number_comes_out_of_a_network(name, people):
    pytest.importorskip("torch")
    model = GENERATORS[name](**SMALL[name]).fit(people, rng=rng(1))
    drawn = model.sample(4000, rng=rng(2))
    for column, values in EXTREME.items():
        assert not np.isin(drawn.column(column), values).any(), column
    assert not np.isin(drawn.column("dose"), people.column("dose")).any()
    assert np.isnan(drawn.column("ill")).all()
    for column in ("cost", "dose"):  # ten rows lie at or beyond either end
        known = np.sort(people.column(column))
        cells = drawn.column(column)
        assert known[9] <= cells.min() < cells.max() <= known[-10]
    assert set(drawn.column("children")) <= {0, 1, 2, 3}
    assert set(drawn.column("ward")) == {0, 1, 2}
    assert note_about(people) in model.notes


DRAWING = ("trees", "marginals")
"""Generators that draw from real numbers."""


@pytest.mark.parametrize("name", DRAWING)
def test_nobody_s_number_is_drawn_where_few_reach(name, people):
    model = GENERATORS[name]().fit(people, rng=rng(1))
    drawn = model.sample(20_000, rng=rng(2))
    for column, values in EXTREME.items():
        assert not np.isin(drawn.column(column), values).any(), column
    assert not np.isin(drawn.column("dose"), people.column("dose")).any()
    assert np.isnan(drawn.column("ill")).all()
    assert any(note.startswith("Lone numbers: 1 column ") for note in model.notes)
    for column in ("cost", "dose"):  # ten rows lie at or beyond either end
        known = np.sort(people.column(column))
        cells = drawn.column(column)
        assert known[9] <= cells.min() < cells.max() <= known[-10]
    assert set(drawn.column("children")) == {0, 1, 2, 3}


@pytest.mark.parametrize("name", DRAWING)
def test_the_last_whole_number_does_not_come_back(name):
    # Each is of one person: drawn between its neighbors, the last one could be itself.
    cells = rng().permutation(np.arange(1.0, 401))
    table = Table(schema=Schema((number("a", cells),)), values=cells[:, None])
    drawn = GENERATORS[name]().fit(table, rng=rng(1)).sample(20_000, rng=rng(2)).column("a")
    assert [drawn.min(), drawn.max()] == [10, 390]  # halfway from the tenth to the next, and even


def test_as_published_trees_keep_to_the_numbers_they_have(people):
    model = GENERATORS["trees"](preset="published").fit(people, rng=rng(1))
    assert not any("Lone numbers" in note for note in model.notes)
    assert not np.isnan(model.sample(4000, rng=rng(2)).column("ill")).all()


@pytest.mark.parametrize("name", SMALL)
def test_it_can_be_left_out(name, people):
    pytest.importorskip("torch")
    model = GENERATORS[name](**SMALL[name], smoothing=False).fit(people, rng=rng(1))
    assert not any("Rare numbers" in note for note in model.notes)
    assert set(model.sample(4000, rng=rng(2)).column("children")) > {0, 1, 2, 3}


def test_memorizing_on_purpose_learns_numbers_as_they_are(people):
    pytest.importorskip("torch")
    model = GENERATORS["transformer"](**SMALL["transformer"], overfit=1.0).fit(people, rng=rng(1))
    assert not any("Rare numbers" in note for note in model.notes)


def test_labels_and_shared_numbers_are_left_alone(people):
    redrawn, notes = redraw_rare_numbers(people, rng=rng())
    np.testing.assert_array_equal(redrawn.column("ward"), people.column("ward"))
    assert redrawn.schema == people.schema
    children = people.column("children")
    few = children < 4
    np.testing.assert_array_equal(redrawn.column("children")[few], children[few])
    assert notes == (note_about(people),)


def test_where_nothing_is_rare_nothing_is_said():
    schema = Schema((Numeric(name="a", low=0, high=3, decimals=0), Categorical(name="b", labels=("x",))))
    table = Table(schema=schema, values=np.tile([[3.0, 0.0], [0.0, np.nan]], (10, 1)))
    redrawn, notes = redraw_rare_numbers(table, rng=rng())
    np.testing.assert_array_equal(redrawn.values, table.values)
    assert notes == ()


def test_one_cell_of_one_column_is_counted_as_one():
    schema = Schema((Numeric(name="a", low=0, high=3, decimals=0),))
    redrawn, notes = redraw_rare_numbers(
        Table(schema=schema, values=np.array([[0.0]] * 30 + [[3.0]])), rng=rng()
    )
    assert "in 1 cell of 1 column," in notes[0]
    assert (redrawn.values == 0).all()
