"""The folders show the architecture: a module imports only what stands in a lower layer, and in no circle.

Whose libraries a part may use is written down too: what a dataframe, a network or a page is made with can
then be changed in one place.
"""

import re
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from supplies.imports import cycle, imports, modules, third_parties
from supplies.rooms import DOORS, ROOMS

import tabveil

ROOT = Path(tabveil.__file__).parent
PROJECT = ROOT.parent.parent / "pyproject.toml"

LEVEL = {name: level for level, name in enumerate(ROOMS)}
LEVEL |= {door: LEVEL[room] for door, room in DOORS.items()}

ANYWHERE = re.compile("")
LIBRARIES = {
    "numpy": ANYWHERE,
    "scipy": ANYWHERE,
    **dict.fromkeys(("pandas", "polars", "pyarrow", "narwhals"), re.compile(r"tables\.reading\b")),
    "distributed": re.compile(r"core\.cluster$"),
    "phonenumbers": re.compile(r"metrics\.properties\.replay\.numbers$"),
    "optuna": re.compile(r"workflows\.tuning\.search$"),
    "python_calamine": re.compile(r"tables\.reading\.sheet$"),
    "triton": re.compile(r"engines\.neighbors\.fused(_kernels)?$"),
    "torch": re.compile(
        r"(engines\.networks|engines\.embedding|synthesis\.generators|metrics\.attacks\.domias)\b"
    ),
    **dict.fromkeys(("opacus", "dp_accounting"), re.compile(r"synthesis\.generators\.dpctgan\b")),
    **dict.fromkeys(
        ("sklearn", "threadpoolctl"),
        re.compile(r"(synthesis\.generators\b|tables\.matrices\.modes$|engines\.isolation$)"),
    ),
    "xgboost": re.compile(r"engines\.boosting$"),
    **dict.fromkeys(("numba", "llvmlite"), re.compile(r".*kernels$")),
    **dict.fromkeys(("jinja2", "markupsafe"), re.compile(r"render\b")),
    **dict.fromkeys(("starlette", "uvicorn"), re.compile(r"web\b")),
    "rich": re.compile(r"(render|cli)\b"),
    "typer": re.compile(r"cli\b"),
    # Where a user's file is read, and where dataclasses are stored.
    "pydantic": re.compile(
        r"(core\.(settings\.yaml_files|storage\.plain)|auditing\.(attackers|request|policy)|tables\.reading\.declare"
        r"|tables\.linked\.database_file"
        r"|workflows\.(benchmark\.study|tuning\.search))$"
    ),
    "yaml": re.compile(r"(core\.settings\.yaml_files|tables\.reading\.describe)$"),
}
"""Which modules may use a library, by what their names (without ``tabveil.``) begin with."""

IMPORTED_AS = {"scikit-learn": "sklearn", "pyyaml": "yaml", "xgboost-cpu": "xgboost"}
BROUGHT_BY_USERS = {"polars", "triton"}  # somebody hands over its tables; comes with torch


def part(module):
    return module.split(".")[1]


def allowed(importer, target):
    return LEVEL[target] <= LEVEL[importer]


def upward(root):
    """The imports that lead up, or across where parts must not know each other."""
    return [
        f"{item.module} must not import {item.target}"
        for item in imports(root)
        if item.library == "tabveil" and item.module != "tabveil"
        if item.target == "tabveil" or not allowed(part(item.module), part(item.target))
    ]


def out_of_place(root):
    """The imports of libraries that are another part's business, or nobody's."""
    return [
        f"{item.module} must not import {item.library}"
        for item in third_parties(imports(root), root)
        if item.library not in LIBRARIES
        or not LIBRARIES[item.library].match(item.module.removeprefix("tabveil").removeprefix("."))
    ]


def test_a_room_imports_only_from_rooms_before_it():
    assert upward(ROOT) == []


def test_every_module_has_a_room():
    assert {part(name) for name in modules(ROOT) if name != "tabveil"} == set(LEVEL)


def test_no_module_needs_itself():
    assert cycle(imports(ROOT), modules(ROOT)) == []


def test_libraries_are_used_behind_their_doors():
    assert out_of_place(ROOT) == []


def test_what_is_installed_is_used_and_what_is_used_is_installed():
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = [line for name in extras.keys() - {"dev", "docs", "all"} for line in extras[name]]
    names = [re.match(r"[\w-]+", line)[0].lower() for line in [*project["dependencies"], *lines]]
    used = {item.library for item in third_parties(imports(ROOT), ROOT)}
    assert {IMPORTED_AS.get(name, name.replace("-", "_")) for name in names} == used - BROUGHT_BY_USERS


@pytest.mark.parametrize(
    ("importer", "target", "answer"),
    [
        ("cli", "render", True),
        ("render", "cli", False),
        ("cli", "web", True),
        ("web", "cli", False),
        ("web", "render", True),
        ("render", "web", False),
        ("metrics", "synthesis", True),
        ("synthesis", "metrics", False),
        ("metrics", "metrics", True),
        ("core", "errors", True),
        ("core", "protocols", False),
        ("engines", "protocols", True),
        ("tables", "protocols", False),
        ("core", "datasets", False),
    ],
)
def test_the_rule_itself(importer, target, answer):
    assert allowed(importer, target) is answer


def plant(folder, sources):
    """Write a small package called tabveil."""
    root = folder / "tabveil"
    for name, text in {"__init__.py": "", **sources}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize(
    "text",
    [
        "from tabveil import cli\n",
        "def late():\n    import tabveil.cli.app\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from tabveil.cli import app\n",
        "import importlib\nimportlib.import_module('tabveil.cli')\n",
        "from tabveil import audit\n",  # a name of the whole package stands above every part
    ],
)
def test_a_planted_import_of_what_stands_below_is_seen(tmp_path, text):
    root = plant(tmp_path, {"core/table.py": text, "cli/__init__.py": "", "cli/app.py": ""})
    assert len(upward(root)) == 1
    assert upward(root)[0].startswith("tabveil.core.table must not import tabveil")


@pytest.mark.parametrize(
    ("text", "library"),
    [
        ("import pandas as pd\n", "pandas"),
        ("def late():\n    from pyarrow.types import is_null\n", "pyarrow"),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n", "torch"),
        ("import requests\n", "requests"),
    ],
)
def test_a_planted_library_is_seen_where_it_does_not_belong(tmp_path, text, library):
    root = plant(
        tmp_path, {"auditing/report.py": text, "tables/reading/sources.py": "import pandas\nimport json\n"}
    )
    assert out_of_place(root) == [f"tabveil.auditing.report must not import {library}"]


@pytest.mark.parametrize(
    "sources",
    [
        {"one.py": "import tabveil.other\n", "other.py": "from tabveil import one\n"},
        {
            "one.py": "from tabveil.other import x\n",
            "other.py": "def late():\n    from tabveil.one import y\n",
        },
        {"one.py": "import tabveil.a\n", "a.py": "import tabveil.b\n", "b.py": "import tabveil.one\n"},
        {"p/__init__.py": "from tabveil.p.a import x\n", "p/a.py": "from tabveil.p import x\n"},
        # Whoever imports p.b waits for all of p, and p for whoever that is.
        {"p/__init__.py": "import tabveil.one\n", "p/b.py": "", "one.py": "import tabveil.p.b\n"},
    ],
)
def test_a_planted_circle_is_seen(tmp_path, sources):
    root = plant(tmp_path, sources)
    found = cycle(imports(root), modules(root))
    assert len(found) > 2
    assert found[0] == found[-1]


@pytest.mark.parametrize(
    "sources",
    [
        {
            "one.py": "import tabveil.other\n",
            "other.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import tabveil.one\n",
        },
        {
            "p/__init__.py": "from tabveil.p.a import x\nfrom tabveil.p.b import y\n",
            "p/a.py": "from tabveil.p import b\n",
            "p/b.py": "y = 1\n",
        },
    ],
)
def test_what_only_looks_like_a_circle_is_none(tmp_path, sources):
    root = plant(tmp_path, sources)
    assert cycle(imports(root), modules(root)) == []


def test_a_circle_is_told_in_the_order_of_the_imports(tmp_path):
    root = plant(
        tmp_path, {"a.py": "import tabveil.b\n", "b.py": "import tabveil.c\n", "c.py": "import tabveil.a\n"}
    )
    found = cycle(imports(root), modules(root))
    steps = {("tabveil.a", "tabveil.b"), ("tabveil.b", "tabveil.c"), ("tabveil.c", "tabveil.a")}
    assert set(pairwise(found)) == steps
