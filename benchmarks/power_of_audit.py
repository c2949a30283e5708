"""What does the detection power that an audit reports cost, and does it grow with the size of the trials?

``python benchmarks/power_of_audit.py`` measures it on Adult and CTGAN's release: first as audits do, then at
each size of ``--people``. There train rows join control, for enough people; halves of the two together are
still equally strange to the release. An audit reports what trials smaller than itself have seen, which
understates it only if the larger sizes see more.
"""

import argparse
from unittest.mock import patch

import data
import numpy as np
from measure import cpu_seconds, machine, markdown

from tabveil.auditing import power
from tabveil.core.rng import stream
from tabveil.core.table import Split, Table
from tabveil.metrics.attacks import ATTACKS
from tabveil.metrics.indicators import INDICATORS
from tabveil.tables.reading import load_split

METRICS = {metric.name: metric for metric in (*ATTACKS, *INDICATORS)}


def adult():
    tables = (data.read(f"adult_{name}.parquet") for name in ("train", "ctgan", "control"))
    return load_split(*tables, missing=["?"]).split


def pooled(split):
    """Let train rows join control."""
    values = np.concatenate([split.control.values, split.train.values])
    everybody = Table(schema=split.schema, values=values)
    return Split(train=split.train, control=everybody, synthetic=split.synthetic)


def seen(found):
    """Return for each metric the smallest leak, and the last trials below it."""
    cells = []
    for item in found.detections:
        missed = [trial for trial in item.trials if trial.leak != item.smallest]
        last = f" ({missed[-1].leak:.0%}: {missed[-1].seen} of {missed[-1].of})" if missed else ""
        cells.append(f"{'none' if item.smallest is None else f'{item.smallest:.0%}'}{last}")
    return cells


def timed(split, names, seed):
    start = cpu_seconds()
    found = power.measure([(name, METRICS[name]()) for name in names], split, rng=stream(seed, "power"))
    return found, cpu_seconds() - start


def main(argv=None):
    parser = argparse.ArgumentParser(description="Measure the cost and the growth of detection power.")
    parser.add_argument("--metric", action="append", choices=METRICS, help="may be repeated; all by default")
    parser.add_argument("--people", type=int, nargs="*", default=(1000, 4000, 16_000))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    names, split = options.metric or list(METRICS), adult()

    timed(split, names, options.seed)  # compiles
    found, seconds = timed(split, names, options.seed)
    columns = {f"as audits do ({found.people:,}), {seconds:.0f} CPU s": seen(found)}
    for people in options.people:
        with patch.multiple(power, MOST_PEOPLE=people, MOST_CELLS=people * len(split.schema)):
            found, seconds = timed(pooled(split), names, options.seed)
        columns[f"{found.people:,} people, {seconds:.0f} CPU s"] = seen(found)
    rows = [[f"`{name}`", *cells] for name, *cells in zip(names, *columns.values(), strict=True)]
    print(f"{machine()}. The smallest leak seen; in parentheses the trials of the one below.\n")
    print(markdown(["metric", *columns], rows))


if __name__ == "__main__":
    main()
