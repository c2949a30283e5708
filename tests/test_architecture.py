"""What pages say about the source is there: paths, modules, functions, and the ten rooms."""

import ast
import importlib
import re

import pytest
from supplies.places import ROOT
from supplies.rooms import DOORS, ROOMS

PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for pattern in ("*.md", "docs/**/*.md", "benchmarks/*.md", "experiments/*.md")
    for path in sorted(ROOT.glob(pattern))
}
SCRIPTS = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for folder in ("benchmarks", "experiments", "examples", "docs_build")
    for path in sorted((ROOT / folder).rglob("*.py"))
}
SOURCES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "src").rglob("*.py"))
}
ARCHITECTURE = PAGES["ARCHITECTURE.md"]
DOTTED = re.compile(r"\btabveil(?:\.[A-Za-z_]\w*)+")
"""A module, or something in it."""
PATH = re.compile(r"`((?:src|tests|docs|docs_build|benchmarks|examples|experiments|\.ci|\.github)/[\w./-]*)`")
"""A path as it stands in the repository."""
MADE_UP = {"tabveil.yaml", "tabveil.x.ClosestShare"}


IMPORT = re.compile(r"^from (tabveil[\w.]*) import ([\w, ]+)$", flags=re.MULTILINE)
MOVED = re.compile(r"^\| `tabveil\.\S+` \| ", flags=re.MULTILINE)
"""What begins a row of the table that says where names were."""


def names(page):
    """The dotted names of a page, but for what moved away."""
    imported = {
        f"{module}.{name.split()[0]}" for module, said in IMPORT.findall(page) for name in said.split(",")
    }
    return (imported | set(DOTTED.findall(MOVED.sub("", page)))) - MADE_UP


def found(dotted):
    """Whether a module has this name, or something that a module holds."""
    parts = dotted.split(".")
    for n_parts in range(len(parts), 0, -1):
        try:
            here = importlib.import_module(".".join(parts[:n_parts]))
        except ModuleNotFoundError:
            continue
        for name in parts[n_parts:]:
            if not hasattr(here, name):
                return False
            here = getattr(here, name)
        return True
    return False


@pytest.mark.parametrize("place", sorted(PAGES))
def test_every_name_that_a_page_gives_is_there(place):
    assert sorted(name for name in names(PAGES[place]) if not found(name)) == []


def test_no_page_holds_both_sides_of_a_merge():
    assert [place for place, text in PAGES.items() if re.search(r"^(<{7}|>{7}) ", text, re.MULTILINE)] == []


@pytest.mark.parametrize("place", sorted(SCRIPTS))
def test_every_name_that_a_script_imports_is_there(place):
    imported = {
        f"{node.module}.{item.name}"
        for node in ast.walk(ast.parse(SCRIPTS[place]))
        if isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] == "tabveil"
        for item in node.names
    }
    assert sorted(name for name in imported if not found(name)) == []


def test_every_name_that_a_docstring_gives_is_there():
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    said = {
        (place, name)
        for place, text in SOURCES.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, documented)
        for name in names(ast.get_docstring(node) or "")
    }
    assert len(said) > 10
    assert sorted((place, name) for place, name in said if not found(name)) == []


@pytest.mark.parametrize("place", ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"])
def test_every_path_that_a_page_gives_is_there(place):
    assert [path for path in PATH.findall(PAGES[place]) if not (ROOT / path).exists()] == []


def test_every_room_is_in_the_picture_in_its_order():
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", ARCHITECTURE, flags=re.MULTILINE)
    assert rows == [(str(place), room) for place, room in enumerate(ROOMS, start=1)]


def test_every_door_is_named():
    assert {f"tabveil.{door}" for door in DOORS} <= names(ARCHITECTURE)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("tabveil.core.table.Split", True),
        ("tabveil.audit", True),
        ("tabveil.core.table.Splits", False),
        ("tabveil.frame", False),
    ],
)
def test_what_counts_as_there(name, answer):
    assert found(name) is answer
