"""An attack, a chart, an input format and a command join with few files, planted into a copy of the source.

What a registration alone can do is in ``test_joining.py``; here the house itself is added to, as
ARCHITECTURE.md says. A file counts whether it is new or changed; so does the file of its own tests.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from supplies.places import ROOT, TESTS

from tabveil.datasets import hospital

SOURCE = ROOT / "src" / "tabveil"
MOST_FILES = 4

CHART = '''
"""How many toys has everybody?"""

from tabveil.render.svg.canvas import chart, dot, told


def toys(counts):
    """Draw a dot for every toy."""
    dots = (dot(20 * place + 10, 12, 4, "reading line-real") for place in range(max(counts.values())))
    return chart(dots, title="Toys", said=[told(*map(str, item)) for item in counts.items()], height=24)
'''
FORMAT = '''
"""Files with a JSON object a line."""

import json

import pyarrow as pa


def parse(data, *, role, what):
    """Return the rows of a file."""
    rows = [json.loads(line) for line in data.decode().splitlines()]
    table = pa.table({name: [str(row[name]) for row in rows] for name in rows[0]})
    return table.column_names, table, ()
'''
COMMAND = '''
"""How many rows has a file?"""

from pathlib import Path
from typing import Annotated

import typer


def count(*, data: Annotated[Path, typer.Option(metavar="FILE", help="The rows to count.")]) -> None:
    from tabveil.cli.screen import Screen
    from tabveil.tables.reading import load_table

    Screen().print(f"{len(load_table(data).table)} rows")


def register(app: typer.Typer) -> None:
    app.command(help="Count rows.")(count)
'''


@dataclass(frozen=True, kw_only=True)
class Addition:
    """New files, and what is put after a line of others: once for each pair."""

    new: dict[str, str]
    changed: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def plant(self, root):
        for place, text in self.new.items():
            assert not (root / place).exists()
            (root / place).write_text(text.lstrip(), encoding="utf-8")
        for place, pairs in self.changed.items():
            text = (root / place).read_text(encoding="utf-8")
            for before, after in pairs:
                assert text.count(before) == 1, (place, before)
                text = text.replace(before, after)
            (root / place).write_text(text, encoding="utf-8")


ADDITIONS = {
    "attack": Addition(
        new={"metrics/attacks/toy.py": (TESTS / "supplies" / "toys.py").read_text(encoding="utf-8")},
        changed={
            "metrics/attacks/__init__.py": [
                (
                    "from tabveil.protocols",
                    "from tabveil.metrics.attacks.toy import ToyAttack\nfrom tabveil.protocols",
                ),
                ("    DomiasFlow,\n)", "    DomiasFlow,\n    ToyAttack,\n)"),
            ]
        },
    ),
    "chart": Addition(
        new={"render/svg/toys.py": CHART},
        changed={
            "render/svg/__init__.py": [
                (
                    "from tabveil.render.svg.style import STYLE\n",
                    "from tabveil.render.svg.style import STYLE\nfrom tabveil.render.svg.toys import toys\n",
                )
            ],
            "render/templates/diagnostics.html.j2": [
                (
                    '{{ figure(charts["diag',
                    '{{ figure(svg.toys({"Ann": 3, "Bo": 2}), "A dot a toy.") }}\n{{ figure(charts["diag',
                )
            ],
        },
    ),
    "input format": Addition(
        new={"tables/reading/jsonlines.py": FORMAT},
        changed={
            "tables/reading/files.py": [
                (
                    "from tabveil.tables.reading import csvfile, sheet\n",
                    "from tabveil.tables.reading import csvfile, jsonlines, sheet\n",
                ),
                ('SHEETS = (".xlsx",)', 'SHEETS = (".xlsx", ".jsonl")'),
                ("notes = sheet.parse(", 'notes = (jsonlines if kind == ".jsonl" else sheet).parse('),
            ]
        },
    ),
    "command": Addition(
        new={"cli/count.py": COMMAND},
        changed={
            "cli/app.py": [
                ("    config,\n    demo,\n", "    config,\n    count,\n    demo,\n"),
                ("COMMANDS = (\n", "COMMANDS = (\n    count,\n"),
            ]
        },
    ),
}


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A copy of the source with all four additions, and three tables beside it; runs a program there."""
    place = tmp_path_factory.mktemp("house")
    shutil.copytree(SOURCE, place / "src" / "tabveil")  # with what is compiled: as fast as ours
    for addition in ADDITIONS.values():
        addition.plant(place / "src" / "tabveil")
    people = hospital(180, seed=1)
    for number, role in enumerate(("train", "control", "synthetic")):
        people.iloc[60 * number : 60 * (number + 1)].to_csv(place / f"{role}.csv", index=False)
    places = os.pathsep.join([str(place / "src"), str(TESTS)])

    def python(code):
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=place,
            env={**os.environ, "PYTHONPATH": places, "COLUMNS": "100"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    python.place = place
    return python


def tabveil(house, *words):
    return house(f"from tabveil.cli import app\ntry:\n    app({list(words)})\nexcept SystemExit as end:\n"
                 "    raise SystemExit(end.code)")  # fmt: skip


@pytest.mark.parametrize("kind", ADDITIONS)
def test_an_addition_touches_few_files(kind):
    addition, own_tests = ADDITIONS[kind], 1
    assert len(addition.new) + len(addition.changed) + own_tests <= MOST_FILES


def test_an_attack(house):
    tables = [f"--{role}={role}.csv" for role in ("train", "control", "synthetic")]
    asked = ("--metric", "toy_attack", "--no-utility", "--json", "-", "-q")
    (found,) = json.loads(tabveil(house, "audit", *tables, *asked))["results"]
    assert found["metric"] == "toy_attack"
    assert found["title"] == "A toy that looks for numbers"
    assert "Is the first number of a person found in the release?" in tabveil(house, "metrics")


def test_a_chart(house):
    page = house(
        "from supplies import made_reports as made\nfrom tabveil.render.audit.page import page\n"
        "print(page(made.report()))\n"
    )
    assert ">Toys</title>" in page
    assert "Ann: 3. Bo: 2." in page
    assert "A dot a toy." in page


def test_an_input_format(house):
    rows = [{"age": 20 + number, "sex": "fm"[number % 2]} for number in range(12)]
    Path(house.place, "people.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    told = house(
        "from tabveil.tables.reading import load_table\nloaded = load_table('people.jsonl')\n"
        "print(loaded.table.schema.names, loaded.table.values[:2].tolist())\n"
    )
    assert told == "('age', 'sex') [[20.0, 0.0], [21.0, 1.0]]\n"
    assert "age" in tabveil(house, "schema", "people.jsonl")


def test_a_command(house):
    assert "Count rows." in tabveil(house, "--help")
    assert tabveil(house, "count", "--data", "train.csv") == "60 rows\n"
