"""A file that says how far it is: whole at any time, and never in the way of the work."""

import json

import pytest

from tabveil.core import progress_file
from tabveil.core.progress_file import Progress, ProgressFile
from tabveil.core.workers import side_by_side, tell, working


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(progress_file, "PAUSE", 0.0)


def test_it_says_what_it_heard(tmp_path):
    file = ProgressFile(tmp_path / "p.json", lambda: 12.5)
    file.note("linkability", 0.25)
    file.hear("comparing rows", 0.5)
    found = Progress.read(tmp_path / "p.json")
    assert (found.doing, found.share, found.left) == ("comparing rows", 0.5, 12.5)
    assert dict(found.parts) == {"linkability": 0.25}


def test_parts_are_those_of_the_whole_work_and_not_of_its_parts(tmp_path):
    file = ProgressFile(tmp_path / "p.json", lambda: None)

    def inner():
        side_by_side([lambda: None], titles=["planted"])
        tell("halfway", 0.5)

    with working(threads=1, listener=file.hear, noted=file.note):
        side_by_side([inner, lambda: None], titles=["power", "utility"])
        seen = Progress.read(tmp_path / "p.json")
    assert dict(seen.parts) == {"power": 1.0, "utility": 1.0}


def test_a_share_never_falls_and_is_a_share(tmp_path):
    file = ProgressFile(tmp_path / "p.json", lambda: None)
    file.note("a", 0.5)
    file.note("a", 0.2)
    file.hear("b", 7.0)
    found = Progress.read(tmp_path / "p.json")
    assert dict(found.parts) == {"a": 0.5}
    assert found.share == 1.0


def test_a_place_that_cannot_be_written_stops_nothing(tmp_path):
    file = ProgressFile(tmp_path / "nowhere" / "p.json", lambda: None)
    file.hear("x", 0.1)
    file.note("y", 0.1)


@pytest.mark.parametrize("text", ["", "{}x", "[]", '{"share": "all"}', '{"share": NaN}', '{"parts": [1]}'])
def test_what_is_no_such_file_says_nothing(tmp_path, text):
    (tmp_path / "p.json").write_text(text)
    assert Progress.read(tmp_path / "p.json") is None
    assert Progress.read(tmp_path / "missing.json") is None


def test_a_command_writes_it_where_it_is_asked_for(tmp_path, monkeypatch):
    from tabveil.cli.progress import progress_shown  # noqa: PLC0415 - what is asked

    monkeypatch.setenv(progress_file.VARIABLE, str(tmp_path / "p.json"))
    for quiet in (True, False):
        with progress_shown(quiet=quiet, title="audit: ") as listener, working(threads=1, listener=listener):
            side_by_side([lambda: tell("rows", 0.5)], titles=["mmd"])
        found = json.loads((tmp_path / "p.json").read_text())
        assert found["doing"].startswith("audit: mmd")
        assert found["parts"] == {"mmd": 1.0}
        (tmp_path / "p.json").unlink()
    monkeypatch.delenv(progress_file.VARIABLE)
    with progress_shown(quiet=True) as listener:
        listener("x", 0.5)
    assert not (tmp_path / "p.json").exists()
