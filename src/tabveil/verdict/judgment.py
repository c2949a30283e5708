"""What a verdict is made of: three states for each attack, each risk, the copies and the whole release."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from tabveil.copies import Copies
from tabveil.estimate import Estimate
from tabveil.plain import from_plain, to_plain
from tabveil.traces import Trace
from tabveil.verdict.policy import Risk

State = Literal["within threshold", "above threshold", "inconclusive"]
WITHIN: State = "within threshold"
ABOVE: State = "above threshold"
INCONCLUSIVE: State = "inconclusive"

BAD_CONTROL = "the control table does not fit"
NO_CONTROL = "there is no control table to compare with"
NO_RISK = "no risk could be derived"
NOT_INFORMATIVE = "the attack does no better than guessing without the release"
TOO_FEW = "too few rows to tell"
NOT_RUN = "required by the policy, but not run"
NOT_TESTED = "no attack on it was run"
REPEATED = "too few control rows to tell how many equal rows are chance"
NEARLY = "too few control rows to tell how many nearly equal rows are chance"
HIDDEN = "rows of this table repeat by themselves; copies would be hidden among them"


@dataclass(frozen=True, kw_only=True)
class Judgment:
    """One attack, judged; ``reason`` says why where it is inconclusive."""

    metric: str
    state: State
    required: bool
    title: str = ""
    reason: str = ""
    gain: Estimate | None = None
    leak_seen: bool = False  # at a level corrected for the number of attacks judged
    rows_needed: int | None = None  # about how many control rows would settle it; of train, too, if more


@dataclass(frozen=True, kw_only=True)
class RiskVerdict:
    """One of the risks, judged by all attacks on it."""

    risk: Risk
    threshold: float
    state: State
    reason: str = ""
    metrics: tuple[Judgment, ...]

    @property
    def leading(self) -> Judgment | None:
        """The attack whose upper bound is highest: among those above, if there are any."""
        answered = [item for item in self.metrics if item.gain is not None]
        counted = [item for item in answered if item.state == self.state] or answered
        return max(counted, key=lambda item: item.gain.high if item.gain else 0.0, default=None)


@dataclass(frozen=True, kw_only=True)
class CopiesVerdict:
    """The rows of the release that are real people's, judged."""

    threshold: float
    state: State
    found: Copies
    leak_seen: bool = False
    reason: str = ""

    @property
    def high(self) -> float | None:
        """The upper bound that is judged: of the exact copies or of the near ones, whichever is larger."""
        parts = (self.found, self.found.near)
        return max((item.share.high for item in parts if item and item.share), default=None)


@dataclass(frozen=True, kw_only=True)
class TraceVerdict:
    """One kind of trace of training people, judged by the threshold of copies."""

    threshold: float
    state: State
    found: Trace
    leak_seen: bool = False
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The whole release, judged. ``control`` says what speaks against the control table, if anything does."""

    state: State
    sentence: str
    risks: tuple[RiskVerdict, ...]
    copies: CopiesVerdict | None = None
    traces: tuple[TraceVerdict, ...] = ()
    control: tuple[str, ...] = ()

    def leak_seen(self, metric: str) -> bool:
        """Tell whether an attack sees a leak at the level that was asked for."""
        return any(
            judged.leak_seen for risk in self.risks for judged in risk.metrics if judged.metric == metric
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        found: dict[str, Any] = to_plain(self)
        return found

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild what :meth:`to_json` wrote."""
        return from_plain(cls, data)
