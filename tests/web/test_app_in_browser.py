"""Somebody who uses no terminal, from an empty folder to a signed report, in a real browser.

What goes wrong on the way does so for real: a run is cancelled, one is killed with the server, and one goes
on while there is none.
"""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest
from supplies.browser import need_chromium
from supplies.daemons import waited_for
from supplies.devtools import browsing
from supplies.needs import SHARED, need_table

from tabveil import datasets
from tabveil.auditing.request import AuditRequest


@contextmanager
def server(folder):
    """The program as it is started; returns its process and the link that it shows."""
    words = [sys.executable, "-P", "-m", "tabveil", "serve", "--folder", str(folder), "--no-browser"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        link = next(line.strip() for line in process.stdout if line.startswith("http://127.0.0.1:"))
        try:
            yield process, link
        finally:
            process.kill()


def enter(page, link):
    page.open(link)
    page.until("location.pathname === '/' && document.readyState === 'complete'")
    assert page.run("location.href").endswith("/")
    assert "key" not in page.run("location.href + document.referrer + document.documentElement.outerHTML")
    assert page.run("document.cookie") == ""  # no script can read it


@pytest.fixture(scope="module")
def browser():
    need_chromium()
    with browsing() as found:
        yield found


def run_folder(page, folder):
    return folder / "visits" / "runs" / page.run("location.pathname.split('/').pop()")


def ended(page, words):
    page.until(f"document.querySelector('main .chip').innerText.includes({json.dumps(words)})")


def ask(page, release, *, metrics=()):
    """Fill in the form of an audit, and start it."""
    page.follow("visits") if page.run("document.querySelector('h1').innerText") != "visits" else None
    page.follow("Audit a release")
    page.put("release", release)
    page.put("policy.recipient", "a research group")
    page.run("document.querySelectorAll('details').forEach(item => item.open = true)")
    for metric in metrics:
        page.tick("metrics", metric)
    # Of some metrics it takes seconds; of all, with leaks planted for each, minutes: time to cancel it.
    page.fill(power="false", utility="false", advice="false") if metrics else page.put("power", "true")
    page.follow("Run the audit")
    page.at(f"Audit {release}")


def test_the_whole_way(browser, tmp_path):  # noqa: PLR0915 - one way, step by step
    folder = tmp_path / "data"
    folder.mkdir()
    page = browser.new_page()
    with server(folder) as (process, link):
        enter(page, link)
        assert "There is no project yet. The folder holds 0 tables" in page.text()
        page.put("name", "visits")
        page.follow("Make the project")

        datasets.hospital(260, seed=1).to_csv(folder / "patients.csv", index=False)
        page.follow("Choose the real rows")
        page.put("data", "patients.csv")
        page.follow("Choose, and look at the columns")
        page.until("document.querySelector('table')")
        shown = page.text()
        assert "260 rows" in shown
        rare = datasets.hospital(260, seed=1)["diagnosis"].value_counts()
        assert rare.index[0] in shown
        assert not any(label in shown for label in rare.index[rare < 10])

        page.run("[...document.getElementsByName('kind')][13].value = 'real'")  # days
        page.follow("Keep this, and look again")
        page.until("document.querySelector('table') && !document.querySelector('meta[http-equiv]')")
        assert "days: {type: real}" in (folder / "visits" / "schema.yaml").read_text()
        page.follow("Back to the project")

        page.follow("Hold back control rows")
        page.put("control", "0.4")
        page.follow("Hold back")
        ended(page, "done")
        page.follow("make a release")
        page.follow("trees")
        page.run("document.querySelector('details').open = true")
        page.fill(**{"release": "careful trees", "seed": "4", "setting.caution": "2"})
        page.follow("Make the release")
        ended(page, "done")
        made = run_folder(page, folder)
        assert "caution: 2.0" in (made / "release.yaml").read_text()

        ask(page, "careful trees")  # cancelled while it runs
        page.until("document.querySelector('progress')")
        page.follow("Cancel")
        ended(page, "cancelled")
        assert not (run_folder(page, folder) / "report.json").exists()
        assert "Decide and sign" not in page.text()

        ask(page, "careful trees")  # killed, and the server with it
        lost = run_folder(page, folder)
        page.until("document.querySelector('#progress .parts')")
        process.kill()
        os.killpg(json.loads((lost / "started.json").read_text())["pid"], signal.SIGKILL)

    with server(folder) as (process, link):
        enter(page, link)
        page.follow("visits")
        assert "ended from outside" in page.text()
        ask(page, "careful trees", metrics=("linkability", "identical_match_share"))
        kept = run_folder(page, folder)
        waited_for(lambda: (kept / "started.json").exists() and "pid" in (kept / "started.json").read_text())
        process.kill()  # the server alone: the run goes on
    waited_for((kept / "ended.json").exists)

    with server(folder) as (_, link):
        enter(page, link)
        page.follow("visits")
        page.run(f"document.querySelector('a[href$={json.dumps(kept.name)}]').innerText = 'the kept one'")
        page.follow("the kept one")
        ended(page, "done")
        assert "Verdict" in page.text() or "VERDICT" in page.text()

        page.run("window.report = document.querySelector('a[href$=\"report.html\"]').href")
        here = page.run("location.href")
        page.open(page.run("window.report"))
        assert page.run("document.querySelector('#verdict .state').innerText")
        assert page.run("window.origin") == "null"  # a stranger to the pages around it
        page.open(here)

        page.follow("Decide and sign")
        page.fill(name="A. Officer", role="Data protection officer")
        page.tick("decision", "release with conditions")
        page.put("reasons", "Only in the <safe> room")
        page.tick("read", "yes")
        page.follow("Sign")
        assert "A. Officer, Data protection officer: release with conditions" in page.text()
        assert "Only in the <safe> room" in page.text()
        (signed,) = (folder / "visits" / "signed").iterdir()
        said = json.loads(signed.read_text())
        for name in ("report.json", "report.html", "audit.yaml"):
            assert said["digests"][name] == hashlib.sha256((kept / name).read_bytes()).hexdigest()
        assert said["inputs"]["synthetic"] == hashlib.sha256((made / "rows.csv").read_bytes()).hexdigest()

        page.follow("Run it again")
        ended(page, "done")
        page.follow("visits")
        page.follow("Compare releases")
        page.follow("Compare")
        ended(page, "done")
        page.follow("The comparison")
        assert "2. trees (2)" in page.text()  # what all names begin with is left out
    assert [text for text in page.console if "Failed to load" not in text] == []
    request = AuditRequest.read(kept / "audit.yaml")  # what the form asked is what the command line reads
    assert request.policy.recipient == "a research group"
    assert [choice.name for choice in request.metrics] == ["linkability", "identical_match_share"]


def test_three_tables_that_are_there_already(browser, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    for name in ("adult_train", "adult_control", "adult_ctgan"):
        need_table(f"{name}.parquet")
        os.link(SHARED / f"{name}.parquet", folder / f"{name}.parquet")
    page = browser.new_page()
    with server(folder) as (_, link):
        enter(page, link)
        page.put("name", "visits")
        page.follow("Make the project")
        page.follow("Choose the real rows")
        page.tick("way", "three")
        page.fill(train="adult_train.parquet", control="adult_control.parquet")
        page.follow("Choose, and look at the columns")
        page.until("document.querySelector('table')")
        page.follow("Back to the project")
        page.follow("Make a release, or name one")
        page.fill(release="CTGAN", file="adult_ctgan.parquet")
        page.follow("Name it")
        ask(page, "CTGAN", metrics=("identical_match_share",))
        ended(page, "done")
        report = json.loads((run_folder(page, folder) / "report.json").read_text())
        assert report["inputs"]["synthetic"]["rows"] > 1000
        page.follow("Decide and sign")
        page.fill(name="A", role="B")
        page.tick("decision", "do not release")
        page.put("reasons", "Too little was asked.")
        page.tick("read", "yes")
        page.follow("Sign")
        assert "A, B: do not release" in page.text()
        assert re.search(r"digest|Report [0-9a-f]{64}", page.text())


SCREENS = ["", "/data", "/columns", "/split", "/release", "/release/hybrid", "/audit", "/study", "/compare"]


def test_every_screen_fits_and_can_be_used_by_keys_and_ears(browser, served, client):
    client.post("/projects", {"name": "one"})
    client.post("/p/one/data", {"way": "three", "train": "train.csv", "control": "control.csv"})
    waited_for(lambda: "60 rows" in client.get("/p/one/columns").text)
    client.post("/p/one/release", {"release": "r", "file": "release.csv"})
    page = browser.new_page()
    enter(page, served.desk.link(served.desk.keys.new_link()))
    for path in ("/", *(f"/p/one{screen}" for screen in SCREENS)):
        page.open(f"http://{served.desk.host}{path}")
        page.run("document.querySelectorAll('details').forEach(item => item.open = true)")
        for width in (1280, 390):
            for dark in (False, True):
                page.look(width=width, dark=dark)
                assert page.run("document.documentElement.scrollWidth") <= width, path
                ground = page.run("getComputedStyle(document.body).backgroundColor")
                assert (sum(map(int, re.findall(r"\d+", ground)[:3])) < 200) is dark
        unnamed = page.run(
            """[...document.querySelectorAll('input:not([type=hidden]), select, textarea, button, a')].filter(
              item => !(item.labels?.length || item.getAttribute('aria-label') ||
                item.innerText?.trim() && item.matches('a, button'))).map(item => item.outerHTML)"""
        )
        assert unnamed == [], path
        assert page.run(
            "document.querySelectorAll('h1').length === 1 && document.documentElement.lang === 'en'"
        )
        ids = page.run("[...document.querySelectorAll('[id]')].map(item => item.id)")
        assert len(ids) == len(set(ids)), path
        told = "[...document.querySelectorAll('[aria-describedby]')]"
        assert set(page.run(f"{told}.map(item => item.getAttribute('aria-describedby'))")) <= set(ids), path
        page.call("Input.dispatchKeyEvent", type="keyDown", key="Tab", code="Tab", windowsVirtualKeyCode=9)
        assert page.run("document.activeElement.className") == "skip"
        assert page.run("getComputedStyle(document.activeElement).outlineStyle") != "none"
    assert page.console == []
