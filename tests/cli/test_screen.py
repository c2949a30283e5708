"""What people see: no name of a column, a label or a file gives the terminal an order."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml
from rich.table import Table
from rich.text import Text
from supplies.terminal import run

from tabveil import datasets
from tabveil.cli.screen import Screen
from tabveil.core.wording import escaped

TITLE = "\x1b]0;owned\x07"
AUDIT = (
    "audit",
    *(part for name in ("train", "control", "synthetic") for part in (f"--{name}", f"{name}.parquet")),
)
HOSTILE = f"{TITLE}\x9b2J\u202erow[/]\x7f"
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
STYLING = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[[0-9]*[AK]|\r")
"""What a terminal is told by us: colors, the cursor, and the line to draw again."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder whose tables, attackers and files have hostile names."""
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(("train", "control", "synthetic")):
        people = datasets.hospital(60, seed=seed)[["age", "sex", "cost"]]
        people.rename(columns={"sex": HOSTILE}).to_parquet(f"{name}.parquet", index=False)
    attacker = {"name": HOSTILE, "knows": ["age"], "wants": [HOSTILE]}
    Path("attackers.json").write_text(json.dumps({"attackers": [attacker]}))
    return tmp_path


def shown(*args, code=0):
    """Run a command and return what it printed, after making sure that nothing in it is obeyed."""
    result = run(*args)
    assert result.exit_code == code, result.output
    for text in (result.stdout, result.stderr):
        assert OBEYED.findall(text) == []
    return result


ATTACKED = (*AUDIT, "--secret", HOSTILE, "--metric", "inference")


def test_tables_and_notes(folder):
    text = shown(*ATTACKED, "--utility", "--target", HOSTILE).stdout
    assert r"\x1b]0;owned" in text
    assert r"\u202erow[/]" in text.replace("\n", "")


def test_titles(folder):
    assert shown(*ATTACKED).stdout.startswith("synthetic\n")  # the file's name
    assert shown(*ATTACKED, "--title", HOSTILE).stdout.startswith(r"\x1b]0;owned")


def test_names_of_attackers_are_no_markup(folder):
    assert "row[/]" in shown(*AUDIT, "--attackers", "attackers.json", "--metric", "inference").stdout


def test_json_stays_json_and_says_the_same(folder):
    result = shown(*ATTACKED, "--json", "-", "--quiet")
    assert json.loads(result.stdout)["settings"]["secrets"] == [HOSTILE]


def test_schema_and_config_stay_exact_where_no_terminal_obeys_them(folder):
    text = run("schema", "train.parquet").stdout
    assert OBEYED.findall(text.replace("\u202e", "")) == []
    assert HOSTILE in yaml.safe_load(text)["columns"]
    assert run("schema", "train.parquet", "--out", "schema.yaml").exit_code == 0
    assert Path("schema.yaml").read_text(encoding="utf-8") == text
    assert run(*ATTACKED, "--json", "report.json", "-q").exit_code == 0
    assert yaml.safe_load(shown("config", "report.json").stdout)["secrets"] == [HOSTILE]


def test_names_of_files(folder):
    name = HOSTILE.replace("/", "")
    assert run(*ATTACKED, "--json", f"{name}.json", "-q").exit_code == 0
    assert "owned" in shown("compare", f"{name}.json").stdout
    made = ("synthesize", "--data", "train.parquet", "--generator", "marginals", "--save", f"{name}.model")
    assert r"\x1b]0;owned" in shown(*made, "--out", f"{name}.csv").stdout
    more = ("sample", f"{name}.model", "--rows", 3, "--out", f"{name}.parquet")
    assert r"\x1b]0;owned" in shown(*more).stdout
    assert r"\x1b]0;owned" in shown("split", "--data", "train.parquet", "--out", name).stdout


@pytest.mark.parametrize(
    "args",
    [
        ("schema", f"{HOSTILE}.csv"),
        ("audit", f"--{HOSTILE}"),
        (HOSTILE,),
        (*AUDIT, "--secret", f"{HOSTILE}x"),
        (*AUDIT, "--metric", HOSTILE),
        (*AUDIT, "--json", f"{HOSTILE}/report.json"),
        ("synthesize", "--data", "train.parquet", "--out", "o.csv", "--set", f"{HOSTILE}=1"),
    ],
)
def test_errors(folder, args):
    line = shown(*args, code=2).stderr
    assert "owned" in line
    assert line.count("\n") == 1


def test_notes_of_a_generator(folder):
    table = pd.read_parquet("train.parquet")
    table["twice"] = table[HOSTILE]
    table.to_parquet("train.parquet", index=False)
    shown("synthesize", "--data", "train.parquet", "--generator", "aim", "--seed", 1, "--out", "rows.csv")


def on_terminal(*args):
    """Run the program on a terminal and return what it is told beyond styling."""
    ours, theirs = pty.openpty()
    main = "from tabveil.cli import main\nmain()\n"
    done = subprocess.Popen(
        [sys.executable, "-c", main, *args], stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True
    )
    os.close(theirs)
    told = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        told += piece
    os.close(ours)
    assert done.wait() == 0, told
    return STYLING.sub("", told.decode())


def test_a_real_terminal(folder, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    asked = ("audit", "--attackers", "attackers.json", *AUDIT[1:], "--metric", "inference")
    for args, word in ((asked, "Inference"), (("schema", "train.parquet"), r"\u202e")):
        text = on_terminal(*args)
        assert OBEYED.findall(text) == []
        assert word in text


def test_styles_stay_where_they_were():
    screen = Screen(force_terminal=True, color_system="standard", width=40, record=True)
    with screen.capture() as captured:
        screen.print(Text.assemble(("red\x1b", "red"), " plain\u202e", ("bold", "bold")))
    written = captured.get()
    assert re.sub(r"\x1b\[[0-9;]*m", "", written) == "red\\x1b plain\\u202ebold\n"
    assert written.startswith("\x1b[31mred")
    assert written.endswith("\x1b[1mbold\x1b[0m\n")


def test_tables_keep_their_width():
    screen = Screen(width=20)
    table = Table("name", "x")
    table.add_row("a\x1b" * 10, Text("\u202eb"))
    with screen.capture() as captured:
        screen.print(table)
    assert OBEYED.findall(captured.get()) == []
    assert max(map(len, captured.get().splitlines())) <= 20


@pytest.mark.parametrize("letter", [*map(chr, range(32)), *map(chr, range(0x7F, 0xA0)), "\u202e", "\u2028"])
def test_every_control_is_escaped_but_lines_and_tabs(letter):
    assert (escaped(f"a{letter}b") == f"a{letter}b") == (letter in "\n\t")
    assert escaped(escaped(letter)) == escaped(letter)


@pytest.mark.parametrize("text", ["naïve", "東京", "שלום", "a b", "🙂", "−", "a\u00a0b"])
def test_letters_stay_as_they_are(text):
    assert escaped(text) == text
