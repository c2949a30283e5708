"""Which generator protects whom from somebody who owns it? In three steps that may run on different machines.

``prepare TABLE.npz`` writes rows of Adult as arrays. ``attack TABLE.npz FOLDER [NAME ...]`` fits each
generator again and again and keeps every fit in the folder the moment it is done, so that it can be ended and
begun again; it needs torch, NumPy, SciPy, Numba and scikit-learn, not all that tabveil depends on.
``page FOLDER`` writes the table of docs/black_box.md from what is there by then.
"""

import argparse
import importlib
import json
import multiprocessing
import os
import sys
import types
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "tabveil"
PAGE = ROOT / "docs" / "black_box.md"
BEGIN, END = "<!-- measured by black_box_generators.py -->", "<!-- end of black_box_generators.py -->"
N_PEOPLE, N_ROWS, N_TARGETS, SEED = 6000, 1000, 40, 0
_QUASI_IDENTIFIERS = {
    "age": {"intervals": [5, 10, 20, 40]},
    "sex": "auto",
    "race": "auto",
    "marital-status": "auto",
    "native-country": "auto",
}
_SMALL = {"width": 64, "layers": 2, "heads": 4, "epochs": 30}
GENERATORS = {
    "copy": ("baselines", "Bootstrap", {}, 400),
    "marginals": ("baselines", "Marginals", {}, 400),
    "trees": ("trees.synthesizer", "Trees", {}, 400),
    "trees, as published": ("trees.synthesizer", "Trees", {"preset": "published", "smoothing": False}, 400),
    "transformer, small": ("transformer", "Transformer", _SMALL, 200),
    "ctgan, small": ("ctgan", "Ctgan", {"epochs": 100, "layers": (128, 128)}, 200),
    "aim, ε = 1": ("aim.synthesizer", "Aim", {"epsilon": 1.0}, 200),
    "aim, ε = 10": ("aim.synthesizer", "Aim", {"epsilon": 10.0}, 200),
    "aim, ε = 100": ("aim.synthesizer", "Aim", {"epsilon": 100.0}, 200),
    "hybrid, k = 5, post, trees": (
        "hybrid.synthesizer",
        "Hybrid",
        {"hierarchies": _QUASI_IDENTIFIERS, "models": ({"k": 5},), "placement": "post", "generator": "trees"},
        200,
    ),
    "hybrid, k = 10, pre, conditional, trees": (
        "hybrid.synthesizer",
        "Hybrid",
        {
            "hierarchies": _QUASI_IDENTIFIERS,
            "models": ({"k": 10},),
            "transition": "conditional",
            "placement": "pre",
            "generator": "trees",
        },
        200,
    ),
}
"""Module, class, settings, and how many fits; the last two as the thesis found them best, with trees."""
HEADER = ["generator", "fits", "AUC, most vulnerable", "best of them", "AUC, random", "TPR at 10 %", "told"]


def prepare(arguments):
    import data  # noqa: PLC0415 - its imports are not on every machine

    from tabveil.tables.reading import load_table  # noqa: PLC0415 - likewise

    adult = data.read("adult.parquet")
    rows = adult.iloc[np.random.default_rng(0).permutation(len(adult))[:N_PEOPLE]]
    table = load_table(rows.reset_index(drop=True), missing=("?",)).table
    arguments.table.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        arguments.table, schema=np.array(json.dumps(table.schema.to_json())), values=table.values
    )
    print(f"{len(table):,} rows, {len(table.schema)} columns")


def attack(arguments):
    for name in arguments.names or GENERATORS:
        try:
            _attack_one(name, arguments)
        except ImportError as error:
            print(f"{name}: not attacked, {error.name} is not here", flush=True)


def _attack_one(name, arguments):
    """Make the fits that are not there yet, and judge all of them."""
    _alone()
    _synthesizer(name, arguments.device)  # an import that fails does so here
    folder = arguments.folder / name.replace(" ", "_")
    folder.mkdir(parents=True, exist_ok=True)
    n_fits = arguments.fits or GENERATORS[name][3]
    todo = [fit for fit in range(n_fits) if not (folder / f"{fit}.npz").exists()]
    print(f"{name}: {n_fits - len(todo)} of {n_fits} fits are there", flush=True)
    work = partial(_fit, name, arguments.device, str(arguments.table), str(folder))
    if arguments.workers == 1:
        for done, fit in enumerate(todo):
            work(fit)
            _tell(name, done + 1, len(todo))
    else:
        with ProcessPoolExecutor(arguments.workers, multiprocessing.get_context("spawn")) as pool:
            for done, future in enumerate(as_completed([pool.submit(work, fit) for fit in todo])):
                future.result()
                _tell(name, done + 1, len(todo))
    _judge(name, n_fits, arguments.table, folder)


def _tell(name, done, total):
    if done % 20 == 0 or done == total:
        print(f"{name}: {done} of {total} new fits", flush=True)


def _fit(name, device, table, folder, fit):
    """Make one fit, look at its release, and keep what it says."""
    _alone()
    game, watch, _ = _game(table)
    rare_labels = importlib.import_module("tabveil.synthesis.generators.rare_values")
    workers = importlib.import_module("tabveil.core.workers")
    synthesizer = _synthesizer(name, device)
    rng = game.pool.rng(fit, name)
    train = game.train(fit)
    if hasattr(synthesizer, "public"):
        synthesizer = type(synthesizer)(**{**vars(synthesizer), "public": train.schema.names})
    elif not getattr(synthesizer, "copies_rows", False):
        dependencies = importlib.import_module("tabveil.synthesis.generators.dependencies")
        kept = getattr(synthesizer, "keeps_dependencies", False)
        followed = dependencies.dependencies_of(train) if kept else ()
        named = getattr(synthesizer, "names_labels", ())
        train = rare_labels.pool_rare_labels(train, keep=named, dependencies=followed, rng=rng).table
    with workers.working(threads=1, listener=workers.unheard):
        rows = synthesizer.fit(train, rng=rng).sample(N_ROWS, rng=rng)
    temporary = Path(folder) / f".{os.getpid()}-{fit}.npz"
    np.savez_compressed(temporary, features=watch.look(rows))
    temporary.replace(Path(folder) / f"{fit}.npz")


def _judge(name, n_fits, table, folder):
    shadow = importlib.import_module("tabveil.metrics.black_box")
    game, _, targets = _game(str(table))
    seen = []
    for fit in range(n_fits):
        with np.load(folder / f"{fit}.npz", allow_pickle=False) as file:
            seen.append(file["features"])
    found = asdict(shadow.judge_membership(game, np.stack(seen), targets))
    result = folder.with_suffix(".json")
    temporary = result.with_name(f".{result.name}")
    temporary.write_text(json.dumps({"name": name, "fits": n_fits, "found": found}), encoding="utf-8")
    temporary.replace(result)
    print(*_cells({"name": name, "fits": n_fits, "found": found}), sep=" | ", flush=True)


@cache
def _game(table):
    """Return who is in which fit, what is looked for, and the targets; the same on every machine."""
    shadow = importlib.import_module("tabveil.metrics.black_box")
    tables = importlib.import_module("tabveil.core.table")
    with np.load(table, allow_pickle=False) as file:
        schema = tables.Schema.from_json(json.loads(str(file["schema"])))
        real = tables.Table(schema=schema, values=file["values"])
    targets = shadow.Targets.choose(real, N_TARGETS, rng=np.random.default_rng(SEED))
    pool = shadow.Pool.draw(
        targets.rows, n_data=len(real), n_control=0, n_rows=N_ROWS, game="fixed", seed=SEED
    )
    game = shadow.MembershipGame(real=real, pool=pool)
    return game, game.watch(real), targets


def _synthesizer(name, device):
    module, kind, settings, _ = GENERATORS[name]
    if "generator" in settings:  # which is looked up by its name
        known = importlib.import_module("tabveil.synthesis.generators.models").GENERATORS
        if "trees" not in known:
            known.add(importlib.import_module("tabveil.synthesis.generators.trees.synthesizer").Trees)
    made = getattr(importlib.import_module(f"tabveil.synthesis.generators.{module}"), kind)
    return made(**settings, **({"device": device} if hasattr(made, "device") else {}))


def _alone():
    """Let generators be imported one by one: the package imports all, and with them what may not be here."""
    if "tabveil" in sys.modules:
        return
    for name, folder in (
        ("tabveil", SOURCE),
        ("tabveil.synthesis.generators", SOURCE / "synthesis" / "generators"),
    ):
        module = types.ModuleType(name)
        module.__path__ = [str(folder)]
        sys.modules[name] = module


def page(arguments):
    from tabveil.core.storage.files import write_text  # noqa: PLC0415 - not before attack has had its chance

    found = {}
    for path in arguments.folder.glob("[!.]*.json"):
        data = json.loads(path.read_text(encoding="utf-8"))
        found[data["name"]] = _cells(data)
    empty = [""] * (len(HEADER) - 2)
    rows = [found.get(name, [name, "not run", *empty]) for name in GENERATORS]
    lines = [HEADER, ["---"] * len(HEADER), *rows]
    table = "\n".join(f"| {' | '.join(row)} |" for row in lines)
    text = PAGE.read_text(encoding="utf-8")
    start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    write_text(PAGE, f"{text[:start]}\n\n{table}\n\n{text[end:]}")


def _cells(data):
    found = data["found"]
    groups = {group["group"]: group for group in found["groups"]}
    best = max(item["found"]["value"] for item in found["targets"] if item["group"] == "vulnerable")
    rates = {item["false_positives"]: item["true_positives"] for item in groups["vulnerable"]["readings"]}
    return [
        data["name"],
        str(data["fits"]),
        _with_interval(groups["vulnerable"]["found"]),
        f"{best:.2f}",
        _with_interval(groups["random"]["found"]),
        "" if rates[0.1] is None else f"{rates[0.1]['value']:.2f}",
        f"{sum(item['seen'] for item in found['targets'])} of {len(found['targets'])}",
    ]


def _with_interval(estimate):
    return f"{estimate['value']:.2f} ({estimate['low']:.2f} to {estimate['high']:.2f})"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    steps = parser.add_subparsers(dest="step", required=True)
    step = steps.add_parser("prepare")
    step.add_argument("table", type=Path)
    step.set_defaults(run=prepare)
    step = steps.add_parser("attack")
    step.add_argument("table", type=Path)
    step.add_argument("folder", type=Path)
    step.add_argument("names", nargs="*", choices=[[], *GENERATORS], metavar="NAME")
    step.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    step.add_argument("--workers", type=int, default=1)
    step.add_argument("--fits", type=int)
    step.set_defaults(run=attack)
    step = steps.add_parser("page")
    step.add_argument("folder", type=Path)
    step.set_defaults(run=page)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
