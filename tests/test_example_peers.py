"""Faults of other tools show as their page says: the side of tabveil always, theirs where it is installed."""

import importlib.metadata
import re
import runpy

import pytest
from supplies.places import ROOT

FOLDER = ROOT / "examples" / "peers"
PAGE = (FOLDER / "README.md").read_text(encoding="utf-8")
SCRIPTS = sorted(path for path in FOLDER.glob("*.py") if path.stem != "beside")
PEERS = {"anonymeter", "sdmetrics", "syntheval"}
CHANCE = {"baseline_of_a_coin", "missing_values", "negative_guess", "no_seed"}
"""Those whose other tool has no seed: its numbers differ from run to run."""


def told(name):
    """What the page shows of a script: its lines, by the tool that printed them."""
    block = re.search(rf"```text\n\$ python {name}\.py\n(.*?)```", PAGE, flags=re.DOTALL)[1]
    question, *lines = block.splitlines()
    sides, side = {"question": [question]}, None
    for line in lines:
        if line.startswith("  "):
            sides[side].append(line.strip())
        else:
            side = re.match(r"\w+", line)[0]
            sides[side] = []
    return sides


@pytest.fixture(params=SCRIPTS, ids=lambda path: path.stem)
def script(request, monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    return request.param.stem, runpy.run_path(str(request.param))


def test_every_script_is_told_of():
    assert re.findall(r"^\$ python (\w+)\.py$", PAGE, flags=re.MULTILINE) != []
    assert {path.stem for path in SCRIPTS} == set(
        re.findall(r"^\$ python (\w+)\.py$", PAGE, flags=re.MULTILINE)
    )


def test_tabveil_says_what_the_page_says(script):
    name, names = script
    assert told(name)["question"] == [names["__doc__"].strip()]
    assert list(names["tabveil"]()) == told(name)["tabveil"]


def test_formulas_say_what_the_page_says(script):
    name, names = script
    if "formula" not in names:
        pytest.skip("shows a tool, not a formula")
    assert list(names["formula"]()) == next(
        lines for side, lines in told(name).items() if side in {"numpy", "pandas"}
    )


def test_the_other_tool_says_what_the_page_says(script):
    name, names = script
    peers = PEERS & names.keys()
    if not peers:
        pytest.skip("shows a formula, not a tool")
    (peer,) = peers
    pytest.importorskip(peer, reason=f"{peer} has an environment of its own")
    said = list(names[peer]())
    if name in CHANCE:
        said, shown = ([re.sub(r"[\d.]+", "#", line) for line in lines] for lines in (said, told(name)[peer]))
        assert said == shown
    else:
        assert said == told(name)[peer]


def test_a_script_names_what_is_not_installed(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(FOLDER))
    show = runpy.run_path(str(FOLDER / "beside.py"))["show"]
    show("Well?", ("no-such-tool", lambda: ["never"]), ("pytest", lambda: ["yes"]))
    version = importlib.metadata.version("pytest")
    assert capsys.readouterr().out == f"Well?\nno-such-tool: not installed here\npytest {version}:\n  yes\n"


@pytest.mark.parametrize("peer", sorted(PEERS))
def test_versions_are_pinned_and_those_of_the_page(peer):
    lines = (FOLDER / f"{peer}.txt").read_text(encoding="utf-8").splitlines()
    files = [FOLDER / line[3:] for line in lines if line.startswith("-r ")]
    lines += [line for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    pinned = dict(line.split("==") for line in lines if line and not line.startswith(("#", "-r ")))
    assert f"{peer} {pinned[peer]}:" in PAGE
