"""Nearest neighbors: Adult, numbers only, categories only, and how the cost grows."""

import json
import subprocess
import sys

import data
import numpy as np
from measure import Row, cpu_seconds, once, peak_mebibytes, warm
from sklearn.neighbors import NearestNeighbors

from tabveil.engines.neighbors import Neighbors, Space

SIZES = (16_000, 64_000, 256_000, 1_000_000)


def timed(space, reference, queries, k=1):
    return warm(lambda: Neighbors(space, reference).nearest(queries, k))


def adult_rows():
    split = data.full()
    train, synthetic = split.train, split.synthetic
    gower, onehot = Space.gower(split.schema), Space.euclidean(train)
    ordinal = Space.euclidean(train, "ordinal")
    thirds = data.thirds()

    return [
        Row(
            what="Gower 1-NN, thirds",
            seconds=timed(Space.gower(thirds.schema), thirds.train, thirds.synthetic),
        ),
        Row(what="Gower 1-NN, full", seconds=timed(gower, train, synthetic), limit=0.3),
        Row(what="Gower 10-NN, full", seconds=timed(gower, train, synthetic, 10), limit=0.5),
        Row(what="Euclidean 1-NN (one-hot), full", seconds=timed(onehot, train, synthetic), limit=0.9),
        Row(what="Euclidean 1-NN (ordinal), full", seconds=timed(ordinal, train, synthetic), limit=0.9),
    ]


def numbers_rows():
    rows = []
    for correlated in (True, False):
        train, queries = data.numbers(data.N_FULL, correlated=correlated)
        kind = "correlated" if correlated else "independent"
        width = np.ptp(np.vstack([train.values, queries.values]), axis=0)
        for name, space, metric, scale in (
            ("Gower", Space.gower(train.schema), "manhattan", width),
            ("Euclidean", Space.euclidean(train), "euclidean", train.values.std(axis=0)),
        ):
            seconds = timed(space, train, queries)
            peer, peer_seconds = best_of_sklearn(train.values / scale, queries.values / scale, metric)
            what = f"{name} 1-NN, 10 {kind} numbers, full"
            rows.append(Row(what=what, seconds=seconds, peer=peer, peer_seconds=peer_seconds, least_ratio=3))
    return rows


def best_of_sklearn(reference, queries, metric):
    """Time scikit-learn's exact methods and return the fastest."""
    times = {}
    for algorithm in ("kd_tree", "ball_tree", "brute"):
        model = NearestNeighbors(n_neighbors=1, algorithm=algorithm, metric=metric, n_jobs=-1)
        times[algorithm] = once(lambda model=model: model.fit(reference).kneighbors(queries))
    fastest = min(times, key=times.get)
    return f"scikit-learn {fastest}", times[fastest]


def categories_rows():
    train, queries = data.categories(data.N_FULL)
    part = 4_000  # scikit-learn needs most of a minute for all: time a part, scale it up, and say so
    times = {}
    for algorithm in ("ball_tree", "brute"):
        model = NearestNeighbors(n_neighbors=1, algorithm=algorithm, metric="hamming", n_jobs=-1).fit(
            train.values
        )
        times[algorithm] = (
            once(lambda model=model: model.kneighbors(queries.values[:part])) * data.N_FULL / part
        )
    fastest = min(times, key=times.get)
    peer = f"scikit-learn {fastest} (from {part} queries)"
    return [
        Row(
            what=f"{name} 1-NN, 30 categories of 50 levels, full",
            seconds=timed(space, train, queries),
            peer=peer,
            peer_seconds=times[fastest],
            least_ratio=3,
        )
        for name, space in (("Gower", Space.gower(train.schema)), ("Euclidean", Space.euclidean(train)))
    ]


def growth():
    """Time n x n searches, each size in a process of its own for an honest peak; fit the exponent."""
    measured = [
        json.loads(subprocess.run([sys.executable, __file__, str(n)], check=True, capture_output=True).stdout)
        for n in SIZES
    ]
    rows = [
        [f"{n:,} × {n:,}", f"{m['gower']:.2f}", f"{m['euclidean']:.2f}", f"{m['peak']:.0f}"]
        for n, m in zip(SIZES, measured, strict=True)
    ]
    exponents = [
        np.polyfit(np.log(SIZES), np.log([m[name] for m in measured]), 1)[0]
        for name in ("gower", "euclidean")
    ]
    return [*rows, ["fitted exponent", *(f"{exponent:.2f}" for exponent in exponents), ""]]


def grow_to(n_rows):
    adult = data.adult()
    reference, queries = data.grown(adult, n_rows, 1), data.grown(adult, n_rows, 2)
    seconds = {}
    for name, space in (("gower", Space.gower(adult.schema)), ("euclidean", Space.euclidean(adult))):
        Neighbors(space, reference.take(np.arange(500))).nearest(
            queries.take(np.arange(500))
        )  # load the kernels
        start = cpu_seconds()
        Neighbors(space, reference).nearest(queries)
        seconds[name] = cpu_seconds() - start
    print(json.dumps({**seconds, "peak": peak_mebibytes()}))


if __name__ == "__main__":
    grow_to(int(sys.argv[1]))
