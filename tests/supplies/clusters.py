"""A cluster of the user's own: a scheduler with two workers, with TLS and in clear, overheard on its way."""

import json
import os
import shutil
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


@contextmanager
def certified(tmp_path):
    """Hand out a certificate for one run, with Dask told of it."""
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
