"""The steps of an audit, side by side where there are cores for it, with one progress for all of them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from tabveil.core.crew import effort
from tabveil.core.result import Omission, Result, key_of
from tabveil.core.rng import stream
from tabveil.core.table import Split
from tabveil.core.workers import current, side_by_side, tell
from tabveil.errors import NotApplicable, NothingToAsk
from tabveil.metrics.registry import described
from tabveil.protocols import Metric


@dataclass(frozen=True, kw_only=True)
class AuditStep:
    """One thing to find out, for one attacker or for anybody; ``weight`` is about how long it takes.

    Its ``work`` is a partial function of a module's, so that other machines can do it. A quick metric weighs
    1. A step is ``silent`` that nobody named: where there is nothing that it could ask about, it is passed
    over.
    """

    title: str
    work: Callable[[], Any]
    attacker: str | None = None
    weight: float = 1.0
    silent: bool = False

    @property
    def key(self) -> str:
        """What is done, and for whom."""
        return key_of(self.title, self.attacker)


FITTING, TRAINING = 20.0, 300.0
"""About how long metrics take that fit models, and such that train networks, beside all others."""


@dataclass(frozen=True, kw_only=True)
class AuditedMetric:
    """A metric as it runs: for one attacker, or for anybody."""

    metric: Metric
    attacker: str | None = None

    @property
    def key(self) -> str:
        """The key of its result."""
        return key_of(self.metric.name, self.attacker)

    @property
    def weight(self) -> float:
        """About how long it takes."""
        if self.metric.cost == "training":
            return TRAINING
        return FITTING if fits_a_model(self.metric) else 1.0

    @property
    def quick(self) -> bool:
        """Whether it can be asked again at no cost to speak of."""
        return self.metric.cost == "quick" and not fits_a_model(self.metric)


def fits_a_model(metric: Metric) -> bool:
    """Tell a metric that takes far longer than others, because it fits a model to each release."""
    learned = metric.representation is not None and metric.representation.learns
    return metric.labels.mechanism == "ML" or learned


def run(steps: Sequence[AuditStep], *, at_once: int | None = None) -> list[Any]:
    """Take every step and return what each found, an :class:`Omission` where it has no answer, or None.

    On several threads steps run side by side, those that take longest first, and never more than ``at_once``.
    Whoever listens hears how much of all steps is done, by their weight; the text names those that run, and
    how far the one is that told it.
    """
    found = side_by_side(
        [partial(_attempt, step.work, step.title, step.attacker, silent=step.silent) for step in steps],
        titles=[step.key for step in steps],
        weights=[step.weight for step in steps],
        order=sorted(
            range(len(steps)), key=lambda number: -lengths(steps[number].title, steps[number].weight)
        ),
        at_once=at_once,
        portable=True,
    )
    tell("done", 1.0)
    return found


_BYTES_A_CELL = 100.0
"""So much a step may take for each cell of the three tables: at 100,000 × 15 each metrics took 50 to 80."""


_MANY_CELLS = 3_000_000
"""With so many, steps on a quarter of the cores are enough, as their chunks keep the others busy. At
3 × 200,000 × 15 on 16 cores four at once took as long as all, a sixth less CPU, two thirds of the memory."""


def together(split: Split) -> int | None:
    """Return how many steps about these tables may be under way at once for the memory they take, None all.

    Only large tables leave fewer than there are cores. How many it is changes no answer.
    """
    cells = sum(table.values.size for table in (split.train, split.control, split.synthetic))
    bound = current().memory
    most = (_memory() / 2 if bound is None else bound) / (max(cells, 1) * _BYTES_A_CELL)
    if cells >= _MANY_CELLS:
        most = min(most, max(current().threads // 4, 4))
    return max(int(most), 1) if math.isfinite(most) else None


def _memory() -> float:
    """Return the bytes that steps may use: those that are free, as far as the system tells; else no end."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        return 1024.0 * next(int(line.split()[1]) for line in text.splitlines() if "MemAvailable" in line)
    except (OSError, ValueError, StopIteration, IndexError):
        return math.inf


_LENGTHS = {
    "membership_calibrated": 9.0,
    "neighbor_vote": 3.5,
    "singling_out": 3.4,
    "linkability": 2.8,
    "gtcap": 2.6,
    "inference": 2.3,
    "adversarial_accuracy": 2.2,
    "domias_kde": 1.9,
    "neighbor_distance_ratio": 1.1,
}
"""CPU seconds at 100,000 rows of those quick steps that take more than one: who begins first, and no more."""


def lengths(title: str, weight: float = 1.0) -> float:
    """Return about how long a step takes, as far as its weight does not say."""
    return max(_LENGTHS.get(title, weight), weight)


def _attempt(work: Callable[[], Any], title: str, attacker: str | None, *, silent: bool) -> Any:  # noqa: ANN401 - whatever the step finds
    try:
        return work()
    except NotApplicable as reason:
        if silent and isinstance(reason, NothingToAsk):
            return None
        return Omission(metric=title, attacker=attacker, reason=str(reason))


def answer(metric: Metric, split: Split, seed: int, attacker: str | None = None) -> Result:
    """Ask one metric, and let it put its answer into words.

    Its seconds are those of all cores that worked for it, so that they do not depend on what ran beside it.
    """
    with effort() as seconds:
        result = metric(split, rng=stream(seed, key_of(metric.name, attacker)))
        return replace(described(metric, result, attacker), seconds=seconds())
