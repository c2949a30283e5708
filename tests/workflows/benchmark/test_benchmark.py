"""Interrupted, killed, changed, or spread over lost processes: a run ends with the same cells."""

import json
import signal
import stat
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import psutil
import pytest

from tabveil.core import workers as sharing
from tabveil.core.estimate import Estimate
from tabveil.core.result import Labels, Result
from tabveil.engines.embedding import Embedding
from tabveil.errors import NotApplicable, ParameterError, TabveilError
from tabveil.protocols import Release
from tabveil.workflows.benchmark import Store, Study, run

LABELS = Labels(pillar="indicator", wp29="propensity", mechanism="distance")
QUICK = ["identical_match_share", "distance_to_closest", "membership_distance"]
SMALL = {
    "datasets": [{"name": "hospital", "rows": 450}],
    "risks": [{"name": "leaky", "levels": [0, 0.5]}],
    "metrics": QUICK,
    "repeats": 2,
}


def cells(folder):
    """Return every file of the store's cells, byte by byte."""
    return {path.name: path.read_bytes() for path in (folder / "cells").iterdir()}


def records(folder):
    store = Store(folder)
    return [store.record(place) for place in store.plan().places]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Run the small study in one piece."""
    folder = tmp_path_factory.mktemp("whole")
    outcome = run(SMALL, folder, workers=1)
    assert (outcome.known, outcome.new, outcome.failures) == (0, 12, {})
    return folder


def test_what_was_planted_is_seen(whole):
    for record in records(whole):
        assert record.answer.measure.value == pytest.approx(record.place.level, abs=0.2)
        assert record.cpu_seconds >= 0


def test_a_second_run_finds_everything_known(whole):
    before = {path.name: path.stat().st_mtime_ns for path in (whole / "cells").iterdir()}
    outcome = run(SMALL, whole, workers=1)
    assert (outcome.known, outcome.new) == (12, 0)
    assert before == {path.name: path.stat().st_mtime_ns for path in (whole / "cells").iterdir()}


def test_a_changed_study_runs_only_what_changed(whole, tmp_path):
    run(SMALL, tmp_path, workers=1)
    more = {**SMALL, "metrics": [*QUICK, "closest_share"], "repeats": 3}
    outcome = run(more, tmp_path, workers=1)
    assert (outcome.known, outcome.new) == (12, 12)
    after = cells(tmp_path)
    assert {name: after[name] for name in cells(whole)} == cells(whole)
    fewer = {**SMALL, "metrics": QUICK[:1]}
    assert run(fewer, tmp_path, workers=1).known == 4
    assert len(records(tmp_path)) == 4, "the report shows what was asked for last"


def test_processes_come_to_the_same_cells(whole, tmp_path):
    told = []
    outcome = run(SMALL, tmp_path, workers=2, progress=lambda doing, share: told.append((doing, share)))
    assert outcome.new == 12
    assert cells(tmp_path) == cells(whole)
    assert ("12 of 12 cells", 1.0) in told
    shares = [share for _, share in told]
    assert shares == sorted(shares)


@pytest.mark.parametrize("workers", [1, 2])
def test_nobody_can_reach_a_run(workers, tmp_path):
    heard = set()

    def listen(doing, share):
        me = psutil.Process()
        heard.update(
            (connection.laddr.ip, connection.status)
            for process in (me, *me.children(recursive=True))
            for connection in process.net_connections(kind="inet")
        )

    run({**SMALL, "repeats": 1, "metrics": ["mmd"]}, tmp_path, workers=workers, progress=listen)
    assert heard == set()


SCRIPT = """
import json, sys
from tabveil.workflows.benchmark import run
if __name__ == "__main__":
    run(json.loads(sys.argv[1]), sys.argv[2], workers=int(sys.argv[3]),
        progress=lambda doing, share: print(share, flush=True))
"""


def start(tmp_path, study, folder, workers):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    return subprocess.Popen(
        [sys.executable, script, json.dumps(study), folder, str(workers)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def kill_after(process, share, seconds=0.0):
    """Kill a run once it has told of so much, and so many seconds later."""
    for line in process.stdout:
        if float(line) >= share:
            break
    time.sleep(seconds)
    process.kill()
    process.stdout.close()
    return process.wait()


@pytest.mark.parametrize("share", [0.01, 0.4, 0.7])
def test_a_run_that_was_killed_goes_on_where_it_was(share, whole, tmp_path):
    folder = tmp_path / "store"
    assert kill_after(start(tmp_path, SMALL, folder, 1), share) == -signal.SIGKILL
    killed_with = cells(folder)
    assert len(killed_with) < 12
    outcome = run(SMALL, folder, workers=1)
    assert outcome.known >= len([name for name in killed_with if not name.startswith(".")])
    assert {name: text for name, text in cells(folder).items() if not name.startswith(".")} == cells(whole)


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(20))
def test_a_run_killed_at_any_moment_ends_with_the_same_store(moment, whole, tmp_path):
    folder, rng = tmp_path / "store", np.random.default_rng(moment)
    process = start(tmp_path, SMALL, folder, 1 + moment % 2)
    kill_after(process, 0.0, seconds=rng.uniform(0, 3))
    time.sleep(1)  # processes that lost their scheduler end by themselves
    run(SMALL, folder, workers=1)
    assert {name: text for name, text in cells(folder).items() if not name.startswith(".")} == cells(whole)


def test_a_scheduler_that_does_not_answer_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr("tabveil.core.cluster._SECONDS_TO_ANSWER", 0.5)
    with pytest.raises(ParameterError, match=r"no scheduler answers at 127\.0\.0\.1:1"):
        run(SMALL, tmp_path, scheduler="127.0.0.1:1")


@dataclass(frozen=True)
class Broken:
    """Fails as long as a file is there."""

    there: str

    name: ClassVar[str] = "broken"
    title: ClassVar[str] = "Broken"
    labels: ClassVar[Labels] = LABELS

    def __call__(self, split, *, rng):
        if Path(self.there).exists():
            raise RuntimeError("Mrs Smith, born 1950")
        return Result(metric=self.name, labels=self.labels, risk=Estimate(value=0.5, low=0.4, high=0.6, n=1))


@dataclass(frozen=True)
class Silent:
    name: ClassVar[str] = "silent"
    title: ClassVar[str] = "Silent"
    labels: ClassVar[Labels] = LABELS

    def __call__(self, split, *, rng):
        raise NotApplicable("silent: has nothing to say.")


def test_a_failure_stops_nothing_and_is_tried_again_only_when_asked(tmp_path):
    fault = tmp_path / "fault"
    fault.touch()
    study = Study.read({**SMALL, "metrics": ["mmd", Broken(there=str(fault)), Silent()]})
    folder = tmp_path / "store"
    outcome = run(study, folder, workers=1)
    assert (outcome.new, outcome.n_failed) == (8, 4)
    assert outcome.failures == {"RuntimeError inside the code": 4}, "what it says may be somebody's data"
    assert not any("Smith" in path.read_text() for path in (folder / "failures").iterdir())
    assert Store(folder).failure(next(iter(Store(folder).failed()))) == "RuntimeError inside the code"
    skipped = [item.answer.skipped for item in records(folder) if item and item.place.metric == "silent"]
    assert skipped == ["silent: has nothing to say."] * 4

    fault.unlink()
    outcome = run(study, folder, workers=1)
    assert (outcome.known, outcome.new, outcome.left) == (8, 0, 4)
    outcome = run(study, folder, workers=1, retry=True)
    assert (outcome.known, outcome.new, outcome.left) == (8, 4, 0)
    assert not Store(folder).failed()


OWN = """
from dataclasses import dataclass, field
from typing import ClassVar
from tabveil.workflows.benchmark import Store, run
from tabveil.core.estimate import Estimate
from tabveil.core.result import Labels, Result

@dataclass(frozen=True)
class Own:
    name: ClassVar[str] = "own"
    title: ClassVar[str] = "Own"
    labels: ClassVar[Labels] = Labels(pillar="indicator", wp29="propensity", mechanism="distance")
    size: int = 3
    names: tuple[str, ...] = field(default_factory=tuple)

    def __call__(self, split, *, rng):
        risk = Estimate(value=len(split.train) / 1000, low=0.0, high=1.0, n=self.size)
        return Result(metric=self.name, labels=self.labels, risk=risk)

if __name__ == "__main__":
    people = [{"name": "hospital", "rows": 300}]
    study = {"datasets": people, "risks": ["leaky"], "metrics": [Own()], "repeats": 1}
    for workers in (1, 2):
        outcome = run(study, f"found{workers}", workers=workers)
        assert (outcome.new, outcome.failures) == (6, {}), outcome.failures
"""


def test_a_metric_of_a_users_own_script_is_sent_to_workers(tmp_path, whole):
    """Classes of a program itself travel by value, and what marks a missing default with them."""
    (tmp_path / "script.py").write_text(OWN)
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert cells(tmp_path / "found1") == cells(tmp_path / "found2")


@dataclass(frozen=True)
class Counting:
    """Counts in a file how often a release is made."""

    tally: str

    name: ClassVar[str] = "counting"
    levels: ClassVar[tuple[float, ...]] = (1.0, 2.0)
    costly: ClassVar[bool] = True

    def __call__(self, train, release, level, *, rng):
        with Path(self.tally).open("a") as file:
            file.write(f"{level}\n")
        return Release(rows=train.take(rng.permutation(len(train))[: len(release)]), facts={"ratio": level})


def test_a_release_is_made_once_for_all_metrics_and_kept_for_those_that_come_later(tmp_path):
    tally, folder = tmp_path / "tally", tmp_path / "store"
    study = {**SMALL, "risks": [Counting(tally=str(tally))], "repeats": 1}
    run(study, folder, workers=2)
    assert sorted(tally.read_text().split()) == ["1.0", "2.0"]
    before = cells(folder)
    outcome = run({**study, "metrics": [*QUICK, "closest_share"]}, folder, workers=1)
    assert outcome.new == 2
    assert sorted(tally.read_text().split()) == ["1.0", "2.0"]
    assert {name: cells(folder)[name] for name in before} == before
    assert {item.answer.facts["ratio"] for item in records(folder)} == {1.0, 2.0}
    for path in (folder / "releases").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.write_bytes(b"damaged")
    run({**study, "metrics": ["mmd"]}, folder, workers=1)
    assert len(tally.read_text().split()) == 4, "a release that cannot be read is made again"


@dataclass(frozen=True)
class Impossible:
    name: ClassVar[str] = "impossible"
    levels: ClassVar[tuple[float, ...]] = (1.0,)

    def __call__(self, train, release, level, *, rng):
        raise ParameterError("impossible: cannot be made.")


SPACE = {"name": "contrastive", "width": 16, "layers": 1, "dimension": 8, "epochs": 2}
THROUGH = [
    {"name": name, "representation": SPACE}
    for name in ("linkability_contrastive", "membership_contrastive", "distance_to_closest_contrastive")
]


def test_an_embedding_is_trained_once_for_all_metrics_and_whoever_comes_first(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    trained, fit = [], Embedding.fit

    def counted(self, table, *, rng):
        trained.append(len(table))
        return fit(self, table, rng=rng)

    monkeypatch.setattr(Embedding, "fit", counted)
    sharing._kept.cache_clear()
    study = {**SMALL, "metrics": THROUGH}
    run(study, tmp_path / "once", workers=1)
    assert len(trained) == 4, "two levels, two repeats"
    for place, metrics in (("turned", THROUGH[::-1]), ("alone", THROUGH[1:2]), ("rest", THROUGH[:1])):
        sharing._kept.cache_clear()
        run({**study, "metrics": metrics}, tmp_path / place, workers=1)
        known = cells(tmp_path / "once")
        assert all(known[name] == found for name, found in cells(tmp_path / place).items())
    assert len(trained) == 4 * 4


def test_a_release_that_cannot_be_made_fails_its_cells_and_no_others(tmp_path):
    outcome = run({**SMALL, "risks": ["leaky", Impossible()], "repeats": 1}, tmp_path, workers=1)
    assert outcome.failures == {"impossible: cannot be made.": 3}
    assert outcome.new == 18


def test_a_folder_without_a_benchmark_or_with_a_damaged_one_is_one_line(tmp_path):
    with pytest.raises(ParameterError, match="holds no benchmark"):
        Store(tmp_path).plan()
    (tmp_path / "plan.json").write_text("{}")
    with pytest.raises(ParameterError, match="is not a plan that this version wrote"):
        Store(tmp_path).plan()


def test_a_damaged_cell_is_one_line_and_is_made_again(tmp_path):
    study = {**SMALL, "repeats": 1, "metrics": ["mmd"]}
    run(study, tmp_path, workers=1)
    before, place = cells(tmp_path), Store(tmp_path).plan().places[0]
    for text in ("", "[]", '{"answer": {"risk": 3}}', "{}"):
        (tmp_path / "cells" / f"{place.key}.json").write_text(text)
        with pytest.raises(TabveilError, match=rf"cells/{place.key}\.json cannot be read \("):
            Store(tmp_path).record(place)
        assert (run(study, tmp_path, workers=1).new, cells(tmp_path)) == (1, before)
