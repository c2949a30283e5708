"""Steps side by side: the same report on any number of threads, the same failure, and an end when asked."""

import json
import threading
import time
from itertools import pairwise

import numpy as np
import pytest

import tabveil
from tabveil.auditing import steps
from tabveil.auditing.steps import AuditStep, run, together
from tabveil.core.result import Omission
from tabveil.core.table import Numeric, Schema, Split, Table
from tabveil.core.workers import each_chunk, working
from tabveil.datasets import hospital
from tabveil.errors import NotApplicable, NothingToAsk


def told(report):
    """Return all that a report says but for how long it took."""
    data = json.loads(report.to_json())

    def without_times(item):
        if isinstance(item, dict):
            return {key: without_times(value) for key, value in item.items() if key != "seconds"}
        return [*map(without_times, item)] if isinstance(item, list) else item

    return without_times(data)


RELEASES = {
    "within": lambda train: hospital(500, seed=3),  # people are planted, and attacks repeated
    "above": lambda train: train.iloc[:400],  # changes of the release are tried
}


@pytest.mark.parametrize("release", RELEASES)
def test_the_whole_report_is_the_same_on_any_number_of_threads(release):
    train, control = hospital(500, seed=1), hospital(500, seed=2)
    more = {} if release == "above" else {"utility": True, "portrait": True, "power": None}
    lenient = {"thresholds": dict.fromkeys(("singling_out", "linkability", "inference", "membership"), 0.4)}
    reports = [
        tabveil.audit(
            train,
            RELEASES[release](train),
            control,
            attackers=[{"name": "insider", "knows": ["age", "sex"], "wants": ["outcome"]}],
            policy=lenient if release == "within" else None,
            seed=4,
            threads=threads,
            **more,
        )
        for threads in (1, 2, 7)
    ]
    first, *others = map(told, reports)
    assert others == [first] * 2
    assert reports[0].spread is not None
    assert (reports[0].positive is not None) == (release == "within")
    assert bool(reports[0].advice and reports[0].advice.remedies) == (release == "above")


def step(title, work, **settings):
    return AuditStep(title=title, work=work, **settings)


def refuse(error):
    raise error


@pytest.mark.parametrize("threads", [1, 4])
def test_what_has_no_answer_is_left_out_or_passed_over(threads):
    with working(threads=threads):
        found = run(
            [
                step("one", lambda: 1),
                step("two", lambda: refuse(NotApplicable("two", "has none"))),
                step(
                    "three", lambda: refuse(NothingToAsk("three", "has nothing")), silent=True, attacker="x"
                ),
            ]
        )
    assert found == [1, Omission(metric="two", attacker=None, reason="two: has none"), None]


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_the_failure_of_the_first_step_that_fails_surfaces(threads):
    def late():
        time.sleep(0.02)
        raise KeyError("first in order")

    asked = [step("fine", lambda: 0), step("late", late)]
    asked += [step(f"s{n}", lambda: refuse(ValueError("later in order")), weight=9) for n in range(5)]
    with working(threads=threads), pytest.raises(KeyError, match="first in order"):
        run(asked)


def test_progress_names_the_steps_that_run_and_never_falls():
    heard = []
    asked = [
        step(f"s{n}", lambda: each_chunk(20, 1, lambda *_: time.sleep(0.001), doing="chunks"), weight=1 + n)
        for n in range(6)
    ]
    with working(threads=3, listener=lambda *told: heard.append(told)):
        run(asked)
    shares = [share for _, share in heard]
    assert all(one <= other for one, other in pairwise(shares))
    assert heard[-1] == ("done", 1.0)
    assert heard[0][0] in {"s5", "s4", "s3"}  # the longest begin
    assert any("; also s" in doing for doing, _ in heard)


def test_ctrl_c_ends_all_steps_soon():
    def endless():
        while True:
            each_chunk(4, 1, lambda *_: time.sleep(0.005), doing="endless")

    def interrupt(_doing, _share):
        if time.perf_counter() - start > 0.1 and threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt

    start, before = time.perf_counter(), threading.active_count()
    with working(threads=3, listener=interrupt), pytest.raises(KeyboardInterrupt):
        run([step(f"s{n}", endless) for n in range(5)])
    assert time.perf_counter() - start < 1.5
    while threading.active_count() > before and time.perf_counter() - start < 5:
        time.sleep(0.01)
    assert threading.active_count() == before


def tables(rows):
    cells = np.zeros((rows, 1))
    table = Table(schema=Schema((Numeric(name="x", low=0, high=1),)), values=cells)
    return Split(train=table, control=table, synthetic=table)


@pytest.mark.parametrize(("free", "most"), [(0, 1), (3 * 1000 * 100 * 2 * 5, 5), (float("inf"), None)])
def test_large_tables_have_fewer_steps_at_once_as_memory_allows(monkeypatch, free, most):
    monkeypatch.setattr(steps, "_memory", lambda: free)
    assert together(tables(1000)) == most


def test_seconds_are_those_of_all_cores_and_of_nothing_that_runs_beside():
    rows = [hospital(300, seed=seed) for seed in (1, 2, 3)]
    names = ["membership_distance", "distance_to_closest", "linkability", "inference"]
    took = {
        threads: {
            result.metric: result.seconds
            for result in tabveil.audit(*rows, metrics=names, threads=threads, advice=False).results
        }
        for threads in (4, 1, 4)  # the first one compiles
    }
    assert sum(took[4].values()) < 3 * sum(took[1].values()) + 0.2
