"""A study on a cluster of the user's own, with TLS and in clear, overheard on its way."""

import os
import signal

import pytest
from supplies.clusters import certified, overheard, started

from tabveil.core.cluster import cluster, require_guarded
from tabveil.errors import ParameterError
from tabveil.workflows.benchmark import run

SMALL = {
    "datasets": [{"name": "hospital", "rows": 450}],
    "risks": [{"name": "leaky", "levels": [0, 0.5]}],
    "metrics": ["identical_match_share", "distance_to_closest", "membership_distance"],
    "repeats": 2,
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The small study, run in this process."""
    folder = tmp_path_factory.mktemp("whole")
    run(SMALL, folder, workers=1)
    return cells(folder)


@pytest.fixture
def certificate(tmp_path):
    """A certificate for one run, and Dask told of it."""
    with certified(tmp_path) as found:
        yield found


def cells(folder):
    return {path.name: path.read_bytes() for path in (folder / "cells").iterdir()}


def test_with_tls_nothing_is_overheard_and_a_worker_that_is_lost_changes_nothing(
    certificate, whole, tmp_path
):
    def lose_one(doing, share):
        if 0.25 <= share < 0.9:
            workers[0].kill()

    folder = tmp_path / "store"
    with started(tmp_path, "tls", certificate) as (address, workers), overheard(address) as (way, heard):
        outcome = run(SMALL, folder, scheduler=way, progress=lose_one)
        assert workers[0].wait() < 0
        assert workers[1].poll() is None
    assert (outcome.new, outcome.failures) == (12, {})
    assert cells(folder) == whole
    assert len(heard) > 10_000
    assert not any(word in heard for word in (b"membership_distance", b"hospital", b"tabveil"))


def test_in_clear_everything_is_and_only_on_this_machine(whole, tmp_path):
    folder = tmp_path / "store"
    with started(tmp_path, "tcp") as (address, _), overheard(address) as (way, heard):
        outcome = run(SMALL, folder, scheduler=way)
    assert (outcome.new, outcome.failures) == (12, {})
    assert cells(folder) == whole
    assert b"tabveil" in heard


@pytest.mark.parametrize(
    "address", ["tcp://10.1.2.3:8786", "10.1.2.3:8786", "ws://scheduler:80", "ucx://192.168.1.4:1", "nowhere"]
)
def test_rows_never_go_to_another_machine_in_clear(address, tmp_path):
    with pytest.raises(ParameterError, match=r"benchmark: rows would travel in clear .* as tls://"):
        run(SMALL, tmp_path, scheduler=address)


@pytest.mark.parametrize(
    "address",
    ["tls://10.1.2.3:8786", "tcp://127.0.0.1:1", "localhost:8786", "tcp://[::1]:8786", "127.0.0.2:1"],
)
def test_with_tls_they_may_and_without_on_this_machine(address):
    require_guarded(address, owner="benchmark", what="the scheduler")


def test_ctrl_c_while_it_connects_leaves_no_half_client(monkeypatch, ctrl_c_is_heard):
    told = []

    class Slow:
        def __init__(self, *_, **__):
            os.kill(os.getpid(), signal.SIGINT)
            told.append("made")

        def __enter__(self):
            return self

        def __exit__(self, *_):
            told.append("closed")

    monkeypatch.setattr("distributed.Client", Slow)
    with pytest.raises(KeyboardInterrupt), cluster("127.0.0.1:1", (), owner="benchmark"):
        pytest.fail("nobody wants it any more")
    assert told == ["made", "closed"]


def test_tls_without_certificates_is_one_line(tmp_path):
    with pytest.raises(ParameterError, match=r"tls://127\.0\.0\.1:1"):
        run(SMALL, tmp_path, scheduler="tls://127.0.0.1:1")
