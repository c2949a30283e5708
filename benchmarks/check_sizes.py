"""Do indicators answer alike at any sizes of train and control? Fresh rows, a leak and a copy, many seeds.

It takes minutes, writes docs/coverage_sizes.md, and fails if an indicator falls short.
"""

import argparse
import sys

import numpy as np
import samples
from measure import DOCS, markdown, write

from tabveil.core.rng import stream
from tabveil.core.table import Split
from tabveil.core.workers import working
from tabveil.errors import NotApplicable
from tabveil.metrics.indicators import INDICATORS
from tabveil.synthesis.risks import Leaky

LEAST_COVERED = 0.93
LEAK = 0.2
SIZES = {
    "1:10": (300, 3000, 600),
    "1:1": (1000, 1000, 1000),
    "10:1": (3000, 300, 1000),
    "60:1": (6000, 100, 1000),
}
OTHER_SEEDS = range(1000, 1500)
COPIES = 10  # they hardly vary
FEW_COLUMNS = ("sex", "race", "workclass", "marital-status", "age")

PAGE = """# Do indicators answer alike at any sizes?

With fresh rows and at all sizes of train and control, intervals of all indicators hold zero as often as they
must: the last column says so. Means do not stay the same: where control is small and columns are few, they
lie off the truth, and the intervals are wide.

`python benchmarks/check_sizes.py` writes this page. {n_seeds} seeded repetitions on Adult without
duplicates, all columns; then on all its rows in a few columns ({few}), in which 95 of
100 people have an equal row. Train, control and release are disjoint sets of people ({sizes}).
Three releases are compared: fresh rows (the risk is 0), fresh rows a fifth of which was replaced by
training rows (0.2), and train itself (1).

Counted is how often the 95 % interval holds 0 with fresh rows, which at least {least} of {n_seeds} must
(exact intervals fall short of that in about one of thirteen such lines: these are counted again with
{n_others} other seeds), and 0.2 with the leak. (`nearest_neighbors` also asks for several neighbors;
its upper bound is the largest of all.) Then come the mean risks with fresh rows, with the leak and with the
copy, and the mean width of the interval with fresh rows: it is widest with 100 control rows beside 6,000 of
train.

{tables}
"""


def risk(metric, tables, seed):
    try:
        return metric(tables, rng=stream(seed, metric.name)).risk
    except NotApplicable:
        return None


def trial(table, sizes, seed):
    """Draw the people of one repetition: train, control and release."""
    order = stream(seed, "sizes").permutation(len(table))
    return [table.take(part) for part in np.split(order[: sum(sizes)], np.cumsum(sizes)[:-1])]


def measured(metric, table, sizes, seeds, *, n_leaks=0, n_copies=0):
    """Return (n, 3) values and ends of the risk: of fresh rows, and for the first seeds of leak and copy."""
    found = {"fresh": [], "leak": [], "copy": []}
    for seed in seeds:
        train, control, release = trial(table, sizes, seed)
        releases = {"fresh": release}
        if seed < n_leaks:
            releases["leak"] = Leaky()(train, release, LEAK, rng=stream(seed, "leak"))
        if seed < n_copies:
            releases["copy"] = train
        for name, synthetic in releases.items():
            answer = risk(
                metric, Split(train=train, control=control, synthetic=synthetic).with_own_ranges(), seed
            )
            if answer is not None:
                found[name].append((answer.value, answer.low, answer.high))
    return {name: np.array(answers).reshape(-1, 3) for name, answers in found.items()}


def covering(answers, truth):
    """Count the intervals that hold the truth."""
    return int(np.sum((answers[:, 1] <= truth + 1e-9) & (answers[:, 2] >= truth - 1e-9)))


def line(metric, table, ratio, n_seeds):
    """Return a line of the table, and whether zero is covered often enough; if not, with other seeds too."""
    sizes = SIZES[ratio]
    found = measured(metric, table, sizes, range(n_seeds), n_leaks=n_seeds // 3, n_copies=COPIES)
    fresh, leak, copy = found["fresh"], found["leak"], found["copy"]
    covered = covering(fresh, 0.0)
    told, held = f"{covered} of {len(fresh)}", covered >= LEAST_COVERED * len(fresh)
    if not held:
        again = measured(metric, table, sizes, OTHER_SEEDS)["fresh"]
        covered = covering(again, 0.0)
        told, held = f"{told}, then {covered} of {len(again)}", covered >= LEAST_COVERED * len(again)
    cells = [
        told,
        f"{covering(leak, LEAK)} of {len(leak)}",
        *(f"{answers[:, 0].mean():.3f}" for answers in (fresh, leak, copy)),
        f"{(fresh[:, 2] - fresh[:, 1]).mean():.3f}",
    ]
    return [f"`{metric.name}`", ratio, *cells, "yes" if held else "**no**"], held


def main(argv=None):
    parser = argparse.ArgumentParser(
        description="Compare what indicators answer at different sizes of control."
    )
    parser.add_argument("--seeds", type=int, default=200, help="a third of them with a leak")
    parser.add_argument("--metric", action="append", help="may be repeated; all indicators by default")
    parser.add_argument("--out", default=DOCS / "coverage_sizes.md")
    options = parser.parse_args(argv)

    metrics = [kind() for kind in INDICATORS if not options.metric or kind.name in options.metric]
    head = [
        "indicator", "train : control", "fresh covers 0", "leak covers 0.2", "fresh", "leak", "copy", "width",
        "reached",
    ]  # fmt: skip
    parts, short = [], []
    for title, table in (
        ("All columns", samples.adult()),
        ("Few columns", samples.few_columns_of_adult(FEW_COLUMNS)),
    ):
        lines = []
        for metric in metrics:
            for ratio in SIZES:
                with working(threads=1):
                    cells, held = line(metric, table, ratio, options.seeds)
                print(title, *cells, file=sys.stderr, flush=True)
                lines.append(cells)
                short += [] if held else [f"{metric.name} at {ratio}"]
        parts.append(f"## {title}\n\n{markdown(head, lines)}")
    text = PAGE.format(
        n_seeds=options.seeds,
        few=", ".join(FEW_COLUMNS),
        sizes="; ".join(f"{ratio}: {n[0]:,} : {n[1]:,}, {n[2]:,} released" for ratio, n in SIZES.items()),
        n_others=len(OTHER_SEEDS),
        least=-int(-LEAST_COVERED * options.seeds // 1),
        tables="\n\n".join(parts),
    )
    write(text, options.out)
    return f"Falls short: {', '.join(short)}." if short else None


if __name__ == "__main__":
    sys.exit(main())
