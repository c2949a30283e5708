"""What a stored model says about privacy is what its generator says, and what weakens it is said loudly."""

import json
from pathlib import Path

import pandas as pd
import pytest
import yaml
from supplies.page_commands import blocks
from supplies.places import ROOT
from typer.testing import CliRunner

from tabveil import datasets
from tabveil.cli import app
from tabveil.errors import ParameterError
from tabveil.synthesis.generators import GENERATORS, load_model
from tabveil.synthesis.generators.privacy import too_likely
from tabveil.workflows.synthesizing import learn

SCHEMA = {
    "columns": {
        "age": {"type": "integer", "low": 0, "high": 120},
        "sex": {"type": "category", "labels": ["f", "m"]},
    }
}
QUICK = {
    "aim": {"rounds": 8, "iterations": 2},
    "dpctgan": {"epochs": 1, "sampled": 0.5, "layers": (4,), "embedding": 4},
    "pategan": {"iterations": 1, "batch_size": 2},
    "pategan by networks": {"teachers": "networks", "n_teachers": 3, "iterations": 1, "batch_size": 2},
    "copy": {},
    "trees": {},
}
PRIVATE = ("aim", "dpctgan", "pategan", "pategan by networks")


def needs(generator):
    if generator.split()[0] in ("dpctgan", "pategan"):
        pytest.importorskip("opacus", reason="the extra 'deep' is not installed")


def learned(generator, n_rows=30, schema=SCHEMA, **settings):
    needs(generator)
    people = pd.DataFrame({"age": range(n_rows), "sex": ["f", "m"] * (n_rows // 2)})
    name, settings = generator.split()[0], {**QUICK[generator], **settings}
    return learn(people, generator=name, settings=settings, seed=1, schema=schema)


def sampled(folder):
    return CliRunner().invoke(app, ["sample", str(folder), "--rows", "3", "--out", "out.csv"])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def change(place, *path, to):
    """Write another value into a JSON file."""
    about = json.loads(place.read_text(encoding="utf-8"))
    spot = about
    for key in path[:-1]:
        spot = spot[key]
    spot[path[-1]] = to
    place.write_text(json.dumps(about), encoding="utf-8")


FORGED = {
    "mechanism": "magic",
    "epsilon": 0.01,
    "delta": 1e-12,
    "accountant": "trust me",
    "adjacency": "none",
    "public": ["age", "sex"],
    "read_from_data": {},
}


@pytest.mark.parametrize("generator", ["copy", "trees"])
def test_a_promise_that_a_generator_never_makes_is_refused(generator, folder):
    learned(generator).save("model")
    assert sampled("model").exit_code == 0
    Path("out.csv").unlink()
    change(Path("model/model.json"), "privacy", to=FORGED)
    result = sampled("model")
    assert (result.exit_code, result.stderr) == (
        2,
        f"tabveil: model: states a promise of privacy, but {generator} makes none.\n",
    )
    assert not Path("out.csv").exists()


@pytest.mark.parametrize("generator", PRIVATE)
@pytest.mark.parametrize(
    ("path", "value"),
    [
        *(
            (("privacy", field), value)
            for field, value in FORGED.items()
            if field not in ("public", "read_from_data")
        ),
        (("privacy", "public"), ["age", "sex"]),
        (("privacy", "read_from_data"), {}),
        (("privacy", "read_from_data"), {"age": ["range"]}),
        (("privacy",), None),
        (("params", "epsilon"), 0.5),
        (("params", "delta"), 1e-7),
        (("params", "public"), ["age", "sex"]),
        (("params", "public"), []),
    ],
)
def test_a_promise_must_follow_from_the_settings(path, value, generator, folder):
    learned(generator, schema={"columns": {"sex": SCHEMA["columns"]["sex"]}}).save("model")
    name = generator.split()[0]
    assert load_model("model").privacy == GENERATORS[name].load("model").privacy
    change(Path("model/model.json"), *path, to=value)
    result = sampled("model")
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert "promise" in line
    assert name in line
    with pytest.raises(ParameterError, match="promise"):
        GENERATORS[name].load("model")


@pytest.mark.parametrize("value", [7, "all", {"epsilon": 1}, {**FORGED, "epsilon": "much"}, [FORGED]])
def test_a_promise_of_another_shape_is_refused(value, folder):
    learned("aim").save("model")
    change(Path("model/model.json"), "privacy", to=value)
    result = sampled("model")
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("generator", "settings"),
    [
        ("aim", {"epsilon": 1e308}),
        ("aim", {"epsilon": 1e-320, "delta": 5e-324}),
        ("pategan", {"epsilon": 1e308, "noise": 1e308}),
        ("pategan", {"epsilon": 1e-320, "delta": 5e-324}),
        ("pategan by networks", {"epsilon": 1e308, "noise": 1e308}),
        ("pategan by networks", {"epsilon": 1e-320, "delta": 5e-324}),
        ("pategan by networks", {"noise": 1e-320}),
        ("pategan by networks", {"n_teachers": 10**15}),
        ("pategan", {"teachers": 5000}),
        ("dpctgan", {"epsilon": 1e308, "sampled": 1e-300}),
    ],
)
def test_settings_that_nobody_fits_with_are_refused_in_a_line(generator, settings, folder):
    learned(generator).save("model")
    for name, value in settings.items():
        change(Path("model/model.json"), "params", name, to=value)
    result = sampled("model")
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1


def test_a_form_that_takes_less_as_declared_belongs_to_another_model(folder):
    learned("aim").save("model")
    change(Path("model/layout.json"), "declared", to=["sex"])
    result = sampled("model")
    assert result.exit_code == 2
    assert "layout.json belongs to another model" in result.stderr


def test_words_in_a_folder_are_not_taken_for_ours(folder):
    learned("copy").save("model")
    said = "Differential privacy: ε = 0.01, δ = 1e-12."
    change(Path("model/model.json"), "notes", to=[said])
    assert sampled("model").stderr.splitlines() == [f"The model says: {said}"]


@pytest.mark.parametrize("generator", PRIVATE)
def test_a_delta_that_may_give_somebody_away_is_said_but_not_stored(generator, folder):
    weak, strong = (learned(generator, n_rows, delta=0.01) for n_rows in (100, 98))
    (warning,) = (note for note in weak.notes if "δ" in note)
    assert warning.startswith("WARNING: δ = 0.01 is not below one over the number of rows")
    assert "100" not in warning
    assert not any("δ" in note for note in strong.notes)
    weak.save("model")
    assert not any(
        "number of rows, so" in path.read_text(errors="replace") for path in Path("model").iterdir()
    )
    assert weak.account.notes == strong.account.notes
    assert "δ = 0.01 is not below" not in sampled("model").stderr


def test_where_a_delta_begins_to_be_too_large():
    assert too_likely(0.01, 99) is None
    assert too_likely(0.01, 100) is not None


def test_the_command_line_says_it_loudly(folder):
    Path("data.csv").write_text("age\n" + "40\n" * 50, encoding="utf-8")
    Path("schema.json").write_text(
        json.dumps({"columns": {"age": SCHEMA["columns"]["age"]}}), encoding="utf-8"
    )
    given = ["--data", "data.csv", "--schema", "schema.json", "--out", "out.csv", "--generator", "aim"]
    given += ["--set", "rounds=5", "--set", "iterations=2", "--rows", "7"]
    result = CliRunner().invoke(app, ["synthesize", *given, "--set", "delta=0.05"])
    assert result.exit_code == 0, result.output
    assert sum(line.startswith("WARNING: δ = 0.05") for line in result.stderr.splitlines()) == 1
    quiet = CliRunner().invoke(app, ["synthesize", *given, "--force", "--set", "delta=0.01"])
    assert "WARNING" not in quiet.stderr


def test_the_schema_that_the_documentation_shows_leaves_nothing_to_read(folder):
    page = (ROOT / "docs" / "generators.md").read_text(encoding="utf-8")
    (block,) = blocks(page, "yaml")
    datasets.hospital(3000, seed=5).to_csv("people.csv", index=False)
    schema = yaml.safe_load(block.text)
    found = learn("people.csv", generator="aim", settings={"rounds": 26, "iterations": 1}, schema=schema)
    privacy = found.account.privacy
    assert privacy.read_from_data == {}
    assert set(privacy.public) == set(schema["columns"])
    assert not any(note.startswith("WARNING") for note in found.account.notes)
