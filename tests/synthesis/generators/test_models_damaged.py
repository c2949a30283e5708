"""Model folders that are damaged or made to harm: one clear line and exit code 2, before anything is used."""

import json
import os
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import tabveil
from tabveil.cli import app
from tabveil.core.storage import files as reading
from tabveil.core.table import Schema
from tabveil.datasets import hospital
from tabveil.errors import ParameterError
from tabveil.synthesis.generators import GENERATORS

SMALL = {
    "ctgan": {"epochs": 1, "batch_size": 20, "embedding": 8, "layers": (8,), "modes": 3},
    "diffusion": {"steps": 2, "batch_size": 8, "timesteps": 4, "width": 8, "layers": 1},
    "transformer": {"width": 8, "layers": 1, "heads": 2, "epochs": 1, "smoothing": False},
    "pategan": {"iterations": 2, "batch_size": 8, "width": 8, "latent": 4},
    "aim": {"iterations": 5},
}
DEEP = {"ctgan", "diffusion", "transformer", "pategan"}


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Return a function that hands out the folder of a stored model, fitted once for each generator."""
    place = tmp_path_factory.mktemp("stored")
    people = hospital(60, seed=1)

    def folder(name):
        if name in DEEP:
            pytest.importorskip("torch")
        if not (place / name).exists():
            tabveil.synthesize(
                people, generator=GENERATORS[name](**SMALL.get(name, {})), rows=1, save=place / name
            )
        return place / name

    return folder


@pytest.fixture
def copied(stored, tmp_path, monkeypatch):
    """Return a function that puts a copy of a model into an empty folder, to be damaged."""
    monkeypatch.chdir(tmp_path)

    def copy(name):
        return Path(shutil.copytree(stored(name), "model"))

    return copy


def refused(words):
    """Require that neither the command line nor Python opens the model; return the line that says why."""
    result = CliRunner().invoke(app, ["sample", "model", "--rows", "3", "--out", "out.csv"])
    assert result.exit_code == 2, (result.exit_code, result.output)
    assert result.stdout == ""
    assert not Path("out.csv").exists()
    (line,) = result.stderr.splitlines()
    assert words in line
    assert "model" in line
    with pytest.raises(ParameterError) as caught:
        tabveil.sample("model", 3)
    assert words in str(caught.value)
    return line


def change(file, *path, to):
    """Put another value into a JSON file."""
    data = json.loads(file.read_text())
    spot = data
    for key in path[:-1]:
        spot = spot[key]
    spot[path[-1]] = to
    file.write_text(json.dumps(data))


def change_arrays(folder, **changes):
    """Store other arrays; a function changes one in its place, None leaves it out."""
    with np.load(folder / "arrays.npz") as stored_arrays:
        arrays = {name: stored_arrays[name] for name in stored_arrays.files}
    for name, new in changes.items():
        if new is None:
            del arrays[name]
        elif callable(new):
            arrays[name] = new(arrays[name])
        else:
            arrays[name] = new
    np.savez(folder / "arrays.npz", **arrays)


def with_entry(place, value):
    """Return a function that changes one entry of an array."""

    def changed(array):
        array.flat[place] = value
        return array

    return changed


# Trees, whose arrays compiled loops walk through


def inner_node(folder):
    with np.load(folder / "arrays.npz") as arrays:
        return int(np.flatnonzero(arrays["trees_left"] >= 0)[0])


@pytest.mark.parametrize(
    ("array", "value"),
    [
        ("trees_left", 10**8),
        ("trees_right", 10**8),
        ("trees_left", 0),  # a walk that never ends
        ("trees_right", 0),
        ("trees_feature", 10**6),
        ("trees_feature", -7),
        ("trees_threshold", np.nan),
    ],
)
def test_trees_that_lead_nowhere_are_refused(copied, array, value):
    folder = copied("trees")
    change_arrays(folder, **{array: with_entry(inner_node(folder), value)})
    refused("the tree of the column" if not np.isnan(value) else "array 'trees_threshold' must be finite")


@pytest.mark.parametrize(
    ("array", "entry", "value", "words"),
    [
        ("trees_members", 0, 10**6, "the tree of the column"),
        ("trees_members", 0, -1, "array 'trees_members' must be numbers from 0 to inf, got -1"),
        ("trees_first", 1, 10**6, "the tree of the column"),
        ("trees_first_place", -1, 10**9, "the tree of the column"),
        ("trees_left_sizes", 0, 2, "array 'trees_left' must be as long as its pieces"),
        ("trees_left_sizes", 0, -1, "array 'trees_left_sizes' must be numbers from 0 to inf"),
        ("levels_counts", 0, -5, "array 'levels_counts' must be numbers from 0"),
        ("levels_values", 0, 1e9, "array 'levels_values' must hold values of the column"),
    ],
)
def test_trees_with_impossible_numbers_are_refused(copied, array, entry, value, words):
    change_arrays(copied("trees"), **{array: with_entry(entry, value)})
    refused(words)


@pytest.mark.parametrize("visits", [[0, 0], [0, 1, 2], [10**9], "all", None])
def test_trees_that_visit_other_columns_are_refused(copied, visits):
    change(copied("trees") / "model.json", "state", "visits", to=visits)
    refused("visits")


# Every generator's arrays


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("copy", {"rows": None}, "array 'rows' is missing"),
        ("copy", {"rows": np.zeros((3, 2))}, "array 'rows' must be of shape (any, "),
        ("copy", {"rows": lambda rows: rows[:0]}, "array 'rows' must have rows"),
        ("copy", {"rows": lambda rows: rows.astype(np.float32)}, "must be float64, got float32"),
        ("copy", {"rows": with_entry(0, 1e7)}, "array 'rows' must hold values of the column 'age'"),
        ("copy", {"rows": with_entry(0, np.inf)}, "array 'rows' must be finite"),
        ("copy", {"more": np.zeros(2)}, "array 'more' is not one that this generator stores"),
        ("marginals", {"counts0": with_entry(0, 0)}, "array 'counts0' must be numbers from 1"),
        ("marginals", {"counts0": with_entry(0, 2**62)}, "array 'counts0' must be numbers from 1"),
        ("marginals", {"values0": with_entry(0, np.nan)}, "array 'values0' must hold different values"),
        ("marginals", {"values0": None}, "array 'values0' is missing"),
        ("aim", {"weights0": with_entry(0, np.nan)}, "array 'weights0' must be finite"),
        ("aim", {"weights0": np.zeros(1)}, "array 'weights0' must be of shape"),
        ("aim", {"share0": lambda share: share * 0}, "array 'share0' must leave a part of each bin"),
        ("ctgan", {"frequencies0": lambda share: share / 2}, "array 'frequencies0' must have the sum 1"),
        ("ctgan", {"weights.out.bias": with_entry(0, np.nan)}, "array 'out.bias' must be finite"),
        ("ctgan", {"weights.out.bias": None}, "array 'out.bias' is missing"),
        ("ctgan", {"weights.norms.0.running_var": with_entry(0, -1)}, "running_var' must be numbers from 0"),
        ("diffusion", {"network.unsure": with_entry(0, -1)}, "array 'unsure' must be numbers from 0"),
        ("diffusion", {"lows": with_entry(0, 2)}, "array 'lows' must be numbers from 0 to 1"),
        ("diffusion", {"options_sizes": with_entry(0, 50)}, "array 'options' must be as long as its pieces"),
        ("transformer", {"start": np.zeros(9, np.float32)}, "array 'start' must be of shape (8), got (9,)"),
        ("transformer", {"start": with_entry(0, np.inf)}, "array 'start' must be finite"),
        ("pategan", {"layers.0.bias": None}, "array 'layers.0.bias' is missing"),
    ],
)
def test_arrays_that_no_generator_stores_are_refused(copied, name, changes, words):
    change_arrays(copied(name), **changes)
    refused(words)


@pytest.mark.parametrize(
    ("name", "path", "value", "words"),
    [
        ("copy", ("params", "nois"), 1, "no setting 'nois'"),
        ("copy", ("params",), [], "model.json.params: input should be a valid dictionary"),
        ("copy", ("schema", 0, "numeric"), [0, 10**400], "holds a whole number of more than 300 digits"),
        ("copy", ("schema", 0, "decimals"), 400, "schema: column 1 is neither"),
        ("copy", ("schema",), [], "the schema has no columns"),
        ("copy", ("schema", 0, "name"), "\ud800", "model.json is not valid JSON"),
        ("copy", ("history",), [{}], "model.json.history.0.epoch: field required"),
        ("copy", ("notes",), "loud", "model.json.notes"),
        ("copy", ("privacy",), {"epsilon": "none"}, "model.json.privacy"),
        ("copy", ("generator",), ["trees"], "does not say who made the model"),
        ("copy", ("tabveil_model",), "new", "in a form this version does not read"),
        ("copy", ("extra",), 1, "model.json.extra: unexpected keyword argument"),
        ("aim", ("state", "sets", 0), [0, 0], "sets must be of columns"),
        ("aim", ("state", "levels", 0), [True], "levels.0"),
        ("aim", ("params", "n_bins"), 10**9, "n_bins must be <= 10,000"),
        ("aim", ("params", "n_bins"), 7, "must be of shape"),
        ("ctgan", ("params", "embedding"), 10**12, "must be of shape"),
        ("ctgan", ("params", "embedding"), 10**30, "no network that can be built"),
        ("ctgan", ("params", "layers"), [8, 8], "is missing"),
        ("ctgan", ("state", "conditional"), [0, 10**6], "conditional must name columns"),
        ("ctgan", ("state", "slots", 0, "centers"), [], "the slots of 'age'"),
        ("ctgan", ("state", "slots", 0, "kind"), "labels", "the slots of 'age' must be modes"),
        ("diffusion", ("params", "timesteps"), 10**9, "timesteps must be <= 10,000"),
        ("diffusion", ("params", "width"), 10**9, "must be of shape"),
        ("diffusion", ("params", "layers"), 10**9, "every layer must have its weights"),
        ("transformer", ("params", "layers"), 10**9, "every layer must have its weights"),
        ("transformer", ("params", "width"), 2 * 10**6, "must be of shape"),
        ("transformer", ("state", "columns", 0, "high"), 10**30, "the numbering of 'age'"),
        ("transformer", ("state", "columns", 0, "fixed"), 77, "the tokens of 'age'"),
        ("transformer", ("state", "columns", 0, "places", 0, 2), [5, 4], "the tokens of 'age'"),
        ("pategan", ("params", "width"), 10**9, "must be of shape"),
    ],
)
def test_descriptions_that_no_generator_writes_are_refused(copied, name, path, value, words):
    change(copied(name) / "model.json", *path, to=value)
    refused(words)


def test_a_graph_that_would_need_all_memory_there_is_is_refused(copied):
    folder = copied("aim")
    state = json.loads((folder / "model.json").read_text())["state"]
    columns = [column[0] for column in state["sets"] if len(column) == 1]
    pairs = [[first, second] for first in columns for second in columns if first < second]
    change(folder / "model.json", "state", "sets", to=pairs)
    refused("sets must make a model of its size")


def test_weights_so_large_that_nothing_can_be_drawn_are_refused(copied):
    folder = copied("transformer")
    change_arrays(folder, start=lambda start: start + 3e38, places=lambda places: places + 3e38)
    refused("the network's weights are too large")


# Files that are none


@pytest.mark.parametrize("name", ["model.json", "arrays.npz", "layout.json"])
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (os.mkfifo, "is a pipe, not a file"),
        (os.mkdir, "is a folder, not a file"),
        (lambda file: file.symlink_to("/dev/zero"), "is a device, not a file"),
        (lambda file: file.write_bytes(b""), "cannot be read"),  # the disk was full
        (lambda file: file.symlink_to(file.name), "cannot be read"),
    ],
)
def test_what_is_no_file_is_not_waited_for(copied, name, make, words):
    file = copied("copy") / name
    file.unlink()
    make(file)
    refused(words)


def test_an_archive_that_unpacks_to_more_than_it_is_is_refused(copied, monkeypatch):
    folder = copied("copy")
    with zipfile.ZipFile(folder / "arrays.npz", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("rows.npy", bytes(10**7))
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("unpacked"))
    refused("arrays.npz holds more than its size allows")


def test_a_description_of_no_size_is_refused_before_it_is_read(copied, monkeypatch):
    copied("copy")
    monkeypatch.setattr(reading, "MOST_JSON", 100)
    refused("bytes; at most 100 are read")


def test_objects_are_not_unpickled(copied, tmp_path):
    folder = copied("copy")

    class Harm:
        def __reduce__(self):
            return Path.touch, (tmp_path / "harm",)

    np.savez(folder / "arrays.npz", rows=np.array([Harm()], dtype=object), allow_pickle=True)
    refused("array 'rows' is not written as numbers are")
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1e999"])
def test_numbers_that_are_none_are_refused(copied, value):
    file = copied("aim") / "model.json"
    change(file, "state", "n_rows", to="HERE")
    file.write_text(file.read_text().replace('"HERE"', value))
    refused("model.json is not valid JSON")


def test_data_that_are_nested_without_end_are_refused(copied):
    (copied("copy") / "model.json").write_text("[" * 10**6)
    refused("model.json is not valid JSON")


@pytest.mark.parametrize("name", ["../../model", "/etc", ".", "a/b"])
def test_parts_stand_in_their_model(copied, name):
    change(copied("hybrid") / "model.json", "parts", to=[name])
    refused("hybrid stores no part")


def test_a_part_is_not_a_link_to_its_model(copied):
    folder = copied("hybrid")
    shutil.rmtree(folder / "parts" / "generator")
    (folder / "parts" / "generator").symlink_to("../..")
    refused("parts/generator is a link")


@pytest.mark.parametrize("name", ["copy", "trees", "marginals"])
def test_what_a_generator_does_not_store_is_refused(copied, name):
    folder = copied(name)
    shutil.copytree(folder, folder / "parts" / "generator")
    change(folder / "model.json", "parts", to=["generator"])
    refused(f"{name} stores no part 'generator'")


def test_a_part_stands_there_once(copied):
    change(copied("hybrid") / "model.json", "parts", to=["generator", "generator"])
    refused("a part stands there twice")


def test_parts_in_parts_end(copied):
    """Models of which each is a part of the one before."""
    folder = copied("hybrid")
    shutil.rmtree(folder / "parts")
    files = {file.name: file.read_bytes() for file in folder.iterdir()}
    for _ in range(150):
        folder = folder / "parts" / "generator"
        folder.mkdir(parents=True)
        for name, data in files.items():
            (folder / name).write_bytes(data)
    refused("parts lie too deep in each other")


def test_the_part_of_a_pipeline_is_by_its_generator(copied, stored):
    folder = copied("hybrid")
    shutil.rmtree(folder / "parts" / "generator")
    shutil.copytree(stored("copy"), folder / "parts" / "generator")
    refused("the generator must be the one that was chosen, trees")


# Layouts


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("columns", 0, "step"), 7),
        (("columns", 0, "plain"), "date32[day]"),
        (("columns", 0, "kind"), "nothing"),
        (("columns", 0, "form", "digits"), 400),
        (("columns", 0, "form", "digits"), -1),
        (("columns", 0, "form", "words"), ["yes", "yes"]),
        (("columns", 0, "form", "more"), 1),
        (("columns", 0, "form", "iso"), {"separator": "x", "seconds": True, "digits": 0, "zone": None}),
        (("columns", 0, "form", "iso"), {"separator": "T", "seconds": True, "digits": 99, "zone": None}),
        (("columns", 0, "form", "iso"), {"separator": "T", "seconds": True, "digits": 0, "zone": "+1"}),
        (("columns", 0, "type"), {"decimal": 128, "digits": 10**40, "decimals": 0}),
        (("csv",), {"delimiter": ",", "encoding": "rot13"}),
        (("declared",), "all"),
    ],
)
def test_layouts_that_nobody_writes_are_refused(copied, path, value):
    change(copied("copy") / "layout.json", *path, to=value)
    refused("cannot be read")


def test_times_beyond_the_clock_are_refused(copied):
    folder = copied("copy")
    names = [column["name"] for column in json.loads((folder / "model.json").read_text())["schema"]]
    change(folder / "model.json", "schema", names.index("admitted"), "numeric", to=[0, 1e15])
    refused("layout.json belongs to another model")


def test_schemas_are_read_as_they_are_written():
    schema = (
        GENERATORS["copy"]()
        .fit(tabveil.tables.reading.load_table(hospital(30, seed=2)).table, rng=np.random.default_rng(0))
        .schema
    )
    assert Schema.from_json(json.loads(json.dumps(schema.to_json()))) == schema


def test_an_archive_larger_than_the_memory_is_refused(copied):
    folder = copied("copy")
    with (folder / "arrays.npz").open("ab") as file:  # on disk it takes nothing
        file.truncate(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") + 1)
    refused("more than this machine's memory")
