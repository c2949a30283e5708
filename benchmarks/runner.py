"""What the runner of benchmarks adds to the work itself, and what a second process gains.

``python benchmarks/runner.py`` prints both; it takes minutes.
"""

import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import measure

from tabveil.benchmark import Store, Study, run
from tabveil.estimate import Estimate
from tabveil.result import Labels, Result

CELLS = 1000
LEAKY = {
    "datasets": [{"name": "hospital", "rows": 12_000}],
    "risks": ["leaky"],
    "repeats": 4,
}


@dataclass(frozen=True)
class Nothing:
    """Answers at once."""

    name: ClassVar[str] = "nothing"
    title: ClassVar[str] = "Nothing"
    labels: ClassVar[Labels] = Labels(pillar="indicator", wp29="propensity", mechanism="distance")

    number: int = 0

    def __call__(self, split, *, rng):  # noqa: ARG002 - the shape of a metric
        return Result(metric=self.name, labels=self.labels, risk=Estimate(value=0.0, low=0.0, high=0.0, n=1))


def overhead():
    """Return CPU and wall seconds for each cell of a study whose metrics do nothing."""
    study = Study.read(
        {
            "datasets": [{"name": "hospital", "rows": 300}],
            "risks": [{"name": "leaky", "levels": [0, 1]}],
            "metrics": [{"name": "mmd"}],
            "repeats": 10,
        }
    )
    few = CELLS // 20
    metrics = tuple(
        type(study.metrics[0])(label=f"nothing {number}", metric=Nothing(number=number))
        for number in range(few)
    )
    study = study.model_copy(update={"metrics": metrics})
    with tempfile.TemporaryDirectory() as folder:
        cpu, wall = measure.cpu_seconds(), time.perf_counter()
        outcome = run(study, folder, workers=1)
        assert outcome.new == CELLS, outcome.failures
        return (measure.cpu_seconds() - cpu) / CELLS, (time.perf_counter() - wall) / CELLS


def speedup():
    """Return the wall seconds with one and with two processes, and what the cells themselves took."""
    seconds = []
    cores = sorted(os.sched_getaffinity(0))
    for workers in (1, 2):
        os.sched_setaffinity(0, cores[:workers])  # or one process would use both cores with its threads
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            run(LEAKY, folder, workers=workers)
            seconds.append(time.perf_counter() - start)
            store = Store(Path(folder))
            work = sum(store.record(place).cpu_seconds for place in store.plan().places)
    return seconds, work


def main():
    cpu, wall = overhead()
    print(f"{measure.machine()}")
    print(f"overhead of a cell: {1000 * cpu:.1f} ms CPU, {1000 * wall:.1f} ms wall ({CELLS} cells)")
    (one, two), work = speedup()
    print(f"one process on one core {one:.0f} s, two {two:.0f} s: {one / two:.2f} times as fast")
    print(f"the cells themselves took {work:.0f} CPU s")


if __name__ == "__main__":
    sys.exit(main())
