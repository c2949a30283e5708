"""A cluster of the user's own: a scheduler with two workers, with TLS and in clear, overheard on its way."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import dask
import pytest
from distributed import Client

from tabveil.errors import ParameterError
from tabveil.workflows.benchmark import run
from tabveil.workflows.cells.engine import cluster, require_guarded

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


def cells(folder):
    return {path.name: path.read_bytes() for path in (folder / "cells").iterdir()}


@contextmanager
def started(tmp_path, protocol, certificate=None):
    """Hand out the address of a scheduler, and its workers' processes."""
    file = tmp_path / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    quiet["env"] = {**os.environ, "OMP_NUM_THREADS": "1"}
    tls = []
    if certificate is not None:
        tls = [
            f"--tls-{name}={path}" for name, path in zip(("ca-file", "cert", "key"), certificate, strict=True)
        ]
    common = ["--host", f"{protocol}://127.0.0.1", "--scheduler-file", file, "--no-dashboard", *tls]
    scheduler = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", *common], **quiet
    )
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_worker", "--no-nanny", "--nthreads", "1", *common],
            **quiet,
        )
        for _ in range(2)
    ]
    try:
        while not (file.exists() and file.read_text().strip()):
            assert scheduler.poll() is None
            time.sleep(0.1)
        address = json.loads(file.read_text())["address"]
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
        yield address, workers
    finally:
        for process in (scheduler, *workers):
            process.kill()
            process.wait()


@contextmanager
def overheard(address):
    """Hand out another way to an address, and all that goes that way."""
    target, heard = urlsplit(address), bytearray()
    ends, threads = [], []

    def pass_on(source, sink):
        with suppress(OSError):
            while data := source.recv(1 << 16):
                heard.extend(data)
                sink.sendall(data)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def begin(function, *arguments):
        threads.append(threading.Thread(target=function, args=arguments))
        threads[-1].start()

    def listen():
        with suppress(OSError):
            while True:
                near, _ = door.accept()
                far = socket.create_connection((target.hostname, target.port))
                ends.extend((near, far))
                begin(pass_on, near, far)
                begin(pass_on, far, near)

    with socket.create_server(("127.0.0.1", 0)) as door:
        begin(listen)
        try:
            yield f"{target.scheme}://127.0.0.1:{door.getsockname()[1]}", heard
        finally:
            for end in (door, *ends):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join()
            for end in ends:
                end.close()


@pytest.fixture
def certificate(tmp_path):
    """A certificate for one run, and Dask told of it."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    paths = tmp_path / "certificate.pem", tmp_path / "key.pem"
    made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "2", "-subj", "/CN=test"]
    subprocess.run(
        ["openssl", "req", "-x509", "-nodes", *made, "-out", paths[0], "-keyout", paths[1]],
        check=True,
        capture_output=True,
    )
    found = paths[0], paths[0], paths[1]
    names = ("ca-file", "client.cert", "client.key")
    settings = {f"distributed.comm.tls.{name}": str(path) for name, path in zip(names, found, strict=True)}
    with dask.config.set(settings):
        yield found


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
