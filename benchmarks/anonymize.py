"""What does the best generalization cost, and how does that grow with rows?

``python benchmarks/anonymize.py`` measures it on ARX's example and on larger tables drawn from it, and writes
anonymize.md. ``python benchmarks/anonymize.py N K`` measures one size in a process of its own.
"""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import data
import numpy as np
from measure import HEADER, Row, cpu_seconds, machine, markdown, once, peak_mebibytes, warm, write

from tabveil.core.table import Table
from tabveil.synthesis.anonymize import LOSSES, Closeness, DistinctDiversity, KAnonymity, anonymize
from tabveil.synthesis.anonymize.building import ColumnValues, read_entry
from tabveil.tables.reading import load_table

HERE = Path(__file__).resolve().parent
FOLDER = data.FOLDER / "hierarchies" / "adult"
SIZES = (5, 10, 20, 50)
GROWN = ((1_000_000, 5), (1_000_000, 50), (10_000_000, 5))
REDRAWN = 0.15
"""The share of cells that are drawn anew, so that larger tables have more combinations."""
WITH_SENSITIVE = {
    "occupation l = 3": [DistinctDiversity(column="occupation", l=3)],
    "occupation l = 5": [DistinctDiversity(column="occupation", l=5)],
    "occupation t = 0.2 equal": [Closeness(column="occupation", t=0.2)],
    "occupation t = 0.2 hierarchical": [Closeness(column="occupation", t=0.2, distance="hierarchical")],
    "age t = 0.2 ordered": [Closeness(column="age", t=0.2, distance="ordered")],
    "salary l = 2, t = 0.2 equal": [
        DistinctDiversity(column="salary-class", l=2),
        Closeness(column="salary-class", t=0.2),
    ],
    "salary t = 0.1 equal": [Closeness(column="salary-class", t=0.1)],
}
PAGE = """# Anonymization

`python benchmarks/anonymize.py` writes this page. The table is ARX's example in `../shared/data`: 30,162
rows, nine quasi-identifiers, 12,960 combinations of levels, no limit to suppression. Every optimum is exact
and equal to that of ARX 3.9.2, whose 22 runs took 4.7 CPU seconds on average on another day. CPU seconds
(user + system) on one thread, from the table to the result; compiled code is loaded.

Measured on {machine}.

{table}

## Growth

The same table drawn with replacement, {redrawn} of all cells drawn anew; geometric loss. Peak memory is that
of the whole process, with the table.

{growth}
"""


def adult():
    """Return ARX's table and its hierarchies, by column."""
    loaded = load_table(data.read("hierarchies/adult/arx_adult_30162.parquet"))
    return loaded.table, {
        name: read_entry(name, {"file": f"adult_hierarchy_{name}.csv"}, FOLDER).build(
            ColumnValues.of(loaded.table, name, loaded.layout)
        )
        for name in loaded.table.schema.names
    }


def rows():
    table, trees = adult()
    everything = [*trees.values()]
    found = []
    for loss, measure in LOSSES.items():
        limit = 1 if loss in {"geometric loss", "arithmetic loss"} else None
        for k in SIZES:
            work = partial(anonymize, table, everything, models=[KAnonymity(k=k)], loss=measure)
            found.append(Row(what=f"{loss}, k = {k}", seconds=warm(work), limit=limit))
    for name, models in WITH_SENSITIVE.items():
        sensitive = models[0].column
        quasi = [tree for column, tree in trees.items() if column != sensitive]
        for k in SIZES:
            asked = [KAnonymity(k=k), *models]
            own = {sensitive: trees[sensitive]}
            work = partial(anonymize, table, quasi, models=asked, sensitive_hierarchies=own)
            found.append(Row(what=f"{name}, k = {k}", seconds=warm(work, repeats=2)))
    for k in SIZES:
        work = partial(anonymize, table, everything, models=[KAnonymity(k=k)], local=True)
        found.append(Row(what=f"local recoding, k = {k}", seconds=warm(work, repeats=2)))
    return found


def grown(table, n_rows):
    """Draw rows with replacement and redraw some of their cells, column by column."""
    rng = np.random.default_rng(0)
    chosen = rng.integers(0, len(table), n_rows)
    values = np.empty((n_rows, len(table.schema)), order="F")
    for place in range(len(table.schema)):
        values[:, place] = table.values[chosen, place]
        redrawn = rng.random(n_rows, dtype=np.float32) < REDRAWN
        values[redrawn, place] = table.values[rng.integers(0, len(table), int(redrawn.sum())), place]
    return Table(schema=table.schema, values=values)


def measure_size(n_rows, k):
    """Print the seconds and the peak memory of one size."""
    table, trees = adult()
    anonymize(table, [*trees.values()], models=[KAnonymity(k=k)])  # load the kernels
    large = grown(table, n_rows)
    start = cpu_seconds()
    found = anonymize(large, [*trees.values()], models=[KAnonymity(k=k)])
    seconds = cpu_seconds() - start
    more = once(lambda: found.table)
    print(
        json.dumps(
            {
                "seconds": seconds,
                "table": more,
                "peak": peak_mebibytes(),
                "combinations": len(found.recoding.combinations),
                "proven": found.proven,
            }
        )
    )


def growth():
    """Measure larger tables, each in a process of its own for an honest peak."""
    cells = []
    for n_rows, k in GROWN:
        run = [sys.executable, __file__, str(n_rows), str(k)]
        got = json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
        cells.append(
            [
                f"{n_rows:,}, k = {k}",
                f"{got['combinations']:,}",
                f"{got['seconds']:.1f}",
                f"{got['table']:.1f}",
                f"{got['peak']:.0f}",
                "yes" if got["proven"] else "no",
            ]
        )
    header = ["rows", "combinations", "optimum, CPU s", "generalized table, CPU s", "peak MiB", "proven"]
    return markdown(header, cells)


def main():
    if len(sys.argv) > 1:
        measure_size(int(sys.argv[1]), int(sys.argv[2]))
        return
    table = markdown(HEADER, [row.cells() for row in rows()])
    text = PAGE.format(machine=machine(), table=table, growth=growth(), redrawn=f"{REDRAWN:.0%}")
    write(text, HERE / "anonymize.md")


if __name__ == "__main__":
    main()
