"""Is a release any use? Fidelity and usefulness of a synthetic table, beside its privacy.

See docs/definitions.md, Utility.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from numpy.random import Generator

from tabveil.core import check, workers
from tabveil.core.estimate import CONFIDENCE
from tabveil.core.result import Omission
from tabveil.core.table import Split
from tabveil.errors import NotApplicable
from tabveil.metrics.utility.compared_tables import ComparedTables
from tabveil.metrics.utility.correlation import Relations, relate
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
from tabveil.metrics.utility.marginals import measure_columns
from tabveil.metrics.utility.rules import RuleTables, find_rules
from tabveil.metrics.utility.telling_apart import discrepancy, discriminate

__all__ = [
    "DOWNSTREAM",
    "MEANINGS",
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
    "measure",
]

Part = TypeVar("Part")


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
    parts = _Attempts(notes=list(sides.notes))
    workers.tell("comparing columns", 0.0)
    with workers.part(0, 0.05):
        columns, overall = measure_columns(split, sides, halved=halved, rare=rare, confidence=confidence)
    related = parts.attempt(
        "correlation", 0.05, 0.1, lambda: relate(sides, confidence=confidence, rng=streams[1])
    )
    discrepant = parts.attempt(
        "mmd", 0.1, 0.2, lambda: discrepancy(sides, confidence=confidence, rng=streams[2])
    )
    told_apart = parts.attempt(
        "discriminator", 0.2, 0.4, lambda: discriminate(sides, confidence=confidence, rng=streams[3])
    )
    targets = parts.attempt(
        "downstream",
        0.4,
        0.9,
        lambda: _targets(sides, asked, related, parts.notes, confidence, rng=streams[4]),
    )
    rules = parts.attempt(
        "rules",
        0.9,
        1.0,
        lambda: find_rules(
            RuleTables.of(split, clocks=clocks or {}, rng=streams[5]), confidence=confidence, rng=streams[6]
        ),
    )
    for part in (related, rules):
        parts.notes.extend(() if part is None else part.notes)
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
        skipped=tuple(parts.skipped),
        notes=tuple(parts.notes),
        seconds=time.perf_counter() - start,
    )


@dataclass(frozen=True, kw_only=True)
class _Attempts:
    """What could not be measured, and what a reader should know."""

    skipped: list[Omission] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def attempt(self, name: str, begin: float, end: float, work: Callable[[], Part]) -> Part | None:
        """Measure a part, which takes the time from ``begin`` to ``end``, if that is possible."""
        with workers.part(begin, end):
            try:
                return work()
            except NotApplicable as reason:
                self.skipped.append(Omission(metric=name, reason=str(reason)))
                return None


def _targets(
    sides: ComparedTables,
    asked: tuple[str, ...],
    related: Relations | None,
    notes: list[str],
    confidence: float,
    *,
    rng: Generator,
) -> tuple[TargetUtility, ...]:
    """Predict the columns asked for, or those that can be predicted best."""
    targets = asked or (choose_targets(sides, related) if related else ())
    found, untested = predict_targets(sides, targets, related=related, confidence=confidence, rng=rng)
    if not asked:
        names = ", ".join(item.name for item in found)
        notes.append(f"Chosen as targets, the most strongly associated with any one other column: {names}.")
    if untested:
        notes.append(f"Not predicted, with too few or only equal values: {', '.join(untested)}.")
    return found
