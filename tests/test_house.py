"""The house stays one in which a stranger finds things: sizes and names of modules, and of classes."""

import ast
from collections import defaultdict

import pytest
from supplies.places import ROOT
from supplies.rooms import DOORS, ROOMS

SOURCE = ROOT / "src" / "tabveil"
MOST_LINES = 450
FORBIDDEN = {"utils", "util", "common", "base", "helpers", "misc"}

PROTOCOLS = {"synthesizer", "network", "page", "terminal", "view"}
"""Names that several modules of one room have, each for the same part of a generator, or of a report."""


def modules(root):
    """Each module's place, with its source."""
    return {path.relative_to(root): path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.py"))}


def long(found):
    return {str(place) for place, text in found.items() if len(text.splitlines()) > MOST_LINES}


def shared(found):
    """The names that several modules of one room have, as room/name."""
    places = defaultdict(list)
    for place in found:
        if place.name != "__init__.py" and place.stem not in PROTOCOLS:
            places[f"{place.parts[0]}/{place.stem}"].append(place)
    return {name for name, items in places.items() if len(items) > 1}


def twice(found):
    """The names of classes that stand at the top of several modules."""
    places = defaultdict(list)
    for place, text in found.items():
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(place)
    return {name for name, items in places.items() if len(items) > 1}


FOUND = modules(SOURCE)


def test_ten_rooms_and_the_doors_stand_at_the_top():
    top = {path.stem for path in SOURCE.iterdir() if path.name != "__pycache__"}
    assert top == {*ROOMS, *DOORS, "__init__", "py"}  # py.typed says that the package has types


@pytest.mark.parametrize("rule", [long, shared, twice])
def test_the_house_is_in_order(rule):
    assert rule(FOUND) == set()


def test_no_module_is_a_drawer_for_everything():
    assert [str(place) for place in FOUND if place.stem in FORBIDDEN or place.parent.name in FORBIDDEN] == []


def test_planted_disorder_is_seen(tmp_path):
    for place, text in {
        "core/long.py": "x = 1\n" * 451,
        "core/people.py": "class People: ...\n",
        "core/other/people.py": "",
        "tables/people.py": "class People: ...\n",
        "core/network.py": "",
        "core/other/network.py": "",
    }.items():
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    found = modules(tmp_path)
    assert (long(found), shared(found), twice(found)) == ({"core/long.py"}, {"core/people"}, {"People"})
