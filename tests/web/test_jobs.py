"""Jobs live in folders: whoever looks sees the same, and nothing is lost with a server."""

import fcntl
import json
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from supplies.daemons import waited_for
from supplies.web_client import let_go

from tabveil.errors import TabveilError
from tabveil.web import jobs as module
from tabveil.web import runner
from tabveil.web.jobs import Asked, Jobs, Run, new_folder
from tabveil.web.places import PROJECT


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "one"
    folder.mkdir()
    (folder / PROJECT).write_text("{}")
    return folder


@pytest.fixture
def jobs(project):
    found = Jobs(project.parent)
    yield found
    let_go(found)


def asked(*words, **more):
    return Asked(
        kind="audit", title="something", commands=(words or ("policy", "--out", "policy.yaml"),), **more
    )


@contextmanager
def held(folder):
    """Hold the lock of a job, as its runner does."""
    with (folder / runner.LOCK).open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def over(job):
    return waited_for(lambda: job.state in module.OVER and job.state)


def test_a_command_runs_in_its_folder_and_its_end_is_kept(project, jobs):
    job = jobs.ask(new_folder(project), asked())
    assert over(job) == "done"
    assert (job.folder / "policy.yaml").exists()
    assert job.code == 0
    assert [found.name for found in jobs.of(project)] == [job.name]
    assert Jobs(project.parent).of(project)[0].state == "done"  # a server that begins now


def test_what_goes_wrong_is_kept_without_the_folders_above(project, jobs):
    job = jobs.ask(new_folder(project), asked("schema", str(project / "missing.csv")))
    assert over(job) == "failed"
    assert job.code == 2
    assert "missing.csv" in job.said()
    assert str(project.parent) not in job.said()


def test_commands_follow_one_another_until_one_fails(project, jobs):
    both = (("policy", "--out", "a.yaml"), ("policy", "--out", "a.yaml"), ("policy", "--out", "b.yaml"))
    job = jobs.ask(new_folder(project), Asked(kind="x", title="x", commands=both))
    assert over(job) == "failed"
    assert (job.folder / "a.yaml").exists()
    assert not (job.folder / "b.yaml").exists()


def test_codes_of_a_verdict_are_no_fault(project):
    folder = new_folder(project)
    runner.write(folder / runner.JOB, {"kind": "audit", "title": "t", "commands": [], "fine": [0, 1, 3]})
    for code, state in (
        (0, "done"),
        (1, "done"),
        (3, "done"),
        (2, "failed"),
        (70, "failed"),
        (130, "cancelled"),
        (137, "failed"),
    ):
        runner.write(folder / runner.ENDED, {"code": code})
        assert Run.read(folder).state == state


def test_a_code_without_what_was_to_be_made_is_no_verdict(project):
    """Python that is interrupted while it starts ends with 1, which is also the code of 'above threshold'."""
    folder = new_folder(project)
    about = {"kind": "audit", "title": "t", "commands": [], "fine": [0, 1, 3], "makes": ["report.json"]}
    runner.write(folder / runner.JOB, about)
    runner.write(folder / runner.ENDED, {"code": 1})
    assert Run.read(folder).state == "failed"
    runner.write(folder / runner.STOPPED, {"times": 1})
    assert Run.read(folder).state == "cancelled"
    (folder / "report.json").write_text("{}")
    assert Run.read(folder).state == "done"


def waiting(project, number, **more):
    """Jobs that nobody started yet."""
    jobs = Jobs(project.parent)
    jobs.go_on = lambda: None
    empty = Asked(kind="x", title="x", commands=(), **more)
    return [jobs.ask(new_folder(project), empty) for _ in range(number)]


def of_others(project, number, **more):
    """Jobs that came with the folder."""
    found = []
    for _ in range(number):
        folder = new_folder(project)
        plain = {
            "kind": "x",
            "title": "x",
            "commands": [],
            "fine": [0],
            "light": False,
            "at": "",
            "about": {},
            **more,
        }
        runner.write(folder / runner.JOB, plain)
        found.append(Run.read(folder))
    return found


def test_states_follow_from_the_folder_and_the_lock(project):
    (job,) = waiting(project, 1)
    assert job.state == "waiting"
    with held(job.folder):
        assert job.state == "running"
        assert job.state == "running"
    runner.write(job.folder / runner.STARTED, {"pid": 1, "began": ""})
    assert job.state == "killed"
    runner.write(job.folder / runner.ENDED, {"code": 0})
    assert job.state == "done"


def test_so_many_run_at_the_same_time_and_the_first_comes_first(project, monkeypatch):
    started = []
    monkeypatch.setattr(Jobs, "_start", lambda _self, job: started.append(job.name))
    queue = waiting(project, 4)
    Jobs(project.parent, at_once=2).go_on()
    assert started == [job.name for job in queue[:2]]
    started.clear()
    with held(queue[0].folder):  # as another server started it
        Jobs(project.parent, at_once=2).go_on()
    assert started == [queue[1].name]
    started.clear()
    with held(queue[2].folder), held(queue[3].folder):
        Jobs(project.parent, at_once=2).go_on()
    assert started == []


def test_light_jobs_do_not_wait_for_heavy_ones(project, monkeypatch):
    started = []
    monkeypatch.setattr(Jobs, "_start", lambda _self, job: started.append(job.name))
    (heavy,) = waiting(project, 1)
    light = waiting(project, 3, light=True)
    with held(heavy.folder):
        Jobs(project.parent).go_on()
    assert started == [job.name for job in light[:2]]


def test_two_servers_on_one_folder_take_turns(project, monkeypatch):
    """While one decides the other does nothing, so no job begins twice and no place is filled twice."""
    (job,) = waiting(project, 1)
    inside, go = threading.Event(), threading.Event()
    started = []

    def start(self, found):
        started.append((self, found.name))
        inside.set()
        assert go.wait(20)

    monkeypatch.setattr(Jobs, "_start", start)
    first, second = Jobs(project.parent), Jobs(project.parent)
    thread = threading.Thread(target=first.go_on)
    thread.start()
    assert inside.wait(20)
    second.go_on()
    go.set()
    thread.join(20)
    assert started == [(first, job.name)]


def test_no_more_wait_than_may(project, monkeypatch):
    monkeypatch.setattr(module, "MOST_WAITING", 2)
    monkeypatch.setattr(Jobs, "_start", lambda _self, _job: None)
    jobs = Jobs(project.parent)
    for _ in range(2):
        jobs.ask(new_folder(project), asked())
    with pytest.raises(TabveilError, match="2 jobs wait already"):
        jobs.ask(new_folder(project), asked())
    monkeypatch.setattr(module, "MOST_KEPT", 3)
    with pytest.raises(TabveilError, match="3 runs"):
        new_folder(project)


def test_one_that_waits_is_cancelled_and_never_begins(project):
    (job,) = waiting(project, 1)
    jobs = Jobs(project.parent)
    jobs.cancel(job)
    assert job.state == "cancelled"
    jobs.go_on()
    assert not (job.folder / runner.STARTED).exists()


SLEEPER = """
import fcntl, os, signal, sys, time
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from tabveil.web import runner
folder = Path(sys.argv[1])
lock = (folder / runner.LOCK).open("ab")
fcntl.flock(lock, fcntl.LOCK_EX)
heard = []
signal.signal(signal.SIGINT, lambda *_: heard.append(1))
runner.write(folder / runner.STARTED, {"pid": os.getpid(), "began": runner.began(os.getpid())})
for _ in range(3000):
    if heard:
        runner.write(folder / runner.ENDED, {"code": 130})
        break
    time.sleep(0.02)
"""
"""A job that hears Ctrl-C, as commands do."""


@pytest.fixture
def sleeper(project):
    (job,) = waiting(project, 1)
    source = str(Path(runner.__file__).parents[2])
    words = [sys.executable, "-c", SLEEPER, str(job.folder), source]
    with subprocess.Popen(words, start_new_session=True) as process:
        waited_for(lambda: job.state == "running" and (job.folder / runner.STARTED).exists())
        yield job, process
        process.kill()


def test_cancelling_is_ctrl_c(sleeper, project):
    job, process = sleeper
    Jobs(project.parent).cancel(job)
    assert process.wait(20) == 0
    assert (job.state, job.stopped) == ("cancelled", 1)


def test_one_that_does_not_listen_is_ended_at_once_and_does_not_count(sleeper, project):
    job, process = sleeper
    Jobs(project.parent).cancel(job, at_once=True)
    assert process.wait(20) == -signal.SIGKILL
    assert job.state == "killed"


def test_a_number_that_belongs_to_another_process_by_now_is_left_alone(sleeper, project):
    """Numbers of processes come back: the time at which it began says whether it is still the same."""
    job, process = sleeper
    runner.write(job.folder / runner.STARTED, {"pid": process.pid, "began": "1"})
    job.stop(at_once=True)
    for wrong in (0, 1, -1, None, "x", True):
        runner.write(job.folder / runner.STARTED, {"pid": wrong, "began": runner.began(1)})
        job.stop(at_once=True)
    assert process.poll() is None


def test_a_runner_that_cannot_begin_is_not_started_for_ever(project, monkeypatch):
    (job,) = waiting(project, 1)
    monkeypatch.setattr(module.subprocess, "Popen", lambda *_args, **_more: (_ for _ in ()).throw(OSError))
    jobs = Jobs(project.parent)
    jobs.go_on()
    assert job.state == "killed"


def test_a_job_that_came_with_the_folder_is_never_started(project, monkeypatch):
    """Whoever made the folder could else let this user's account do what they want."""
    started = []
    monkeypatch.setattr(Jobs, "_start", lambda _self, job: started.append(job.name))
    evil = [["benchmark", "run", "study.yaml", "--store", "s", "--with", "evil.py"]]
    of_others(project, 1, commands=evil)
    of_others(project, 1, commands=evil, seal="0" * 64)
    (own,) = waiting(project, 1)
    (moved,) = waiting(project, 1)
    said = json.loads((moved.folder / runner.JOB).read_text())
    other = new_folder(project)
    runner.write(other / runner.JOB, said)  # the seal is that of another folder
    runner.write(moved.folder / runner.JOB, {**said, "commands": evil})
    jobs = Jobs(project.parent, at_once=9)
    jobs.go_on()
    assert started == [own.name]
    assert not jobs.is_own(Run.read(moved.folder))


def test_what_a_command_reads_is_sealed_too(project, monkeypatch):
    started = []
    monkeypatch.setattr(Jobs, "_start", lambda _self, job: started.append(job.name))
    folder = new_folder(project)
    (folder / "audit.yaml").write_text("train: a.csv\n")
    jobs = Jobs(project.parent)
    jobs.ask(folder, asked())
    assert started == [folder.name]
    (folder / "audit.yaml").write_text("train: a.csv\nscheduler: tls://elsewhere:1\n")
    Jobs(project.parent).go_on()
    assert started == [folder.name]


def test_folders_that_hold_no_job_are_passed_over(project):
    jobs = Jobs(project.parent)
    for text in ("", "{}", "[]", '{"kind": 1}', "nonsense"):
        (new_folder(project) / runner.JOB).write_text(text)
    new_folder(project)
    assert jobs.of(project) == []
    assert jobs.open() == []
    assert Jobs(project.parent / "nowhere").of(project / "nowhere") == []
