"""Embeddings are stored without a pickle; whatever a folder holds, opening it ends well or with a line."""

import json
import stat
import warnings

import numpy as np
import pytest
from damaged_models import copy_of, damages
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from populations import SCHEMAS, rows

from tabveil.embedding import Embedding
from tabveil.errors import ParameterError
from tabveil.table import Table

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
