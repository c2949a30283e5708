"""The whole measurement of utility on Adult thirds, and its parts."""

import data
import numpy as np
from measure import Row, warm

from tabveil.core.rng import stream
from tabveil.metrics.utility import measure
from tabveil.metrics.utility.discriminator import discriminate
from tabveil.metrics.utility.distances import ComparedTables
from tabveil.metrics.utility.joint import discrepancy, relate
from tabveil.metrics.utility.marginals import measure_columns


def rows():
    split = data.thirds()
    sides = ComparedTables.of(split, rng=np.random.default_rng(0))
    parts = {
        "all columns": lambda: measure_columns(split, sides),
        "correlations": lambda: relate(sides, rng=np.random.default_rng(0)),
        "MMD": lambda: discrepancy(sides, rng=np.random.default_rng(0)),
        "discriminator": lambda: discriminate(sides, rng=np.random.default_rng(0)),
    }
    each = [
        Row(what=f"utility: {name}, thirds", seconds=warm(work, repeats=2)) for name, work in parts.items()
    ]
    seconds = warm(lambda: measure(split, rng=stream(0, "utility")), repeats=2)
    return [*each, Row(what="all of utility, thirds", seconds=seconds, limit=30)]
