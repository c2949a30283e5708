"""Files and folders that are written: whole or not at all, for their owner alone if people are in them."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from supplies.places import TESTS
from supplies.shuffle import people
from typer.testing import CliRunner

import tabveil
from tabveil.cli import app
from tabveil.core.storage.files import new_folder, replacing, write_text
from tabveil.datasets import hospital


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder, and files that others may read unless somebody sees to it that they may not."""
    monkeypatch.chdir(tmp_path)
    before = os.umask(0o022)
    yield tmp_path
    os.umask(before)


def mode(path):
    return oct(Path(path).stat().st_mode & 0o777)


def test_a_guarded_file_is_never_open_to_others(folder):
    with replacing(folder / "scores.csv", guarded=True) as temporary:
        assert mode(temporary) == "0o600"
        pd.DataFrame({"score": [1]}).to_csv(temporary, index=False)
        assert mode(temporary) == "0o600"
    assert mode("scores.csv") == "0o600"
    assert Path("scores.csv").read_text() == "score\n1\n"
    write_text(folder / "open.txt", "text")
    write_text(folder / "guarded.txt", "text", guarded=True)
    assert [mode(name) for name in ("open.txt", "guarded.txt")] == ["0o644", "0o600"]


def test_a_file_that_was_open_is_guarded_once_it_is_replaced(folder):
    write_text(folder / "scores.csv", "old")
    write_text(folder / "scores.csv", "new", guarded=True)
    assert mode("scores.csv") == "0o600"
    assert [path.name for path in folder.iterdir()] == ["scores.csv"]


def test_no_link_leads_what_is_written_elsewhere(folder, monkeypatch):
    """Whoever may write into the folder lays links under every name that the file could have."""
    Path("precious.txt").write_text("ours")
    guesses = iter(["a" * 16, "b" * 16])
    monkeypatch.setattr("tabveil.core.storage.files.secrets.token_hex", lambda _: next(guesses))
    Path(f".{'a' * 16}-page.html").symlink_to("precious.txt")
    with pytest.raises(FileExistsError) as refused:
        write_text(Path("page.html"), "page")
    assert refused.value.filename == "page.html"
    write_text(Path("page.html"), "page")
    assert [Path(name).read_text() for name in ("precious.txt", "page.html")] == ["ours", "page"]


def test_a_file_whose_name_fills_all_there_is_can_be_replaced(folder):
    name = f"{'ö' * 120}.html"
    write_text(folder / name, "page")
    write_text(folder / name, "new page")
    assert [path.name for path in folder.iterdir()] == [name]


def test_a_full_disk_is_said_of_the_file(folder):
    def fill():
        with replacing(Path("page.html")):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match="No space left") as full:
        fill()
    assert full.value.filename == "page.html"
    assert list(folder.iterdir()) == []


def test_a_full_disk_is_said_of_the_model_also_where_it_is_a_part_of_another(folder):
    def fill():
        with new_folder(folder / "model") as place, new_folder(place / "part"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match="No space left") as full:
        fill()
    assert full.value.filename == str(folder / "model")
    assert list(folder.iterdir()) == []


def test_everything_in_a_new_folder_is_the_owners(folder):
    Path("elsewhere.txt").write_text("ours")
    with new_folder(folder / "model") as place:
        (place / "parts" / "first").mkdir(parents=True)
        (place / "parts" / "first" / "model.json").write_text("{}")
        (place / "arrays.npz").write_bytes(b"")
        (place / "link").symlink_to(folder / "elsewhere.txt")
    found = {str(path.relative_to(folder)): mode(path) for path in folder.rglob("*") if not path.is_symlink()}
    assert found == {
        "elsewhere.txt": "0o644",
        "model": "0o700",
        "model/arrays.npz": "0o600",
        "model/parts": "0o700",
        "model/parts/first": "0o700",
        "model/parts/first/model.json": "0o600",
    }


def test_models_are_guarded_and_released_rows_are_not(folder):
    people().to_csv("train.csv", index=False)
    given = ("--data", "train.csv", "--generator", "copy", "--save", "model", "--out", "out.csv")
    assert CliRunner().invoke(app, ["synthesize", *given]).exit_code == 0
    assert mode("model") == "0o700"
    assert {mode(path) for path in Path("model").iterdir()} == {"0o600"}
    assert mode("out.csv") == "0o644"
    assert len(tabveil.sample("model", 3)) == 3


def test_records_and_reports_that_show_people_are_guarded(folder):
    hospital(80, seed=1).to_csv("train.csv", index=False)
    hospital(40, seed=2).to_csv("control.csv", index=False)
    hospital(80, seed=1).to_csv("synthetic.csv", index=False)  # copies: somebody is exposed
    words = ["audit", "--train", "train.csv", "--control", "control.csv", "--synthetic", "synthetic.csv"]
    words += ["--metric", "linkability", "--no-utility", "--no-power", "-q"]
    outputs = ["--json", "report.json", "--html", "report.html", "--records", "records.csv"]
    done = CliRunner().invoke(app, [*words, *outputs])
    assert done.exit_code == 0, done.output
    assert [mode(f"report.{end}") for end in ("json", "html")] == ["0o644", "0o644"]
    assert mode("records.csv") == "0o600"
    done = CliRunner().invoke(app, [*words, *outputs, "--show-values", "--force"])
    assert done.exit_code == 0, done.output
    assert [mode(f"report.{end}") for end in ("json", "html")] == ["0o600", "0o600"]


ENDED_WHILE_STORING = """
import os, signal, sys, time
sys.path.insert(0, {tests!r})
from supplies.shuffle import Shuffle
from tabveil.cli import main
from tabveil.synthesis.generators import GENERATORS

class Stored(Shuffle):
    name = "stored"
    def fit(self, table, *, rng):
        model = super().fit(table, rng=rng)
        model.name, model.save = "stored", save
        return model

def save(folder):
    folder.mkdir()
    (folder / "half").write_text("half")
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)

GENERATORS.add(Stored)
main()
"""
ENDED_WHILE_WRITING = """
import os, signal, time
from pathlib import Path
from tabveil.cli import main

def write_half(path, data):
    with path.open("wb") as file:
        file.write(data[:10])
        file.flush()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)

Path.write_bytes = write_half
main()
"""


@pytest.mark.parametrize(
    ("code", "given"),
    [
        (ENDED_WHILE_STORING, ("--generator", "stored", "--save", "model")),
        (ENDED_WHILE_WRITING, ("--generator", "copy")),
    ],
)
def test_a_program_that_the_system_ends_leaves_nothing_behind(folder, code, given):
    people().to_csv("train.csv", index=False)
    words = ["synthesize", "--data", "train.csv", "--out", "out.csv", *given]
    code = code.format(tests=str(TESTS)) if "{tests" in code else code
    ended = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False, timeout=50
    )
    assert ended.returncode == 143, ended.stderr
    assert ended.stderr.splitlines()[-1] == "tabveil: ended by the system."
    assert [path.name for path in folder.iterdir()] == ["train.csv"]
