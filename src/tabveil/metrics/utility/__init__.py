"""Is a release any use? Fidelity and usefulness of a synthetic table, beside its privacy.

See docs/definitions.md, Utility.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import TypeVar

from numpy.random import Generator

from tabveil.core import check, workers
from tabveil.core.estimate import CONFIDENCE
from tabveil.core.result import Omission
from tabveil.core.table import Split
from tabveil.errors import NotApplicable
from tabveil.metrics.utility.distances import ComparedTables
from tabveil.metrics.utility.downstream import choose_targets, named_targets, predict_targets
from tabveil.metrics.utility.findings import (
    DOWNSTREAM,
    MEANINGS,
    RULES,
    Associations,
    Bar,
    ChiSquared,
    ColumnUtility,
    Figure,
    Meaning,
    Rule,
    Rules,
    TargetUtility,
    Utility,
)
from tabveil.metrics.utility.joint import discrepancy, discriminate, relate
from tabveil.metrics.utility.marginals import bars, measure_columns
from tabveil.metrics.utility.rules import RuleTables, find_rules

__all__ = [
    "DOWNSTREAM",
    "MEANINGS",
    "NAMES",
    "RULES",
    "Associations",
    "Bar",
    "ChiSquared",
    "ColumnUtility",
    "Figure",
    "Meaning",
    "Rule",
    "Rules",
    "TargetUtility",
    "Utility",
    "bars",
    "loss",
    "measure",
    "measure_one",
]

Part = TypeVar("Part")

DOWNSTREAM_GAP = "downstream"
"""The mean over targets of what a model loses if it learns from the release instead of from people."""

NAMES = (*MEANINGS, DOWNSTREAM_GAP)


def measure(
    split: Split,
    *,
    target: str | Sequence[str] | None = None,
    halved: bool = True,
    confidence: float = CONFIDENCE,
    rare: bool = False,
    clocks: Mapping[str, int] | None = None,
    rng: Generator,
) -> Utility:
    """How much of what the real rows tell does the release tell, too?

    Everything is measured against the control rows, and each figure stands beside what as many train rows
    score: a release cannot look better than real people by copying them.

    Parameters
    ----------
    target
        Columns a model should predict (train on synthetic, test on real); None takes the best-predictable.
    halved
        Total variation as ``½ Σ |p - q|``; False leaves out the half, as the thesis does (eq. 5.2).
    confidence
        How often an interval should hold the truth, between 0 and 1.
    rare
        Name labels that few real rows share, too: only for those who may see the real rows.
    clocks
        How many microseconds a unit of each column of dates, times and durations has, so that rules can
        compare days with seconds; those that are not named have one.

    Examples
    --------
    >>> import numpy as np
    >>> from tabveil.datasets import hospital
    >>> from tabveil.tables.reading import load_split
    >>> tables = (hospital(300, seed=seed) for seed in (1, 2, 3))
    >>> found = measure(load_split(*tables).split, rng=np.random.default_rng(0))
    >>> accuracy = found.figures["discriminator"].value
    >>> accuracy.low < 0.5 < accuracy.high
    True
    """
    check.between("utility", "confidence", confidence, 0, 1)
    start = time.perf_counter()
    streams = rng.spawn(7)
    sides = ComparedTables.of(split, rng=streams[0])
    asked = named_targets(target, sides)
    skipped, notes = list[Omission](), list(sides.notes)

    def attempt(name: str, begin: float, end: float, work: Callable[[], Part]) -> Part | None:
        """Measure a part, which takes the time from ``begin`` to ``end``, if that is possible."""
        with workers.part(begin, end):
            try:
                return work()
            except NotApplicable as reason:
                skipped.append(Omission(metric=name, reason=str(reason)))
                return None

    def predicted() -> tuple[TargetUtility, ...]:
        """Predict the columns asked for, or those that can be predicted best."""
        chosen = asked or (choose_targets(sides, related) if related else ())
        found, untested = predict_targets(
            sides, chosen, related=related, confidence=confidence, rng=streams[4]
        )
        if not asked:
            why = "the most strongly associated with any one other column"
            notes.append(f"Chosen as targets, {why}: {', '.join(item.name for item in found)}.")
        if untested:
            notes.append(f"Not predicted, with too few or only equal values: {', '.join(untested)}.")
        return found

    workers.tell("comparing columns", 0.0)
    with workers.part(0, 0.05):
        columns, overall = measure_columns(split, sides, halved=halved, rare=rare, confidence=confidence)
    related = attempt("correlation", 0.05, 0.1, lambda: relate(sides, confidence=confidence, rng=streams[1]))
    discrepant = attempt("mmd", 0.1, 0.2, lambda: discrepancy(sides, confidence=confidence, rng=streams[2]))
    told_apart = attempt(
        "discriminator", 0.2, 0.4, lambda: discriminate(sides, confidence=confidence, rng=streams[3])
    )
    targets = attempt("downstream", 0.4, 0.9, predicted)
    rules = attempt(
        "rules",
        0.9,
        1.0,
        lambda: find_rules(
            RuleTables.of(split, clocks=clocks or {}, rng=streams[5]), confidence=confidence, rng=streams[6]
        ),
    )
    for part in (related, rules):
        notes.extend(() if part is None else part.notes)
    figures = {
        "discriminator": told_apart,
        "correlation": None if related is None else related.figure,
        "mmd": discrepant,
        **overall,
    }
    return Utility(
        params={"target": list(asked) or None, "halved": halved, "confidence": confidence, "rare": rare},
        figures={name: figure for name in MEANINGS if (figure := figures.get(name)) is not None},
        columns=columns,
        targets=targets or (),
        associations=None if related is None else related.associations,
        rules=rules,
        skipped=tuple(skipped),
        notes=tuple(notes),
        seconds=time.perf_counter() - start,
    )


def measure_one(
    split: Split,
    name: str,
    *,
    target: str | Sequence[str] | None = None,
    confidence: float = CONFIDENCE,
    rng: Generator,
) -> float:
    """Return one figure of a release by its name in :data:`NAMES`: what a search looks at again and again.

    It is the number that :func:`measure` finds with the same random numbers, without the others.
    """
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
