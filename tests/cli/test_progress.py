"""Nobody waits without a word: warnings before long work, a bar or lines while it lasts, silence if asked."""

import io
import re
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from supplies.terminal import AUDIT, run

from tabveil.auditing import audit as auditor
from tabveil.cli import progress
from tabveil.cli import progress as time_left
from tabveil.cli.progress import TimeLeft, progress_shown
from tabveil.cli.screen import Screen
from tabveil.core import workers
from tabveil.core.rng import stream
from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.synthesis.generators import GENERATORS
from tabveil.workflows.synthesizing import learning


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with the three tables of an audit, with 6 columns."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name in ("train", "control", "synthetic"):
        cells = {f"n{i}": rng.normal(size=40).round(2) for i in range(4)}
        labels = {f"c{i}": rng.choice([f"label {k}" for k in range(12)], 40) for i in range(2)}
        pd.DataFrame(cells | labels).to_csv(f"{name}.csv", index=False)
    return tmp_path


class Stream(io.StringIO):
    """Standard error that says when a line is written."""

    def __init__(self, *, terminal=False):
        super().__init__()
        self.terminal, self.written = terminal, threading.Event()

    def isatty(self):
        return self.terminal

    def write(self, text):
        done = super().write(text)
        self.written.set()
        return done


@pytest.fixture
def listen(monkeypatch):
    """Hand out how to listen to standard error, where nobody watches and lines come at once."""

    def begin():  # in the test itself: pytest puts its own stream there when the test begins
        monkeypatch.setattr(progress, "SECONDS", 0.01)
        monkeypatch.setattr(sys, "stderr", stream := Stream())
        return stream

    return begin


def test_a_log_has_lines_even_while_the_work_says_nothing(listen):
    log = listen()
    with progress_shown(quiet=False, title="clean release: ") as listener:
        assert log.written.wait(20)
        listener("comparing rows", 0.37)
        seen = log.getvalue()
        while "37%" not in log.getvalue()[len(seen) :]:
            log.written.clear()
            assert log.written.wait(20)
    lines = log.getvalue().splitlines()
    assert lines[0] == "under 1 second, 0% done: clean release: starting"
    assert lines[-1].endswith(", 37% done: clean release: comparing rows")


def test_a_log_says_how_long_it_will_still_take(listen, monkeypatch):
    monkeypatch.setattr(time_left, "LEAST_SECONDS", 0.0)
    log = listen()
    with progress_shown(quiet=False) as listener:
        listener("inference", 0.5)
        while "inference" not in log.getvalue():
            log.written.clear()
            assert log.written.wait(20)
    assert "under 1 second, 50% done, about 5 s left: inference\n" in log.getvalue()


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def told(shares, *, every=1.0):
    """Return the seconds left that are told, one after the other, where the share done grows as given."""
    clock = Clock()
    left, answers = TimeLeft(clock), []
    for share in shares:
        clock.now += every
        left.hear(share)
        answers.append(left.seconds())
    return answers


def test_steady_work_is_foretold():
    answers = told(np.arange(1, 101) / 100)
    assert answers[:4] == [None] * 4  # the share must be five percent
    np.testing.assert_allclose(answers[4:], np.arange(95, -1, -1), atol=1e-9)
    assert told(np.arange(1, 11) / 10)[:3] == [None, None, pytest.approx(7)]  # and three seconds must pass


def test_nothing_is_foretold_of_work_that_has_not_begun():
    assert told([0.0] * 50) == [None] * 50
    assert told([0.04] * 50) == [None] * 50


def test_a_jump_of_the_share_is_no_jump_of_the_answer():
    answers = told([*np.linspace(0.1, 0.2, 20), *([0.6] * 20)])
    steps = np.abs(np.diff(answers[3:]))
    assert steps.max() < 12  # what the share alone says falls by 67 seconds at once
    assert answers[-1] == pytest.approx(40 * 0.4 / 0.6, abs=10)


def test_work_that_stands_still_takes_longer_and_never_less_than_no_time():
    answers = told([0.5] * 100)
    assert answers[-1] > answers[10]
    assert min(answer for answer in told([*([0.9] * 20), *([1.0] * 40)]) if answer is not None) == 0


def test_compiling_does_not_count():
    """Of a first run: a minute of compiling, and then five percent in five seconds are a hundred seconds."""
    clock = Clock()
    left = TimeLeft(clock)
    left.hear(0.0, compiling=True)
    clock.now += 60
    assert left.seconds() is None
    left.hear(0.0)
    clock.now += 5
    left.hear(0.05)
    assert left.seconds() == pytest.approx(95)
    left.hear(0.05, compiling=True)
    clock.now += 30
    assert left.seconds() == pytest.approx(95)  # it stands still
    left.hear(0.05, compiling=True)  # the next kernel
    clock.now += 30
    left.hear(0.05)
    clock.now += 1
    left.hear(0.06)
    assert left.seconds() == pytest.approx(94)


@pytest.mark.parametrize("terminal", [False, True])
def test_compiling_has_a_line_of_its_own_and_one_only(listen, monkeypatch, terminal):
    log = listen()
    if terminal:
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setattr(sys, "stderr", log := Stream(terminal=True))
    with progress_shown(quiet=False) as listener:
        listener(f"linkability: {workers.COMPILING} 0%", 0.1)
        listener("linkability: comparing rows", 0.2)
        listener(f"inference: {workers.COMPILING} 0%", 0.3)
    line = f"{workers.COMPILING}: the time left does not count it"
    assert workers.COMPILING == "compiling, once on this machine"
    assert log.getvalue().count(line) == 1


def test_lines_are_the_rarer_the_longer_the_work_lasts(monkeypatch):
    monkeypatch.setattr(progress, "SECONDS", 10.0)
    assert [progress._pause(elapsed) for elapsed in (0, 150, 600, 36_000)] == [10, 10, 30, 60]


def test_lines_end_with_the_work_however_it_ends(listen):
    log, threads = listen(), set(threading.enumerate())

    def work():
        with progress_shown(quiet=False):
            assert log.written.wait(20)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert set(threading.enumerate()) <= threads
    before = log.getvalue()
    log.written.clear()
    assert not log.written.wait(0.1)
    assert log.getvalue() == before


def test_quiet_is_silent(listen):
    log = listen()
    with progress_shown(quiet=True) as listener:
        listener("comparing rows", 0.5)
        workers.warn("this takes long")
        assert not log.written.wait(0.1)


def test_a_terminal_has_a_bar_and_warnings_above_it(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", stream := Stream(terminal=True))
    with progress_shown(quiet=False) as listener:
        workers.warn("this takes long")
        listener("comparing rows", 0.37)
    assert "this takes long\n" in stream.getvalue()
    assert "0:00:0" in stream.getvalue()  # the time runs
    assert "left" not in stream.getvalue()  # it is too early to tell


def test_a_terminal_says_how_long_it_will_still_take(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(time_left, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(sys, "stderr", stream := Stream(terminal=True))
    with progress_shown(quiet=False) as listener:
        listener("comparing rows", 0.5)
        while "left" not in stream.getvalue():
            stream.written.clear()
            assert stream.written.wait(20)
    assert "about 5 s left" in stream.getvalue()
    assert "comparing rows" in stream.getvalue()


def test_a_long_text_leaves_the_times_whole(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(time_left, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(sys, "stderr", stream := Stream(terminal=True))
    with progress_shown(quiet=False) as listener:
        listener("power: planting 10%, 10 of 10: " + "a metric with a long name " * 4, 0.5)
        while "planting" not in stream.getvalue():
            stream.written.clear()
            assert stream.written.wait(20)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())
    line = next(line for line in re.split(r"[\r\n]", plain) if "planting" in line)
    assert len(line) <= 80
    assert re.search(r" 50% 0:00:0\d about 5 s left power: planting 10%", line)


def test_a_long_audit_writes_lines_and_keeps_standard_output_clean(folder, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS", 0.001)
    result = run(*AUDIT, "--metrics", "mmd", "--json", "-")
    assert "% done: " in result.stderr
    assert result.stdout.startswith("{")
    assert run(*AUDIT, "--metrics", "mmd", "--json", "-", "--quiet").stderr == ""


@pytest.mark.parametrize(("many", "very_many", "word"), [(6, 7, "minutes"), (2, 6, "hours")])
def test_many_columns_are_announced(folder, monkeypatch, many, very_many, word):
    asked = (*AUDIT, "--metrics", "inference")
    assert "columns" not in run(*asked).stderr
    monkeypatch.setattr(auditor, "MANY_COLUMNS", many)
    monkeypatch.setattr(auditor, "VERY_MANY_COLUMNS", very_many)
    line = run(*asked).stderr.splitlines()[0]
    assert line.startswith("6 columns: ")
    assert f"(inference), which may take {word}" in line
    assert "--secrets" in line
    assert run(*asked, "--quiet").stderr == ""
    assert run(*asked, "--secrets", "c0").stderr == ""  # as it advised
    assert run(*AUDIT, "--metrics", "mmd").stderr == ""


def test_many_labels_are_announced_for_networks(folder, monkeypatch):
    pytest.importorskip("torch")
    asked = ("synthesize", "--data", "train.csv", "--rare-labels", "keep", "--generator")
    network = ("diffusion", "--set", "steps=1", "--set", "timesteps=2")
    assert "may take" not in run(*asked, *network, "--out", "a.csv").stderr
    monkeypatch.setattr(learning, "MANY_LABELS", 12)
    line = run(*asked, *network, "--out", "b.csv").stderr.splitlines()[0]
    assert line.startswith("Column 'c0' has 12 labels: training diffusion may take many minutes")
    assert "tabveil schema" in line
    assert "may take" not in run(*asked, "trees", "--out", "c.csv").stderr


def heard(work):
    """Return what a listener hears while something is done."""
    told = []
    with workers.working(threads=1, listener=lambda *args: told.append(args)):
        work()
    return told


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("diffusion", {"steps": 100, "timesteps": 10, "width": 8}),  # 50 rounds of two steps
        ("ctgan", {"epochs": 2, "batch_size": 20, "pac": 1, "layers": (8,), "embedding": 4}),
        ("transformer", {"epochs": 2, "width": 8, "layers": 1, "heads": 1}),
    ],
)
def test_training_and_drawing_move_on(name, settings):
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    schema = Schema((Numeric(name="x", low=0, high=1), Categorical(name="c", labels=tuple("abc"))))
    table = Table(schema=schema, values=np.column_stack([rng.random(100), rng.integers(0, 3, 100)]))
    models = []
    told = heard(lambda: models.append(GENERATORS[name](**settings).fit(table, rng=stream(0, "fit"))))
    within = [share for doing, share in told if ": " in doing]
    rounds = {"diffusion": 50}.get(name, 2)
    assert len({round(share * rounds, 6) % 1 for share in within} - {0}) >= 1  # not only at the end of each
    assert within == sorted(within)
    assert told[-1][1] == 1
    if name != "transformer":
        drawn = heard(lambda: models[0].sample(50, rng=stream(0, "draw")))
        assert drawn[-1] == ("drawing rows", 1)


def test_what_an_attack_says_is_its_share_of_all_its_secrets(folder):
    told = []
    auditor.audit(
        *("train.csv", "synthetic.csv", "control.csv"),
        metrics=["inference", "linkability"],
        threads=1,
        progress=lambda doing, share: told.append(doing),
    )
    for name in ("inference", "linkability"):
        shares = [int(doing.split()[-1].rstrip("%")) for doing in told if doing.startswith(f"{name}: comp")]
        assert shares == sorted(shares)
        assert min(shares) < 50
        assert max(shares) == 100


@pytest.mark.parametrize("command", ["synthesize", "sample"])
def test_threads_hold_for_drawing_too(folder, monkeypatch, command):
    model = ("synthesize", "--data", "train.csv", "--generator", "marginals", "--threads", "1")
    assert run(*model, "--out", "a.csv", "--save", "model").exit_code == 0
    seen = []
    kind = GENERATORS["marginals"].model
    draw = kind.draw

    def look(self, n_rows, *, rng):
        seen.append(workers.current().threads)
        return draw(self, n_rows, rng=rng)

    monkeypatch.setattr(kind, "draw", look)
    asked = {"synthesize": model[:-1], "sample": ("sample", "model", "--rows", "5", "--threads")}[command]
    for threads in (1, 3):
        assert run(*asked, threads, "--out", f"{threads}.csv").exit_code == 0
    assert seen == [1, 3]
    assert Path("1.csv").read_bytes() == Path("3.csv").read_bytes()


def test_a_line_is_never_broken():
    screen = Screen(width=20, file=io.StringIO())
    screen.say("a line that is longer than the terminal is wide")
    assert screen.file.getvalue().count("\n") == 1
