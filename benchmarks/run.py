"""Print every benchmark table; ``--write`` also puts them into benchmarks/README.md."""

import sys
from pathlib import Path

import attacks
import indicators
import neighbors
import utility
from measure import HEADER, machine, markdown

README = Path(__file__).parent / "README.md"
INTRODUCTION = """# Benchmarks

`make bench` prints these tables. CPU seconds (user + system, all threads), warm, best of three; peers are
timed in the same run on the same data. Adult *full* is 32,561 × 32,561 rows of 15 columns, *thirds*
16,280 × 16,280; data are read from `../shared/data`.
"""


def main():
    rows = [
        *neighbors.adult_rows(),
        *neighbors.numbers_rows(),
        *neighbors.categories_rows(),
        *indicators.rows(),
        *attacks.rows(),
        *utility.rows(),
    ]
    growth = markdown(["rows", "Gower 1-NN, CPU s", "Euclidean 1-NN, CPU s", "peak MiB"], neighbors.growth())
    parts = [
        INTRODUCTION,
        f"Measured on {machine()}.\n",
        "## Speed\n",
        markdown(HEADER, [row.cells() for row in rows]) + "\n",
        "## Growth\n",
        "Adult resampled and jittered; each size in a process of its own.\n",
        growth + "\n",
        "The attacks beside Anonymeter's are in [peers.md](peers.md), and what pages of wide tables cost in",
        "[pages.md](pages.md). The contrastive embedding is in [embedding.md](embedding.md).",
        "`make bench-million` measures a whole audit of a million rows.\n",
    ]
    text = "\n".join(parts)
    print(text)
    if "--write" in sys.argv:
        README.write_text(text)


if __name__ == "__main__":
    main()
