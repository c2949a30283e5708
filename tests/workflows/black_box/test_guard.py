"""Under a guard nothing of a command is left: when it ended, and when nobody wants it any more."""

import subprocess
import sys
from pathlib import Path

import pytest
from supplies.daemons import DAEMON, waited_for

from tabveil.workflows.black_box import guard

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="daemons are found on Linux")


def guarded(folder, *words):
    """Start a command under a guard, in a folder of its own."""
    (folder / "its_own").mkdir()
    return subprocess.Popen(
        [sys.executable, "-I", "-S", guard.__file__, str(folder / "its_own"), *map(str, words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["true"], b"0"),
        (["sh", "-c", "exit 7"], b"7"),
        (["sh", "-c", "kill -9 $$"], b"-9"),
        (["./nowhere"], b"cannot be started: No such file or directory"),
    ],
)
def test_it_says_how_a_command_ended_and_leaves_its_folder(tmp_path, words, said):
    with guarded(tmp_path, *words) as process:
        assert process.stdout.read() == said
        assert process.wait() == 0
        assert process.stderr.read() == b""
    assert (tmp_path / "its_own").is_dir()


@on_linux
def test_a_daemon_does_not_outlive_the_command(tmp_path):
    with guarded(tmp_path, sys.executable, "-c", DAEMON, tmp_path / "daemon") as process:
        assert process.stdout.read() == b"0"
    daemon = (tmp_path / "daemon").read_text(encoding="utf-8")
    assert not Path("/proc", daemon).exists()


@on_linux
def test_what_nobody_wants_any_more_is_ended_and_its_folder_is_removed(tmp_path):
    code = f"{DAEMON}\ntime.sleep(60)"
    with guarded(tmp_path, sys.executable, "-c", code, tmp_path / "daemon") as process:
        daemon = waited_for(lambda: (tmp_path / "daemon").exists() and (tmp_path / "daemon").read_text())
    assert process.returncode == 0
    assert not Path("/proc", daemon).exists()
    assert not (tmp_path / "its_own").exists()
