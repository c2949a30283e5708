"""Many studies in one go, on as many processes as there are cores, until they are done or time is up.

``python experiments/run.py published_leaky published_size --store found --workers 16 --seconds 540`` runs
the cells of all studies that are named (a file, or its name) in their order, in one store: releases and cells
that several studies share are made once. What is done is kept at once; the same command goes on where it was.

``python experiments/run.py published_leaky --store found --part stores`` gives each study a folder of its
own, as ``pages.py`` reads them, with what is known by then and without releases.
"""

import argparse
import shutil
import signal
import sys
import time
from pathlib import Path

from tabveil.core.workers import working
from tabveil.workflows.benchmark import Store, Study, run_cells
from tabveil.workflows.benchmark.plan import CellWork, work_of
from tabveil.workflows.cells.engine import engine
from tabveil.workflows.cells.own_code import import_files

HERE = Path(__file__).resolve().parent
PEOPLE = HERE / "people.py"
KEPT = ("cells", "costs", "failures")
EVERY = 15
"""Seconds between two lines that tell how far it is."""


class TimeIsUp(BaseException):  # so that no task takes it for a fault of its own
    """The seconds that were given are over."""


def planned(names):
    """Read studies, and list the cells of each."""
    return {Path(name).stem: work_of(Study.read(file_of(name))) for name in names}


def file_of(name):
    """Return the file of a study that is given by its name, or as a file."""
    known = [HERE / folder / f"{name}.yaml" for folder in (".", "hybrid", "small")]
    return next((path for path in known if path.is_file()), Path(name))


def run(works, folder, *, workers):
    """Run all cells that the store does not have; return how many were left when time was up."""
    store = Store(folder.absolute())
    store.prepare()
    cells = {key: cell for work in works.values() for key, cell in work.cells.items()}
    datasets = {key: dataset for work in works.values() for key, dataset in work.datasets.items()}
    together = CellWork(cells=cells, datasets=datasets)
    done = store.known(cells)
    todo = [key for key in cells if key not in done]
    print(f"{folder}: {len(cells)} cells, {len(todo)} to run", flush=True)
    try:
        with (
            working(listener=_Lines(folder)),
            engine(workers=workers, code=[PEOPLE], owner="benchmark") as on_engine,
        ):
            failures = run_cells(on_engine, together, todo, store, already=len(done), total=len(cells))
        for why, n in failures.most_common(10):
            print(f"  {n} failed: {why}", flush=True)
    except TimeIsUp:
        print("time is up", flush=True)
    return len(set(cells) - store.done())


def _end(*_):
    raise TimeIsUp


class _Lines:
    """Writes a line now and then."""

    def __init__(self, folder):
        self._folder, self._begin, self._told = folder, time.monotonic(), 0.0

    def __call__(self, doing, share):
        del share
        since = time.monotonic() - self._begin
        if since - self._told >= EVERY:
            self._told = since
            print(f"{since:4.0f} s, {self._folder.name}: {doing}", flush=True)


def part(works, folder, stores):
    """Give each study a folder with its plan and what is known of its cells."""
    store = Store(folder.absolute())
    for name, work in works.items():
        Store(stores / name).prepare()
        Store(stores / name).write_plan(work.plan)
        for kept in KEPT:
            for key in work.cells:
                found = store.folder / kept / f"{key}.json"
                if found.exists():
                    shutil.copyfile(found, stores / name / kept / found.name)
        known = len(set(work.cells) & store.done())
        print(f"{name}: {known} of {len(work.cells)} cells", flush=True)


def main(argv=None):
    """Run studies, or part their store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("studies", nargs="+")
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--seconds", type=int)
    parser.add_argument("--part", type=Path)
    given = parser.parse_args(argv)
    if given.seconds is not None:  # counted from here: reading the tables takes some of them
        signal.signal(signal.SIGALRM, _end)
        signal.alarm(max(given.seconds, 1))
    import_files([PEOPLE])
    works = planned(given.studies)
    if given.part is not None:
        part(works, given.store, given.part)
        return
    left = run(works, given.store, workers=given.workers)
    signal.alarm(0)
    print(f"{given.store}: {left} cells left", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
