"""Tests stand where a stranger looks for them: ``metrics/test_outlying.py`` tests ``metrics/outlying.py``.

A module whose tests are many has more files that begin with its name: ``test_copies_alone.py`` belongs to
``copies.py``. What cuts across modules is listed with its reason. How many modules have a twin says
``python tests/test_mirror.py``.
"""

import re
import sys
from pathlib import Path

from supplies import snapshots
from supplies.places import ROOT, TESTS

SOURCE = ROOT / "src" / "tabveil"

ACROSS = {
    "metrics/test_caps.py": "the limits of all metrics",
    "metrics/test_several_rows.py": "all metrics where people have several rows",
    "metrics/attacks/test_contrastive_attacks.py": "all attacks through an embedding",
    "metrics/indicators/test_coverage.py": "the intervals of all indicators",
    "metrics/indicators/test_people_with_rows.py": "all indicators where people have several rows",
    "render/test_browser.py": "all pages as a browser shows them",
    "render/test_joining_reports.py": "how charts and kinds of report join",
    "synthesis/generators/test_end_to_end.py": "all generators from the command line",
    "synthesis/generators/test_generator_contract.py": "what all generators promise",
    "synthesis/generators/test_written_rows.py": "how rows of all generators are written",
    "tables/matrices/test_encoder_contract.py": "what all encoders promise",
    "tables/reading/test_broken_inputs.py": "files of all kinds as they go wrong",
    "workflows/synthesizing/test_own_generators.py": "generators of users, in all that takes one",
    "workflows/synthesizing/test_private_neighbors.py": "all private generators",
}
"""What is tested for many modules at once; all that stands at the top of the tests is so."""

LEAST = 0.4
"""The share of modules that have a twin, at least; some are tested through their neighbors alone."""


def modules():
    """The modules that hold more than what they import from others."""
    return {
        path.relative_to(SOURCE)
        for path in SOURCE.rglob("*.py")
        if path.name != "__init__.py" or "\ndef " in path.read_text(encoding="utf-8")
    }


def files():
    return {path.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}


def twin(test):
    """The module or the package that a test file is about, by its name, or None."""
    words = test.stem.split("_")[1:]
    for count in range(len(words), 0, -1):
        name = "_".join(words[:count])
        for place in (test.parent / f"{name}.py", test.parent / name / "__init__.py"):
            if (SOURCE / place).is_file():
                return place
    if test.parent != Path() and words == [test.parent.name]:
        return test.parent / "__init__.py"
    return None


def test_every_folder_of_tests_is_one_of_the_source():
    folders = {test.parent for test in files()}
    assert {str(folder) for folder in folders if not (SOURCE / folder).is_dir()} == set()


def test_every_file_of_tests_has_its_module_or_a_reason():
    alone = {str(test) for test in files() if test.parent != Path() and twin(test) is None}
    assert alone == set(ACROSS)


def test_what_is_stored_is_what_tests_of_that_name_compare():
    for stored in TESTS.rglob("said/*.txt"):
        tests = (stored.parents[1] / f"test_{stored.stem}.py").read_text(encoding="utf-8")
        for heading in snapshots.read(stored):
            assert f"def {re.match(r'test_[a-z_0-9]+', heading)[0]}(" in tests, f"{stored}: {heading}"


def test_enough_modules_have_a_twin():
    assert share()[0] >= LEAST * share()[1]


def share():
    """How many modules have a twin, and how many there are."""
    found = modules()
    return len(found & {twin(test) for test in files()}), len(found)


if __name__ == "__main__":
    having, there = share()
    sys.stdout.write(f"{having} of {there} modules have tests of their own name ({having / there:.0%}).\n")
