"""Calls on a cluster: equal answers, the first failure, what many are given sent once, and nobody lost."""

import math
import operator
import os
import time
from functools import partial
from operator import methodcaller
from types import SimpleNamespace

import numpy as np
import pytest
from supplies.clusters import started
from supplies.daemons import waited_for

from tabveil.auditing.steps import _attempt
from tabveil.core.cluster import Elsewhere, cluster
from tabveil.core.workers import available_threads, current, shared, sharing, side_by_side, working
from tabveil.errors import ParameterError


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A client of a scheduler with two workers."""
    with (
        started(tmp_path_factory.mktemp("cluster"), "tcp") as (address, _),
        cluster(address, (), owner="audit") as found,
    ):
        yield found


@pytest.fixture
def others(client):
    """What does calls there."""
    return Elsewhere(client, owner="audit")


class Counted:
    """Counts how often it travels, and arrives as a list."""

    def __init__(self):
        self.times = 0

    def __reduce__(self):
        self.times += 1
        return list, ((7, 8, 9),)


def test_answers_stand_in_order_and_come_from_other_processes(others):
    with working(others=others):
        works = [partial(math.sqrt, number) for number in range(6)]
        assert side_by_side(works, portable=True, order=[*range(6)][::-1]) == [math.sqrt(n) for n in range(6)]
        pids = side_by_side([partial(os.getpid)] * 8, portable=True)
        assert os.getpid() not in pids
        assert side_by_side([os.getpid], portable=False) == [os.getpid()]  # what may not travel stays
        assert side_by_side([], portable=True) == []


def test_what_many_are_given_travels_once_also_inside_of_calls(others):
    many, kept, single = Counted(), Counted(), Counted()
    others.keep(kept)
    with working(others=others):
        inner = [partial(operator.add, many, kept) for _ in range(5)]
        found = side_by_side(
            [partial(_attempt, work, "sum", None, silent=False) for work in inner], portable=True
        )
        again = side_by_side([partial(list, kept), partial(sorted, single)], portable=True)
    assert found == [[7, 8, 9, 7, 8, 9]] * 5
    assert again == [[7, 8, 9]] * 2
    assert (many.times, kept.times, single.times) == (1, 1, 1)


def test_the_first_failure_in_order_is_raised(others):
    works = [
        partial(int, "7"),
        partial(time.sleep, 0.2),
        partial(_attempt, partial(int, "no number"), "later", None, silent=False),
        partial(operator.truediv, 1, 0),
        *[partial(time.sleep, 0.1)] * 30,
    ]
    with working(others=others), pytest.raises(ValueError, match="no number"):
        side_by_side(works, portable=True, order=[3, 2, 1, 0, *range(4, 34)])


def test_what_is_shared_follows_from_the_seed_as_here(others):
    draw = [
        partial(shared, ("lot",), methodcaller("random"), rng=np.random.default_rng(number))
        for number in range(4)
    ]
    with sharing(seed=3):
        here = side_by_side(draw)
        with working(others=others):
            there = side_by_side(draw, portable=True)
    assert there == here
    assert len({*here}) == 1


@pytest.mark.parametrize(("asked", "most"), [(None, available_threads()), (1, 1)])
def test_tasks_of_one_machine_share_its_cores(client, asked, most):
    with working(others=Elsewhere(client, owner="audit", threads=asked)):
        (found,) = side_by_side([partial(current)], portable=True)
    assert found.threads == min(max(available_threads() // 2, 1), most)


def test_progress_counts_what_has_ended(others):
    heard = []
    with working(others=others, listener=lambda *told: heard.append(told)):
        side_by_side([partial(abs, n) for n in range(4)], titles=["a", "b", "c", "d"], portable=True)
    shares = [share for _, share in heard]
    assert shares == sorted(shares)
    assert 0.5 in shares


def test_a_worker_that_is_lost_changes_nothing(tmp_path):
    with started(tmp_path, "tcp") as (address, workers), cluster(address, (), owner="audit") as client:
        others = Elsewhere(client, owner="audit")
        table = np.arange(10)
        others.keep(table)

        def lose_one(_doing, share):
            if share > 0:
                workers[0].kill()

        with working(others=others, listener=lose_one):
            works = [
                partial(_attempt, partial(np.take, table, n), "take", None, silent=False) for n in range(9)
            ]
            works = [work if n % 2 else partial(time.sleep, 0.2) for n, work in enumerate(works)]
            found = side_by_side(works, titles=[*"abcdefghi"], portable=True)
        assert workers[0].wait() < 0
    assert [item for item in found if item is not None] == [1, 3, 5, 7]


def test_what_is_lost_with_its_only_worker_is_sent_again(tmp_path):
    """A scheduler lets go of copies that no call is waiting for, after some seconds."""
    with started(tmp_path, "tcp") as (address, workers), cluster(address, (), owner="audit") as client:
        others, table = Elsewhere(client, owner="audit"), np.arange(10)
        others.keep(table)
        (parcel,) = others._sent.parcels
        client.amm.run_once()
        waited_for(lambda: len(client.who_has([parcel])[parcel.key]) == 1)
        (holder,) = client.who_has([parcel])[parcel.key]
        lost = client.run(os.getpid)[holder]
        next(worker for worker in workers if worker.pid == lost).kill()
        heard = []
        with working(others=others, listener=lambda _, share: heard.append(share)):
            works = [
                partial(_attempt, partial(np.take, table, n), "take", None, silent=False) for n in range(4)
            ]
            assert side_by_side(works, titles=[*"abcd"], portable=True) == [0, 1, 2, 3]
        assert heard == sorted(heard)


@pytest.mark.parametrize("error", [None, type("KilledWorker", (Exception,), {})()])
def test_calls_that_no_worker_survives_end_in_one_line(error):
    future = SimpleNamespace(cancelled=lambda: error is None, exception=lambda: error)
    found = Elsewhere(None, owner="audit")._failure(future)
    assert isinstance(found, ParameterError)
    assert "audit: the workers that shared the work were lost again and again" in str(found)
