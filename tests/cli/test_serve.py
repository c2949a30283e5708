"""The command that opens the pages, without opening any."""

import importlib.util
import json
import re

import pytest
from supplies.terminal import refused, run

from tabveil.cli import serve


@pytest.fixture
def never(monkeypatch):
    """Let no server run, and no browser open."""
    ran = []
    monkeypatch.setattr(
        "tabveil.web.server.Served.run", lambda served: ran.append(served) or served._socket.close()
    )
    monkeypatch.setattr("tabveil.web.server.webbrowser.open", lambda address: ran.append(address) or False)
    return ran


def test_it_shows_a_link_and_serves(never, tmp_path):
    result = run("serve", "--folder", tmp_path, "--no-browser", "--at-once", 2)
    assert result.exit_code == 0, result.output
    assert re.search(r"^http://127\.0\.0\.1:\d+/enter\?key=[\w-]{43}$", result.stdout, re.MULTILINE)
    (served,) = never
    assert served.link in result.stdout
    assert served.desk.jobs._at_once == 2


def test_it_opens_a_browser(never, tmp_path):
    assert run("serve", "--folder", tmp_path).exit_code == 0
    assert never[0].startswith("file://")


def test_it_listens_to_nobody_else_whatever_is_asked(tmp_path):
    assert "host" not in {
        name for parameter in run("serve", "--help").stdout.split() for name in [parameter.strip("-")]
    }
    assert "No such option" in refused("serve", "--folder", tmp_path, "--host", "0.0.0.0")


def test_without_the_extra_it_says_what_to_install(monkeypatch, tmp_path):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        serve.importlib.util, "find_spec", lambda name: None if name == "uvicorn" else find(name)
    )
    assert "pip install 'tabveil[web]'" in refused("serve", "--folder", tmp_path)


def test_a_folder_must_be_there(tmp_path):
    assert "--folder: there is no folder" in refused("serve", "--folder", tmp_path / "x", "--no-browser")


def test_what_fails_inside_is_said_without_a_value(capsys):
    from tabveil.cli.screen import Screen  # noqa: PLC0415 - on the captured stream

    try:
        json.loads("somebody's secret")
    except ValueError as error:
        serve._complain(Screen(stderr=True), error)
    said = capsys.readouterr().err
    assert "JSONDecodeError in raw_decode" in said
    assert "secret" not in said
