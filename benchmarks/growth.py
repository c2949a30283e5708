"""How does the time of every default metric grow with the rows of real tables?

``python benchmarks/growth.py`` times each metric of a default audit on train, control and release of as many
rows each, cut from real tables at random: the census at up to 99,000 rows each, others as far as they go. The
release are fresh rows, in which nothing is near. CPU seconds of one run on one thread, after a small run that
compiles. It writes ``growth.md`` (a quarter of an hour).
"""

import argparse
import sys
from pathlib import Path

import data
import numpy as np
from measure import cpu_seconds, machine, markdown, once

from tabveil.core.rng import stream
from tabveil.core.storage.files import write_text
from tabveil.core.table import Split
from tabveil.core.workers import sharing, working
from tabveil.errors import NotApplicable
from tabveil.metrics.registry import METRICS
from tabveil.tables.reading import load_table

PAGE = Path(__file__).parent / "growth.md"
SIZES = {
    "census": (12_500, 25_000, 50_000, 99_000),
    "adult": (4_000, 8_000, 16_000),
    "hospital": (5_000, 10_000, 20_000),
}
WARM_UP = 500
FASTEST = 0.05  # CPU seconds at the largest size, below which nobody waits for a metric
TEXT = """# How metrics grow

`python benchmarks/growth.py` writes this page: CPU seconds of every metric of a default audit, on one thread.
Train, control and release have so many rows each, cut from one real table at random; so the release holds
fresh people, and nothing in it is near. *exponent* is the slope of the logarithms from the first size to the
last: 1 is as the rows, 2 as their square. It is left out below {fastest} s.

Measured on {machine}.
{tables}
"""


def table_of(name):
    """Return a table, one row a person."""
    match name:
        case "adult":
            found = data.read("adult.parquet")
        case "census":
            found = data.read("census_income_kdd.parquet")
        case _:
            found = data.read("diabetes130.parquet").drop_duplicates("patient_nbr")
            found = found.drop(columns=["encounter_id", "patient_nbr"])
    return load_table(found).table


def split_of(table, n):
    order = stream(0, "growth").permutation(len(table))
    train, control, release = (table.take(order[i * n : (i + 1) * n]) for i in range(3))
    return Split(train=train, control=control, synthetic=release).with_own_ranges()


def seconds(metric, split):
    """Return what one run takes; None where the metric has no answer."""
    try:
        with sharing(0):
            return once(lambda: metric(split, rng=stream(0, metric.name)))
    except NotApplicable:
        return None


def lines(name, sizes):
    """Time all metrics at all sizes, the slowest at the end first."""
    table = table_of(name)
    splits = [split_of(table, n) for n in sizes]
    found = {}
    for kind in METRICS:
        metric = METRICS[kind]()
        if metric.on_request or metric.extra is not None:
            continue
        seconds(metric, split_of(table, WARM_UP))
        took = [seconds(metric, split) for split in splits]
        if None not in took:
            found[kind] = took
            print(name, kind, *(f"{each:.2f}" for each in took), file=sys.stderr, flush=True)
    found["all of them"] = list(np.sum(list(found.values()), axis=0))
    return [
        [f"`{kind}`" if kind in METRICS else kind, *(f"{each:.2f}" for each in took), exponent(sizes, took)]
        for kind, took in sorted(found.items(), key=lambda item: -item[1][-1])
    ]


def exponent(sizes, took):
    """Return how fast the time grows, between the first size and the last."""
    if took[-1] < FASTEST:
        return ""
    return f"{np.log(took[-1] / max(took[0], 1e-3)) / np.log(sizes[-1] / sizes[0]):.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", choices=[*SIZES, []], help="which tables; all if left out")
    asked = parser.parse_args().tables or list(SIZES)
    start, tables = cpu_seconds(), []
    with working(threads=1):
        for name in asked:
            header = ["metric", *(f"{n:,} rows" for n in SIZES[name]), "exponent"]
            columns = len(table_of(name).schema)
            table = markdown(header, lines(name, SIZES[name]))
            tables.append(f"\n## {name.capitalize()}, {columns} columns\n\n{table}")
    text = TEXT.format(machine=machine(), fastest=FASTEST, tables="\n".join(tables))
    write_text(PAGE, text) if asked == list(SIZES) else print(text)
    print(f"{cpu_seconds() - start:.0f} CPU s", file=sys.stderr)


if __name__ == "__main__":
    main()
