"""What does it cost to attack a generator that one owns, and whom does it betray?

``python benchmarks/black_box.py`` attacks sequential trees and independent columns on Adult, 400 fits of
1,000 rows and 40 targets each, and writes black_box.md. A minute or two for each.
"""

from pathlib import Path

import data
import numpy as np
from measure import HEADER, ONE_THREAD, Row, cpu_seconds, machine, markdown, write

import tabveil

N_PEOPLE, N_ROWS, N_FITS, N_TARGETS = 6000, 1000, 400, 40
LIMIT = 40.0
ATTACKED = {
    "trees, as published": ("trees", {"preset": "published", "smoothing": False}),
    "trees": ("trees", {}),
    "marginals": ("marginals", {}),
}
FOUND = ["generator", "AUC, most vulnerable", "best of them", "AUC, random", "TPR at 1 %, vulnerable", "told"]
PAGE = """# Black box

`python benchmarks/black_box.py` writes this page. {fits} fits of {rows:,} rows of Adult, {targets} targets,
half of them the most vulnerable of {people:,} rows; the table is fixed but for the targets. CPU seconds
(user + system) of the whole attack on one thread, with choosing targets and judging; compiled code is loaded.
As published, trees grow to leaves of five rows and give numbers back as they are; 0.75 was asked of the
attack on their most vulnerable. Intervals are of 95 % and about these targets.

Measured on {machine}.

{costs}

{found}
"""


def people():
    """Return rows of Adult, drawn once."""
    adult = data.read("adult.parquet")
    return adult.iloc[np.random.default_rng(0).permutation(len(adult))[:N_PEOPLE]].reset_index(drop=True)


def attacked(table, name, settings, **sizes):
    """Attack a generator on one thread."""
    return tabveil.attack(
        table, generator=name, settings=settings, rows=N_ROWS, missing=["?"], threads=1, seed=0, **sizes
    )


def cells(title, found):
    """Return the line of a generator."""
    risks = found["shadow_membership"]
    vulnerable, random = risks.groups
    reading = next(item.true_positives for item in vulnerable.readings if item.false_positives == 0.01)
    best = max(target.found.value for target in risks.targets if target.group == "vulnerable")
    return [
        title,
        _with_interval(vulnerable.found),
        f"{best:.3f}",
        _with_interval(random.found),
        "" if reading is None else _with_interval(reading),
        f"{risks.n_seen} of {len(risks.targets)}",
    ]


def _with_interval(estimate):
    return f"{estimate.value:.3f} ({estimate.low:.3f} to {estimate.high:.3f})"


def main():
    table = people()
    costs, found = [], []
    for title, (name, settings) in ATTACKED.items():
        attacked(table, name, settings, fits=40, targets=2)  # load and compile
        start = cpu_seconds()
        result = attacked(table, name, settings, fits=N_FITS, targets=N_TARGETS)
        seconds = cpu_seconds() - start
        costs.append(Row(what=title, seconds=seconds, limit=LIMIT if name == "trees" else None).cells())
        found.append(cells(title, result))
        print(*costs[-1], *found[-1], sep=" | ", flush=True)
    text = PAGE.format(
        fits=N_FITS,
        rows=N_ROWS,
        targets=N_TARGETS,
        people=N_PEOPLE,
        machine=machine(),
        costs=markdown(HEADER, costs),
        found=markdown(FOUND, found),
    )
    write(text, Path(__file__).with_suffix(".md"))


if __name__ == "__main__":
    import os

    if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):
        raise SystemExit(f"set {' '.join(f'{name}={value}' for name, value in ONE_THREAD.items())} first.")
    main()
