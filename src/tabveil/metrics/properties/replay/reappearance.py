"""Of how many training people does something reappear in a release, and of how many people it never saw?

Given the release, whether something of a person stands in it depends on that person alone. If nothing was
learned by heart, training and control people are equally likely to be among them, however common a name or a
phrase is, and however many rows each table has: two rates, compared as such.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabveil.core import check
from tabveil.core.estimate import CONFIDENCE, Estimate, difference, rate, strongest
from tabveil.core.result import Configuration, Result, Setting, Threat

Flags = NDArray[np.bool_]

_NO_CONTROL = "No control: what reappears may be common to all people, so no risk is derived."
_NO_ROOM = "Something of all control people reappears: there is no room for a risk."


@dataclass(frozen=True, kw_only=True, eq=False)
class Reappearance:
    """Of whom something reappears; ``weight`` is how much of a person it gives away."""

    train: Flags  # (n_train,)
    control: Flags  # (n_control,)
    weight: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Replay:
    """What metrics of what reappears share: a confidence, tables of words, and nobody who attacks."""

    confidence: float = CONFIDENCE

    def __post_init__(self) -> None:
        check.between(type(self).__name__, "confidence", self.confidence, 0.5, 1)

    def threat(self, result: Result) -> Threat | None:  # noqa: ARG002 - nobody attacks
        """Say that there is no attacker: what stands in a release needs none."""
        return None


def compare(
    levels: Sequence[Reappearance], setting: Setting, confidence: float, facts: Mapping[str, Any]
) -> Configuration:
    """Compare the two tables; nobody is in two levels.

    A weighted sum of rates, or of differences of rates, has the bounds of its parts added in squares (MOVER;
    Zou and Donner 2008): they hold where nothing was counted, too.
    """
    attack = _weighted(levels, lambda level: _rate(level.train, confidence))
    if len(levels[0].control) == 0:
        return Configuration(setting=setting, attack=attack, facts=facts)
    control = _weighted(levels, lambda level: _rate(level.control, confidence))
    more = _weighted(levels, lambda level: _difference(level, confidence))
    room = 1 - control.value
    risk = None
    if room > 0:
        value = more.value / room
        high = min(more.high / room, max(value, 1.0))
        risk = Estimate(value=value, low=more.low / room, high=high, n=more.n)
    return Configuration(setting=setting, attack=attack, control=control, risk=risk, facts=facts)


def strongest_of(configurations: Sequence[Configuration]) -> Configuration:
    """Return the configuration whose risk has the largest lower bound; the first where none is above zero.

    Without a leak the largest bound is only that of the narrowest interval, and tells nothing.
    """
    risks = {place: item.risk for place, item in enumerate(configurations) if item.risk and item.risk.low > 0}
    return configurations[strongest(risks) if risks else 0]


def why_no_risk(lead: Configuration) -> tuple[str, ...]:
    """Say why there is no risk, where there is none."""
    if lead.risk is not None:
        return ()
    return (_NO_CONTROL if lead.control is None else _NO_ROOM,)


def _rate(flags: Flags, confidence: float) -> Estimate:
    return rate(int(flags.sum()), len(flags), confidence)


def _difference(level: Reappearance, confidence: float) -> Estimate:
    train, control = level.train, level.control
    return difference(int(train.sum()), len(train), int(control.sum()), len(control), confidence)


def _weighted(levels: Sequence[Reappearance], estimate: Callable[[Reappearance], Estimate]) -> Estimate:
    parts = [(level.weight, estimate(level)) for level in levels]
    value = sum(weight * part.value for weight, part in parts)
    below = math.hypot(*(weight * (part.value - part.low) for weight, part in parts))
    above = math.hypot(*(weight * (part.high - part.value) for weight, part in parts))
    return Estimate(value=value, low=value - below, high=value + above, n=parts[0][1].n)
