"""How long does an embedding take to train, and to place a million rows, on a CPU or a GPU?

``PYTHONPATH=src python benchmarks/embedding.py --device cuda`` trains with the default settings and with the
papers' on 16,280 rows, then places a million, and prints a table. On a CPU only the default ones are tried
unless ``--settings paper`` asks for more, which takes long. Rows are those of a Parquet file (``--data``) or
of the simulated hospital. It needs torch, NumPy, SciPy and pandas, not all that tabveil depends on.
"""

import argparse
import importlib.util
import sys
import time
import types
from dataclasses import dataclass
from pathlib import Path

import measure
import numpy as np
import pandas as pd
import torch

from tabveil.core.rng import stream
from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.engines.embedding import Embedding

N_ROWS, N_PLACED = 16_280, 1_000_000
LIMITS = {
    ("cuda", "train", "paper"): 15.0,
    ("cuda", "place", "paper"): 5.0,
    ("cuda", "place", "default"): 5.0,
    ("cpu", "train", "default"): 120.0,
}
"""What was asked for: seconds on a GPU of the class of an H200, CPU seconds on two cores."""
HEADER = ["what", "rows", "columns", "epochs", "seconds", "CPU s", "GPU MiB", "limit", "held"]


@dataclass(frozen=True, kw_only=True)
class Timed:
    """What one piece of work returned, and what it took."""

    found: object
    seconds: float
    cpu_seconds: float
    mebibytes: float | None  # of the GPU's memory, at most


def timed(work, device):
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    start, cpu = time.perf_counter(), measure.cpu_seconds()
    found = work()
    if device == "cuda":
        torch.cuda.synchronize()
    return Timed(
        found=found,
        seconds=time.perf_counter() - start,
        cpu_seconds=measure.cpu_seconds() - cpu,
        mebibytes=torch.cuda.max_memory_allocated() / 2**20 if device == "cuda" else None,
    )


def read(path, n_rows, rng):
    """Return rows of a Parquet file, drawn without replacement as far as it has enough."""
    frame = pd.read_parquet(path)
    chosen = rng.permutation(len(frame)) if n_rows <= len(frame) else rng.integers(0, len(frame), n_rows)
    return frame.iloc[chosen[:n_rows]]


def hospital(n_rows):
    if importlib.util.find_spec("pydantic") is None and "tabveil.tables.reading" not in sys.modules:
        # The door for files checks with pydantic what users write; making a dataframe needs none of that.
        package = types.ModuleType("tabveil.tables.reading")
        package.__path__ = [
            str(Path(importlib.util.find_spec("tabveil").origin).with_name("tables") / "reading")
        ]
        sys.modules["tabveil.tables.reading"] = package
    from tabveil import datasets  # noqa: PLC0415 - only now can it be imported everywhere

    return datasets.hospital(n_rows, seed=1)


def table_of(frame):
    """Take numbers for numbers, moments for days, and all else for labels."""
    columns, cells = [], []
    for name in frame.columns:
        values = frame[name]
        if pd.api.types.is_datetime64_any_dtype(values):
            values = (values - values.min()).dt.days
        if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
            numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
            columns.append(Numeric(name=str(name), low=np.nanmin(numbers), high=np.nanmax(numbers)))
            cells.append(numbers)
        else:
            codes, labels = pd.factorize(values.astype("string"))
            columns.append(Categorical(name=str(name), labels=tuple(map(str, labels))))
            cells.append(np.where(codes < 0, np.nan, codes))
    return Table(schema=Schema(tuple(columns)), values=np.column_stack(cells))


def grown(table, n_rows, rng):
    """Draw rows, each moved a little in its numbers: equal rows would be placed once."""
    values = table.values[rng.integers(0, len(table), n_rows)]
    for place, column in enumerate(table.schema.columns):
        if isinstance(column, Numeric):
            values[:, place] += rng.random(n_rows) * (column.high - column.low) / 1000
    return Table(schema=table.schema, values=values)


def line(what, table, epochs, took, limit, *, on_gpu):
    spent = took.seconds if on_gpu else took.cpu_seconds
    return [
        what,
        f"{len(table):,}",
        f"{len(table.schema)}",
        f"{epochs}",
        f"{took.seconds:.2f}",
        f"{took.cpu_seconds:.2f}",
        "" if took.mebibytes is None else f"{took.mebibytes:,.0f}",
        "" if limit is None else f"≤ {limit:g}",
        "" if limit is None else "yes" if spent <= limit else "**no**",
    ]


def rows_of(arguments, table, placed):
    """Yield the lines of the table, one after the other."""
    device, on_gpu = arguments.device, arguments.device == "cuda"
    limits = LIMITS if (len(table), len(placed)) == (N_ROWS, N_PLACED) else {}
    given = {"device": device, "batch_size": arguments.batch_size}
    if arguments.epochs is not None:
        given["epochs"] = arguments.epochs
        limits = {}
    warm = Embedding(**{**given, "epochs": 1}).fit(
        table.take(np.arange(min(len(table), 2000))), rng=stream(0)
    )
    warm.embed(table)
    for preset in arguments.settings:
        embedding = Embedding(preset=preset, **given)
        took = timed(lambda made=embedding: made.fit(table, rng=stream(arguments.seed, "embedding")), device)
        model, limit = took.found, limits.get((device, "train", preset))
        yield line(f"train, {preset}", table, len(model.history), took, limit, on_gpu=on_gpu)
        took = timed(lambda model=model: model.embed(placed), device)
        limit = limits.get((device, "place", preset))
        yield line(f"place, {preset}", placed, "", took, limit, on_gpu=on_gpu)


def machine(device):
    found = f"{measure.machine()}, torch {torch.__version__}"
    return f"{found}, {torch.cuda.get_device_name()}" if device == "cuda" else found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--data", type=Path, help="a Parquet file; the simulated hospital if left out")
    parser.add_argument("--settings", nargs="+", choices=("default", "paper"))
    parser.add_argument("--rows", type=int, default=N_ROWS, help="rows to train on")
    parser.add_argument("--placed", type=int, default=N_PLACED, help="rows to place")
    parser.add_argument("--epochs", type=int, help="fewer than the settings say, to try the script")
    parser.add_argument("--batch-size", type=int, default=Embedding().batch_size)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    arguments.settings = arguments.settings or (
        ["default", "paper"] if arguments.device == "cuda" else ["default"]
    )
    rng = stream(arguments.seed, "rows")
    frame = read(arguments.data, arguments.rows, rng) if arguments.data else hospital(arguments.rows)
    table = table_of(frame)
    placed = grown(table, arguments.placed, rng)
    rows = []
    for row in rows_of(arguments, table, placed):
        print(*row, sep=" | ", file=sys.stderr, flush=True)
        rows.append(row)
    print(f"{machine(arguments.device)}.\n\n{measure.markdown(HEADER, rows)}")


if __name__ == "__main__":
    main()
