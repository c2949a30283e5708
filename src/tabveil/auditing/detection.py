"""What an audit could have seen, as a report stores it: leaks and people planted, bounds that move.

An attack that finds nothing may be blind: a cap, a sample, a wrong type or scale, a release it cannot read.
So where a risk would be within its threshold, training people are planted into the very release that was
judged, and its attacks run again. One that draws by lot draws otherwise next time, and its bound moves.
"""

from dataclasses import dataclass, field

from tabveil.auditing.policy import Risk
from tabveil.core.estimate import Estimate
from tabveil.core.storage.plain import Number, PlainData


@dataclass(frozen=True, kw_only=True)
class PlantedTrial:
    """In how many of the releases with this leak it was seen.

    Fewer than all repetitions were run where the misses left no way to see the leak often enough.
    """

    leak: float
    seen: int
    of: int


@dataclass(frozen=True, kw_only=True)
class Detection:
    """What one metric sees: the smallest leak seen often enough (None if there is none), and all trials.

    ``people`` is the number of rows that played train, and of those that played control. ``reason`` says why
    there is no answer, where the metric gave none in any trial.
    """

    metric: str
    smallest: float | None
    trials: tuple[PlantedTrial, ...]
    people: int
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Power(PlainData):
    """What each metric of an audit could have seen, and how large the trials were."""

    detections: tuple[Detection, ...]
    people: int
    release_rows: int
    repetitions: int
    notes: tuple[str, ...] = ()
    seconds: float = field(default=0.0, compare=False)


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


@dataclass(frozen=True, kw_only=True)
class Spread:
    """The upper bound of the attack that bounds a risk, and what it is with another seed."""

    risk: Risk
    metric: str
    title: str
    high: Number
    again: Number


@dataclass(frozen=True, kw_only=True)
class Spreads(PlainData):
    """Of every risk whose bounding attack is quick enough to be asked twice."""

    found: tuple[Spread, ...] = ()
