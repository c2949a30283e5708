"""What a metric said about one release of a benchmark, as far as judging the metric needs it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from tabveil.core.estimate import Estimate
from tabveil.core.result import Result
from tabveil.core.settings.plain import PlainData
from tabveil.metrics.utility import Utility

LARGEST = "largest_point_estimate"


@dataclass(frozen=True, kw_only=True)
class Answer(PlainData):
    """The headline of a result, or why there is none.

    ``largest`` is the largest risk over all configurations, which the papers report; ``figures`` are other
    numbers of interest by name: the utility's, and how many members are found at few false alarms. ``facts``
    are those of the release, such as the ratio of overfitting that was reached.
    """

    risk: Estimate | None = None
    gain: Estimate | None = None
    p_value: float | None = None
    informative: bool | None = None
    largest: float | None = None
    figures: Mapping[str, float] = field(default_factory=dict)
    facts: Mapping[str, float] = field(default_factory=dict)
    skipped: str | None = None

    @classmethod
    def of(cls, result: Result) -> Self:
        """Take from a result what is kept."""
        found = result.details.get(LARGEST)
        readings = () if result.curve is None else result.curve.readings
        return cls(
            risk=result.risk,
            gain=result.gain,
            p_value=result.p_value,
            informative=result.informative,
            largest=float(found["risk"]) if found else None,
            figures={f"found at {rate:.1%} false alarms": item.value for rate, item in readings if item},
        )

    @classmethod
    def of_utility(cls, utility: Utility) -> Self:
        """Take the figures of a release's usefulness."""
        return cls(figures={name: figure.value.value for name, figure in utility.figures.items()})

    @property
    def measure(self) -> Estimate | None:
        """What is judged: the gain of an attack, the risk of anything that has no gain."""
        return self.risk if self.gain is None else self.gain

    @property
    def seen(self) -> bool:
        """Whether the metric sees a risk: its whole interval lies above zero."""
        return self.measure is not None and bool(self.measure.low > 0)
