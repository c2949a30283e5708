"""Reports that are none, or were: ``tabveil compare`` reads them or refuses them in one line."""

import copy
import json
import os
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from supplies import made_reports
from typer.testing import CliRunner

from tabveil.auditing.report import Report
from tabveil.cli import app
from tabveil.errors import ParameterError

EXAMPLES = int(os.environ.get("TABVEIL_HOSTILE_FILES", "150"))
GOOD = json.loads(made_reports.report(properties=made_reports.properties()).to_json())
ODD = [
    None,
    True,
    -1,
    0,
    1e308,
    10**400,
    "",
    "text",
    "\ud800",
    [],
    {},
    [[]],
    {"": None},
    [None],
    {"value": "x"},
]


def places(data, path=()):
    """The paths to every value in plain data."""
    found = [path] if path else []
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        found += places(value, (*path, key))
    return found


PLACES = places(GOOD)


@st.composite
def changed_reports(draw):
    data = copy.deepcopy(GOOD)
    for _ in range(draw(st.integers(1, 2))):
        *way, last = draw(st.sampled_from(PLACES))
        at = data
        try:
            for key in way:
                at = at[key]
            if draw(st.booleans()):
                at[last] = draw(st.sampled_from(ODD))
            else:
                del at[last]
        except (TypeError, KeyError, IndexError):  # an earlier change took it away
            continue
    return data


@seed(0)
@settings(max_examples=EXAMPLES, deadline=None, database=None)
@given(changed_reports())
def test_a_changed_report_is_compared_or_refused(data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "report.json")
        path.write_text(json.dumps(data), encoding="utf-8")
        for args in (["compare", path, "--html", Path(folder, "page.html")], ["config", path]):
            done = CliRunner().invoke(app, list(map(str, args)))
            assert done.exit_code in (0, 2), done.output
            assert done.exit_code == 0 or done.stderr.count("\n") == 1, done.stderr


def changed_by(change):
    data = copy.deepcopy(GOOD)
    change(data["results"][0])
    return json.dumps(data)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (changed_by(lambda result: result["risk"].update(low=0.9, high=0.1)), "beyond their bounds"),
        (changed_by(lambda result: result["risk"].update(value=7)), "beyond their bounds"),
        (changed_by(lambda result: result.update(p_value=77)), "has a p beyond 0 and 1"),
        (changed_by(lambda result: result.update(p_value=-(10**400))), "holds a whole number of more than"),
        (f'{{"seed": 1, {json.dumps(GOOD)[1:]}', "holds a key twice"),
        (f'{{"more": {"[" * 500}{"]" * 500}, {json.dumps(GOOD)[1:]}', "too deep in each other"),
    ],
)
def test_values_that_no_audit_finds_are_refused(text, why, tmp_path):
    (tmp_path / "report.json").write_text(text)
    with pytest.raises(ParameterError, match=rf"^report\.json: not a report of this version .*{why}"):
        Report.read(tmp_path / "report.json")


def test_a_large_file_is_not_read(tmp_path):
    with (tmp_path / "report.json").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ParameterError, match="at most 268,435,456 are read"):
        Report.read(tmp_path / "report.json")


@pytest.mark.parametrize(
    "data",
    [
        *(
            b"",
            b"[1, 2]",
            b"3",
            b"null",
            b'"text"',
            b"{}",
            b'{"tabveil": 1}',
            bytes(range(256)),
            b"\xff\xfe{}",
        ),
        *(b"[" * 100_000, b'{"a":' * 100_000, b"1" * 10_000, b'{"tabveil": "1", "inputs": 3}', b"NaN"),
    ],
)
def test_what_is_no_report(data, tmp_path):
    (tmp_path / "report.json").write_bytes(data)
    with pytest.raises(ParameterError, match=r"^report\.json: not a report of this version of tabveil"):
        Report.read(tmp_path / "report.json")


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "report.json")
    found = []
    args = ["compare", str(tmp_path / "report.json")]
    thread = threading.Thread(target=lambda: found.append(CliRunner().invoke(app, args)), daemon=True)
    thread.start()
    thread.join(timeout=60)
    assert found, "compare waits for a pipe that nobody writes to"
    assert found[0].exit_code == 2
    assert "not an ordinary file" in found[0].stderr


def test_a_folder(tmp_path):
    with pytest.raises(ParameterError, match="a folder"):
        Report.read(tmp_path)
