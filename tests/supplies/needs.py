"""What some tests need beside the project: without it they are left out, and in continuous integration fail.

A test that is left out in silence protects nothing.
"""

import importlib.util
import os

import pytest

from supplies.places import ROOT

SHARED = ROOT.parent / "shared" / "data"
ADULT = SHARED / "adult.parquet"


def need(found, what):
    """Leave the test out, or fail it where everything must be there (``CI=true``)."""
    if found:
        return
    if os.environ.get("CI", "").lower() in {"1", "true"}:
        pytest.fail(f"needs {what}, which must be there in continuous integration", pytrace=False)
    pytest.skip(f"needs {what}")


def need_adult():
    """Return the path of a table that is kept beside the project."""
    return need_table(ADULT.name)


def need_table(name):
    """Return the path of one of the tables that are kept beside the project."""
    path = SHARED / name
    need(path.exists(), f"{path.name} in ../shared/data beside the project")
    return path


def need_calamine():
    """Leave the test out where no spreadsheet can be read."""
    need(importlib.util.find_spec("python_calamine"), "python-calamine, of the extra 'xlsx'")


def need_optuna():
    """Leave the test out where Optuna cannot propose anything."""
    need(importlib.util.find_spec("optuna"), "optuna, of the extra 'tune'")
