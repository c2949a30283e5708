"""What an audit could have seen: for each metric the planted leaks it saw, as a report stores them."""

from dataclasses import dataclass, field

from tabveil.core.settings.plain import PlainData


@dataclass(frozen=True, kw_only=True)
class Trial:
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
    trials: tuple[Trial, ...]
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
