"""Running what a page tells its readers to type: commands, scripts and Python, in the order of the page.

Fenced blocks say what they are: ``bash`` is run line by line, ``sh`` as one script, ``python`` as it stands.
A ``yaml`` or ``python`` block with a title is written to the file of that name instead, and what a pipeline
would run in it is run.
``console`` and ``pycon`` are for reading: they need something that is not here, such as another tool.
"""

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import yaml
from typer.testing import CliRunner

import tabveil
from supplies.needs import need_table
from supplies.places import ROOT
from tabveil.cli import app

JUDGING = {"--policy", "--fail-above", "--config"}
VERDICTS = {0, 1, 3}
"""How a command may end that judges a release; what the verdict on a few rows is does not matter here."""

ARX_TABLE = "arx_adult_30162.parquet"
"""A table of which a page speaks that is kept beside the project."""

RUN = ("bash", "sh", "python", "yaml")
READ = ("console", "pycon")
_FENCE = re.compile(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```$', flags=re.MULTILINE | re.DOTALL)
_IN_PIPELINE = re.compile(r"^\s*- (tabveil .*)$|^\s*run: (tabveil .*)$", flags=re.MULTILINE)


class Block(NamedTuple):
    language: str
    title: str
    text: str


def blocks(page, *languages):
    """The fenced blocks of a page, all or those in some languages."""
    found = [Block(*match) for match in _FENCE.findall(page)]
    return [block for block in found if not languages or block.language in languages]


def commands(page):
    """Every command of a page that is run on its own."""
    return [command for block in blocks(page, "bash", "yaml") for command in _commands(block)]


def _commands(block):
    if block.language == "yaml":
        return ["".join(found) for found in _IN_PIPELINE.findall(block.text)]
    return [line for line in block.text.replace("\\\n", " ").splitlines() if line.strip()]


def lay_out(folder, page):
    """Put the files that pages speak of into a folder; what the page itself makes is left for it to make."""
    people = tabveil.datasets.hospital(200, seed=1)
    people.to_csv(folder / "patients.csv", index=False)
    for name, seed in {"synthetic": 2, "other": 3}.items():
        tabveil.datasets.hospital(150, seed=seed).to_csv(folder / f"{name}.csv", index=False)
    if ARX_TABLE in page:
        for path in need_table("hierarchies/adult").iterdir():
            shutil.copyfile(path, folder / path.name)
    if not any(command.startswith("tabveil split") for command in commands(page)):
        (folder / "split").mkdir()
        people[:140].to_csv(folder / "split" / "train.csv", index=False)
        people[140:].to_csv(folder / "split" / "control.csv", index=False)


def follow(page, folder, monkeypatch):
    """Do everything that a page says, in its order."""
    lay_out(folder, page)
    monkeypatch.chdir(folder)
    for block in blocks(page, *RUN):
        match block.language:
            case "python" if not block.title:
                exec(compile(block.text, "page", "exec"), {"__name__": "page"})
            case "sh":
                _script(block.text, folder)
            case "yaml" | "python":
                _write(block, folder)
        for command in _commands(block) if block.language in {"bash", "yaml"} else ():
            run(command)


def run(command):
    """Run one command, or a script that the page wrote; of make, only whether it would know what to do."""
    program, *args = shlex.split(command)
    if program == "make":
        if shutil.which("make"):
            subprocess.run(["make", "-n", *args], cwd=ROOT, check=True, capture_output=True)
        return
    if program == "python":
        runpy.run_path(args[0], run_name="__main__")
        return
    assert program == "tabveil", command
    result = CliRunner().invoke(app, args)
    assert result.exit_code in (VERDICTS if JUDGING & set(args) else {0}), f"{command}\n{result.output}"


def _script(text, folder):
    places = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-eu", "-c", text],
        cwd=folder,
        env={**os.environ, "PATH": places},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _write(block, folder):
    if block.language == "yaml":
        yaml.safe_load(block.text)  # whatever else it says, it must be YAML
    if block.title:
        (folder / block.title).write_text(block.text, encoding="utf-8")
