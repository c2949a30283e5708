"""Models made of models, of any class, are stored and opened with their parts."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from supplies.shuffle import Shuffle, fails, people

import tabveil
from tabveil.core.table import Schema, Table
from tabveil.errors import ParameterError
from tabveil.protocols import Synthesizer
from tabveil.synthesis.generators import GENERATORS, FittedModel, Maker, load_model, save_model
from tabveil.synthesis.generators.baselines import Marginals
from tabveil.workflows import synthesizing


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def shuffle():
    with GENERATORS.adding(Shuffle):
        yield


def rng(seed=0):
    return np.random.default_rng(seed)


@dataclass(frozen=True, kw_only=True, eq=False)
class HalvesModel(FittedModel):
    part_names: ClassVar[Any] = ("first", "others")

    turn: int

    def draw(self, n_rows, *, rng):
        halves = [part.sample(n_rows, rng=rng).values for part in self.parts.values()]
        return Table(schema=self.schema, values=np.column_stack(halves))

    def state(self):
        return {"turn": self.turn}, {}

    @classmethod
    def from_state(cls, state, arrays, **shared):
        return cls(turn=state["turn"], **shared)


@dataclass(frozen=True, kw_only=True)
class Halves(Maker):
    """Learn the first column in one way and the others in another."""

    first: Synthesizer
    others: Synthesizer = field(default_factory=Shuffle)

    name: ClassVar[str] = "halves"
    model: ClassVar[Any] = HalvesModel

    def fit(self, table, *, rng):
        names = table.schema.names
        parts = {
            "first": self.first.fit(table.select(names[:1]), rng=rng),
            "others": self.others.fit(table.select(names[1:]), rng=rng),
        }
        return HalvesModel(made_by=self, schema=table.schema, parts=parts, turn=7)


@pytest.fixture
def halves(shuffle):
    with GENERATORS.adding(Halves):
        yield Halves(first=Marginals())


def test_a_model_made_of_parts_is_stored_and_opened_again(folder, halves):
    rows = tabveil.synthesize(people(), generator=halves, rows=20, save="model")
    assert tabveil.sample("model", 20).equals(rows)
    opened = load_model("model")
    assert [type(part).__name__ for part in opened.parts.values()] == ["MarginalsModel", "ShuffleModel"]
    assert opened.turn == 7
    assert opened.parts["first"].made_by == Marginals()
    assert {path.name for path in Path("model").iterdir()} == {
        "arrays.npz",
        "layout.json",
        "model.json",
        "parts",
    }
    assert {path.name for path in Path("model/parts/others").iterdir()} == {
        "generator.json",
        "model.json",
        "values.npy",
    }
    about = json.loads(Path("model/model.json").read_text())
    assert about["tabveil_model"] == 1
    assert about["parts"] == ["first", "others"]
    assert about["params"]["others"] == {"name": "shuffle", "settings": {"times": 1}}


def test_parts_have_parts(folder, halves):
    table = synthesizing.learn(people(), generator="copy").model.sample(30, rng=rng())
    wide = Table(
        schema=Schema((*table.schema.columns, *(_renamed(column) for column in table.schema.columns))),
        values=np.column_stack([table.values, table.values]),
    )
    model = Halves(first=Shuffle(times=2), others=halves).fit(wide.select(wide.schema.names[:3]), rng=rng())
    save_model(model, Path("deep"))
    opened = load_model("deep")
    assert opened.parts["others"].parts["others"].name == "shuffle"
    assert opened.made_by.first.times == 2
    assert opened.made_by.others.first == Marginals()
    np.testing.assert_array_equal(opened.sample(9, rng=rng(1)).values, model.sample(9, rng=rng(1)).values)


def _renamed(column):
    return type(column)(**{**vars(column), "name": f"{column.name}_2"})


def test_a_part_that_is_damaged_or_unknown_is_named(folder, halves):
    tabveil.synthesize(people(), generator=halves, save="model")
    Path("model/parts/first/arrays.npz").write_text("junk")
    with pytest.raises(ParameterError, match=r"model.parts.first: the model cannot be read"):
        load_model("model")
    Path("model/parts/first/arrays.npz").unlink()
    Path("model/parts/others/generator.json").unlink()
    with pytest.raises(ParameterError, match="first: there is no model in this folder"):
        load_model("model")


def test_a_state_that_its_own_class_cannot_read_is_refused_in_a_line(folder, halves):
    tabveil.synthesize(people(), generator=halves, save="model")
    place = Path("model/model.json")
    place.write_text(json.dumps({**json.loads(place.read_text()), "state": {}}), encoding="utf-8")
    with pytest.raises(ParameterError, match=r"^model: the model cannot be read; fit it again\.$"):
        load_model("model")


class Unstored(Shuffle):
    def fit(self, table, *, rng):
        model = super().fit(table, rng=rng)
        model.save = fails
        return model


def test_a_model_made_of_parts_is_stored_whole_or_not_at_all(folder, halves):
    with pytest.raises(OSError, match="No space"):
        tabveil.synthesize(people(), generator=Halves(first=Marginals(), others=Unstored()), save="model")
    assert not list(folder.iterdir())


def test_a_part_has_a_name_that_is_a_folders(halves):
    model = halves.fit(synthesizing.learn(people(), generator="copy").model.sample(9, rng=rng()), rng=rng())
    with pytest.raises(ParameterError, match=r"halves: a part's name must be letters, got '\.\./up'"):
        HalvesModel(**{**vars(model), "parts": {"../up": model}})


def test_a_folder_from_before_there_were_parts_is_opened(folder):
    tabveil.synthesize(people(), generator="trees", save="model")
    place = Path("model/model.json")
    about = json.loads(place.read_text())
    assert about.pop("parts") == []
    place.write_text(json.dumps(about), encoding="utf-8")
    assert load_model("model").parts == {}


def test_a_model_is_opened_by_the_generator_that_made_it(folder):
    tabveil.synthesize(people(), generator="copy", save="model")
    with pytest.raises(ParameterError, match="model: the model is by copy, not by marginals"):
        Marginals.load("model")


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"nois": 1}, "copy: no setting 'nois'. Did you mean 'noise'"),
        ({"noise": "much"}, "noise cannot be 'much'"),
    ],
)
def test_settings_that_do_not_fit_are_refused(folder, params, words):
    tabveil.synthesize(people(), generator="copy", save="model")
    place = Path("model/model.json")
    place.write_text(json.dumps({**json.loads(place.read_text()), "params": params}), encoding="utf-8")
    with pytest.raises(ParameterError, match=words):
        load_model("model")
