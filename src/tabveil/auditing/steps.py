"""The steps of an audit, one after the other, with one progress for all of them."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tabveil.core.result import Omission, Result, key_of
from tabveil.core.rng import stream
from tabveil.core.table import Split
from tabveil.core.workers import Listener, current, working
from tabveil.errors import NotApplicable, NothingToAsk
from tabveil.metrics.registry import described
from tabveil.protocols import Metric


@dataclass(frozen=True, kw_only=True)
class AuditStep:
    """One thing to find out, for one attacker or for anybody; ``weight`` is about how long it takes.

    A quick metric weighs 1. A step is ``silent`` that nobody named: where there is nothing that it could ask
    about, it is passed over.
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


def run(steps: Sequence[AuditStep]) -> list[Any]:
    """Take every step and return what each found, an :class:`Omission` where it has no answer, or None.

    Whoever listens hears how much of all steps is done, by their weight; the text says how far the present
    one is.
    """
    listener = current().listener
    total, taken = sum(step.weight for step in steps), 0.0
    found = []
    for step in steps:
        if listener:
            listener(step.key, taken / total)
        about = _about(step, taken / total, step.weight / total, listener) if listener else None
        with working(listener=about):
            found.append(_attempt(step))
        taken += step.weight
    if listener:
        listener("done", 1.0)
    return found


def _attempt(step: AuditStep) -> Any:  # noqa: ANN401 - whatever the step finds
    try:
        return step.work()
    except NotApplicable as reason:
        if step.silent and isinstance(reason, NothingToAsk):
            return None
        return Omission(metric=step.title, attacker=step.attacker, reason=str(reason))


def _about(step: AuditStep, done: float, whole: float, listener: Listener) -> Listener:
    """Pass on what a step tells of itself; what it begins anew does not take back what was done."""
    farthest = 0.0

    def tell(doing: str, share: float) -> None:
        nonlocal farthest
        farthest = max(farthest, min(share, 1.0))
        listener(f"{step.key}: {doing} {share:.0%}", done + whole * farthest)

    return tell


def answer(metric: Metric, split: Split, seed: int, attacker: str | None = None) -> Result:
    """Ask one metric, and let it put its answer into words."""
    start = time.perf_counter()
    result = metric(split, rng=stream(seed, key_of(metric.name, attacker)))
    return replace(described(metric, result, attacker), seconds=time.perf_counter() - start)
