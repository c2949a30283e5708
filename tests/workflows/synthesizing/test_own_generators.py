"""A user's own generator, of no class of ours, works wherever ours do."""

import importlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import typer
from supplies.places import ROOT
from supplies.shuffle import Shuffle, ShuffleModel, fails, people
from supplies.terminal import run

import tabveil
from tabveil.cli import synthesize as commands
from tabveil.cli.exit_codes import Commands
from tabveil.core.table import Schema, Table
from tabveil.engines.networks import Epoch
from tabveil.errors import ParameterError
from tabveil.synthesis.generators import GENERATORS, Account, Privacy
from tabveil.synthesis.generators.baselines import Marginals
from tabveil.workflows import synthesizing
from tabveil.workflows.synthesizing import TableModel

app = typer.Typer(cls=Commands, rich_markup_mode="rich", add_completion=False)
commands.register(app)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    people().to_csv("train.csv", index=False)
    return tmp_path


@pytest.fixture
def shuffle():
    with GENERATORS.adding(Shuffle):
        yield


def here():
    return sorted(str(path) for path in Path().rglob("*"))


def rng(seed=0):
    return np.random.default_rng(seed)


# Everywhere


def test_an_object_that_nobody_registered_synthesizes():
    data = people()
    rows = tabveil.synthesize(data, generator=Shuffle(), rows=25)
    assert list(rows.columns) == list(data.columns)
    assert list(rows.dtypes) == list(data.dtypes)
    assert len(rows) == 25
    assert set(rows["age"]) <= set(data["age"])
    assert rows.equals(tabveil.synthesize(data, generator=Shuffle(), rows=25, seed=0))
    assert not rows.equals(tabveil.synthesize(data, generator=Shuffle(times=2), rows=25, seed=0))


def test_a_registered_class_is_chosen_by_name(folder, shuffle):
    data = people()
    by_name = tabveil.synthesize(data, generator="shuffle", settings={"times": "2"}, save="model")
    assert by_name.equals(tabveil.synthesize(data, generator=Shuffle(times=2)))
    with pytest.raises(ParameterError, match=r"shuffle: no setting 'time'\. Did you mean 'times'"):
        tabveil.synthesize(data, generator="shuffle", settings={"time": 2})
    with pytest.raises(ParameterError, match="shuffle: times must be a whole number, got 'often'"):
        tabveil.synthesize(data, generator="shuffle", settings={"times": "often"})


def test_it_is_learned_stored_and_opened_again(folder, shuffle):
    learned = synthesizing.learn(people(), generator="shuffle", seed=3)
    learned.save("model")
    drawn = learned.draw(30, seed=4).native()
    assert TableModel.load("model").draw(30, seed=4).native().equals(drawn)
    assert tabveil.sample("model", 30, seed=4).equals(drawn)
    model = tabveil.load_model("model")
    assert isinstance(model, ShuffleModel)
    np.testing.assert_array_equal(
        model.sample(9, rng=rng()).values, learned.model.sample(9, rng=rng()).values
    )
    assert {path.name for path in Path("model").iterdir()} == {
        "generator.json",
        "layout.json",
        "model.json",  # its own, and of another form than ours
        "values.npy",
    }


def test_the_command_line_knows_it(folder, shuffle):
    given = ("--generator", "shuffle", "--set", "times=3", "--seed", 2, "--save", "model", "--out", "out.csv")
    result = run("synthesize", "--data", "train.csv", *given)
    assert result.exit_code == 0, result.output
    assert "out.csv: 40 rows by shuffle, learned from 40." in result.stdout
    assert result.stderr == ""
    result = run("sample", "model", "--rows", 40, "--seed", 2, "--out", "again.csv")
    assert result.exit_code == 0, result.output
    assert "again.csv: 40 rows by shuffle." in result.stdout
    assert Path("again.csv").read_bytes() == Path("out.csv").read_bytes()


class Silent(Shuffle):
    name = "silent"

    def __init__(self):
        super().__init__()


@dataclass(frozen=True)
class Unwritten(Shuffle):
    name: ClassVar[str] = "unwritten"
    times: int = 4


def test_help_and_documentation_list_it(folder, shuffle, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs_build")
    pages = importlib.import_module("pages")
    with GENERATORS.adding(Silent), GENERATORS.adding(Unwritten):
        text = " ".join(run("synthesize", "--help").stdout.split())
        table = pages.generators().splitlines()
    assert "shuffle: Put every column in an order of its own. times=1" in text
    assert "unwritten times=4" in text
    assert "| `shuffle` | Put every column in an order of its own. |" in table
    assert any(line.startswith("| `silent` |") for line in table)


def test_names_belong_to_one_class(shuffle):
    class Trees(Shuffle):
        name = "trees"

    with pytest.raises(ParameterError, match="Trees: there is a generator called 'trees' already"):
        GENERATORS.add(Trees)
    with pytest.raises(ParameterError, match="Trees: there is a generator called 'trees' already"):
        tabveil.synthesize(people(), generator=Trees())
    assert "shuffle" in GENERATORS
    assert GENERATORS.add(Shuffle) is Shuffle  # once more changes nothing


def test_a_stored_model_needs_its_generator(folder):
    tabveil.synthesize(people(), generator=Shuffle(), save="model")
    with pytest.raises(
        ParameterError, match=r"model: the model is by 'shuffle', .* joins with .*GENERATORS.add"
    ):
        tabveil.load_model("model")
    result = run("sample", "model", "--rows", 3, "--out", "out.csv")
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1


# What a model may tell


PROMISE = Privacy(
    mechanism="noise", epsilon=2.0, delta=1e-9, accountant="none", adjacency="One row more.", public=("age",)
)


def test_what_a_model_does_not_tell_has_a_default():
    bare = ShuffleModel(None, None)
    assert Account.of(bare) == Account(notes=(), privacy=None, history=())
    bare.notes, bare.privacy, bare.history = "One note.", PROMISE, [Epoch(epoch=0)]
    assert Account.of(bare) == Account(notes=("One note.",), privacy=PROMISE, history=(Epoch(epoch=0),))
    bare.privacy = {"epsilon": 1}
    with pytest.raises(ParameterError, match="shuffle: privacy must be a Privacy, got dict"):
        Account.of(bare)


class Promising(Shuffle):
    """Promise privacy, without being a dataclass."""

    name = "promising"

    def __init__(self, public: tuple[str, ...] = (), strength: float = 1.0):
        super().__init__()
        self.public, self.strength = public, strength

    def fit(self, table, *, rng):
        model = super().fit(table, rng=rng)
        model.name, model.notes, model.privacy = "promising", ["Noted."], PROMISE
        model.public, model.drawn = self.public, rng.integers(2**62)
        return model


def test_what_it_tells_is_said_and_what_is_public_reaches_it(folder):
    schema = {"columns": {"age": {"type": "integer", "low": 0, "high": 120}}}
    Path("schema.json").write_text(json.dumps(schema), encoding="utf-8")
    given = ("--data", "train.csv", "--schema", "schema.json", "--out", "out.csv")
    with GENERATORS.adding(Promising):
        result = run("synthesize", *given, "--generator", "promising", "--set", "strength=2")
        assert "the schema says what is public" in run(
            "synthesize", *given, "--force", "--generator", "promising", "--set", "public=age"
        ).stderr.replace("\n", " ")
    assert result.exit_code == 0, result.output
    first, for_people, second, third = result.stderr.splitlines()
    assert first.startswith("Differential privacy: ε = 2, δ = 1e-09")
    assert for_people.startswith("ε = 2 is for a row of the table that was learned from.")
    assert second == "Noted."
    assert third.startswith("WARNING: as many rows are written as were learned from")
    models = [synthesizing.learn(people(), generator=Promising(), schema=schema).model for _ in range(2)]
    assert models[0].public == ("age",)
    assert models[0].drawn != models[1].drawn  # a secret seed each


# What is no generator, and what is no model


class Nameless(Shuffle):
    name = None


class Unopened(Shuffle):
    load = None


class Unfit:
    name = "unfit"


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        (Unfit(), "generator Unfit: must have a method fit; see tabveil.protocols."),
        (Unopened(), "generator Unopened: must have a method load; see tabveil.protocols."),
        (Nameless(), "generator Nameless: must have a name, such as name = 'my_own'."),
        (Shuffle, "generator: expected an object, got the class Shuffle."),
        (3, "generator int: must have a name, such as name = 'my_own'."),
    ],
)
def test_what_is_no_generator_is_refused_in_a_line(thing, words):
    with pytest.raises(ParameterError) as caught:
        tabveil.synthesize(people(), generator=thing)
    assert str(caught.value) == words


def test_a_registered_class_that_is_no_generator_is_refused_in_a_line(folder):
    with GENERATORS.adding(Unfit):
        result = run("synthesize", "--data", "train.csv", "--generator", "unfit", "--out", "out.csv")
    assert result.exit_code == 2
    assert "generator Unfit: must have a method fit" in result.stderr


def answering(**changes):
    """A shuffle whose model lacks something."""

    class Broken(Shuffle):
        name = "broken"

        def fit(self, table, *, rng):
            model = super().fit(table, rng=rng)
            vars(model).update({"name": "broken", **changes})
            return changes.get("instead", model)

    return Broken()


OTHER = Schema(
    tuple(Marginals().fit(Table(schema=Schema(()), values=np.empty((1, 0))), rng=rng()).schema.columns)
)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"instead": None}, "broken: the model NoneType: must have a method sample"),
        ({"save": None}, "broken: the model ShuffleModel: must have a method save"),
        ({"schema": None}, "broken: the model ShuffleModel: must have the schema of the table"),
        (
            {"name": "shuffle"},
            "broken: the model ShuffleModel: must have the name of its generator, 'broken'",
        ),
        ({"schema": OTHER}, "broken: the model must have the columns that were learned"),
        (
            {"sample": lambda *_, **__: [1, 2]},
            "broken: sample must return a Table of its schema with 40 rows",
        ),
        (
            {"sample": lambda n, *, rng: Table(schema=OTHER, values=np.empty((n, 0)))},
            "broken: sample must return a Table of its schema with 40 rows",
        ),
    ],
)
def test_what_is_no_model_is_refused_in_a_line(changes, words):
    with pytest.raises(ParameterError) as caught:
        tabveil.synthesize(people(), generator=answering(**changes))
    assert str(caught.value).startswith(words)


def writes(name):
    def save(folder):
        folder.mkdir()
        (folder / name).write_text("mine", encoding="utf-8")

    return save


@pytest.mark.parametrize(
    ("save", "words"),
    [
        (fails, "No space left"),
        (lambda _: None, "broken: save must make the folder it is given"),
        (writes("generator.json"), "broken: save must not write generator.json"),
        (writes("layout.json"), "broken: save must not write layout.json"),
    ],
)
def test_a_model_of_any_class_is_stored_whole_or_not_at_all(folder, save, words):
    with pytest.raises((OSError, ParameterError), match=words):
        tabveil.synthesize(people(), generator=answering(save=save), save="model")
    assert here() == ["train.csv"]
