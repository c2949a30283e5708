"""Every metric on seeded releases with a known leak: the trials behind the tables of power and coverage."""

import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd

from tabveil.errors import NotApplicable
from tabveil.metrics import METRICS, defaults
from tabveil.protocols import RiskModel
from tabveil.risks import Leaky
from tabveil.rng import stream
from tabveil.table import Categorical, Schema, Split, Table
from tabveil.workers import available_threads, working
from tabveil.writing import write_text

LEAKY = Leaky()
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
DOCS = Path(__file__).resolve().parents[1] / "docs"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What is planted, how much of it; and the number of control rows for each train row."""

    name: str
    leak: float = 0.0
    risk: RiskModel = LEAKY
    control: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One seed's draw of rows: disjoint train, control and release, and which metrics are asked."""

    table: object
    n_rows: int
    settings: tuple[Setting, ...]
    metrics: tuple[str, ...]

    def split(self, setting, seed):
        n = self.n_rows
        order = stream(seed, "trial").permutation(len(self.table))
        train, control, release = (self.table.take(order[i * n : (i + 1) * n]) for i in range(3))
        synthetic = setting.risk(train, release, setting.leak, rng=stream(seed, "leak"))
        return split_of(train, control.take(np.arange(round(setting.control * n))), synthetic)

    def run(self, seed):
        """Return one row for each setting and metric: the risk and its interval, if it has one."""
        rows = []
        for setting in self.settings:
            split = self.split(setting, seed)
            rows += [(seed, setting.name, name, *self.risk(name, split, seed)) for name in self.metrics]
        return rows

    @staticmethod
    def risk(name, split, seed):
        try:
            risk = METRICS[name]()(split, rng=stream(seed, name)).measure
        except NotApplicable:
            risk = None
        return (None, None, None) if risk is None else (risk.value, risk.low, risk.high)


def split_of(train, control, synthetic):
    """Put three tables under one schema with the ranges of their own values, as an audit of them would."""
    tables = (train, control, synthetic)
    columns = (
        _spanning(column, np.concatenate([table.column(column.name) for table in tables]))
        for column in train.schema.columns
    )
    schema = Schema(tuple(columns))
    train, control, synthetic = (Table(schema=schema, values=table.values) for table in tables)
    return Split(train=train, control=control, synthetic=synthetic)


def _spanning(column, cells):
    if isinstance(column, Categorical) or np.isnan(cells).all():
        return column
    return replace(column, low=float(np.nanmin(cells)), high=float(np.nanmax(cells)))


def run(trial, n_seeds, *, processes=None):
    """Run the seeds in processes of one thread each; return a frame of all risks."""
    if 3 * trial.n_rows > len(trial.table):
        sys.exit(
            f"Three disjoint sets of {trial.n_rows} rows need more rows than the table's {len(trial.table)}."
        )
    rows, start = [], time.perf_counter()
    processes = min(processes or available_threads(), n_seeds)
    fresh = multiprocessing.get_context("spawn")  # forking a process that has threads may hang
    with (
        patch.dict(os.environ, ONE_THREAD),
        ProcessPoolExecutor(processes, mp_context=fresh, initializer=_keep, initargs=(trial,)) as pool,
    ):
        waiting = [pool.submit(_run, seed) for seed in range(n_seeds)]
        for done, future in enumerate(as_completed(waiting), start=1):
            rows += future.result()
            passed = time.perf_counter() - start
            left = passed / done * (n_seeds - done)
            print(f"seed {done} of {n_seeds}: {passed:.0f} s, about {left:.0f} s left", file=sys.stderr)
    frame = pd.DataFrame(rows, columns=["seed", "setting", "metric", "risk", "low", "high"])
    return frame.astype(dict.fromkeys(("risk", "low", "high"), float)).sort_values(
        ["seed", "setting", "metric"]
    )


def _keep(trial):
    globals()["_trial"] = trial  # once for each process: the table is large


def _run(seed):
    with working(threads=1):
        return _trial.run(seed)  # noqa: F821 - set when the process started


def chosen(names):
    """Return the metrics to run: those named, else all that an audit runs by default."""
    if unknown := set(names or ()) - set(METRICS):
        sys.exit(f"Unknown metric {min(unknown)!r}; known are {', '.join(METRICS)}.")
    return tuple(names or defaults())


def write(text, path):
    """Write a page whole or not at all."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)
    print(f"written: {path.name}", file=sys.stderr)
