"""How long does a search of all pairs take on a GPU, beside the processor's cores, and are answers equal?

``python benchmarks/gpu.py 100000 1000000`` searches the nearest of so many invented rows (15 columns)
for as many others by each distance, and with each column left out in turn; beyond 200,000 rows on the GPU
alone. It needs a GPU, and no tables. Wall seconds from tables to answers, after a first search on each.
"""

import argparse
import time

import numpy as np

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.core.workers import available_threads, working
from tabveil.engines.neighbors import Neighbors, NeighborsWithout, Space, brute
from tabveil.engines.networks import load_torch

LABELS = (9, 16, 7, 15, 6, 5, 2, 42)
MOST_BY_CORES, MOST_WITHOUT = 200_000, 30_000


def rows(n, seed):
    """Invent rows whose columns are independent: hard for trees."""
    rng = np.random.default_rng(seed)
    numbers = [np.clip(rng.normal(0, 1, n), -5, 5) for _ in range(7)]
    numbers = [np.round(column, 2) if place % 2 == 0 else column for place, column in enumerate(numbers)]
    columns = [Numeric(name=f"n{i}", low=-5, high=5, decimals=None if i % 2 else 2) for i in range(7)]
    columns += [
        Categorical(name=f"c{i}", labels=tuple(map(str, range(count)))) for i, count in enumerate(LABELS)
    ]
    labels = [np.floor(rng.random(n) ** 2 * count) for count in LABELS]
    return Table(schema=Schema(tuple(columns)), values=np.column_stack([*numbers, *labels]))


def timed(work):
    """Return what a search found, and how long it took."""
    torch = load_torch("gpu")
    torch.cuda.synchronize()
    start = time.perf_counter()
    found = work()
    torch.cuda.synchronize()
    return found, time.perf_counter() - start


def compare(name, n, work, *, by_cores):
    """Print both times, and whether the answers are the same."""
    with working(device="cuda"):
        work()
        on_gpu, seconds = timed(work)
    told = f"{name:10} {n:>9,} GPU {seconds:.3f} s"
    if by_cores:
        work()
        on_cores, seconds = timed(work)
        same = all(np.array_equal(one, other) for one, other in zip(on_gpu, on_cores, strict=True))
        told += f", {available_threads()} cores {seconds:.3f} s, {'equal' if same else 'DIFFERENT'}"
    print(told, flush=True)


def main():
    """Search among tables of the sizes asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=int, nargs="+")
    brute._FEWEST_PAIRS["cuda"] = 0  # noqa: SLF001 - also where cores are faster
    for n in parser.parse_args().rows:
        reference, queries = rows(n, 1), rows(n, 2)
        spaces = {"mixed": Space.gower(reference.schema)}
        if n <= MOST_BY_CORES:
            spaces |= {"tolerant": Space.tolerant(reference, 0.25), "Euclidean": Space.euclidean(reference)}
        for name, space in spaces.items():

            def nearest(space=space, reference=reference, queries=queries):
                found = Neighbors(space, reference).nearest(queries)
                return found.distance, found.index

            compare(name, n, nearest, by_cores=n <= MOST_BY_CORES)
        if n <= MOST_WITHOUT:
            names = reference.schema.names
            others = [[other for other in names if other != name] for name in names]
            parts = [Space.gower(reference.schema.select(names)) for names in others]
            order = np.random.default_rng(0).permutation(n)

            def without(parts=parts, reference=reference, queries=queries, order=order):
                found = NeighborsWithout(Space.gower(reference.schema), reference, parts).nearest(queries)
                return found.distance, found.first([order] * len(parts))

            compare("without", n, without, by_cores=True)


if __name__ == "__main__":
    main()
