"""The list of licenses is about what is installed, and about all of it."""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs_build"))
import third_party  # noqa: E402 - a script beside the docs


def listed():
    rows = [line.split("|") for line in third_party.PAGE.read_text(encoding="utf-8").splitlines()]
    return {row[1].strip(): row[2].strip() for row in rows if len(row) > 3 and row[1].strip().islower()}


def test_all_that_core_and_extras_ask_for_is_listed_with_a_license():
    wanted = third_party.needed("tabveil").union(
        *(third_party.needed("tabveil", extra) for extra in third_party.EXTRAS)
    )
    found = listed()
    assert wanted <= found.keys() | {"package"}
    assert "not stated" not in found.values()


def test_what_core_asks_for_is_named_as_such():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = {third_party.normal(third_party._NAME.match(line)[0]) for line in project["dependencies"]}
    assert asked <= third_party.needed("tabveil")
    assert set(third_party.EXTRAS) == set(project["optional-dependencies"]) - {"docs", "dev", "all"}
