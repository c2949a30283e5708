"""What the runner of benchmarks adds to the work itself, what a second process gains, and one whole repeat.

``python benchmarks/runner.py`` prints all three, which takes minutes; ``overhead``, ``speedup`` or ``repeat``
after it prints one of them. A second process is compared fairly: one process on one core and with one thread,
against two on two cores and with one thread each. Beside the plain ratio of wall seconds, which holds the
starting of processes, stands that from the first cell that was done to the last, and how many CPU seconds the
same cells took: where processes slow each other down, by memory or by other work on the machine, these are
more with two.
"""

import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import measure
import yaml

from tabveil.core.estimate import Estimate
from tabveil.core.result import Labels, Result
from tabveil.workflows.benchmark import Store, Study, run
from tabveil.workflows.cells.own_code import import_files

EXPERIMENTS = Path(__file__).resolve().parents[1] / "experiments"
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


@dataclass(frozen=True, kw_only=True)
class Ran:
    """How long a study took: all of it, from its first cell to its last, and its cells in CPU seconds."""

    wall: float
    between_cells: float
    cells: float


def timed(study, workers):
    """Run a study with so many processes, each on a core of its own and with one thread."""
    cores, done = sorted(os.sched_getaffinity(0)), []

    def listen(doing, share):  # noqa: ARG001 - the shape of a listener
        if doing.endswith("cells"):
            done.append(time.perf_counter())

    os.sched_setaffinity(0, cores[:workers])  # or one process would use all cores with its threads
    try:
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            run(study, folder, workers=workers, progress=listen)
            wall = time.perf_counter() - start
            cells = sum(costs(Store(Path(folder))).values())
    finally:
        os.sched_setaffinity(0, cores)
    return Ran(wall=wall, between_cells=done[-1] - done[0], cells=cells)


def costs(store):
    """Return the CPU seconds of each metric of a study."""
    found = {}
    for place in store.plan().places:
        found[place.metric] = found.get(place.metric, 0.0) + store.record(place).cpu_seconds
    return found


def print_overhead():
    """Print what the runner adds to a cell."""
    cpu, wall = overhead()
    print(f"overhead of a cell: {1000 * cpu:.1f} ms CPU, {1000 * wall:.1f} ms wall ({CELLS} cells)")


def print_speedup():
    """Print what a second process gains."""
    one, two = (timed(LEAKY, workers) for workers in (1, 2))
    print(f"one process on one core {one.wall:.0f} s, two {two.wall:.0f} s: {one.wall / two.wall:.2f} x")
    print(
        f"from the first cell to the last {one.between_cells:.0f} s and {two.between_cells:.0f} s: "
        f"{one.between_cells / two.between_cells:.2f} x"
    )
    print(f"the cells themselves took {one.cells:.0f} and {two.cells:.0f} CPU s")


def print_repeat():
    """Print the CPU seconds of one repeat of the leaky study on Adult, by metric; compiled loops are warm."""
    study = yaml.safe_load((EXPERIMENTS / "leaky_adult.yaml").read_text()) | {"repeats": 1}
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    import_files([EXPERIMENTS / "people.py"])
    with tempfile.TemporaryDirectory() as folder:
        run({**study, "rows": 500}, folder, workers=1)
    with tempfile.TemporaryDirectory() as folder:
        before = measure.cpu_seconds()
        run(study, folder, workers=1)
        whole, found = measure.cpu_seconds() - before, costs(Store(Path(folder)))
    for metric, seconds in sorted(found.items(), key=lambda item: -item[1]):
        print(f"{metric:28}{seconds:7.2f}")
    print(f"{'all cells':28}{sum(found.values()):7.2f}")
    print(f"{'with the runner':28}{whole:7.2f}")


PARTS = {"overhead": print_overhead, "speedup": print_speedup, "repeat": print_repeat}


def main(names):
    print(f"{measure.machine()}, load {os.getloadavg()[0]:.1f}")
    for name in names or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
