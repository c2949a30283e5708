"""All indicators on Adult thirds, each alone and together."""

import data
from measure import Row, warm

from tabveil.core.rng import stream
from tabveil.metrics.indicators import INDICATORS


def rows():
    split = data.thirds()
    seconds = {
        metric.name: warm(lambda metric=metric: metric()(split, rng=stream(0, metric.name)), repeats=2)
        for metric in INDICATORS
    }
    each = [Row(what=f"`{name}`, thirds", seconds=value) for name, value in seconds.items()]
    return [*each, Row(what="all indicators, thirds", seconds=sum(seconds.values()), limit=5)]
