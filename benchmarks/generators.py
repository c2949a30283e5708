"""What each generator reaches on 5,000 rows of Adult, and what it costs on one thread.

``python benchmarks/generators.py`` runs all of them, minutes in all, and renews the table in
benchmarks/generators.md;
``--only NAME`` runs one and prints its line. What stands in the page beside that table was measured by
``generators_gpu.py`` and ``transformer_overfit.py``.
"""

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import data
import measure
import numpy as np

from tabveil import workers
from tabveil.frame import load_table
from tabveil.generators import GENERATORS
from tabveil.table import Split
from tabveil.utility import measure as utility_of

PAGE = Path(__file__).with_name("generators.md")
N_TRAIN = 5000
HEADER = [
    *("generator", "told apart", "asked", "TVD", "asked", "fit, CPU s", "asked", "sample, CPU s"),
    *("copies", "held"),
]


@dataclass(frozen=True, kw_only=True)
class Run:
    """One line: a generator with its settings, and what was asked of it (None: nothing)."""

    name: str
    settings: dict = field(default_factory=dict)
    told_apart: float | None = None
    variation: float | None = None
    fit: float | None = None
    sample: float | None = None

    @property
    def title(self):
        settings = ", ".join(f"{key} = {value:g}" for key, value in self.settings.items())
        return f"`{self.name}`" + (f", {settings}" if settings else "")


RUNS = (
    Run(name="trees", told_apart=0.58, variation=0.025, fit=1),
    Run(name="transformer", told_apart=0.57, variation=0.027, fit=60, sample=6),
    Run(name="diffusion", told_apart=0.80, variation=0.04, fit=300),
    Run(name="ctgan", told_apart=0.97, variation=0.093, fit=250),
    Run(name="aim", settings={"epsilon": 1.0}, told_apart=0.88, variation=0.065, fit=10),
    Run(name="aim", settings={"epsilon": 10.0}),
    Run(name="dpctgan", settings={"epsilon": 1.0}),
    Run(name="dpctgan", settings={"epsilon": 10.0}),
    Run(name="pategan", settings={"epsilon": 1.0}),
    Run(name="pategan", settings={"epsilon": 10.0}),
    Run(name="marginals"),
    Run(name="copy"),
)


def split_of_adult():
    """Return rows to learn from and rows held out, as the targets were set: 5,000 and 4,758."""
    table = load_table(data.read("adult_control.parquet"), missing=("?",)).table
    order = np.random.default_rng(0).permutation(len(table))
    return table.take(order[:N_TRAIN]), table.take(order[N_TRAIN:])


def one(run, seed):
    """Fit, draw and measure in this process; return plain numbers."""
    train, held_out = split_of_adult()
    synthesizer = GENERATORS[run.name](**run.settings)
    with workers.working(threads=1):
        synthesizer.fit(train.take(np.arange(20)), rng=np.random.default_rng(seed))  # load and compile
        start = measure.cpu_seconds()
        model = synthesizer.fit(train, rng=np.random.default_rng(seed))
        fitted = measure.cpu_seconds()
        drawn = model.sample(N_TRAIN, rng=np.random.default_rng(seed + 1))
        sampled = measure.cpu_seconds()
    found = scored(Split(train=train, control=held_out, synthetic=drawn))
    return {**found, "fit": fitted - start, "sample": sampled - fitted}


def scored(split):
    """Return how well rows are told from held-out ones, total variation, and the share of copies."""
    figures = utility_of(split, rng=np.random.default_rng(0)).figures
    copies = np.isin(split.synthetic.row_hash(), split.train.row_hash()).mean()
    return {
        "told_apart": figures["discriminator"].value.value,
        "variation": figures["total_variation"].value.value,
        "copies": float(copies),
    }


def line(run, found):
    """Set what was found beside what was asked."""
    asked = {name: getattr(run, name) for name in ("told_apart", "variation", "fit", "sample")}
    missed = [name for name, limit in asked.items() if limit is not None and found[name] > limit]
    limits = {name: "" if limit is None else f"≤ {limit:g}" for name, limit in asked.items()}
    held = "" if all(limit is None for limit in asked.values()) else "yes" if not missed else "**no**"
    return [
        run.title,
        f"{found['told_apart']:.3f}",
        limits["told_apart"],
        f"{found['variation']:.3f}",
        limits["variation"],
        f"{found['fit']:.1f}",
        limits["fit"],
        f"{found['sample']:.2f}" + (f" ({limits['sample']})" if limits["sample"] else ""),
        f"{found['copies']:.1%}",
        held,
    ]


def apart(position, seed):
    """Run one in a process of its own, so that no other's memory or threads count."""
    command = [sys.executable, __file__, "--position", str(position), "--seed", str(seed)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only")
    parser.add_argument("--position", type=int)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.position is not None:
        print(json.dumps(one(RUNS[arguments.position], arguments.seed)))
        return
    rows = []
    for position, run in enumerate(RUNS):
        if run.name not in GENERATORS or arguments.only not in (None, run.name):
            continue
        rows.append(line(run, apart(position, arguments.seed)))
        print(*rows[-1], sep=" | ", flush=True)
    if arguments.only is None:
        text = PAGE.read_text(encoding="utf-8")
        start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
        table = f"\n\n{measure.machine()}.\n\n{measure.markdown(HEADER, rows)}\n\n"
        PAGE.write_text(text[:start] + table + text[end:], encoding="utf-8")


BEGIN, END = "<!-- measured by generators.py -->", "<!-- end -->"

if __name__ == "__main__":
    main()
