"""Files that nobody made for tabveil: every one is read, or refused in one line. Never a traceback."""

import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, seed, settings
from supplies.needs import need_calamine
from supplies.table_files import spreadsheets, text_files, typed_files
from typer.testing import CliRunner

from tabveil import audit
from tabveil.auditing.report import Report
from tabveil.cli import app
from tabveil.errors import TabveilError
from tabveil.tables import reading as frame
from tabveil.tables.reading import files

EXAMPLES = int(os.environ.get("TABVEIL_HOSTILE_FILES", "100"))
"""How many files of each kind; by hand, thousands."""

MANY = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture(autouse=True, scope="module")
def read_here_alone():
    """Let no process of its own read files first, which takes three times as long; by hand, they do."""
    with pytest.MonkeyPatch.context() as patch:
        if "TABVEIL_HOSTILE_FILES" not in os.environ:
            patch.setattr(files, "survives", lambda *_, **__: True)
        yield


@seed(0)
@MANY
@given(text_files())
def test_text(file):
    use(*file)


@seed(0)
@MANY
@given(typed_files())
def test_parquet_and_arrow(file):
    use(*file)


@seed(0)
@MANY
@given(spreadsheets())
def test_spreadsheets(file):
    need_calamine()
    use(*file)


@pytest.mark.parametrize(("low", "high"), [(-1e100, 1e100), (0, 1e-299), (1e100, np.nextafter(1e100, 0))])
def test_numbers_at_the_limits_bring_no_warning(low, high):
    """Every metric and the usefulness of columns that are as wide or as narrow as can be read."""
    rng = np.random.default_rng(0)
    tables = [
        pd.DataFrame({"x": np.append(rng.choice(rng.uniform(0, 1, 9), 60), [0, 1]) * (high - low) + low})
        for _ in range(3)
    ]
    tables = [table.assign(y=rng.integers(0, 9, 62), c=rng.choice(["a", "b"], 62)) for table in tables]
    report = audit(tables[0], tables[1], tables[2], utility=True, seed=0)
    assert len(report.results) > 10
    Report.from_json(report.to_json())


def use(name, data):
    """Do everything that is done with a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(data)
        loaded = attempt(frame.load_table, path)
        if loaded is not None:
            give_back(loaded, Path(folder))
        assert (run("schema", path).exit_code == 0) == (loaded is not None)
        if run("split", "--data", path, "--out", Path(folder, "split")).exit_code == 0:
            check_split(path, Path(folder, "split"))
        both = ["--train", path, "--synthetic", path]
        run("audit", *both, "--metric", "identical_match_share", "--no-utility", "-q")


def attempt(action, *args):
    """Do something, or be refused in one line."""
    try:
        return action(*args)
    except TabveilError as error:
        message = str(error)
    assert "\n" not in message
    return None


def give_back(loaded, folder):
    """Write a table in every way there is."""
    frame.to_native(loaded.table, loaded.layout)
    frame.cells_as_text(loaded.table, loaded.layout)
    for name in ("out.csv", "out.parquet", "out.arrow"):
        attempt(frame.write, loaded.table, loaded.layout, folder / name)
        again = attempt(frame.read_raw, folder / name)  # a text file cannot say everything
        assert again is None or len(again) == len(loaded.table)


def run(*args):
    done = CliRunner().invoke(app, [str(arg) for arg in args])
    assert done.exit_code in (0, 2), done.output
    if done.exit_code == 2:
        assert done.stderr.startswith("tabveil: "), done.stderr
        assert done.stderr.count("\n") == 1, done.stderr
    return done


def check_split(path, folder):
    whole = frame.read_raw(path)
    parts = [frame.read_raw(part) for part in folder.iterdir() if part.suffix != ".json"]
    assert sum(part.num_rows for part in parts) == whole.num_rows
    for part in parts:
        if path.suffix in (".parquet", ".arrow", ".feather"):  # text does not say its encoding
            assert part.schema.equals(whole.schema, check_metadata=True), (part.schema, whole.schema)
