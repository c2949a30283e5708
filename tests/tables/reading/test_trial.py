"""A process of its own reads a file first: what kills it is a line, and nothing else is different."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from supplies.daemons import waited_for
from supplies.places import ROOT
from supplies.terminal import refused, run

from tabveil.errors import SchemaError
from tabveil.tables.reading import files, trial

DYING = """
import os, signal, sys
sys.stdin.buffer.read(int(sys.argv[-1]))
{before}
os.write(1, b".")
{after}
"""


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A file of each kind, in the folder that is the current one; none was read before."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(trial, "_survived", set())
    rows = pd.DataFrame({"age": range(20, 60), "sex": ["f", "m"] * 20})
    rows.to_parquet("rows.parquet")
    rows.to_feather("rows.feather")
    return tmp_path


def die(monkeypatch, folder, *, before="", after=""):
    """Let the child come to an end before or after it says that it has the file."""
    reader = folder / "dying.py"
    reader.write_text(DYING.format(before=before, after=after), encoding="utf-8")
    monkeypatch.setattr(trial, "READER", reader)


@pytest.mark.parametrize("name", ["rows.parquet", "rows.feather"])
@pytest.mark.parametrize("end", ["os.abort()", "os.kill(os.getpid(), signal.SIGSEGV)"])
def test_what_kills_its_reader_is_refused_in_a_line_that_names_the_file(table, monkeypatch, name, end):
    die(monkeypatch, table, after=end)
    line = refused("schema", name)
    assert line.startswith(f"tabveil: The data file '{name}': it ended a process that tried to read it")


@pytest.mark.parametrize("name", ["rows.parquet", "rows.feather"])
def test_the_child_does_what_kills(table, monkeypatch, name):
    """It is the real one, and what it reads with dies."""
    place = table / "pyarrow"
    place.mkdir()
    said = "import os\nBufferReader = bytes\nclass ipc: open_file = staticmethod(lambda _: os.abort())\n"
    (place / "__init__.py").write_text(said, encoding="utf-8")
    (place / "parquet.py").write_text("import os\nParquetFile = lambda _: os.abort()\n", encoding="utf-8")
    monkeypatch.setattr(trial.pa, "__file__", str(place / "__init__.py"))
    assert "ended a process" in refused("schema", name)


def test_the_system_may_end_who_takes_too_much_memory(table, monkeypatch):
    die(monkeypatch, table, after="os.kill(os.getpid(), signal.SIGKILL)")
    assert "not enough memory" in refused("schema", "rows.parquet")


def test_a_child_that_cannot_begin_is_no_fault_of_the_file(table, monkeypatch):
    die(monkeypatch, table, before="os.abort()")
    assert run("schema", "rows.parquet").exit_code == 0
    monkeypatch.setattr(sys, "executable", str(table / "nowhere"))
    assert run("schema", "rows.feather").exit_code == 0


def test_the_same_bytes_are_tried_once(table, monkeypatch):
    files.read(table / "rows.parquet", "data")
    die(monkeypatch, table, after="os.abort()")
    files.read(table / "rows.parquet", "data")
    with pytest.raises(SchemaError, match="ended a process"):
        files.read(table / "rows.feather", "data")


def test_nothing_is_imported_from_the_current_folder(table, monkeypatch):
    for name in ("pyarrow", "os", "contextlib", "sitecustomize"):
        (table / f"{name}.py").write_text("open('imported', 'w')", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(table))
    assert files.read(table / "rows.parquet", "data").data.num_rows == 40
    assert not (table / "imported").exists()


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="processes are looked up in /proc")
def test_the_child_ends_with_who_started_it(table):
    """It is at work when its parent is killed: it notices, for nobody holds its standard input any more."""
    (table / "slow.py").write_text(
        "import os, sys, time, _thread\n"
        f"sys.path.append({str(ROOT / 'src' / 'tabveil' / 'tables' / 'reading')!r})\n"
        "import trial_reader\n"
        "sys.stdin.buffer.read(int(sys.argv[-1]))\n"
        "_thread.start_new_thread(trial_reader._end_with_parent, ())\n"
        "open('pid', 'w').write(f'{os.getpid()}.')\n"
        "time.sleep(60)\n",
        encoding="utf-8",
    )
    code = (
        "from pathlib import Path\nfrom tabveil.tables.reading import files, trial\n"
        "trial.READER = Path('slow.py')\nfiles.read(Path('rows.parquet'), 'data')\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT / "src")}
    )
    child = waited_for(lambda: (table / "pid").exists() and (table / "pid").read_text()).removesuffix(".")
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert waited_for(lambda: not Path("/proc", child).exists())
