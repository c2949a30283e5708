"""Memorizing on purpose: what the transformer repeats as its held-out loss rises above the minimum.

``python benchmarks/transformer_overfit.py [rows] [settings as JSON]`` prints one line for each ratio: the one
reached, the epochs and CPU seconds it took, and what two indicators say about as many drawn rows.
"""

import json
import sys

import data
import measure
import numpy as np

from tabveil.core import workers
from tabveil.core.table import Split
from tabveil.metrics.indicators.closest import DistanceToClosest
from tabveil.metrics.indicators.identical import IdenticalMatchShare
from tabveil.synthesis.generators.transformer import Transformer
from tabveil.tables.reading import load_table

RATIOS = (1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
N_TRAIN = 5000
HEADER = ["asked", "reached", "epochs", "CPU s", "identical", "identical risk", "closest risk"]


def tables(n_rows):
    """Return rows to learn from, and as many that are held out where there are so many."""
    table = load_table(data.read("adult_control.parquet"), missing=("?",)).table
    order = np.random.default_rng(0).permutation(len(table))
    held_out = order[N_TRAIN : N_TRAIN + n_rows]
    return table.take(order[:n_rows]), table.take(held_out)


def line(train, control, ratio, settings):
    """Train to a ratio and measure what is repeated."""
    start = measure.cpu_seconds()
    model = Transformer(**settings, overfit=ratio).fit(train, rng=np.random.default_rng(0))
    seconds = measure.cpu_seconds() - start
    losses = np.array([epoch.validation for epoch in model.history])
    reached = 1.0 if ratio == 1 else losses[-1] / losses.min()
    synthetic = model.sample(len(train), rng=np.random.default_rng(1))
    split = Split(train=train, control=control, synthetic=synthetic)
    identical, closest = (
        metric(split, rng=np.random.default_rng(2)) for metric in (IdenticalMatchShare(), DistanceToClosest())
    )
    share = np.isin(synthetic.row_hash(), train.row_hash()).mean()
    return [
        f"{ratio:.1f}",
        f"{reached:.3f}",
        f"{len(losses)}",
        f"{seconds:.0f}",
        f"{share:.3f}",
        f"{identical.risk.value:.3f}",
        f"{closest.risk.value:.3f}",
    ]


def main():
    n_rows = int(sys.argv[1]) if len(sys.argv) > 1 else N_TRAIN
    settings = {"epochs": 300, **(json.loads(sys.argv[2]) if len(sys.argv) > 2 else {})}
    train, control = tables(n_rows)
    print(
        f"{measure.machine()}; {len(train):,} rows, {len(control):,} held out for the indicators; {settings}"
    )
    rows = []
    for ratio in RATIOS:
        with workers.working(threads=1):
            rows.append(line(train, control, ratio, settings))
        print(*rows[-1], sep="\t", flush=True)
    print(measure.markdown(HEADER, rows))


if __name__ == "__main__":
    main()
