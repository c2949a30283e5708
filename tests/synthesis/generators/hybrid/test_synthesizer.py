"""The pipeline as a generator: what each stage keeps, each step left out, storage, benchmarks."""

import json

import numpy as np
import pandas as pd
import pytest
from supplies.needs import need_adult

import tabveil
from tabveil.core.settings.registry import describe
from tabveil.core.storage.plain import restore, to_plain
from tabveil.core.table import Categorical
from tabveil.datasets import hospital
from tabveil.errors import ParameterError
from tabveil.metrics.properties import measure
from tabveil.synthesis.generators import GENERATORS, load_model
from tabveil.synthesis.generators.hybrid.synthesizer import Hybrid
from tabveil.synthesis.risks import Generated
from tabveil.tables.reading import load_table
from tabveil.workflows.synthesizing import learn

HIERARCHIES = {
    "age": {"intervals": [5, 10, 20, 40]},
    "sex": "auto",
    "region": {"mask": "right", "steps": [1, 2]},
    "admitted": {"dates": ["month", "quarter", "year"]},
}
MODELS = [{"k": 5}, {"l": 2, "column": "outcome"}]
ASKED = {"hierarchies": HIERARCHIES, "models": MODELS}
QUASI_IDENTIFIERS = list(HIERARCHIES)


@pytest.fixture(scope="module")
def loaded():
    return load_table(hospital(400, seed=1))


@pytest.fixture(scope="module")
def patients(loaded):
    return loaded.table


def rng(seed=0):
    return np.random.default_rng(seed)


def staged(patients, **given):
    return Hybrid(**{**ASKED, "generator": "marginals", **given}).stages(patients, rng=rng())


@pytest.mark.parametrize("placement", ["pre", "post"])
@pytest.mark.parametrize("k", [2, 20])
def test_the_anonymized_stage_has_the_k_and_l_that_were_asked_for(patients, placement, k):
    found = staged(patients, placement=placement, models=[{"k": k}, {"l": 2, "column": "outcome"}])
    measured = measure(found.generalized, quasi_identifiers=QUASI_IDENTIFIERS, sensitive=["outcome"])
    assert measured.k >= k
    assert measured.sensitive[0].distinct >= 2
    promises = found.model.promises
    assert (promises.k, promises.diversity) == (measured.k, {"outcome": measured.sensitive[0].distinct})
    assert measure(patients, quasi_identifiers=QUASI_IDENTIFIERS).k == 1  # as it came


def test_single_rows_have_the_k_of_the_generalized_ones(patients):
    found = staged(patients, transition={"name": "single", "labels": "leaf"})
    k = measure(found.transitioned, quasi_identifiers=QUASI_IDENTIFIERS).k
    assert k >= measure(found.generalized, quasi_identifiers=QUASI_IDENTIFIERS).k >= 5


def test_sampling_makes_classes_smaller_and_that_is_said(patients):
    found = staged(patients, sampling=0.2)
    measured = measure(found.generalized, quasi_identifiers=QUASI_IDENTIFIERS)
    promises = found.model.promises
    assert promises.k_learned == measured.k < promises.k
    assert any(
        f"After sampling the smallest class that takes part has {measured.k} row" in note
        for note in found.model.notes
    )


def test_sampled_before_the_classes_of_the_sample_are_large_enough(patients):
    found = staged(patients, sampling={"beta": 0.5, "when": "before"})
    assert len(found.anonymization.original) < 0.6 * len(patients)
    assert found.model.promises.k_learned == found.model.promises.k >= 5


@pytest.mark.parametrize("transition", ["uniform", "single", "conditional"])
@pytest.mark.parametrize("placement", ["pre", "post"])
@pytest.mark.parametrize("generator", ["marginals", "none"])
def test_every_stage_has_the_schema_it_should(patients, transition, placement, generator):
    found = staged(patients, transition=transition, placement=placement, generator=generator)
    assert found.original is patients
    assert found.transitioned.schema == found.final.schema == patients.schema
    assert len(found.transitioned) == len(found.generalized) == len(found.anonymization.rows)
    assert len(found.final) == len(patients)
    assert isinstance(found.generalized.schema["age"], Categorical)
    learned = found.model.drawn
    assert learned == (patients.schema if placement == "pre" else found.generalized.schema)


def test_the_stages_are_those_of_fitting(patients):
    made = Hybrid(**ASKED, generator="marginals", sampling=0.5)
    found, model = made.stages(patients, rng=rng(3)), made.fit(patients, rng=rng(3))
    drawn = [each.sample(9, rng=rng(1)).values for each in (found.model, model)]
    np.testing.assert_array_equal(*drawn)


def test_without_a_generator_the_anonymized_rows_themselves_are_released(patients):
    found = staged(patients, transition={"name": "single"}, generator="none")
    rows = found.model.sample(len(found.transitioned), rng=rng(5))
    assert sorted(map(tuple, np.nan_to_num(rows.values, nan=-1))) == sorted(
        map(tuple, np.nan_to_num(found.transitioned.values, nan=-1))
    )
    assert any("the anonymized rows themselves" in note for note in found.model.notes)
    twice = found.model.sample(2 * len(rows), rng=rng(5)).values
    assert len(np.unique(np.nan_to_num(twice, nan=-1), axis=0)) == len(
        np.unique(np.nan_to_num(rows.values, nan=-1), axis=0)
    )


def test_without_hierarchies_rows_are_sampled_and_learned(patients):
    model = Hybrid(sampling={"beta": 0.25, "column": "outcome"}, generator="copy").fit(patients, rng=rng())
    learned = model.parts["generator"].rows
    share = len(learned) / len(patients)
    assert share == pytest.approx(0.25, abs=0.02)
    assert model.promises.k is None
    assert "Nothing was anonymized: no class of a certain size is promised." in model.notes


def test_a_pipeline_of_nothing_is_its_generator(patients):
    model = Hybrid(generator="copy").fit(patients, rng=rng())
    np.testing.assert_array_equal(model.parts["generator"].rows, patients.values)


def test_before_the_generator_nothing_of_the_way_back_is_stored(patients, tmp_path):
    Hybrid(**ASKED, transition="conditional", generator="marginals").fit(patients, rng=rng()).save(
        tmp_path / "model"
    )
    with np.load(tmp_path / "model" / "arrays.npz") as arrays:
        assert arrays.files == []


@pytest.mark.parametrize(
    ("transition", "words"),
    [
        ("conditional", "for every class, the real values of each quasi-identifier of its rows"),
        ({"name": "conditional", "joint": True}, "the real combinations of quasi-identifiers of its rows"),
        ("single", "the most frequent label of each generalized value"),
    ],
)
def test_after_the_generator_the_model_says_what_it_holds(patients, transition, words):
    model = Hybrid(**ASKED, transition=transition, placement="post", generator="marginals")
    (note,) = [note for note in model.fit(patients, rng=rng()).notes if note.startswith("The model holds")]
    assert words in note
    assert note.endswith(": guard it like the data.")
    uniform = Hybrid(**ASKED, placement="post", generator="marginals").fit(patients, rng=rng())
    assert not any(note.startswith("The model holds") for note in uniform.notes)


def test_a_private_generator_promises_nothing_in_a_pipeline(patients):
    table = patients.select(["age", "sex", "outcome"])
    made = Hybrid(
        hierarchies={"age": {"intervals": [10]}},
        models=[{"k": 5}],
        generator={"name": "aim", "rounds": 8, "iterations": 2},
    )
    model = made.fit(table, rng=rng())
    assert model.privacy is None
    assert any(note.startswith("WARNING: the promise of aim does not hold here") for note in model.notes)
    assert not any("ε = " in note for note in model.notes)


def test_settings_are_plain_and_make_the_same_pipeline_again():
    made = Hybrid(
        **ASKED,
        levels={"age": 1, "sex": 0, "region": 1, "admitted": 2},
        sampling={"beta": 0.5, "when": "before"},
        transition={"name": "conditional", "joint": True},
        placement="post",
        generator={"name": "trees", "min_leaf": 7},
    )
    assert restore("test", json.loads(json.dumps(to_plain(describe(made)))), GENERATORS) == made


def test_a_stored_pipeline_says_the_same(patients, tmp_path):
    model = Hybrid(**ASKED, transition="conditional", placement="post", sampling=0.5).fit(patients, rng=rng())
    model.save(tmp_path / "model")
    opened = load_model(tmp_path / "model")
    assert (opened.notes, opened.promises) == (model.notes, model.promises)
    np.testing.assert_array_equal(opened.sample(50, rng=rng(1)).values, model.sample(50, rng=rng(1)).values)


def test_a_benchmark_takes_it_like_any_other(patients):
    risk = Generated(generator="hybrid", settings={**ASKED, "generator": "copy", "sampling": 0.5})
    half = patients.take(np.arange(200))
    made = risk(half, patients.take(np.arange(200, 400)), 1.0, rng=rng())
    assert made.rows.schema == patients.schema
    assert len(made.rows) == 200


def test_dates_have_their_calendar_even_if_nobody_says_how_they_are_written(patients, loaded):
    """A benchmark hands over tables without their layout."""
    table = patients.select(["admitted"])
    made = Hybrid(hierarchies={"admitted": {"dates": ["month"]}}, models=[{"k": 2}], generator="none")
    told = made.fit_written(table, loaded.layout, declared=(), rng=rng())
    np.testing.assert_array_equal(made.fit(table, rng=rng()).rows, told.rows)


def test_it_is_learned_and_drawn_as_any_table_is():
    people = hospital(300, seed=2)
    rows = tabveil.synthesize(people, generator="hybrid", settings=ASKED, rows=40)
    assert list(rows.columns) == list(people.columns)
    assert rows.dtypes.equals(people.dtypes)
    assert rows["admitted"].between(people["admitted"].min(), people["admitted"].max()).all()


def test_rare_labels_are_pooled_unless_a_hierarchy_names_them():
    people = pd.DataFrame(
        {
            "town": ["Ulm"] * 30 + ["Bonn"] * 27 + ["Kiel"] * 3,
            "job": ["a"] * 30 + ["b"] * 27 + ["Jane Doe"] * 3,
        }
    )
    tree = {"tree": {"south": ["Ulm"], "north": ["Bonn", "Kiel"]}}
    asked = {
        "hierarchies": {"town": tree, "job": "auto"},
        "models": [{"k": 2}],
        "levels": {"town": 1, "job": 1},
        "generator": "none",
    }
    model = learn(people, generator="hybrid", settings=asked)
    rows = model.draw(2000).native()
    assert set(rows["town"]) == {"Ulm", "Bonn", "Kiel"}  # as somebody wrote it down
    assert set(rows["job"]) == {"a", "b"}
    assert any("Rare labels: 1 label " in note for note in model.notes)


def test_identifiers_are_set_aside_first():
    people = hospital(60, seed=3).assign(case=[f"AB-{i:04}" for i in range(60)])
    asked = {"hierarchies": {"age": {"intervals": [20]}}, "models": [{"k": 2}], "generator": "marginals"}
    rows = tabveil.synthesize(people, generator="hybrid", settings=asked)
    assert set(rows["case"]).isdisjoint(people["case"])
    asked["hierarchies"] = {**asked["hierarchies"], "case": {"mask": "right", "steps": [2]}}
    with pytest.raises(ParameterError, match="hybrid: column 'case' names people, so it is not learned"):
        tabveil.synthesize(people, generator="hybrid", settings=asked)


def test_nothing_that_can_be_released_is_said_in_a_line(patients):
    with pytest.raises(ParameterError, match="hybrid: anonymize: no row can be released"):
        Hybrid(hierarchies={"age": "auto"}, models=[{"k": 401}]).fit(patients, rng=rng())
    with pytest.raises(ParameterError, match="hybrid: sampling: with beta = 1e-09, no row was left"):
        Hybrid(**ASKED, sampling=1e-9).fit(patients, rng=rng())


def test_adult_with_declared_quasi_identifiers():
    people = load_table(need_adult(), missing=["?"])
    table = people.table.take(np.arange(1500))
    own = {"age": {"intervals": [10, 20, 40]}, "sex": "auto", "race": "auto", "education": "auto"}
    models = [{"k": 10}, {"l": 2, "column": "income"}]
    made = Hybrid(hierarchies=own, models=models, placement="post", generator="none")
    found = made.stages(table, layout=people.layout, rng=rng())
    measured = measure(found.generalized, quasi_identifiers=list(own), sensitive=["income"])
    assert measured.k >= 10
    assert measured.sensitive[0].distinct == 2
    assert found.final.schema == table.schema
