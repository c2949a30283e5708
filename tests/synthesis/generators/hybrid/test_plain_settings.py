"""Pipelines in a file: ``tabveil synthesize --config``, and one clear line for whatever is wrong with it."""

from pathlib import Path

import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from tabveil.cli import app
from tabveil.datasets import hospital
from tabveil.synthesis.generators import load_model
from tabveil.workflows.synthesizing import configuration

SETTINGS = {
    "hierarchies": {
        "age": {"intervals": [5, 10, 20, 40]},
        "sex": {"file": "sex.csv"},
        "region": {"mask": "right", "steps": [1, 2]},
    },
    "models": [{"k": 5}, {"l": 2, "column": "ward"}],
    "sampling": {"beta": 0.8, "by": "class"},
    "transition": {"name": "conditional", "smoothed": True},
    "placement": "post",
    "generator": {"name": "marginals"},
}
PIPELINE = {"generator": "hybrid", "rows": 30, "seed": 3, "settings": SETTINGS}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with data, and one beside it with the file of a pipeline and a hierarchy."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    hospital(400, seed=1).to_csv("train.csv", index=False)
    Path("asked").mkdir()
    Path("asked/sex.csv").write_text("female;*\nmale;*\ndiverse;*\n", encoding="utf-8")
    return tmp_path


def run(said, *more, out="out.csv"):
    Path("asked/pipeline.yaml").write_text(
        said if isinstance(said, str) else yaml.safe_dump(said), encoding="utf-8"
    )
    given = ("synthesize", "--data", "train.csv", "--config", "asked/pipeline.yaml", "--out", out)
    return CliRunner().invoke(app, [*given, *map(str, more)])


def done(said, *more, **given):
    result = run(said, *more, **given)
    assert result.exit_code == 0, result.output
    return result


def test_a_pipeline_runs_from_one_file_with_paths_from_its_folder(folder):
    result = done(PIPELINE)
    rows, real = pd.read_csv("out.csv"), pd.read_csv("train.csv")
    assert len(rows) == 30
    assert list(rows.columns) == list(real.columns)
    assert rows["age"].between(real["age"].min(), real["age"].max()).all()
    assert set(rows["sex"]) <= {"female", "male", "diverse"}
    assert "out.csv: 30 rows by hybrid, learned from 400." in result.stdout
    said = result.stderr.splitlines()
    assert any(line.startswith("Before the generator, the anonymized rows have k = ") for line in said)
    assert any(line.startswith("Differential privacy is not promised: ") for line in said)
    assert any(line.startswith("The model holds for every class, the real values") for line in said)


def test_the_same_file_gives_the_same_rows_and_the_command_line_the_last_word(folder):
    done(PIPELINE)
    done(PIPELINE, out="again.csv")
    assert Path("out.csv").read_bytes() == Path("again.csv").read_bytes()
    done(PIPELINE, "--seed", 4, "--rows", 7, "--set", "transition=uniform", out="other.csv")
    assert len(pd.read_csv("other.csv")) == 7


def test_schema_and_missing_values_may_stand_in_the_file(folder):
    schema = {"columns": {"sex": {"type": "category", "labels": ["female", "male", "diverse", "?"]}}}
    Path("asked/schema.yaml").write_text(yaml.safe_dump(schema), encoding="utf-8")
    asked = {"generator": "marginals", "schema": "schema.yaml", "missing": ["n/a"], "rare_labels": "keep"}
    done({**asked, "identifiers": "drop", "rows": 5})
    found = configuration.read("asked/pipeline.yaml")
    assert found.schema == Path("asked/schema.yaml")
    assert (found.missing, found.rare_labels, found.identifiers) == (("n/a",), "keep", "drop")


def test_a_stored_pipeline_is_drawn_from_again(folder):
    done(PIPELINE, "--save", "model")
    more = CliRunner().invoke(app, ["sample", "model", "--rows", "30", "--seed", "3", "--out", "more.csv"])
    assert more.exit_code == 0, more.output
    assert Path("more.csv").read_bytes() == Path("out.csv").read_bytes()
    assert load_model("model").made_by.transition == {"name": "conditional", "smoothed": True}


def test_any_generator_may_stand_in_a_file(folder):
    done({"generator": "copy", "settings": {"noise": 0.1}, "rows": 4})
    assert len(pd.read_csv("out.csv")) == 4


def settings(**changed):
    return {**PIPELINE, "settings": {**SETTINGS, **changed}}


def without(*names):
    return {**PIPELINE, "settings": {key: value for key, value in SETTINGS.items() if key not in names}}


HIERARCHIES = SETTINGS["hierarchies"]
BAD = {
    "no YAML": ("generator: [", 'configuration "pipeline.yaml": line'),
    "a list": ("- generator", "the top level must hold settings, such as generator: hybrid"),
    "unknown key": ({**PIPELINE, "generater": "x"}, "unknown key 'generater'. Did you mean 'generator'?"),
    "unknown generator": ({"generator": "hibrid"}, "no generator 'hibrid'. Did you mean 'hybrid'?"),
    "settings of nobody": ({"settings": {"noise": 0.1}}, "settings belong to a generator; name it."),
    "settings that are none": ({**PIPELINE, "settings": 5}, "settings must be names and values, got 5."),
    "rows that are none": ({**PIPELINE, "rows": "many"}, "rows must be a whole number, got 'many'."),
    "no rows": ({**PIPELINE, "rows": 0}, "rows must be >= 1, got 0."),
    "seed below zero": ({**PIPELINE, "seed": -1}, "seed must be >= 0, got -1."),
    "rare labels": (
        {**PIPELINE, "rare_labels": "drop"},
        "rare_labels must be one of pool, keep, got 'drop'.",
    ),
    "unknown setting": (settings(transitoin="uniform"), "hybrid: no setting 'transitoin'. Did you mean"),
    "hierarchies in a list": (settings(hierarchies=["age"]), "hybrid: hierarchies must be names and values"),
    "unknown hierarchy": (
        settings(hierarchies={"age": {"interval": [5]}}),
        "hybrid: hierarchies: column 'age', entry 'interval': it must be one of",
    ),
    "levels not nested": (settings(hierarchies={"age": {"intervals": [5, 12]}}), "12 is not a multiple of 5"),
    "no hierarchy of its own": (settings(hierarchies={**HIERARCHIES, "agee": "auto"}), "no column 'agee'"),
    "no such file": (settings(hierarchies={"sex": {"file": "sexes.csv"}}), "there is no file 'sexes.csv'"),
    "models without hierarchies": (without("hierarchies"), "hybrid: models: they need hierarchies"),
    "no models": (without("models"), "hybrid: models must be a list, such as [{k: 5}]."),
    "models no list": (settings(models={"k": 5}), "hybrid: models must be a list of names and values"),
    "k too small": (settings(models=[{"k": 0}]), "hybrid: models, entry 1: k-anonymity: k must be >= 1"),
    "k no number": (settings(models=[{"k": "five"}]), "hybrid: models, entry 1: k must be a number."),
    "l without column": (settings(models=[{"l": 2}]), "l needs the name of a sensitive column"),
    "unknown model": (settings(models=[{"m": 2}]), "it must hold one of k, l and t"),
    "sensitive and quasi": (settings(models=[{"l": 2, "column": "age"}]), "it can be only one"),
    "no sensitive column": (
        settings(models=[{"l": 2, "column": "war"}]),
        "no column 'war'. Did you mean",
    ),
    "unknown loss": (settings(loss="least"), "hybrid: loss must be one of"),
    "suppression": (settings(suppression=2), "hybrid: suppression must be a share from 0 to 1"),
    "levels of nothing": (settings(levels={"ward": 1}), "hybrid: levels: no hierarchy of 'ward'"),
    "a level missing": (settings(levels={"age": 1}), "has a hierarchy and no level"),
    "level no number": (settings(levels={"age": "high"}), "column 'age' must have a whole number from 0 on"),
    "level too high": (
        settings(levels={"age": 9, "sex": 1, "region": 1}),
        "column 'age' has the levels 0 to 5, got 9",
    ),
    "beta above one": (settings(sampling=1.5), "sampling: beta must be above 0 and at most 1, got 1.5"),
    "beta no number": (settings(sampling="half"), "hybrid: sampling must be a number or names and values"),
    "unknown sampling": (settings(sampling={"betta": 0.5}), "sampling: no setting 'betta'. Did you mean"),
    "strata of no class": (
        {**PIPELINE, "settings": {"sampling": {"beta": 0.5, "by": "class"}}},
        "sampling: by: class needs hierarchies",
    ),
    "strata before": (settings(sampling={"beta": 0.5, "by": "class", "when": "before"}), "no classes before"),
    "strata of no column": (settings(sampling={"beta": 0.5, "column": "war"}), "no column 'war'"),
    "unknown transition": (
        settings(transition="unifrom"),
        "no transition 'unifrom'. Did you mean 'uniform'?",
    ),
    "transition without a name": (settings(transition={"joint": True}), "a mapping with a name"),
    "setting of a transition": (
        settings(transition={"name": "conditional", "join": True}),
        "conditional: no setting 'join'. Did you mean 'joint'?",
    ),
    "placement": (settings(placement="middle"), "hybrid: placement must be one of pre, post, got 'middle'."),
    "inner generator": (settings(generator="tree"), "generator: no generator 'tree'. Did you mean 'trees'?"),
    "itself": (settings(generator="hybrid"), "a pipeline needs another generator than itself"),
    "setting of the generator": (
        settings(generator={"name": "trees", "leaf": 3}),
        "hybrid: trees: no setting 'leaf'",
    ),
    "public": (
        settings(generator={"name": "aim", "public": ["age"]}),
        "belongs to a promise, which a pipeline",
    ),
    "nobody left": (settings(models=[{"k": 401}]), "no row can be released"),
}


def test_there_are_enough_kinds_of_bad_configurations():
    assert len(BAD) >= 20


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_configuration_is_told_in_one_clear_line(folder, kind):
    said, words = BAD[kind]
    result = run(said)
    assert result.exit_code == 2, result.output
    lines = [line for line in result.stderr.splitlines() if not line.startswith("compiling")]
    assert len(lines) == 1, lines
    assert words in lines[0]
    assert lines[0].startswith("tabveil: ")
    assert result.stdout == ""
    assert not Path("out.csv").exists()


def test_another_generator_than_that_of_the_file_is_refused(folder):
    result = run(PIPELINE, "--generator", "trees")
    assert result.exit_code == 2
    assert "has settings of hybrid" in result.stderr


def test_a_file_that_is_not_there_is_said(folder):
    given = ("synthesize", "--data", "train.csv", "--config", "none.yaml", "--out", "out.csv")
    result = CliRunner().invoke(app, given)
    assert (result.exit_code, result.stderr) == (
        2,
        'tabveil: configuration "none.yaml": there is no such file.\n',
    )
