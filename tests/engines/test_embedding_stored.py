"""Embeddings are stored without a pickle; whatever a folder holds, opening it ends well or with a line."""

import json
import os
import pickle
import stat
import tempfile
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from supplies.damaged_models import as_bytes, copy_of, damages, pack
from supplies.populations import SCHEMAS, rows

from tabveil.core.table import Table
from tabveil.engines.embedding import Embedding
from tabveil.errors import ParameterError

pytest.importorskip("torch")

FILES = ("embedding.json", "arrays.npz")


def table(kind="mixed", n=80):
    return Table(schema=SCHEMAS[kind], values=rows(kind, n, np.random.default_rng(0)))


def fit(kind="mixed", **given):
    small = {"width": 16, "layers": 2, "dimension": 4, "epochs": 2, **given}
    return Embedding(**small).fit(table(kind), rng=np.random.default_rng(0))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    place = tmp_path_factory.mktemp("embeddings")
    fit().save(place / "whole")
    fit("levels", layers=1, preset="paper").save(place / "other")
    return place


@pytest.mark.parametrize("given", [{}, {"preset": "paper"}, {"held_out": 0.0, "switched": 0.3}], ids=str)
def test_what_is_opened_is_what_was_saved(tmp_path, given):
    model = fit(**given)
    model.save(tmp_path / "kept")
    opened = Embedding.load(tmp_path / "kept")
    assert (opened.made_by, opened.inputs, opened.history) == (model.made_by, model.inputs, model.history)
    assert (opened.best, opened.notes) == (model.best, model.notes)
    for masked in ((), ("age", "sex")):
        np.testing.assert_array_equal(opened.embed(table(), masked), model.embed(table(), masked))


def test_only_the_owner_can_read_it(folders):
    assert sorted(file.name for file in (folders / "whole").iterdir()) == sorted(FILES)
    for file in (folders / "whole").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_nothing_is_written_over(folders):
    with pytest.raises(ParameterError, match="is already there"):
        fit().save(folders / "whole")


def edit(folder, change):
    path = folder / "embedding.json"
    about = json.loads(path.read_text())
    change(about)
    path.write_text(json.dumps(about))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda a: a.update(tabveil_embedding=2), "in a form this version does not read"),
        (lambda a: a.pop("tabveil_embedding"), "does not say which form"),
        (lambda a: a.update(more=1), "embedding.json.more"),
        (lambda a: a.update(best=2), "best must be one of the epochs"),
        (lambda a: a["settings"].update(width=10**6), "array 'hidden.0.weight' must be of shape"),
        (lambda a: a["settings"].update(width=10**30), "the settings are those of no network"),
        (lambda a: a["settings"].update(layers=10**9), "every layer must have its weights"),
        (lambda a: a["settings"].update(layers=3), "is missing"),
        (lambda a: a["settings"].update(device="tpu"), "device"),
        (lambda a: a["settings"].update(jitter="much"), "jitter cannot be 'much'"),
        (lambda a: a["inputs"]["numbers"][0].update(deviation=0.0), "must be numbers that a column can have"),
        (lambda a: a["inputs"]["numbers"][0].update(mean=1e300), "must be numbers that a column can have"),
        (lambda a: a["inputs"]["numbers"].reverse(), "inputs must stand by name"),
        (lambda a: a["inputs"]["labels"][0]["seen"].reverse(), "labels must be different, and in order"),
        (lambda a: a["inputs"]["labels"][0]["seen"].append("zz"), "array 'labels.weight' must be of shape"),
        (lambda a: a["inputs"]["labels"][0].update(name="age"), "inputs must be different columns"),
        (lambda a: a["inputs"].update(numbers=[], labels=[]), "at least one column"),
    ],
)
def test_a_folder_made_by_hand_is_refused_in_a_line(folders, change, complaint):
    folder = copy_of(folders / "whole", folders / "edited")
    edit(folder, change)
    with pytest.raises(ParameterError, match=complaint) as refused:
        Embedding.load(folder)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_weights_must_be_finite(folders, bad):
    folder = copy_of(folders / "whole", folders / "edited")
    with np.load(folder / "arrays.npz") as stored:
        arrays = dict(stored)
    arrays["last.bias"][0] = bad
    np.savez(folder / "arrays.npz", **arrays)
    with pytest.raises(ParameterError, match=r"array 'last\.bias' must be finite"):
        Embedding.load(folder)


def arrays_of(folder):
    with np.load(folder / "arrays.npz") as stored:
        return {name: stored[name] for name in stored.files}


def members_of(folder):
    return {f"{name}.npy": as_bytes(array) for name, array in arrays_of(folder).items()}


class Harmful:
    """Leaves a trace if it is ever unpickled."""

    def __reduce__(self):
        return os.mkdir, (str(TRACE),)


TRACE = Path(tempfile.gettempdir()) / f"tabveil_unpickled_{os.getpid()}"


def header(shape, kind="<f4"):
    """Return the bytes of an array that claims a shape and has no numbers."""
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def without(name):
    return lambda members: {key: value for key, value in members.items() if key != name}


def with_member(name, data):
    return lambda members: {**members, name: data}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (without("last.bias.npy"), r"array 'last\.bias' is missing"),
        (with_member("more.npy", as_bytes(np.zeros(3))), "array 'more' is not one"),
        (with_member("../../etc/passwd.npy", as_bytes(np.zeros(3))), r"array '\.\./\.\./etc/passwd' is not"),
        (with_member("/last.bias.npy", as_bytes(np.zeros(4, np.float32))), "array '/last.bias' is not one"),
        (with_member("last.bias\n.npy", as_bytes(np.zeros(3))), r"array 'last\.bias\\n' is not one"),
        (with_member("code.py", b"import os"), "holds more than its size allows"),
        (with_member("last.bias.npy", as_bytes(np.array([Harmful()]))), "not written as numbers are"),
        (with_member("last.bias.npy", as_bytes(np.zeros(4))), "must be float32, got float64"),
        (
            with_member("last.bias.npy", as_bytes(np.zeros((4, 1), np.float32))),
            r"of shape \(4\), got \(4, 1\)",
        ),
        (with_member("last.bias.npy", as_bytes(np.zeros(5, np.float32))), r"of shape \(4\), got \(5,\)"),
        (with_member("last.bias.npy", as_bytes(np.full(4, np.nan, np.float32))), "must be finite"),
        (with_member("last.bias.npy", header("(1000000000000,)")), "1,000,000,000,000 numbers, got another"),
        (with_member("last.bias.npy", header("(0, 1000000000000)")), r"of shape \(4\), got \(0, 1"),
        (with_member("last.bias.npy", header("(9999999999999999999,)")), "has no shape of an array"),
        (with_member("last.bias.npy", header("(1, " * 200 + ")" * 200)), "not written as numbers are"),
        (with_member("last.bias.npy", header("(4,)", "|O")), "not written as numbers are"),
        (with_member("last.bias.npy", as_bytes(np.zeros(4, np.float32))[:-1]), "must have 4 numbers"),
        (with_member("last.bias.npy", b""), "not written as numbers are"),
        (lambda _: {}, "every layer must have its weights"),
    ],
)
def test_arrays_made_by_hand_are_refused_in_a_line(folders, change, complaint):
    folder = copy_of(folders / "whole", folders / "edited")
    pack(change(members_of(folder)), folder / "arrays.npz")
    refused_lightly(folder, complaint)


def refused_lightly(folder, complaint):
    """Open a folder, which must be refused in a line, without much memory and with nothing run."""
    tracemalloc.start()
    try:
        with pytest.raises(ParameterError, match=complaint) as refused:
            Embedding.load(folder)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 800
    assert peak < 20_000_000
    assert not TRACE.exists()


def test_a_whole_archive_of_pickles_runs_nothing(folders):
    folder = copy_of(folders / "whole", folders / "edited")
    (folder / "arrays.npz").write_bytes(pickle.dumps({"last.bias": Harmful()}))
    refused_lightly(folder, "is no archive of arrays")


def test_an_archive_that_unpacks_to_more_than_it_is_is_not_unpacked(folders):
    folder = copy_of(folders / "whole", folders / "edited")
    members = members_of(folder)
    members["last.bias.npy"] = header("(50000000,)") + bytes(200_000_000)
    with zipfile.ZipFile(folder / "arrays.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as bomb:
        for name, data in members.items():
            bomb.writestr(name, data)
    refused_lightly(folder, "holds more than its size allows")


def test_an_archive_that_lies_about_its_sizes_is_refused(folders):
    folder = copy_of(folders / "whole", folders / "edited")
    whole = bytearray((folder / "arrays.npz").read_bytes())
    place = whole.rindex(b"PK\x01\x02")  # of the last member, in the table at the end
    for size in (20, 24):  # packed and unpacked
        whole[place + size : place + size + 4] = (2**31).to_bytes(4, "little")
    (folder / "arrays.npz").write_bytes(whole)
    refused_lightly(folder, "holds more than its size allows")


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_files_that_were_cut_are_refused(folders, file, share):
    folder = copy_of(folders / "whole", folders / "edited")
    whole = (folder / file).read_bytes()
    (folder / file).write_bytes(whole[: int(share * len(whole))])
    refused_lightly(folder, "is no archive of arrays|is not valid JSON")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda a: a.update(settings=[]), "embedding.json.settings"),
        (lambda a: a.update(history={"epoch": 1}), "embedding.json.history"),
        (lambda a: a["history"][0].update(train="low"), r"embedding.json.history\.0\.train"),
        (lambda a: a.update(best="first"), r"embedding\.json\.best"),
        (lambda a: a.update(best=-1), "best must be one of the epochs"),
        (lambda a: a.update(notes=[3]), r"embedding.json.notes\.0"),
        (lambda a: a.update(inputs=[]), "embedding.json.inputs"),
        (lambda a: a["inputs"].update(numbers=[3]), r"inputs\.numbers\.0"),
        (lambda a: a["inputs"]["labels"][0].update(seen="abc"), r"inputs\.labels\.0\.seen"),
        (lambda a: a["inputs"]["labels"][0].update(seen=[1, 2]), r"inputs\.labels\.0\.seen"),
        (lambda a: a["settings"].update(width=2.5), "width cannot be 2.5"),
        (lambda a: a["settings"].update(width=-3), "width must be >= 1"),
        (lambda a: a["settings"].update(dropout=True), "dropout"),
        (lambda a: a["settings"].update(dimension="huge"), "dimension cannot be 'huge'"),
        (lambda a: a["settings"].update(label_width=10**12), "array 'labels.weight' must be of shape"),
        (lambda a: a["settings"].update(preset={"name": "paper", "settings": {}}), "embedding"),
        (lambda a: a["settings"].update({"__class__": "os.system"}), "no setting '__class__'"),
    ],
)
def test_json_of_other_types_is_refused_in_a_line(folders, change, complaint):
    folder = copy_of(folders / "whole", folders / "edited")
    edit(folder, change)
    refused_lightly(folder, complaint)


@pytest.mark.parametrize(
    "text", ["[]", "3", "null", "{}", "[" * 100_000, '{"tabveil_embedding": 1}', "\ufeff{}"]
)
def test_json_that_is_something_else_is_refused_in_a_line(folders, text):
    folder = copy_of(folders / "whole", folders / "edited")
    (folder / "embedding.json").write_text(text, encoding="utf-8")
    refused_lightly(folder, "cannot be read")


def test_weights_so_large_that_numbers_overflow_are_told(folders):
    folder = copy_of(folders / "whole", folders / "edited")
    with np.load(folder / "arrays.npz") as stored:
        arrays = dict(stored)
    arrays["last.weight"][:] = 3e38
    np.savez(folder / "arrays.npz", **arrays)
    with pytest.raises(ParameterError, match="weights are too large"):
        Embedding.load(folder).embed(table())


def test_there_may_be_nothing(tmp_path):
    with pytest.raises(ParameterError, match="there is no model in this folder"):
        Embedding.load(tmp_path / "nowhere")


@settings(
    max_examples=80,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_damaged_folders_are_refused_or_work(folders, data):
    damage = data.draw(damages([folders / "whole", folders / "other"], names=FILES))
    folder = copy_of(folders / "whole", folders / "damaged")
    damage(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            vectors = Embedding.load(folder).embed(table(n=9))
        except ParameterError as error:
            refused, vectors = str(error), np.zeros((9, 4))
        else:
            refused = ""
    assert len(refused) < 800
    assert "\n" not in refused
    assert len(vectors) == 9
    assert np.isfinite(vectors).all()
