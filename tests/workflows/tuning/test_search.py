"""A search that cannot be meant is refused in one clear line, before anything is measured."""

import builtins
import re

import pytest
import yaml
from typer.testing import CliRunner

from tabveil.cli import app
from tabveil.datasets import hospital
from tabveil.errors import TabveilError
from tabveil.workflows.benchmark import Store
from tabveil.workflows.tuning import Tuning, tune
from tabveil.workflows.tuning.search import searcher_of

GOOD = {
    "data": {"name": "hospital", "rows": 100},
    "generator": "copy",
    "search": {"noise": [0.0, 0.5]},
    "objectives": {"privacy": ["membership_distance"]},
}
AGES = {"age": {"intervals": [5, 10]}}
HYBRID = {**GOOD, "generator": "hybrid", "settings": {"hierarchies": AGES, "models": [{"k": 2}]}}
WITHOUT = object()

BAD = {
    "no data": ({"data": WITHOUT}, "data must be given"),
    "no search": ({"search": WITHOUT}, "search must be given"),
    "unknown key": ({"trails": 5}, "trails: unknown key"),
    "data of no kind": ({"data": 5}, "data must be a file, or the name of a dataset"),
    "a dataset that is not there": ({"data": {"name": "hospitl"}}, "no dataset 'hospitl'"),
    "a setting the dataset has not": ({"data": {"name": "hospital", "row": 5}}, "no setting 'row'"),
    "a schema without a file": ({"schema": "schema.yaml"}, "schema: only the data of a file have one"),
    "a schema that is no name": ({"data": "a.csv", "schema": 5}, "schema must be the name of a file"),
    "unknown generator": ({"generator": "tress"}, "no generator 'tress'"),
    "unknown fixed setting": ({"settings": {"nois": 0.1}}, "settings: no setting 'nois'"),
    "settings of no kind": ({"settings": [1]}, "settings"),
    "unknown searched setting": ({"search": {"nosie": [0.1]}}, "search: no setting 'nosie'"),
    "nothing to search": ({"search": {}}, "name settings and their values"),
    "a searched setting with one value": ({"search": {"noise": 0.5}}, "must be a list of values"),
    "an empty list": ({"search": {"noise": []}}, "noise: the list is empty"),
    "a value twice": ({"search": {"noise": [0.5, 0.5]}}, "noise: 0.5 stands there twice"),
    "a value that is not a number": ({"search": {"noise": [float("nan")]}}, "a value must be a number"),
    "a value out of range": ({"search": {"noise": [0.5, 7]}}, "search: noise: 7: copy: noise"),
    "a value of a wrong type": ({"search": {"noise": ["much"]}}, "noise must be a number, got 'much'"),
    "a range out of range": ({"search": {"noise": {"low": 0.5, "high": 2.0}}}, "search: noise: 2.0: copy"),
    "a range without an end": ({"search": {"noise": {"low": 0.5}}}, "high must be given"),
    "a range that runs down": ({"search": {"noise": {"low": 1, "high": 0}}}, "low must be less than high"),
    "a range with a text": ({"search": {"noise": {"low": "a", "high": 1}}}, "low must be a number, got 'a'"),
    "a range with an unknown key": (
        {"search": {"noise": {"low": 0, "high": 1, "steps": 3}}},
        "no setting of a range 'steps'",
    ),
    "a step too large": (
        {"search": {"noise": {"low": 0.0, "high": 1.0, "step": 2}}},
        "step must be positive",
    ),
    "steps too many": ({"search": {"noise": {"low": 0.0, "high": 1.0, "step": 1e-9}}}, "larger step"),
    "a log of nothing": (
        {"search": {"noise": {"low": 0.0, "high": 1.0, "log": True}}},
        "low must be positive",
    ),
    "a log that is none": ({"search": {"noise": {"low": 0.1, "high": 1.0, "log": "x"}}}, "true or false"),
    "a path with a hole": ({"search": {"noise..x": [1]}}, "is not a path such as"),
    "a path into a value": (
        {"settings": {"noise": 0.1}, "search": {"noise.x": [1]}},
        "what stands before 'x' is a single value",
    ),
    "a path within another": ({"search": {"noise": [0.1], "noise.x": [1]}}, "is a part of 'noise'"),
    "a grid of a range without steps": (
        {"searcher": "grid", "search": {"noise": {"low": 0.0, "high": 1.0}}},
        "noise: a grid needs a list, or a step",
    ),
    "unknown searcher": ({"searcher": "luck"}, "searcher: "),
    "no trials": ({"trials": 0}, "trials: "),
    "no repeats": ({"repeats": 0}, "repeats: "),
    "a batch of none": ({"batch": 0}, "batch: "),
    "a negative seed": ({"seed": -1}, "seed: "),
    "all held out": ({"held_out": 1.0}, "held_out: "),
    "no control": ({"control": 0}, "control: "),
    "one row": ({"rows": 1}, "rows: "),
    "more rows than there are": ({"rows": 51}, "a trial cannot have 51 rows: 50 are there"),
    "one row to part": ({"data": {"name": "hospital", "rows": 1}}, "one row cannot be parted"),
    "too few rows to part": ({"data": {"name": "hospital", "rows": 3}}, "cannot be parted"),
    "objectives of no kind": ({"objectives": ["linkability"]}, "objectives: name them"),
    "an unknown objective": ({"objectives": {"fairness": 1}}, "objectives: no setting 'fairness'"),
    "an unknown metric": ({"objectives": {"privacy": "linkabilty"}}, "no metric 'linkabilty'"),
    "no metric": ({"objectives": {"privacy": []}}, "privacy must be a metric, or a list"),
    "a metric without a name": ({"objectives": {"privacy": [5]}}, "a metric has a name, got 5"),
    "a metric twice": (
        {"objectives": {"privacy": ["linkability", "linkability"]}},
        "'linkability' stands there twice",
    ),
    "no attack": (
        {"objectives": {"privacy": ["distance_to_closest"]}},
        "a policy judges attacks, and none is among distance_to_closest",
    ),
    "an unknown end": ({"objectives": {"by": "lower"}}, "by must be"),
    "an unknown figure": ({"objectives": {"utility": "beauty"}}, "no figure 'beauty'"),
    "a figure of no kind": ({"objectives": {"utility": 5}}, "utility must be the name of a figure"),
    "a target for nothing": (
        {"objectives": {"utility": {"name": "discriminator", "target": "age"}}},
        "discriminator has no target",
    ),
    "an unknown target": (
        {"objectives": {"utility": {"name": "downstream", "target": "agee"}}},
        "no column 'agee'",
    ),
    "a policy that is not there": ({"policy": "none.yaml"}, "there is no such file"),
    "a policy with an unknown key": ({"policy": {"treshold": 0.1}}, "treshold: unknown key"),
}
BAD_PIPELINES = {
    "an unknown transition": ({"search": {"transition": ["unifrm"]}}, "no transition 'unifrm'"),
    "an unknown placement": ({"search": {"placement": ["amid"]}}, "placement"),
    "an impossible chance": ({"search": {"sampling.beta": [0.5, 1.5]}}, "search: sampling.beta: 1.5: hybrid"),
    "a k that is none": ({"search": {"models.0.k": ["five"]}}, "search: models.0.k: 'five': hybrid"),
    "another generator's setting": (
        {"search": {"generator": [{"name": "trees", "epochs": 5}]}},
        "no setting 'epochs'",
    ),
    "strata without classes": (
        {"settings": {}, "search": {"sampling.by": ["class"]}},
        "needs hierarchies",
    ),
}
CASES = [
    *((name, GOOD, *case) for name, case in BAD.items()),
    *((name, HYBRID, *case) for name, case in BAD_PIPELINES.items()),
]


def changed(good, given):
    return {key: value for key, value in {**good, **given}.items() if value is not WITHOUT}


@pytest.mark.parametrize(
    ("good", "given", "message"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_what_cannot_be_meant_is_one_clear_line(good, given, message, tmp_path):
    with pytest.raises(TabveilError) as caught:
        tune(changed(good, given), tmp_path / "store", workers=1)
    text = str(caught.value)
    assert message in text
    assert "\n" not in text
    assert "Traceback" not in text
    assert not (tmp_path / "store" / "cells").exists() or not Store(tmp_path / "store").done()


def test_the_two_that_all_are_made_from_are_fine():
    for good in (GOOD, changed(HYBRID, {"search": {"models.0.k": [2, 5]}})):
        assert searcher_of(Tuning.read(good)).n_trials == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the top level must hold settings"),
        ("data: [", "not valid YAML"),
        ("- data", "the top level must hold settings"),
        (yaml.safe_dump({**GOOD, "trials": "many"}), "trials"),
    ],
)
def test_a_file_is_named_in_the_complaint(text, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tune.yaml").write_text(text, encoding="utf-8")
    done = CliRunner().invoke(app, ["tune", "--config", "tune.yaml", "--store", "found"])
    assert done.exit_code == 2
    assert re.fullmatch(rf'tabveil: tuning "tune\.yaml".*{re.escape(message)}.*\n', done.stderr)


def test_a_value_that_goes_with_some_others_is_not_refused():
    search = {
        "hierarchies": [{}, AGES],  # the first goes with no models and no classes, the other with models only
        "models": [[], [{"k": 2}]],
        "sampling": [1.0, {"beta": 0.5, "by": "class"}],
    }
    assert Tuning.read(changed(HYBRID, {"settings": {}, "search": search})).space.size == 8


def test_files_are_looked_for_from_the_folder_of_the_search(tmp_path, monkeypatch):
    folder = tmp_path / "folder"
    folder.mkdir()
    hospital(60, seed=1).to_csv(folder / "people.csv", index=False)
    (folder / "policy.yaml").write_text("thresholds: {membership: 0.5}\n", encoding="utf-8")
    (folder / "sex.csv").write_text("f;*\nm;*\n", encoding="utf-8")
    asked = {
        **GOOD,
        "data": "people.csv",
        "generator": "hybrid",
        "settings": {"hierarchies": {"sex": {"file": "sex.csv"}}},
        "search": {"models.0.k": [2]},
        "policy": "policy.yaml",
    }
    (folder / "tune.yaml").write_text(yaml.safe_dump(asked), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    tuning = Tuning.read(folder / "tune.yaml")
    assert tuning.data.dataset.load().schema.names
    assert tuning.policy.thresholds.membership == 0.5
    assert tuning.made({"models.0.k": 2}).settings["hierarchies"]["sex"]["file"] == str(folder / "sex.csv")


def test_without_optuna_a_line_says_what_to_install_or_to_ask_for(monkeypatch):
    imported = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.partition(".")[0] == "optuna":
            raise ModuleNotFoundError(name)
        return imported(name, *args, **kwargs)

    monkeypatch.setattr("importlib.import_module", refuse)
    monkeypatch.setattr(builtins, "__import__", refuse)
    asked = changed(GOOD, {"search": {"noise": {"low": 0.0, "high": 1.0}}})
    with pytest.raises(TabveilError, match=r"install tabveil\[tune\], or search a grid"):
        searcher_of(Tuning.read(asked))
    assert searcher_of(Tuning.read(GOOD)).name == "grid"
