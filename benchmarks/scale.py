"""How long do a default audit and its metrics take on many rows, and how many cores do they keep busy?

``python benchmarks/scale.py --rows 200000 --threads 16`` times a default audit of Adult-like tables: train,
control and release of as many rows each, drawn with replacement from Adult and shaken a little. ``--metrics``
times the default metrics alone, one after the other, each on all threads, and ``--together`` as an audit
does it, side by side. Wall and CPU seconds and the largest resident memory, for each metric and in all;
*serial* are the CPU seconds between the chunks that several cores share, which one core has to do.

Without Adult in ``../shared/data`` (or ``--folder``) invented rows with as many columns take its place.
Metrics whose library is missing are left out; only the audit itself needs all that tabveil does.
"""

import argparse
import contextlib
import json
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from tabveil.auditing.steps import lengths
from tabveil.core import workers
from tabveil.core.crew import effort
from tabveil.core.rng import stream
from tabveil.core.table import Categorical, Numeric, Schema, Split, Table
from tabveil.core.workers import available_threads, sharing, side_by_side, working
from tabveil.engines.neighbors.shared import expect
from tabveil.errors import TabveilError
from tabveil.metrics.registry import METRICS, defaults

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
NUMBERS = (74, 20_000, 16, 99_999, 4_356, 99, 5)  # widths of Adult's columns of numbers
LABELS = (9, 16, 7, 15, 6, 5, 2, 42)
WARM_UP = 400
FILES = {"loans": "loans.parquet", "nhanes": "nhanes.parquet", "hospital": "diabetes130.parquet"}


def tables_like(name, rows, folder):
    """Return a split of so many rows each, like a real table: by default Adult, 15 columns."""
    table = (_adult(folder) or _invented()) if name == "adult" else _read(folder / FILES[name], name)
    return Split(
        train=_grown(table, rows, 1), control=_grown(table, rows, 2), synthetic=_grown(table, rows, 3)
    ).with_own_ranges()


def _read(path, name):
    """Read another table, as users do; of hospital encounters without what names people."""
    from tabveil.tables.reading import load_table  # noqa: PLC0415 - needs more than metrics do

    frame = pd.read_parquet(path)
    if name == "hospital":
        frame = frame.drop_duplicates("patient_nbr").drop(columns=["encounter_id", "patient_nbr"])
    loaded = load_table(frame)
    names = loaded.table.schema.names
    return loaded.table.select(name for name in names if name not in loaded.identifiers)


def _adult(folder):
    path = folder / "adult.parquet"
    if not path.exists():
        print(f"no {path}: invented rows take its place", file=sys.stderr)
        return None
    frame = pd.read_parquet(path)
    columns, cells = [], []
    for name in frame.columns:
        if pd.api.types.is_numeric_dtype(frame[name]):
            values = frame[name].to_numpy(dtype=np.float64)
            columns.append(Numeric(name=name, low=np.nanmin(values), high=np.nanmax(values), decimals=0))
        else:
            codes, labels = pd.factorize(frame[name], sort=True)
            values = np.where(codes < 0, np.nan, codes)
            columns.append(Categorical(name=name, labels=tuple(map(str, labels))))
        cells.append(values)
    return Table(schema=Schema(tuple(columns)), values=np.column_stack(cells))


def _invented(rows=30_000):
    """Invent rows in which columns depend on each other, numbers are skewed and labels rare."""
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(rows, 3))
    columns, cells = [], []
    for j, width in enumerate(NUMBERS):
        raw = np.exp(0.5 * (factor @ rng.normal(size=3)) + 0.5 * rng.normal(size=rows))
        cells.append(np.round(np.clip(raw / 8, 0, 1) * width))
        columns.append(Numeric(name=f"number {j}", low=0, high=width, decimals=0))
    for j, n in enumerate(LABELS):
        raw = factor @ rng.normal(size=3) + rng.normal(size=rows)
        shares = np.cumsum(1 / np.arange(1, n + 1))
        places = (np.argsort(np.argsort(raw)) + 0.5) / rows
        cells.append(np.searchsorted(shares / shares[-1], places).astype(np.float64))
        columns.append(Categorical(name=f"label {j}", labels=tuple(map(str, range(n)))))
    return Table(schema=Schema(tuple(columns)), values=np.column_stack(cells))


def _grown(table, n_rows, seed):
    """Resample and shake: numbers by a tenth of their deviation, one label in twenty anew."""
    rng = np.random.default_rng(seed)
    values = table.values[rng.integers(0, len(table), n_rows)].copy()
    for j, column in enumerate(table.schema.columns):
        if isinstance(column, Numeric):
            noise = rng.normal(0, 0.1 * np.nanstd(table.values[:, j]), n_rows) * (values[:, j] != 0)
            values[:, j] = np.clip(np.round(values[:, j] + noise), column.low, column.high)
        else:
            anew = rng.random(n_rows) < 0.05
            values[anew, j] = rng.integers(0, len(column.labels), anew.sum())
    return Table(schema=table.schema, values=values)


def default_metrics(names):
    """Return the metrics of a default audit, or those named, whose libraries are there."""
    chosen, found = names or defaults(), []
    for name in chosen:
        try:
            found.append(METRICS[name]())
        except (ImportError, TabveilError) as missing:
            print(f"left out: {name} ({missing})", file=sys.stderr)
    return found


def ask(metric, split):
    """Ask a metric; one without an answer, or whose library is missing, says so."""
    try:
        metric(split, rng=stream(0, metric.name))
    except (ImportError, TabveilError) as reason:
        return f"{type(reason).__name__}: {reason}"
    return ""


def cpu():
    """Return the CPU seconds of this process, all threads."""
    return time.process_time()


def peak():
    """Return the largest resident memory so far, in MiB, and begin anew where the system allows it."""
    status = Path("/proc/self/status").read_text()
    found = int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) / 1024
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return found


def timed(work):
    """Return wall, CPU and serial seconds, the peak in MiB, and what was found."""
    peak()
    start, used, own, shared = time.perf_counter(), cpu(), time.thread_time(), Chunks.seconds
    found = work()
    serial = time.thread_time() - own - (Chunks.seconds - shared)
    return (time.perf_counter() - start, cpu() - used, serial, peak()), found


class Chunks:
    """Stands before the one place that divides work, and sums what the thread that brings it spends there."""

    seconds, each_chunk = 0.0, staticmethod(workers.each_chunk)

    @classmethod
    def timed(cls, *args, **kwargs):
        start = time.thread_time()
        cls.each_chunk(*args, **kwargs)
        cls.seconds += time.thread_time() - start


def shown(name, times, note=""):
    """Print a line of the table."""
    wall, used, own, memory = times
    print(
        f"{name:28} {wall:8.2f} {used:8.2f} {own:8.2f} {used / wall:6.1f} {memory:8.0f}  {note}", flush=True
    )


def one_by_one(metrics, split):
    """Time each metric alone on all threads."""
    for metric in metrics:
        times, note = timed(lambda metric=metric: ask(metric, split))
        shown(metric.name, times, note[:60])


def together(metrics, split, at_once=None):
    """Time all metrics side by side, as an audit asks them, with the CPU seconds of all that help each."""

    def work(metric):
        start = time.perf_counter()
        with effort() as seconds:
            note = ask(metric, split)
            took = time.perf_counter() - start, seconds(), note
        print(f"  {metric.name}: {took[0]:.1f} s, {took[1]:.1f} CPU s", file=sys.stderr, flush=True)
        return took

    order = sorted(range(len(metrics)), key=lambda number: -lengths(metrics[number].name))
    works = [lambda metric=metric: work(metric) for metric in metrics]
    found = side_by_side(works, order=order, at_once=at_once)
    for metric, (wall, used, note) in zip(metrics, found, strict=True):
        shown(metric.name, (wall, used, 0, 0), note[:60])


def audit(split, threads, more):
    """Time the whole audit, tables read from Parquet as users do."""
    import tabveil  # noqa: PLC0415 - needs more than metrics do

    with tempfile.TemporaryDirectory() as folder:
        for role in ("train", "control", "synthetic"):
            table = getattr(split, role)
            columns = {
                column.name: table.column(column.name)
                if isinstance(column, Numeric)
                else pd.Categorical.from_codes(
                    np.nan_to_num(table.column(column.name), nan=-1).astype(int), column.labels
                ).astype(object)
                for column in table.schema.columns
            }
            pd.DataFrame(columns).to_parquet(f"{folder}/{role}.parquet")
        paths = [f"{folder}/{role}.parquet" for role in ("train", "synthetic", "control")]
        heard = []
        begun = time.perf_counter()
        times, report = timed(
            lambda: tabveil.audit(
                *paths,
                threads=threads,
                progress=lambda doing, _share: heard.append((time.perf_counter() - begun, doing)),
                **more,
            )
        )
    for result in sorted(report.results, key=lambda result: -result.seconds):
        shown(result.key, (float("nan"), result.seconds, 0, 0))
    shown("whole audit", times)
    phase, since = "reading", 0.0
    for when, doing in [*heard, (time.perf_counter() - begun, "end")]:
        now = next(
            (name for name in ("positive control", "what next", "end") if doing.startswith(name)), None
        )
        now = now or ("reading" if doing.startswith("reading") else "steps")
        if now != phase and not (now == "steps" and phase != "reading"):
            print(f"  {phase}: {when - since:.2f} s")
            phase, since = now, when


def main():
    """Read what is asked for, warm up, and time it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", choices=("adult", *FILES), default="adult", help="what the rows are like")
    parser.add_argument("--without", nargs="*", default=(), help="metrics to leave out")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=available_threads())
    parser.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="cpu", help="where rows are searched"
    )
    parser.add_argument("--metrics", nargs="*", help="time metrics alone; all default ones if none is named")
    parser.add_argument("--together", action="store_true", help="metrics side by side, as in an audit")
    parser.add_argument("--at-once", type=int, help="so many metrics side by side at most")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where adult.parquet is")
    parser.add_argument(
        "--more", type=json.loads, default={}, help='options of the audit, as {"power": true}'
    )
    asked = parser.parse_args()
    alone = asked.metrics is not None or asked.together
    split = tables_like(asked.table, asked.rows, asked.folder)
    small = tables_like(asked.table, WARM_UP, asked.folder)
    with working(threads=asked.threads, device=asked.device), sharing(0):
        metrics = default_metrics(asked.metrics) if alone else []
        metrics = [metric for metric in metrics if metric.name not in asked.without]
        for metric in metrics:  # compile
            ask(metric, small)
        print(f"{asked.rows:,} rows each, {len(split.schema)} columns, {asked.threads} threads")
        print(f"{'':28} {'wall s':>8} {'CPU s':>8} {'serial':>8} {'cores':>6} {'MiB':>8}")
        if alone:
            run = partial(together, at_once=asked.at_once) if asked.together else one_by_one
            expect(search for metric in metrics for search in metric.searches(split))
            if not asked.together:
                workers.each_chunk = Chunks.timed
            times, _ = timed(lambda: run(metrics, split))
            shown("all", times)
        else:
            more = {"device": asked.device, **asked.more}
            audit(small, asked.threads, more)
            audit(split, asked.threads, more)


if __name__ == "__main__":
    main()
