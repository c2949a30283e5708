"""The program as a whole: its help, and that every fault is one line with its exit code."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from supplies.broken_inputs import BROKEN, SECRET
from supplies.terminal import AUDIT, refused, run, work_in

from tabveil import cli
from tabveil.auditing import audit as auditor
from tabveil.cli import files
from tabveil.cli.exit_codes import exit_code
from tabveil.core.storage.files import write_text
from tabveil.errors import ParameterError

TABVEIL = str(Path(sys.executable).with_name("tabveil"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    return work_in(tmp_path, monkeypatch)


def test_help_teaches(folder):
    assert "tabveil demo" in run("--help").stdout
    assert run().stdout == run("--help").stdout
    for command in ("audit", "split", "schema", "demo"):
        text = run(command, "--help").stdout
        assert f"tabveil {command} --" in text.replace("schema patients.csv ", "schema ")
        assert max(map(len, text.splitlines())) <= 80


def test_version(folder):
    assert run("--version").stdout.startswith("tabveil ")


# Every fault is one line


@pytest.mark.parametrize(
    ("args", "fragment"),
    [
        (("audit",), "'--train'"),
        (("audit", "--train"), "--train"),
        (("audit", "--nonsense"), "--nonsense"),
        (("nonsense",), "nonsense"),
        (("--nonsense",), "--nonsense"),
        (("schema",), "FILE"),
        ((*AUDIT, "--seed", "x"), "--seed"),
        ((*AUDIT, "--seed", "-1"), "--seed"),
        ((*AUDIT, "--threads", "0"), "--threads"),
        ((*AUDIT, "--metric", "closest_shar"), "Did you mean 'closest_share'"),
        ((*AUDIT, "--json", "nowhere/report.json"), "no folder nowhere"),
        ((*AUDIT, "--json", "."), "is a folder"),
        ((*AUDIT, "--json", "/dev/null"), "not an ordinary file"),
        ((*AUDIT, "--json", "train.csv"), "train.csv"),
        ((*AUDIT, "--records", "train.csv"), "train.csv"),
        ((*AUDIT, "--records", "records.txt"), ".csv or .parquet"),
        ((*AUDIT, "--records", "nowhere/records.csv"), "no folder nowhere"),
        ((*AUDIT, "--json", "a.csv", "--records", "a.csv"), "a.csv"),
        ((*AUDIT, "--schema", "absent.yaml"), "absent.yaml"),
        (("audit", "--train", "absent.csv", "--synthetic", "synthetic.csv"), "absent.csv"),
        (("schema", "absent.csv"), "absent.csv"),
        (("split", "--data", "absent.csv", "--out", "parts"), "absent.csv"),
        (("split", "--data", "train.csv", "--control", "1.5", "--out", "parts"), "control"),
        (("split", "--data", "train.csv", "--by", "agee", "--out", "parts"), "age"),
        (("split", "--data", "train.csv", "--out", "train.csv"), "is a file"),
        (("split", "--data", "train.csv", "--out", ".", "--force"), "train.csv"),
        (("demo", "--out", "train.csv"), "is a file"),
    ],
)
def test_a_fault_is_one_line_and_exit_code_2(folder, args, fragment):
    before = set(folder.iterdir())
    assert fragment in refused(*args)
    assert set(folder.iterdir()) - {folder / "parts"} == before


HYBRID = {"generator": "hybrid", "settings": {"generator": "marginals"}}
NO_PATHS = {
    "audit": lambda path: {"train": f"{path}.csv", "synthetic": "synthetic.csv"},
    "audit --train train.csv --synthetic synthetic.csv": lambda path: {"schema": f"{path}.yaml"},
    "audit --train train.csv --synthetic control.csv": lambda path: {"policy": f"{path}.yaml"},
    "anonymize --data train.csv --out o.csv": lambda path: {
        "hierarchies": {"sex": {"file": path}},
        "models": [{"k": 2}],
    },
    "pipeline --data train.csv": lambda path: {**HYBRID, "pseudonymize": {"columns": ["age"], "key": path}},
    "tune --store found": lambda path: {
        **HYBRID,
        "data": f"{path}.csv",
        "search": {"generator": ["marginals"]},
        "objectives": {"privacy": ["linkability"], "utility": "total_variation"},
    },
}


@pytest.mark.parametrize("path", ["a\0b", "a\ud800b"], ids=["NUL", "half a character"])
@pytest.mark.parametrize("command", NO_PATHS)
def test_what_can_be_no_path_in_a_file_is_one_line(folder, command, path):
    Path("settings.json").write_text(json.dumps(NO_PATHS[command](path)), encoding="utf-8")
    assert "half a character" in refused(*command.split(), "--config", "settings.json")


def as_options(arguments):
    """Spell the arguments of ``load_split`` as options."""
    for name, value in arguments.items():
        option = "--" + name.replace("_", "-")
        if isinstance(value, bool):
            yield from [option] * value
        elif isinstance(value, (str, Path)):
            yield from (option, value)
        else:
            for item in value:
                yield from (option, item)


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.name)
def test_every_broken_input_is_one_line_and_exit_code_2(folder, case):
    line = refused("audit", *as_options(case.arguments(folder)))
    assert case.fragment in line
    assert SECRET not in line


def test_an_unwritable_place_is_found_out_before_the_long_work(folder, monkeypatch):
    monkeypatch.setattr(auditor, "load", lambda *args, **kwargs: pytest.fail("read the tables"))
    refused(*AUDIT, "--json", "nowhere/report.json")
    refused(*AUDIT, "--records", "nowhere/records.csv")
    refused(*AUDIT, "--metric", "nonsense")


def test_our_own_fault_is_one_line_without_values_and_says_how_to_see_more(folder, monkeypatch):
    def fail(*args, **kwargs):
        raise ZeroDivisionError("a secret value")

    monkeypatch.setattr(auditor, "load_releases", fail)
    line = refused(*AUDIT, code=70)
    assert "TABVEIL_DEBUG=1" in line
    assert "ZeroDivisionError" in line
    assert "secret" not in line
    monkeypatch.setenv("TABVEIL_DEBUG", "1")
    assert isinstance(run(*AUDIT).exception, ZeroDivisionError)


def test_interruption_is_one_line(folder, monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(auditor, "load_releases", interrupt)
    assert refused(*AUDIT, code=130) == "tabveil: interrupted."


@pytest.mark.parametrize(
    ("error", "fragment"),
    [
        (OSError(28, "No space left on device", "out.json"), "out.json: No space"),
        (OSError(36, "File name too long", "x" * 5000), f"x…{39 * 'x'}: File name too long"),
        (OSError(12, "Cannot allocate memory"), "memory"),
        (MemoryError(), "memory"),
    ],
)
def test_trouble_with_the_machine_is_one_line(capsys, error, fragment):
    def fail():
        raise error

    assert exit_code(fail) == 2
    assert fragment in capsys.readouterr().err


def test_a_file_is_written_completely_or_not_at_all(tmp_path):
    target = tmp_path / "report.json"
    write_text(target, "old")
    with pytest.raises(UnicodeEncodeError):
        write_text(target, "new, but then \ud800")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_is_followed_not_replaced(tmp_path):
    target, link = tmp_path / "real.json", tmp_path / "link.json"
    target.write_text("old")
    link.symlink_to(target)
    write_text(files.writable("--json", link, force=True), "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_folder_without_permission_is_refused(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files, "TemporaryFile", refuse)  # root, who runs many a test, may write everywhere
    with pytest.raises(ParameterError, match=r"cannot write into .*: Permission denied"):
        files.writable("--json", tmp_path / "report.json", force=False)
    with pytest.raises(ParameterError, match="cannot write into"):
        files.folder("--out", tmp_path)


# As a real program


def test_the_program_itself(folder):
    done = subprocess.run(
        [TABVEIL, *AUDIT, "--metric", "identical_match_share"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert all("% done: " in line for line in done.stderr.splitlines())  # on a slow machine
    assert "above zero" in done.stdout
    bad = subprocess.run([TABVEIL, "audit", "--train", "x"], capture_output=True, text=True, check=False)
    assert (bad.returncode, len(bad.stderr.splitlines()), bad.stdout) == (2, 1, "")


def test_help_does_not_wait_for_pandas(folder):
    code = (
        "import sys\nfrom tabveil.cli import app\ntry:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        "sys.exit(sum(name in sys.modules for name in ('pandas', 'numba', 'sklearn', 'scipy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_ctrl_c_ends_with_130(folder, ctrl_c_is_heard):
    code = (
        "import time\nfrom tabveil.auditing import audit as auditor\nfrom tabveil.cli import main\n"
        "auditor.load_releases = lambda *_, **__: (print('reading', flush=True), time.sleep(60))\nmain()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, *AUDIT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "reading\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=20)[1] == "tabveil: interrupted.\n"
    assert process.returncode == 130


def test_every_command_stands_in_a_file_of_its_own_that_is_named_once():
    files_of_commands = {
        path.stem for path in Path(cli.__file__).parent.glob("*.py") if "def register(" in path.read_text()
    }
    named = [module.__name__.rpartition(".")[2] for module in sys.modules["tabveil.cli.app"].COMMANDS]
    assert sorted(named) == sorted(files_of_commands)
