"""A form names files below one folder, and no others."""

import os

import pytest

from tabveil.errors import TabveilError
from tabveil.web import places
from tabveil.web.places import Below


@pytest.fixture
def root(tmp_path):
    """A folder with a table, a folder in it, and something beside that nobody may name."""
    root = tmp_path / "data"
    (root / "inner").mkdir(parents=True)
    (root / "a.csv").write_text("x\n1\n")
    (root / "inner" / "b.csv.gz").write_text("x\n1\n")
    (root / "inner" / "notes.md").write_text("no table")
    (tmp_path / "secret.csv").write_text("x\n1\n")
    (tmp_path / "data2").mkdir()
    (tmp_path / "data2" / "c.csv").write_text("x\n1\n")
    return root.resolve()


def test_what_lies_below_is_found(root):
    below = Below(root)
    assert below.file("a.csv") == root / "a.csv"
    assert below.file("inner/b.csv.gz") == root / "inner" / "b.csv.gz"
    assert below.tables() == ["a.csv", "inner/b.csv.gz"]


NAMES = [
    "",
    ".",
    "..",
    "/",
    "../secret.csv",
    "inner/../../secret.csv",
    "inner/../a.csv",
    "../data2/c.csv",
    "/etc/passwd",
    "//etc/passwd",
    "{root}/a.csv",
    "a.csv\0",
    "..\\secret.csv",
    "%2e%2e/secret.csv",
    ".hidden.csv",
    "inner",
    "missing.csv",
    "a.csv/x",
    "x" * 2000,
]


@pytest.mark.parametrize("name", NAMES)
def test_what_does_not_is_refused_in_the_same_words(root, name):
    (root / ".hidden.csv").write_text("x\n1\n")
    with pytest.raises(TabveilError) as refusal:
        Below(root).file(name.format(root=root))
    assert str(refusal.value) == "there is no such file below this folder."


def test_links_that_leave_the_folder_lead_nowhere(root):
    (root / "out.csv").symlink_to(root.parent / "secret.csv")
    (root / "folder").symlink_to(root.parent / "data2")
    (root / "up").symlink_to("..")
    (root / "twice.csv").symlink_to(root / "out.csv")
    (root / "itself.csv").symlink_to(root / "itself.csv")
    (root / "within.csv").symlink_to(root / "a.csv")
    below = Below(root)
    for name in ("out.csv", "folder/c.csv", "up/secret.csv", "up/data/a.csv/x", "twice.csv", "itself.csv"):
        with pytest.raises(TabveilError):
            below.file(name)
    assert below.file("within.csv") == root / "a.csv"
    assert below.tables() == ["a.csv", "inner/b.csv.gz", "within.csv"]


def test_what_is_no_file_is_not_listed_nor_opened(root):
    os.mkfifo(root / "pipe.csv")
    (root / "folder.csv").mkdir()
    assert Below(root).tables() == ["a.csv", "inner/b.csv.gz"]
    with pytest.raises(TabveilError):
        Below(root).file("pipe.csv")


def test_a_listing_has_an_end(root, monkeypatch):
    monkeypatch.setattr(places, "MOST_LISTED", 3)
    for number in range(9):
        (root / f"n{number}.csv").write_text("x\n")
    assert len(Below(root).tables()) == 3
    monkeypatch.setattr(places, "_MOST_SEEN", 2)
    assert len(Below(root).tables()) <= 2


def test_what_jobs_made_is_not_among_files_to_choose(root):
    (root / "one" / "runs" / "x").mkdir(parents=True)
    (root / "one" / "runs" / "x" / "rows.csv").write_text("x\n")
    (root / "one" / "own.csv").write_text("x\n")
    assert "one/runs/x/rows.csv" in Below(root).tables()
    (root / "one" / places.PROJECT).write_text("{}")
    assert [name for name in Below(root).tables() if name.startswith("one")] == ["one/own.csv"]
    assert Below(root).settings() == []
