"""How much of a machine do 50 browsers take that watch an audit run in ``tabveil serve``?

``python benchmarks/serve.py`` starts a server on 127.0.0.1, lets it audit simulated tables, and lets 50
clients look at the run every two seconds, as the page's script does. The server's CPU is taken from the
system's own count. What it takes is what an audit on all cores lacks, so its speed is one less that share of
all cores: that holds on a machine that is busy with other things, too, where times tell little. Times are
printed beside it. Nothing leaves the machine, and the clients end after two minutes at the latest.
"""

import argparse
import http.client
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from measure import machine

from tabveil import datasets

CLIENTS, PAUSE, MOST_SECONDS = 50, 2.0, 120.0


class Client:
    """A browser, as far as it takes one to watch."""

    def __init__(self, link):
        parts = urlsplit(link)
        self.host, self.headers = parts.netloc, {"Host": parts.netloc}
        _, headers, _ = self.ask("GET", f"{parts.path}?{parts.query}")
        self.headers["Cookie"] = headers["set-cookie"].split(";")[0]
        self.token = re.search(r'name="form_token" value="([^"]+)"', self.ask("GET", "/")[2])[1]

    def ask(self, method, path, body=None, **more):
        connection = http.client.HTTPConnection(self.host, timeout=60)
        connection.request(method, path, body=body, headers={**self.headers, **more})
        got = connection.getresponse()
        answer = got.status, {key.lower(): value for key, value in got.getheaders()}, got.read().decode()
        connection.close()
        return answer

    def post(self, path, **fields):
        form = {"Origin": f"http://{self.host}", "Content-Type": "application/x-www-form-urlencoded"}
        body = urlencode({"form_token": self.token, **fields})
        status, headers, text = self.ask("POST", path, body=body, **form)
        assert status == 303, text
        return headers["location"]


def cpu(pid):
    """CPU seconds of a process so far, without its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def watch(client, run, ended, counted):
    """Look how far the run is, again and again, until somebody says that it has ended."""
    while not ended.wait(PAUSE):
        client.ask("GET", f"{run}/progress")
        counted.append(1)


def audit(client, pid, n_watching):
    """Run an audit; returns seconds, the server's CPU seconds in them, and how often somebody looked."""
    run = client.post("/p/one/audit", release="r", **{"policy.required": "linkability"})
    ended, counted = threading.Event(), []
    begun, before = time.monotonic(), cpu(pid)
    watching = [
        threading.Thread(target=watch, args=(client, run, ended, counted), daemon=True)
        for _ in range(n_watching)
    ]
    for thread in watching:
        time.sleep(PAUSE / max(n_watching, 1))  # not all at the same moment
        thread.start()
    while time.monotonic() - begun < MOST_SECONDS:
        time.sleep(1.0)
        if client.ask("GET", f"{run}/progress")[1].get("x-over"):
            break
    seconds, used = time.monotonic() - begun, cpu(pid) - before
    ended.set()
    for thread in watching:
        thread.join()
    return seconds, used, len(counted)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--repeats", type=int, default=2)
    asked = parser.parse_args()
    print(machine())
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        for seed, name in enumerate(("train", "control", "release")):
            datasets.hospital(asked.rows, seed=seed).to_csv(Path(folder, f"{name}.csv"), index=False)
        words = [sys.executable, "-P", "-m", "tabveil", "serve", "--folder", folder, "--no-browser"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
            link = next(line.strip() for line in server.stdout if line.startswith("http"))
            client = Client(link)
            client.post("/projects", name="one")
            client.post("/p/one/data", way="three", train="train.csv", control="control.csv")
            client.post("/p/one/release", release="r", file="release.csv")
            audit(client, server.pid, 0)  # compiles
            for _ in range(asked.repeats):
                for n_watching in (0, CLIENTS):
                    seconds, used, looked = audit(client, server.pid, n_watching)
                    left = 1 - used / seconds / cores
                    print(
                        f"{n_watching:>2} watching: {seconds:5.1f} s, {looked:>4} looks, the server took "
                        f"{used:.2f} CPU s, which leaves {left:.3f} of {cores} cores"
                    )
            server.terminate()


if __name__ == "__main__":
    main()
