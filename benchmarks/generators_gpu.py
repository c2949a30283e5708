"""Networks at full size: all of Adult on a GPU, in three steps that may run on different machines.

``prepare TABLE.npz`` writes Adult as arrays, ``transformer TABLE.npz ROWS.npz`` (or ``diffusion``) trains
and draws (it needs torch, NumPy and SciPy, not all that tabveil depends on), ``score TABLE.npz ROWS.npz``
measures the drawn rows against rows the network never saw.
"""

import argparse
import importlib
import json
import sys
import time
import types
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).resolve().parents[1] / "src" / "tabveil"
FULL_SIZE = {
    "transformer": {
        "width": 768,
        "layers": 6,
        "heads": 12,
        "dropout": 0.1,
        "masked": 0.2,
        "epochs": 60,
        "batch_size": 256,
        "learning_rate": 3e-4,
        "averaging": 0.995,
        "patience": 4,
        "device": "cuda",
    },
    "diffusion": {
        "steps": 30_000,
        "batch_size": 2048,
        "timesteps": 200,
        "layers": 4,
        "width": 512,
        "dropout": 0.1,
        "learning_rate": 1e-3,
        "averaging": 0.999,
        "device": "cuda",
    },
}


def prepare(arguments):
    import data  # noqa: PLC0415 - its imports are not on every machine

    from tabveil.tables.reading import load_split  # noqa: PLC0415 - likewise

    train = data.read("adult_train.parquet")[: data.N_FULL]
    split = load_split(train, train[:1], data.read("adult_control.parquet"), missing=("?",)).split
    arguments.table.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        arguments.table,
        schema=np.array(json.dumps(split.schema.to_json())),
        train=split.train.values,
        control=split.control.values,
    )
    print(f"{len(split.train):,} rows to learn from, {len(split.control):,} held out")


def fit(arguments):
    # The package's own __init__ imports every generator, and with them libraries that may not be here.
    for name, folder in (
        ("tabveil", SOURCE),
        ("tabveil.synthesis.generators", SOURCE / "synthesis" / "generators"),
    ):
        module = types.ModuleType(name)
        module.__path__ = [str(folder)]
        sys.modules[name] = module
    stored, train = _table(arguments.table)
    module = importlib.import_module(
        f"tabveil.synthesis.generators.{arguments.step}"
    )  # only now can it be found
    settings = {**FULL_SIZE[arguments.step], **json.loads(arguments.settings)}
    print("settings:", settings)
    start = time.perf_counter()

    def listen(doing, _):
        print(f"{time.perf_counter() - start:7.1f} s  {doing}", flush=True)

    with importlib.import_module("tabveil.core.workers").working(listener=listen):
        synthesizer = getattr(module, arguments.step.title())(**settings)
        model = synthesizer.fit(train, rng=np.random.default_rng(arguments.seed))
    fitted = time.perf_counter()
    drawn = model.sample(len(stored["control"]), rng=np.random.default_rng(arguments.seed + 1))
    seconds = {"fit": fitted - start, "sample": time.perf_counter() - fitted}
    print(f"fit {seconds['fit']:.1f} s, {len(drawn):,} rows drawn in {seconds['sample']:.1f} s", model.notes)
    np.savez_compressed(
        arguments.rows,
        values=drawn.values,
        about=np.array(json.dumps({"settings": settings, "seconds": seconds})),
    )


def score(arguments):
    from tabveil.core.table import Split, Table  # noqa: PLC0415 - not before fit has had its chance
    from tabveil.metrics.utility import measure  # noqa: PLC0415 - its imports are not on every machine

    stored, train = _table(arguments.table)
    with np.load(arguments.rows, allow_pickle=False) as rows:
        synthetic = Table(schema=train.schema, values=rows["values"])
        print(rows["about"])
    control = Table(schema=train.schema, values=stored["control"])
    split = Split(train=train, control=control, synthetic=synthetic)
    figures = measure(split, rng=np.random.default_rng(0)).figures
    for name in ("discriminator", "total_variation"):
        figure = figures[name]
        print(f"{name}: {figure.value.value:.4f} (real rows: {figure.reference.value:.4f})")
    copies = np.isin(synthetic.row_hash(), train.row_hash()).mean()
    by_chance = np.isin(control.row_hash(), train.row_hash()).mean()
    print(f"rows equal to a training row: {copies:.2%} (held-out rows: {by_chance:.2%})")


def _table(path):
    from tabveil.core.table import Schema, Table  # noqa: PLC0415 - see fit

    with np.load(path, allow_pickle=False) as file:
        stored = {name: file[name] for name in file.files}
    schema = Schema.from_json(json.loads(str(stored["schema"])))
    return stored, Table(schema=schema, values=stored["train"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=("prepare", *FULL_SIZE, "score"))
    parser.add_argument("table", type=Path)
    parser.add_argument("rows", type=Path, nargs="?", default=Path("rows.npz"))
    parser.add_argument("--settings", default="{}", help="JSON that replaces settings")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    {"prepare": prepare, "score": score}.get(arguments.step, fit)(arguments)


if __name__ == "__main__":
    main()
