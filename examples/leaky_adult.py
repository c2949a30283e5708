"""Does every metric rise with what really leaked? The leaky risk model of the papers.

Real rows are cut in thirds: train, control, release. A "synthetic" table is made of a share of train rows and
for the rest of release rows, which nobody learned from; so its risk is known. At share 0 a metric should say
0, at share 1 what a copy of train deserves, and rise evenly in between. The table is printed beside the
numbers of the papers and written with ``--out``::

    python examples/leaky_adult.py --out docs/leaky_adult.md

Adult is read from ../shared/data/adult.parquet (beside the project) or from ``--data``; ``--hospital`` takes
simulated patients instead, ``--rows``, ``--seeds`` and ``--metric`` make the run smaller.
"""

import argparse
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd

import tabveil
from tabveil.frame import load_table, to_native
from tabveil.risks import Leaky
from tabveil.writing import write_text

ADULT = Path(__file__).resolve().parents[2] / "shared" / "data" / "adult.parquet"
LEVELS = Leaky.levels

# What the papers report for Adult: at no risk, at full risk.
PAPERS = {
    "identical_match_share": (0.0, 1.0),
    "distance_to_closest": (0.001, 1.0),
    "singling_out": (0.006, 0.999),
    "linkability": (0.0015, 0.643),
    "inference": (0.084, 0.992),
    "ml_inference": (0.157, 0.450),
    "gtcap": (0.002, 0.967),
    "domias_kde": (0.004, 0.537),
    "domias_flow": (0.004, 0.537),
}

DIFFERENCES = "## Differences from the papers"
PAGE = """# A known leak, metric by metric

`python examples/leaky_adult.py --out docs/leaky_adult.md` writes this page, all but its last section.
{people} is cut in disjoint sets of {n_rows:,} rows: train, control, release. The synthetic table is a share
of train rows, and release rows for the rest. A cell is the mean risk over {n_seeds} seeds ± its standard
deviation; the last columns are what the papers report at no and at full risk.

{headlines}
"""
LARGEST = """
## As the papers count

The headline of an attack with many configurations (columns, secrets, confidence levels) is the one with the
largest lower bound. The papers take the largest value, which is biased upward by the choice among many:

{largest}
"""


def read_adult(path):
    """Read the people, or say why there are none."""
    if not Path(path).exists():
        sys.exit(
            f"Skipped: there is no {Path(path).name}. Say --data FILE, or --hospital for simulated people."
        )
    return pd.read_parquet(path)


def thirds(table, n_rows, seed):
    """Cut the people in train, control and release."""
    order = np.random.default_rng(seed).permutation(len(table))
    return [table.take(order[i * n_rows : (i + 1) * n_rows]) for i in range(3)]


def measure(people, *, n_rows, n_seeds, metrics):
    """Audit every level and seed; return the headline risks and the largest ones, by metric and level."""
    headlines, largest = (defaultdict(lambda: defaultdict(list)) for _ in range(2))
    start = time.perf_counter()
    loaded = load_table(people, missing=["?"])
    for seed in range(n_seeds):
        train, control, release = thirds(loaded.table, n_rows, seed)
        for level in LEVELS:
            synthetic = Leaky()(train, release, level, rng=np.random.default_rng(seed))
            tables = (to_native(table, loaded.layout) for table in (train, synthetic, control))
            report = tabveil.audit(*tables, metrics=metrics, seed=seed)
            for result in report.results:
                if result.risk is not None:
                    headlines[result.metric][level].append(result.risk.value)
                if found := result.details.get("largest_point_estimate"):
                    largest[result.metric][level].append(found["risk"])
            told = ", ".join(
                f"{result.metric} {result.risk.value:.3f}" for result in report.results if result.risk
            )
            passed = time.perf_counter() - start
            print(f"seed {seed}, {level:.0%} leaked ({passed:.0f} s): {told}", file=sys.stderr)
    return headlines, largest


def table(risks, *, papers):
    """Return a Markdown table: a line for each metric, a column for each level."""
    rows = []
    for metric, by_level in risks.items():
        cells = [_cell(by_level[level]) for level in LEVELS]
        rows.append([f"`{metric}`", *cells, *(f"{value:g}" for value in papers.get(metric, ()))])
    head = ["metric", *(f"{level:.0%}" for level in LEVELS), "papers, no risk", "papers, full risk"]
    lines = [head, ["---"] * len(head), *(row + [""] * (len(head) - len(row)) for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(risks):
    if not risks:
        return "none"
    return f"{np.mean(risks):.3f}" + (f" ± {np.std(risks, ddof=1):.3f}" if len(risks) > 1 else "")


def differences(headlines, papers, page):
    """Keep what was written about differences; else make room for it, with the numbers side by side."""
    if page.exists() and DIFFERENCES in (written := page.read_text(encoding="utf-8")):
        return written[written.index(DIFFERENCES) :]
    lines = [
        f"- `{metric}`: {np.mean(by_level[LEVELS[0]]):.3f} to {np.mean(by_level[LEVELS[-1]]):.3f} here, "
        f"{papers[metric][0]:g} to {papers[metric][1]:g} in the papers."
        for metric, by_level in headlines.items()
        if metric in papers and by_level[LEVELS[0]] and by_level[LEVELS[-1]]
    ]
    return "\n".join([DIFFERENCES, "", *lines, ""])


def main(argv=None):
    """Run the experiment as the options say."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--data", default=ADULT, help="Adult as a Parquet file")
    source.add_argument("--hospital", action="store_true", help="take simulated patients")
    parser.add_argument("--rows", type=int, default=16_280, help="of train, of control and of the release")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--metric", action="append", help="may be repeated; all that need no extra by default"
    )
    parser.add_argument("--out", type=Path, help="a Markdown file to write")
    options = parser.parse_args(argv)

    people = (
        tabveil.datasets.hospital(3 * options.rows, seed=0) if options.hospital else read_adult(options.data)
    )
    if 3 * options.rows > len(people):
        sys.exit(f"Three sets of {options.rows} rows need more than the {len(people)} there are: say --rows.")
    papers = {} if options.hospital else PAPERS
    headlines, largest = measure(people, n_rows=options.rows, n_seeds=options.seeds, metrics=options.metric)
    text = PAGE.format(
        people="A simulated hospital" if options.hospital else "Adult",
        n_rows=options.rows,
        n_seeds=options.seeds,
        headlines=table(headlines, papers=papers),
    )
    if largest:
        text += LARGEST.format(largest=table(largest, papers=papers))
    print(text)
    if options.out:
        write_text(options.out, text + "\n" + differences(headlines, papers, options.out))


if __name__ == "__main__":
    main()
