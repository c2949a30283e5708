"""Cores that are shared: never more than asked for, nobody waits for ever, and the first failure counts."""

import copy
import random
import threading
import time
from contextvars import ContextVar
from itertools import pairwise

import numpy as np
import pytest

from tabveil.core import workers
from tabveil.core.crew import Stopped, Turn, effort, once
from tabveil.core.workers import each_chunk, shared, sharing, side_by_side, tell, working


class Busy:
    """Counts the threads that work at the same time; Python lets others in at every look."""

    def __init__(self):
        self.now = self.most = 0
        self.lock = threading.Lock()

    def work(self, seconds=0.005):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(seconds)
        with self.lock:
            self.now -= 1


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_steps_with_chunks_of_chunks_use_all_cores_and_never_more(threads):
    busy, before = Busy(), threading.active_count()

    def step(number):
        found = np.zeros((6, 5), dtype=int)

        def chunk(start, _stop):
            def inner(first, last):
                busy.work()
                found[start, first:last] = 100 * number + 10 * start + first

            each_chunk(5, 1, inner, doing="inner")

        each_chunk(6, 1, chunk, doing="outer")
        return found

    with working(threads=threads):
        found = side_by_side([lambda n=n: step(n) for n in range(5)])
    expected = np.add.outer(10 * np.arange(6), np.arange(5))
    assert all(np.array_equal(each, 100 * n + expected) for n, each in enumerate(found))
    assert busy.most == threads
    assert threading.active_count() == before


def test_who_has_nothing_else_to_do_helps_with_the_last_steps_chunks():
    busy = Busy()
    with working(threads=4):
        side_by_side([lambda: None, lambda: each_chunk(40, 1, lambda *_: busy.work(), doing="alone")])
    assert busy.most == 4


def test_few_long_chunks_of_a_step_come_before_other_steps():
    """Of three threads one has the steps, one a long chunk: the third takes the other, and no short step."""
    begun, both = [], threading.Barrier(2, timeout=30)

    def long():
        each_chunk(2, 1, lambda *_: begun.append("long") or both.wait(), doing="models")

    works = [long, *[lambda: begun.append("short") or time.sleep(0.001)] * 1000]
    with working(threads=3):
        side_by_side(works)
    last = len(begun) - 1 - [*reversed(begun)].index("long")
    assert last < 500  # not when nothing else was left


def test_what_takes_longest_begins_first_and_answers_stand_in_order():
    begun = []
    works = [lambda n=n: begun.append(n) or n for n in range(6)]
    with working(threads=2):
        assert side_by_side(works, order=[5, 4, 3, 2, 1, 0]) == [*range(6)]
    assert {*begun[:2]} == {5, 4}


def test_large_steps_are_never_more_together_than_may_be_but_their_chunks_use_all_cores():
    steps, chunks = Busy(), Busy()

    def step():
        with steps.lock:
            steps.now += 1
            steps.most = max(steps.most, steps.now)
        each_chunk(20, 1, lambda *_: chunks.work(), doing="chunks")
        with steps.lock:
            steps.now -= 1

    with working(threads=6):
        side_by_side([step] * 5, at_once=2)
    assert steps.most == 2
    assert chunks.most == 6


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_all_is_done_also_where_few_may_be_under_way(at_once):
    found = []
    with working(threads=5):
        for _ in range(50):
            found += side_by_side([lambda n=n: n for n in range(20)], at_once=at_once)
    assert found == [*range(20)] * 50


def test_helpers_who_wait_are_woken_by_new_work():
    """The first has two long chunks after a while: another thread that waits has to take one."""
    threads = set()

    def late():
        time.sleep(0.05)
        each_chunk(2, 1, lambda *_: threads.add(threading.get_ident()) or time.sleep(0.1), doing="late")

    with working(threads=2):
        side_by_side([late, lambda: None])
    assert len(threads) == 2


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0]])
def test_the_first_failure_in_order_is_raised_whatever_fails_first(threads, order):
    done = []

    def fails(number, seconds):
        time.sleep(seconds)
        if number in {2, 4}:
            raise ValueError(number)
        done.append(number)

    works = [lambda n=n: fails(n, 0.03 if n == 2 else 0.0) for n in range(6)]
    with working(threads=threads), pytest.raises(ValueError, match=r"^2$"):
        side_by_side(works, order=order)
    assert {0, 1} <= {*done}


def test_the_first_chunk_that_fails_is_the_one_that_is_raised():
    def chunk(start, _stop):
        time.sleep(0.03 if start == 3 else 0)
        if start >= 3:
            raise ValueError(start)

    with working(threads=4), pytest.raises(ValueError, match=r"^3$"):
        each_chunk(50, 1, chunk, doing="failing")


def test_what_nobody_wants_any_more_stops_at_its_next_chunk():
    counted = []

    def endless():
        for _ in range(10_000):
            each_chunk(1, 1, lambda *_: counted.append(time.sleep(0.001)), doing="endless")

    def fails():
        time.sleep(0.02)
        raise ValueError("soon")

    with working(threads=2), pytest.raises(ValueError, match="soon"):
        side_by_side([fails, endless])
    assert len(counted) < 1000


@pytest.mark.parametrize("where", ["caller", "helper"])
def test_an_interruption_ends_all_at_once(where):
    mine, ended = threading.get_ident(), []

    def step():
        try:
            while True:
                time.sleep(0.001)
                tell("working", 0.5)
                if (threading.get_ident() == mine) == (where == "caller"):
                    raise KeyboardInterrupt
        except Stopped:
            ended.append(True)
            raise

    start = time.perf_counter()
    with working(threads=3), pytest.raises(KeyboardInterrupt):
        side_by_side([step] * 3)
    assert time.perf_counter() - start < 1.5
    assert ended


def test_settings_and_context_travel_to_helpers_and_nothing_comes_back():
    mark, mine = ContextVar("mark", default="none"), threading.get_ident()
    mark.set("here")

    def look():
        time.sleep(0.01)
        seen = mark.get(), workers.current().threads
        if threading.get_ident() != mine:
            mark.set("changed")
        with working(threads=2):
            return seen

    with working(threads=3):
        assert {*side_by_side([look] * 9)} == {("here", 3)}
    assert mark.get() == "here"


@pytest.mark.parametrize("threads", [1, 4])
def test_progress_never_falls_and_names_what_runs(threads):
    heard = []

    def step():
        each_chunk(9, 1, lambda *_: time.sleep(0.001), doing="chunks")

    with working(threads=threads, listener=lambda *told: heard.append(told)):
        each_chunk(7, 1, lambda *_: time.sleep(0.001), doing="alone")
    assert heard[-1] == ("alone", 1.0)
    heard.clear()
    titles = ["a", "b", "c", "d", "e", "f"]
    with working(threads=threads, listener=lambda *told: heard.append(told)):
        side_by_side([step] * 6, titles=titles, weights=[5, 1, 1, 1, 1, 1])
    shares = [share for _, share in heard]
    assert all(one <= other for one, other in pairwise(shares))
    assert shares[-1] == pytest.approx(1.0)
    if threads == 1:
        assert heard[:2] == [("a", 0.0), ("a: chunks 11%", pytest.approx(0.5 / 9))]
    else:
        assert any(doing.startswith("a: chunks") and "; also b" in doing for doing, _ in heard)


def test_a_thing_that_several_need_is_made_once_and_who_waits_lends_the_core():
    made, busy = [], Busy()

    def make(rng):
        made.append(shared(("inner",), lambda rng: rng.random(), rng=rng))
        each_chunk(30, 1, lambda *_: busy.work(), doing="making")
        return rng.random()

    with working(threads=3), sharing(seed=1):
        found = side_by_side([lambda: shared(("thing",), make, rng=np.random.default_rng())] * 3)
    assert len(made) == 1
    assert len({*found}) == 1
    assert busy.most == 3  # those who wait for it are no workers, others are


def test_a_failure_to_make_it_is_that_of_everybody_who_needs_it():
    def fail(_rng):
        raise ValueError("cannot be made")

    with working(threads=3), sharing(seed=1), pytest.raises(ValueError, match="cannot be made"):
        side_by_side([lambda: shared(("thing",), fail, rng=np.random.default_rng())] * 3)


def test_a_turn_may_be_taken_again_by_who_has_it():
    turn, inside = Turn(), Busy()

    def step():
        with turn, turn:
            inside.work()

    with working(threads=4):
        side_by_side([step] * 8)
    assert inside.most == 1


@pytest.mark.parametrize("threads", [1, 3])
def test_effort_counts_all_that_was_done_for_it_and_nothing_beside(threads):
    def spin(seconds):
        start = time.thread_time()
        while time.thread_time() - start < seconds:
            sum(range(1000))

    def step(n_chunks):
        with effort() as seconds:
            each_chunk(n_chunks, 1, lambda *_: spin(0.02), doing="spinning")
            time.sleep(0.05)
            return seconds()

    with working(threads=threads):
        few, many = side_by_side([lambda: step(2), lambda: step(10)])
    assert few == pytest.approx(0.04, abs=0.02)
    assert many == pytest.approx(0.2, abs=0.04)


class Thing:
    """Has something that takes chunks to compute, which many ask for at the same time."""

    def __init__(self):
        self.times = 0

    @once
    def value(self):
        """Compute it."""
        found = np.zeros(5)

        def fill(start, stop):
            time.sleep(0.0005)
            found[start:stop] = start

        each_chunk(5, 1, fill, doing="filling")
        self.times += 1  # one who is stopped on the way leaves it to the others
        return found.sum()


def test_what_could_not_be_computed_can_be_asked_again_and_copied():
    class Moody:
        mood = ValueError("not now")

        @once
        def value(self):
            if self.mood:
                raise self.mood
            return 7

    thing = Moody()
    with pytest.raises(ValueError, match="not now"):
        thing.value  # noqa: B018 - computed
    assert copy.deepcopy(thing).__dict__ == {}
    thing.mood = None
    assert thing.value == 7
    assert thing.__dict__ == {"mood": None, "value": 7}
    assert Moody.value.__doc__ is None


def grown(rng, depth, things, busy):
    """Do a tree of work: chunks, steps, shared things and turns in each other, some of which fail."""

    def deeper(seed):
        return grown(random.Random(seed), depth - 1, things, busy)

    kind, seeds = rng.random(), [rng.random() for _ in range(rng.randint(1, 7))]
    if depth == 0 or kind < 0.2:
        busy.work(0.0005)
        return 1
    if kind < 0.5:
        sums = np.zeros(len(seeds))

        def chunk(start, stop):
            sums[start:stop] = [deeper(seed) for seed in seeds[start:stop]]

        each_chunk(len(seeds), 1, chunk, doing="chunks")
        return sums.sum()
    if kind < 0.8:
        most = rng.choice([None, 1, 2, 3])
        return sum(side_by_side([lambda seed=seed: deeper(seed) for seed in seeds], at_once=most))
    if kind < 0.9:
        return rng.choice(things).value
    if kind < 0.96:
        key = str(rng.randrange(3))
        return shared((key,), lambda _: grown(random.Random(key), 1, things, busy), rng=None)
    raise ValueError(str(kind))


@pytest.mark.parametrize("seed", range(12))
def test_any_tree_of_work_comes_to_the_same_on_any_number_of_threads(seed):
    found = []
    for threads in (1, 2, 5, 9):
        busy, things = Busy(), [Thing() for _ in range(3)]
        with working(threads=threads), sharing(seed=1):
            try:
                found.append(grown(random.Random(seed), 4, things, busy))
            except ValueError as error:
                found.append(str(error))
        assert busy.most <= threads
        assert max(thing.times for thing in things) <= 1
    assert found == found[:1] * 4
