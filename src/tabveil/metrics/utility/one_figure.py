"""One number about the usefulness of a release, without the others: what a search looks at again and again.

It is the number that :func:`tabveil.metrics.utility.measure` finds with the same random numbers.
"""

from collections.abc import Sequence
from statistics import fmean

from numpy.random import Generator

from tabveil.core.estimate import CONFIDENCE
from tabveil.core.table import Split
from tabveil.errors import NotApplicable
from tabveil.metrics.utility.compared_tables import ComparedTables
from tabveil.metrics.utility.correlation import relate
from tabveil.metrics.utility.downstream import choose_targets, named_targets, predict_targets
from tabveil.metrics.utility.findings import MEANINGS
from tabveil.metrics.utility.marginals import measure_columns
from tabveil.metrics.utility.telling_apart import discrepancy, discriminate

DOWNSTREAM_GAP = "downstream"
"""The mean over targets of what a model loses if it learns from the release instead of from people."""

NAMES = (*MEANINGS, DOWNSTREAM_GAP)


def measure_one(
    split: Split,
    name: str,
    *,
    target: str | Sequence[str] | None = None,
    confidence: float = CONFIDENCE,
    rng: Generator,
) -> float:
    """Return one figure of a release by its name in :data:`NAMES`."""
    streams = rng.spawn(7)  # as measure() hands them out
    sides = ComparedTables.of(split, rng=streams[0])
    match name:
        case "discriminator":
            return discriminate(sides, confidence=confidence, rng=streams[3]).value.value
        case "mmd":
            return discrepancy(sides, confidence=confidence, rng=streams[2]).value.value
        case "correlation":
            return relate(sides, confidence=confidence, rng=streams[1]).figure.value.value
        case "downstream":
            related = relate(sides, confidence=confidence, rng=streams[1])
            targets = named_targets(target, sides) or choose_targets(sides, related)
            found, _ = predict_targets(sides, targets, related=related, confidence=confidence, rng=streams[4])
            gaps = [item.gap.value for item in found if item.gap is not None]
            if not gaps:
                raise NotApplicable("downstream", "there are too few train rows to compare the release with.")
            return fmean(gaps)
    overall = measure_columns(split, sides, confidence=confidence)[1]
    if name not in overall:
        raise NotApplicable(name, "there is no column that it can be measured on.")
    return overall[name].value.value


def loss(name: str, value: float) -> float:
    """Return how far a figure lies above its best value: 0 is nothing lost, and less is chance.

    >>> loss("discriminator", 0.8).__round__(3), loss("downstream", 0.1)
    (0.3, 0.1)
    """
    return value if name == DOWNSTREAM_GAP else value - MEANINGS[name].best
