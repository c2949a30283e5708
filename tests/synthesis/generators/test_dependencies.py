"""Columns that follow from others: found where enough rows say so, and kept in every new row by trees."""

import json

import numpy as np
import pandas as pd
import pytest
from supplies.needs import need_table

from tabveil.errors import ParameterError
from tabveil.synthesis.generators import load_model
from tabveil.synthesis.generators.dependencies import Dependency, dependencies_of, families, pairs
from tabveil.synthesis.generators.rare_values import pool_rare_labels
from tabveil.synthesis.generators.trees.chain import visits_with
from tabveil.synthesis.generators.trees.synthesizer import Trees
from tabveil.tables import reading as frame
from tabveil.workflows.synthesizing import learn, synthesize

CODES = [f"C{i:02d}" for i in range(30)]
KINDS = {code: "abcd"[place % 4] for place, code in enumerate(CODES)}


def people(n=1500, seed=1):
    """Codes with their descriptions and kinds, and columns that have nothing to do with them."""
    rng = np.random.default_rng(seed)
    code = rng.choice(CODES, n, p=np.arange(1, 31) / np.arange(1, 31).sum())
    return pd.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "code": code,
            "text": [f"what {each} means" for each in code],
            "kind": [KINDS[each] for each in code],
            "coin": rng.choice(["x", "y"], n),
        }
    )


def named(data, **given):
    table = frame.load_table(data, **given).table
    names = table.schema.names
    return {(names[item.source], names[item.column]) for item in dependencies_of(table)}


def combinations(table, *columns):
    return set(table[list(columns)].drop_duplicates().itertuples(index=False, name=None))


def drawn(synthesizer, data, n_rows=5000):
    """Draw rows of a generator alone: nothing before it keeps columns together."""
    known = frame.load_table(data)
    model = synthesizer.fit(known.table, rng=np.random.default_rng(0))
    return frame.to_native(model.sample(n_rows, rng=np.random.default_rng(1)), known.layout)


# What is found


def test_what_follows_is_found_from_the_nearest_source():
    assert named(people()) == {("code", "text"), ("code", "kind")}
    data = people()
    data["group"] = data["kind"].isin(["a", "b"])
    assert named(data) == {("code", "text"), ("code", "kind"), ("kind", "group")}


def test_one_contradiction_is_enough():
    data = people()
    data.loc[3, "kind"] = "d" if data.loc[3, "kind"] != "d" else "a"
    assert ("code", "kind") not in named(data)


def test_a_source_that_few_rows_share_says_nothing():
    data = people(200)
    data["case"] = [f"case {i % 100}" for i in range(200)]  # two rows each
    data["outcome"] = [["good", "bad"][i % 100 % 2] for i in range(200)]
    assert named(data[["case", "outcome", "coin"]]) == set()


def test_numbers_must_nearly_all_be_shared():
    rng = np.random.default_rng(0)
    level = rng.integers(0, 20, 1000)
    data = pd.DataFrame({"level": level, "high": np.where(level > 9, "yes", "no")})
    assert named(data) == {("level", "high")}
    data.loc[:99, "level"] = 1000 + np.arange(100)  # one row in ten has a number of its own
    data["high"] = np.where(data["level"] > 9, "yes", "no")
    assert named(data) == set()


def test_a_column_that_never_varies_follows_from_nothing():
    assert named(people().assign(country="DE", gap=None)) == {("code", "text"), ("code", "kind")}


def test_no_value_that_many_hold_may_be_lost():
    """A kind that ten codes share, each held by a few: no shared code says it."""
    rng = np.random.default_rng(0)
    many = pd.DataFrame({"code": rng.choice(["p", "q", "r"], 900), "n": 1})
    many["kind"] = np.where(many["code"] == "p", "first", "second")
    few = pd.DataFrame({"code": [f"few {i % 20}" for i in range(100)], "n": 1, "kind": "third"})
    both = pd.concat([many, few])
    assert named(both) == set()
    assert named(pd.concat([many, few.head(9)])) == {("code", "kind")}  # nine rows in 909


def test_missing_is_a_value():
    data = people()
    data["kind"] = data["kind"].where(data["kind"] != "a")
    assert named(data) == {("code", "text"), ("code", "kind")}
    rows = drawn(Trees(), data)
    assert {(code, str(kind)) for code, kind in combinations(rows, "code", "kind")} <= {
        (code, str(kind)) for code, kind in combinations(data, "code", "kind")
    }


def test_pairs_by_hand():
    keys = np.array([0] * 10 + [1] * 9 + [2] * 12, dtype=np.int32)
    goal = np.array([5] * 10 + [6] * 9 + [7] * 11 + [8], dtype=np.int32)
    assert pairs(keys, goal, 4, least=1).tolist() == [5, 6, -1, -1]
    assert pairs(keys, goal, 4).tolist() == [5, -1, -1, -1]


def test_families():
    links = [Dependency(3, 1), Dependency(1, 0), Dependency(3, 2), Dependency(6, 5)]
    assert families(links) == [[3, 1, 2, 0], [6, 5]]
    assert families([]) == []


@pytest.mark.parametrize(
    ("links", "fixed", "order"),
    [
        ([(3, 1)], 0, (0, 1, 2, 3, 4)),  # what is visited before is drawn to agree
        ([(3, 1), (3, 2)], 0, (0, 1, 3, 2, 4)),  # a second one comes after
        ([(1, 3)], 0, (0, 1, 2, 3, 4)),  # looked up
        ([(3, 1), (3, 2)], 3, (0, 1, 2, 3, 4)),  # as the user said
        ([(4, 0), (4, 1), (4, 2)], 0, (0, 3, 4, 1, 2)),
    ],
)
def test_the_order_of_the_visits(links, fixed, order):
    assert visits_with([Dependency(*link) for link in links], 5, fixed) == order


# Rare labels


def test_rare_codes_are_replaced_with_their_descriptions():
    data = people(400)
    data.loc[:5, ["code", "text", "kind"]] = ["ZZ1", "what ZZ1 means", "a"]
    table = frame.load_table(data).table
    found = dependencies_of(table)
    pooled = pool_rare_labels(table, keep=(), dependencies=found, rng=np.random.default_rng(0))
    assert dependencies_of(pooled.table) == found
    alone = pool_rare_labels(table, keep=(), rng=np.random.default_rng(0))
    assert dependencies_of(alone.table) != found
    codes = pooled.table.schema["code"].labels
    held = {codes[int(cell)] for cell in pooled.table.column("code")}
    assert "ZZ1" not in held
    assert (pooled.n_labels, pooled.n_cells, pooled.columns) == (alone.n_labels, alone.n_cells, alone.columns)
    kinds = pooled.table.column("kind")
    assert np.array_equal(kinds, table.column("kind"))  # the kind is not rare: another code of it is taken


def test_a_family_of_rare_labels_only_is_replaced_one_by_one():
    names = [f"n{i}" for i in range(40)]
    table = frame.load_table(pd.DataFrame({"a": names, "b": names[::-1]})).table
    pooled = pool_rare_labels(table, keep=(), dependencies=[Dependency(0, 1)], rng=np.random.default_rng(0))
    assert np.isnan(pooled.table.values).all()


def test_nothing_changes_where_nothing_depends():
    data = people()[["age", "coin"]].assign(word=[f"w{i % 300}" for i in range(1500)])
    table = frame.load_table(data).table
    first = pool_rare_labels(table, keep=(), rng=np.random.default_rng(0))
    second = pool_rare_labels(
        table, keep=(), dependencies=dependencies_of(table), rng=np.random.default_rng(0)
    )
    assert np.array_equal(first.table.values, second.table.values, equal_nan=True)


# Trees


@pytest.mark.parametrize("rare_labels", ["pool", "keep"])
def test_trees_invent_no_pair(rare_labels):
    data = people()
    model = learn(
        data, generator="trees", rare_labels=rare_labels, settings={"order": ("code", "text", "kind")}
    )
    rows = model.draw(5000).native()
    often = data["code"].value_counts()
    shared = rows[rows["code"].isin(often.index[often >= 10])]
    assert len(shared) == len(rows) if rare_labels == "pool" else len(shared) < len(rows)
    for columns in (("code", "text"), ("code", "kind")):
        assert combinations(shared, *columns) <= combinations(data, *columns)
    assert set(rows["kind"]) == set("abcd")
    shares = [table["kind"].value_counts(normalize=True) for table in (rows, data)]
    assert (shares[0] - shares[1]).abs().max() < 0.03


def test_without_it_they_would():
    data = people()
    rows = drawn(Trees(preset="published"), data)
    assert not combinations(rows, "code", "text") <= combinations(data, "code", "text")


def test_codes_that_are_numbers_are_kept_too():
    """A number that few rows share is moved, and must not become the number of another kind."""
    data = people(3000)
    data["number"] = data.pop("code").str[1:].astype(int) * 3
    data = data.drop(columns="text")
    rows = drawn(Trees(), data, 20_000)
    seen = rows[rows["number"].isin(data["number"])]
    assert combinations(seen, "number", "kind") <= combinations(data, "number", "kind")


@pytest.mark.parametrize("order", [("text",), ("code", "kind"), ("kind", "text", "code"), ("coin", "age")])
def test_an_order_of_the_user_is_kept(order):
    data = people()
    model = learn(data, generator="trees", settings={"order": order})
    names = model.model.schema.names
    assert tuple(names[k] for k in model.model.visits[: len(order)]) == order
    rows = model.draw(3000).native()
    rows = rows[rows["code"] != "other"]  # all rare ones
    if order != ("kind", "text", "code"):  # drawn each for itself before the code that they follow from
        assert combinations(rows, "code", "kind") <= combinations(data, "code", "kind")


def test_stored_models_keep_to_it(tmp_path):
    data = people()
    learned = Trees().fit(frame.load_table(data).table, rng=np.random.default_rng(0))
    learned.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    first, second = (model.sample(2000, rng=np.random.default_rng(3)) for model in (learned, again))
    assert np.array_equal(first.values, second.values, equal_nan=True)


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [("looked_up", 0, 0), ("drawn", 0, 3), ("drawn", 1, 99), ("looked_up", 2, -2), ("looked_up", None, [])],
)
def test_a_model_that_agrees_with_what_is_not_there_is_refused(tmp_path, name, place, value):
    Trees().fit(frame.load_table(people()).table, rng=np.random.default_rng(0)).save(tmp_path / "model")
    file = tmp_path / "model" / "model.json"
    about = json.loads(file.read_text())
    if place is None:
        about["state"][name] = value
    else:
        about["state"][name][place] = value
    file.write_text(json.dumps(about), encoding="utf-8")
    with pytest.raises(ParameterError, match="fit it again"):
        load_model(tmp_path / "model")


def test_what_follows_is_certain_in_the_likelihood():
    data = people()
    often = data["code"].value_counts()
    table = frame.load_table(data[data["code"].isin(often.index[often >= 20])]).table
    model = Trees().fit(table, rng=np.random.default_rng(0))
    losses = model.losses(table)
    looked_up = [k for k, each in enumerate(model.chain.agreements.looked_up) if each.visit >= 0]
    columns = [model.visits[k] for k in looked_up]
    assert columns
    assert losses[:, columns].max() <= -np.log(0.99)


def test_memorized_and_published_rows_are_drawn_as_before():
    table = frame.load_table(people(300)).table
    for settings in ({"overfit": 1.5}, {"preset": "published"}):
        model = Trees(**settings).fit(table, rng=np.random.default_rng(0))
        assert not [each for each in model.chain.agreements.looked_up if each.visit >= 0]


def test_on_a_real_table():
    adult = pd.read_parquet(need_table("adult.parquet")).sample(3000, random_state=1)
    rows = synthesize(adult, generator="trees", missing=["?"])
    pair = ("education", "education-num")
    assert combinations(rows, *pair) <= combinations(adult, *pair)
    assert len(combinations(rows, *pair)) > 10
