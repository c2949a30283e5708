"""Tables four times as large as the memory allowed are audited in it, and what does not fit says so."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tabveil
from tabveil.auditing.fitting import ALONE, needed, require_room
from tabveil.core import memory
from tabveil.core.table import Numeric, Schema, Split, Table
from tabveil.core.workers import working
from tabveil.errors import NotApplicable
from tabveil.metrics.registry import METRICS

MEMORY = 320 * 2**20
ROWS, COLUMNS, PARTS, COPIED = 135_000, 90, 5, 0.05
METRICS_ASKED = ["identical_match_share", "membership_distance", "closest_share", "distance_to_closest"]

AUDIT = """
import json, sys, threading, time
from tabveil.core import memory

peak = 0

def watch():
    global peak
    while True:
        peak = max(peak, memory.taken())
        time.sleep(0.002)

threading.Thread(target=watch, daemon=True).start()
import tabveil

folder, allowed, metrics = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
report = tabveil.audit(
    *(f"{folder}/{role}" for role in ("train", "synthetic", "control")),
    memory=allowed, sample=1000, threads=2, advice=False, metrics=metrics,
)
measured = {result.key: result.measure for result in report.results}
found = {key: [each.low, each.value, each.high] for key, each in measured.items()}
print(json.dumps({"peak": peak, "found": found, "skipped": [item.metric for item in report.skipped],
                  "copies": report.copies.share.value}))
"""


def part(role, place):
    rng = np.random.default_rng([role, place])
    n = ROWS // PARTS
    columns = {"age": pa.array(rng.integers(18, 95, n)), "weight": pa.array(rng.normal(75, 14, n).round(1))}
    for number in range(COLUMNS - 2):
        several = (3, 8, 20, 40)[number % 4]
        codes = np.minimum(*(rng.integers(0, several, n, dtype=np.int32) for _ in range(2)))
        labels = [f"answer {label} of {several} to question {number:03d} of all" for label in range(several)]
        columns[f"q{number:02d}"] = pa.DictionaryArray.from_arrays(codes, labels)
    return pa.table(columns)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Three folders; the first rows of each file of the release are those of train."""
    place = tmp_path_factory.mktemp("large")
    for role, name in enumerate(("train", "control", "synthetic")):
        (place / name).mkdir()
        for number in range(PARTS):
            rows = part(role, number)
            if name == "synthetic":
                copied = part(0, number).slice(0, round(COPIED * len(rows)))
                rows = pa.concat_tables([copied, rows.slice(len(copied))]).unify_dictionaries()
            pq.write_table(rows, place / name / f"{number}.parquet", store_schema=False)
    return place


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory that is no file's is told by Linux")
def test_a_folder_four_times_the_memory_is_audited_in_it(folders):
    """As Arrow decodes it; as 64-bit numbers it takes as much as the memory.

    Some metrics only, so that it takes seconds: those that compare whole tables, and those that search.
    """
    decoded = sum(pq.read_table(file).nbytes for file in folders.glob("train/*")) * 3
    assert decoded >= 4 * MEMORY
    asked = [str(folders), str(MEMORY), json.dumps(METRICS_ASKED)]
    done = subprocess.run(
        [sys.executable, "-c", AUDIT, *asked], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["peak"] < MEMORY, f"{said['peak'] / 2**20:.0f} MiB"
    assert said["skipped"] == []
    assert said["copies"] == pytest.approx(COPIED, abs=0.001)
    assert said["found"].keys() == set(METRICS_ASKED)
    for key, (low, value, high) in said["found"].items():
        assert low <= COPIED <= high, (key, value)
        assert low > 0 or key == "closest_share", key  # a coin for each row: a thousand tell little


def table(n, columns):
    schema = Schema(tuple(Numeric(name=f"n{place}", low=0, high=1) for place in range(columns)))
    return Table(schema=schema, values=np.zeros((n, columns)))


def test_what_would_not_fit_is_refused_before_it_begins(monkeypatch):
    metric = METRICS["singling_out"]()
    split = Split(train=table(10, 20), control=table(10, 20), synthetic=table(5_000_000, 20))
    takes = needed(metric, split)
    assert takes == ALONE + int(metric.cell_bytes * 10**8)
    require_room(metric, split)  # nobody bounds it
    monkeypatch.setattr(memory, "taken", lambda: 2**28)
    with working(memory=2**30), pytest.raises(NotApplicable) as caught:
        require_room(metric, split)
    said = str(caught.value)
    assert "for tables of 5,000,000 rows, where 768MiB are left" in said
    assert memory.shown(1.1 * (takes + 2**28)) in said
    with working(memory=int(1.1 * (takes + 2**28))):
        require_room(metric, split)


def test_an_audit_says_what_did_not_fit(monkeypatch):
    monkeypatch.setattr(memory, "taken", lambda: 2**28 - 2**20)  # a MiB is left
    rng = np.random.default_rng(0)
    tables = [pd.DataFrame(rng.integers(0, 100, (300, 4)), columns=list("abcd")) for _ in range(3)]
    report = tabveil.audit(*tables, memory="256MiB", metrics="closest_share", advice=False)
    assert report.results == ()
    assert [item.metric for item in report.skipped] == ["closest_share"]
    assert "of memory for tables of 300 rows, where 1MiB are left" in report.skipped[0].reason


def test_bounds_change_no_number():
    rng = np.random.default_rng(0)
    tables = [
        pd.DataFrame(rng.integers(0, 30, (3000, 6)), columns=list("abcdef")).assign(x=rng.normal(size=3000))
        for _ in range(3)
    ]
    asked = {"advice": False, "metrics": [*METRICS_ASKED, "linkability", "singling_out", "gtcap", "mmd"]}
    free = tabveil.audit(*tables, **asked)
    bound = tabveil.audit(*tables, memory="8GiB", **asked)  # other tests may have left much in this process
    assert [result.to_json() for result in bound.results] == [
        {**result.to_json(), "seconds": again.seconds}
        for result, again in zip(free.results, bound.results, strict=True)
    ]
