"""What the form of a generator asks for is what the command line reads."""

import pytest
import yaml

from tabveil.errors import TabveilError
from tabveil.synthesis.generators import GENERATORS
from tabveil.web import making
from tabveil.workflows import synthesizing
from tabveil.workflows.synthesizing import configuration


def asked(generator, **form):
    sent = {key.replace("__", "."): [value] for key, value in form.items()}
    return making.asked(generator, sent, schema=None, missing=())


@pytest.mark.parametrize("generator", GENERATORS)
def test_a_form_that_is_left_as_it_is_asks_for_nothing_in_particular(generator):
    sent = {field.name: [field.value] for field in (*making.fields(generator), *making.fields_around())}
    assert making.asked(generator, sent, schema=None, missing=()) == {"generator": generator}


def test_what_is_set_stands_in_a_file_that_the_command_reads(tmp_path):
    said = asked(
        "aim", setting__epsilon="2", setting__workload="age,sex", seed="3", rows="50", identifiers="drop"
    )
    path = tmp_path / "release.yaml"
    path.write_text(making.file(said))
    found = configuration.read(path)
    assert (found.generator, found.rows, found.seed, found.identifiers) == ("aim", 50, 3, "drop")
    model = synthesizing.choose("aim", found.settings)
    assert (model.epsilon, model.workload) == (2.0, ("age", "sex"))


def test_mappings_are_written_as_yaml(tmp_path):
    said = asked(
        "hybrid",
        setting__hierarchies="{age: {intervals: [5, 10]}}",
        setting__models="- {k: 5}",
        setting__sampling="0.5",
    )
    path = tmp_path / "release.yaml"
    path.write_text(making.file(said))
    settings = yaml.safe_load(path.read_text())["settings"]
    assert settings["models"] == [{"k": 5}]
    assert settings["sampling"] == 0.5
    synthesizing.choose("hybrid", configuration.read(path).settings)


def test_schema_and_missing_texts_travel_along(tmp_path):
    said = making.asked("trees", {}, schema="../../schema.yaml", missing=("?", "no"))
    path = tmp_path / "release.yaml"
    path.write_text(making.file(said))
    found = configuration.read(path)
    assert found.schema == tmp_path / "../../schema.yaml"
    assert found.missing == ("?", "no")


@pytest.mark.parametrize(
    "form",
    [
        {"setting__caution": "much"},
        {"setting__preset": "wild"},
        {"rows": "0"},
        {"rows": "many"},
        {"seed": "-1"},
        {"identifiers": "show"},
        {"rare_labels": "x"},
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(form):
    with pytest.raises(TabveilError):
        asked("trees", **form)
