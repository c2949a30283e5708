"""How often do intervals miss where people have several rows, with and without knowing who is who?

People with 1 to 20 nearly equal rows are invented, for train, for control and for a release that saw nobody:
no indicator should see a leak, and no control should be refused. Prints a table of docs/people.md.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.random import Generator

from tabveil.core.table import Categorical, Numeric, Schema, Split, Table
from tabveil.metrics.control import check_control
from tabveil.metrics.indicators import (
    AdversarialAccuracy,
    ClosestShare,
    DistanceToClosest,
    MaximumMeanDiscrepancy,
    NearestNeighbors,
    NeighborDistanceRatio,
)

DRAWS, PEOPLE, MOST_ROWS, SPREAD = 200, 60, 20, 0.1
NUMBERS = tuple(Numeric(name=f"x{j}", low=-6, high=6) for j in range(3))
SCHEMA = Schema((*NUMBERS, Categorical(name="c", labels=tuple("abcde"))))
METRICS = (
    DistanceToClosest(),
    ClosestShare(),
    NearestNeighbors(),
    NeighborDistanceRatio(),
    AdversarialAccuracy(),
    MaximumMeanDiscrepancy(),
)


def people(n: int, rng: Generator, first: int = 0) -> Table:
    """Draw people whose rows lie around what is theirs."""
    whose = np.repeat(np.arange(n), rng.integers(1, MOST_ROWS + 1, n))
    numbers = rng.normal(size=(n, 3))[whose] + SPREAD * rng.normal(size=(len(whose), 3))
    values = np.column_stack([np.clip(numbers, -6, 6), rng.integers(0, 5, n)[whose]])
    return Table(schema=SCHEMA, values=values, people=whose + first)


def fresh(seed: int) -> Split:
    """Draw people, and a release of as many rows of others."""
    rng = np.random.default_rng(seed)
    train, control = people(PEOPLE, rng), people(PEOPLE, rng, PEOPLE)
    others = people(len(train), rng)
    release = others.values[rng.choice(len(others), len(train), replace=False)]
    return Split(train=train, control=control, synthetic=Table(schema=SCHEMA, values=release))


def both(tables: Split) -> tuple[Split, Split]:
    """Return the tables, and the same where nobody says whose the rows are."""
    train, control = (replace(table, people=None) for table in (tables.train, tables.control))
    return tables, Split(train=train, control=control, synthetic=tables.synthetic)


def missed(draws: int) -> Iterator[tuple[str, list[float]]]:
    """Yield the share of draws in which an interval is beside zero, or the control is refused."""
    made = [both(fresh(seed)) for seed in range(draws)]
    for metric in METRICS:
        risks = [[metric(each, rng=np.random.default_rng(0)).risk for each in pair] for pair in made]
        beside = [[not (risk and risk.low <= 0 <= risk.high) for risk in pair] for pair in risks]
        yield f"`{metric.name}`", np.mean(beside, axis=0).tolist()
    refused = [
        [bool(check_control(each, rng=np.random.default_rng(0)).fails) for each in pair] for pair in made
    ]
    yield "The check refuses the control", np.mean(refused, axis=0).tolist()


if __name__ == "__main__":
    print("| Indicator | Counting people | Counting rows |\n| --- | --- | --- |")
    for name, shares in missed(int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS):
        print(f"| {name} | {' | '.join(f'{share:.1%}' for share in shares)} |")
