"""Processes that share work: what they are given, what becomes of it when one is lost, who can reach them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tabveil.errors import ParameterError
from tabveil.workflows.cells.processes import Processes, _Line
from tabveil.workflows.cells.tasks import ProcessLost, Shared, Task, ToldFailure, reason, run_here


class Weighed:
    """Counts how often it was packed to be sent."""

    times = 0

    def __reduce__(self):
        Weighed.times += 1
        return Weighed, ()


def made(folder, name, _heavy=None):
    with Path(folder, f"made-{name}").open("a") as file:
        file.write(f"{os.getpid()}\n")
    return name


def joined(given, more):
    time.sleep(0.02)
    return f"{given} {more}"


def plus(_heavy, number):
    return number + 1


def tasks(folder):
    """Six tasks each of two kinds that need the same, all of which need a third thing."""
    root = Task(key="root", call=root_of, arguments=(folder,))
    for name in ("a", "b"):
        needs = Task(key=f"made {name}", call=made_of, arguments=(folder, name), needs=root)
        yield from (Task(key=f"{name}{i}", call=joined, arguments=(i,), needs=needs) for i in range(6))


def root_of(folder):
    return made(folder, "root")


def made_of(root, folder, name):
    return f"{root}-{made(folder, name)}"


def results(ends):
    return {end.key: end.result() for end in ends}


def test_processes_answer_as_one_does(tmp_path):
    alone, apart = tmp_path / "alone", tmp_path / "apart"
    alone.mkdir()
    apart.mkdir()
    wanted = results(run_here(tasks(alone)))
    assert wanted["b5"] == "root-b 5"
    with Processes(2, owner="work") as processes:
        assert results(processes.run(tasks(apart))) == wanted
        for name in ("root", "a", "b"):
            makers = (apart / f"made-{name}").read_text().split()
            assert len(makers) == len(set(makers)), "no process makes what it has"
        assert results(processes.run(tasks(apart))) == wanted, "they stay for what comes later"


def test_what_a_process_makes_is_waited_for(tmp_path):
    needs = Task(key="slow", call=slow, arguments=(tmp_path,))
    work = [Task(key=f"task {i}", call=joined, arguments=(i,), needs=needs) for i in range(8)]
    with Processes(2, owner="work") as processes:
        assert len(results(processes.run(work))) == 8
    assert (tmp_path / "most").read_text() == "1", "nobody makes it while somebody else does"


def slow(folder):
    running = folder / f"running-{os.getpid()}"
    running.touch()
    time.sleep(0.3)
    (folder / "most").write_text(str(len(list(folder.glob("running-*")))))
    running.unlink()
    return "slow"


def test_what_is_shared_is_sent_once_to_each():
    Weighed.times = 0
    shared = Shared(key="heavy", value=Weighed())
    work = (Task(key=str(i), call=plus, arguments=(i,), needs=shared) for i in range(20))
    with Processes(2, owner="work") as processes:
        assert results(processes.run(work)) == {str(i): i + 1 for i in range(20)}
    assert 1 <= Weighed.times <= 2


def dying(folder, times):
    """End this process so many times."""
    tally = folder / "tally"
    died = len(tally.read_text()) if tally.exists() else 0
    if died < times:
        tally.write_text("x" * (died + 1))
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


@pytest.mark.parametrize("times", [2, 3])
def test_a_task_whose_process_is_lost_is_given_to_another_three_times_at_most(times, tmp_path):
    work = [
        Task(key="dying", call=dying, arguments=(tmp_path, times)),
        *(Task(key=str(i), call=plus, arguments=(None, i)) for i in range(5)),
    ]
    with Processes(2, owner="work") as processes:
        ends = {end.key: end for end in processes.run(work)}
    assert all(ends[str(i)].result() == i + 1 for i in range(5))
    if times == 2:
        assert ends["dying"].result() == "alive"
    else:
        assert isinstance(ends["dying"].error, ProcessLost)
        assert "lost again and again" in reason(ends["dying"].error)


class StubbornError(Exception):
    """Cannot be made again from what it says."""

    def __init__(self, one, two):
        super().__init__(f"Mrs Smith {one} {two}")


def failing(kind):
    raise (
        StubbornError(1, 2) if kind == "stubborn" else ParameterError("age", "must be a number.", hint="So.")
    )


def returning():
    return lambda: None


def test_errors_come_whole_or_as_what_they_come_to():
    work = [
        Task(key="stubborn", call=failing, arguments=("stubborn",)),
        Task(key="ours", call=failing, arguments=("ours",)),
        Task(key="not returned", call=returning),
        Task(key="not sent", call=lambda: None),
        Task(key="fine", call=plus, arguments=(None, 1)),
    ]
    with Processes(2, owner="work") as processes:
        ends = {end.key: end for end in processes.run(work)}
    assert reason(ends["stubborn"].error) == "StubbornError inside the code"
    assert isinstance(ends["ours"].error, ParameterError)
    assert str(ends["ours"].error) == "age: must be a number. So."
    for key in ("not returned", "not sent"):
        assert isinstance(ends[key].error, ToldFailure)
        assert "put classes of your own into a Python file" in reason(ends[key].error)
    assert ends["fine"].result() == 2


def test_what_several_need_and_nobody_can_be_sent_is_told_of_each():
    needs = Task(key="needs", call=plus, arguments=(lambda: None, 1))
    work = [Task(key=str(i), call=joined, arguments=(i,), needs=needs) for i in range(4)]
    with Processes(2, owner="work") as processes:
        ends = list(processes.run([*work, Task(key="fine", call=plus, arguments=(None, 1))]))
    assert sorted(end.key for end in ends) == ["0", "1", "2", "3", "fine"]
    assert [isinstance(end.error, ToldFailure) for end in ends].count(True) == 4


def test_a_task_that_is_put_back_stands_before_others_that_need_the_same():
    line, needs = _Line(), Task(key="needs", call=plus)
    work = [Task(key=str(i), call=joined, arguments=(i,), needs=needs) for i in range(2)]
    line.add(work[:1])
    lost = line.take(None)
    line.add(work[1:])
    line.put_back(*lost)
    first, at = line.take(None)
    assert line.take(None) is None, "while somebody makes what the other needs"
    assert (first.key, line.take(at)[0].key, line.is_empty) == ("0", "1", True)


def environment():
    return dict(os.environ)


def test_what_they_start_finds_the_environment_of_the_program(monkeypatch):
    """Python looks beside a script of the user's own for its modules, also where a process starts it."""
    for safe_path in (None, "1"):
        if safe_path is not None:
            monkeypatch.setenv("PYTHONSAFEPATH", safe_path)
        with Processes(2, owner="work") as processes:
            found = results(processes.run([Task(key="environment", call=environment)]))
        assert found["environment"].get("PYTHONSAFEPATH") == safe_path


PROGRAM = """
import sys, time
from pathlib import Path
from tabveil.workflows.cells.processes import Processes
from tabveil.workflows.cells.tasks import Task

def long(folder):
    temporary = Path(folder, "temporary")
    temporary.touch()
    try:
        time.sleep(60)
    finally:
        temporary.unlink()

{guard}
    with Processes(2, owner="work") as processes:
        for end in processes.run([Task(key="long", call=long, arguments=(sys.argv[1],))]):
            pass
"""


def begin(folder, guard="if __name__ == '__main__':", **settings):
    """Start a program that lies elsewhere than where it is started."""
    (folder / "elsewhere").mkdir(exist_ok=True)
    program = folder / "elsewhere" / "program.py"
    program.write_text(PROGRAM.format(guard=guard), encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, program, folder], stderr=subprocess.PIPE, text=True, cwd=folder, **settings
    )


def children_at_work(process, folder):
    """Wait until the task runs; return the processes of the program."""
    while not (folder / "temporary").exists():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    return psutil.Process(process.pid).children(recursive=True)


def gone(children):
    return psutil.wait_procs(children, timeout=30)[1] == []


def test_processes_end_with_the_one_that_started_them(tmp_path):
    with begin(tmp_path) as process:
        children = children_at_work(process, tmp_path)
        process.kill()
        assert gone(children)
    assert not (tmp_path / "temporary").exists(), "they end as if by themselves"


def test_ctrl_c_ends_all_of_them_without_a_word(tmp_path, ctrl_c_is_heard):
    with begin(tmp_path, start_new_session=True) as process:
        children = children_at_work(process, tmp_path)
        os.killpg(process.pid, signal.SIGINT)
        told = process.stderr.read()
        assert gone(children)
    assert told.count("Traceback") == 1, told
    assert told.rstrip().endswith("KeyboardInterrupt")
    assert not (tmp_path / "temporary").exists()


def test_nobody_can_reach_them_and_they_import_nothing_from_the_current_folder(tmp_path):
    for name in ("selectors", "signal", "tabveil", "multiprocessing", "numpy"):
        (tmp_path / f"{name}.py").write_text("open('executed', 'w').close()\nraise SystemExit('no')\n")
    with begin(tmp_path) as process:
        children = children_at_work(process, tmp_path)
        for each in (psutil.Process(process.pid), *children):
            assert each.net_connections(kind="inet") == []
            assert [item.laddr for item in each.net_connections(kind="unix") if item.laddr] == []
        process.kill()
        assert gone(children)
    assert not (tmp_path / "executed").exists()


def test_a_program_without_its_guard_is_told_of_it(tmp_path):
    with begin(tmp_path, guard="if True:") as process:
        told = process.stderr.read()
    assert process.returncode == 1
    assert "call this under if __name__ == '__main__'" in told.rstrip().splitlines()[-1]
