"""The positive control: could an attack have seen a leak that is twice as large as accepted?

An attack that finds nothing may be blind: a cap, a sample, a wrong type or scale, a release it cannot read.
So where a risk would be within its threshold, training people are planted into the very release that was
judged, and its attacks run again.
"""

from dataclasses import dataclass

from tabveil.auditing.verdict.policy import Risk
from tabveil.core.estimate import Estimate
from tabveil.core.settings.plain import Number, PlainData


@dataclass(frozen=True, kw_only=True)
class PositiveControl:
    """One attack, tried with planted people.

    ``n_planted`` training people, a ``share`` of all of them, stand with all of their rows in the release:
    in the place of other rows, or ``appended`` where the release is too small for that. Only the values of
    ``columns`` are theirs where these are named, else all. ``seen`` says that the attack sees a leak at the
    level of the verdict, and that its upper bound lies above the threshold: one that lies below it, with
    twice as many people there, bounds nothing. ``reason`` says why an attack gave no answer.
    """

    risk: Risk
    metric: str
    title: str
    threshold: float
    share: Number
    n_planted: int
    columns: tuple[str, ...] = ()
    appended: bool = False
    gain: Estimate | None = None
    p_value: Number | None = None
    seen: bool = False
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class PositiveControls(PlainData):
    """All attacks that were tried with planted people."""

    tried: tuple[PositiveControl, ...] = ()
