"""What a verdict is made of: three states for each attack, each risk, the copies and the whole release."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from tabveil.auditing.policy import Risk
from tabveil.core.estimate import Estimate
from tabveil.core.storage.plain import Number, from_plain, to_plain
from tabveil.core.wording import begin
from tabveil.metrics.control.copies import Copies
from tabveil.metrics.traces import Trace

State = Literal["within threshold", "above threshold", "inconclusive"]
WITHIN: State = "within threshold"
ABOVE: State = "above threshold"
INCONCLUSIVE: State = "inconclusive"

BAD_CONTROL = "the control table does not fit"
NO_CONTROL = "there is no control table to compare with"
NO_RISK = "no risk could be derived"
SIZE_UNCLEAR = "a leak is seen, its size is unclear"
TOO_FEW = "too few rows to tell"
COULD_NOT_SEE = "could not have seen"
NOT_RUN = "required by the policy, but not run"
NOT_TESTED = "no attack on it was run"
REPEATED = "too few control rows to tell how many equal rows are chance"
NEARLY = "too few control rows to tell how many nearly equal rows are chance"
HIDDEN = "rows of this table repeat by themselves; copies would be hidden among them"


@dataclass(frozen=True, kw_only=True)
class Judgment:
    """One attack, judged; ``reason`` says why where it is inconclusive.

    ``attacked`` is how many control people it attacked where it took too long to attack all; ``rows_needed``
    then counts people who are attacked.
    """

    metric: str
    state: State
    required: bool
    title: str = ""
    reason: str = ""
    gain: Estimate | None = None
    leak_seen: bool = False  # at a level corrected for the number of attacks judged
    rows_needed: int | None = None  # about how many control rows would settle it; of train, too, if more
    attacked: int | None = None

    def above(self, threshold: float) -> bool:
        """Tell whether a leak is seen that is larger than this, as measured."""
        gain = self.gain
        return self.leak_seen and gain is not None and (gain.value > threshold or gain.low > threshold)


@dataclass(frozen=True, kw_only=True)
class RiskVerdict:
    """One of the risks, judged by all attacks on it.

    ``value`` is the largest measured gain, ``high`` the largest upper bound over all attacks: what sentence,
    table and page call "at most" is this one number. ``within_at`` is the smallest threshold at which the
    risk would be within as measured; None where no threshold is, or nobody can tell. ``blind`` are the titles
    of attacks that did not see the people who were planted to try them.
    """

    risk: Risk
    threshold: float
    state: State
    reason: str = ""
    metrics: tuple[Judgment, ...]
    value: Number | None = None
    high: Number | None = None
    within_at: Number | None = None
    blind: tuple[str, ...] = ()

    @property
    def leading(self) -> Judgment | None:
        """The attack whose upper bound is highest."""
        answered = [item for item in self.metrics if item.gain is not None]
        return max(answered, key=lambda item: item.gain.high if item.gain else 0.0, default=None)

    @property
    def strongest(self) -> Judgment | None:
        """The attack that measured most."""
        answered = [item for item in self.metrics if item.gain is not None]
        return max(answered, key=lambda item: item.gain.value if item.gain else 0.0, default=None)

    @property
    def rows_needed(self) -> int | None:
        """About how many control rows would settle it, by the attack that needs most; None where none do."""
        return max((item.rows_needed for item in self.metrics if item.rows_needed is not None), default=None)

    def state_at(self, threshold: float) -> State:
        """Return the state at another threshold, as measured: nobody is planted anew to try the attacks.

        Where it is open for another reason than the size of the numbers, it is at any threshold.
        """
        if any(item.above(threshold) for item in self.metrics):
            return ABOVE
        within = self.within_at is not None and self.within_at <= threshold
        return WITHIN if within else INCONCLUSIVE


@dataclass(frozen=True, kw_only=True)
class CopiesVerdict:
    """The rows of the release that are real people's, judged.

    ``proven`` says that the copies stand without the control: no other training person is like those whose
    rows reappear.
    """

    threshold: float
    state: State
    found: Copies
    leak_seen: bool = False
    proven: bool = False
    reason: str = ""

    @property
    def value(self) -> float | None:
        """The share of the release that was measured: of exact or of near copies, whichever is larger."""
        parts = (self.found, self.found.near)
        return max((item.share.value for item in parts if item and item.share), default=None)

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
    reasons: str  # in sentences
    risks: tuple[RiskVerdict, ...]
    copies: CopiesVerdict | None = None
    traces: tuple[TraceVerdict, ...] = ()
    control: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The state and its reasons, as a page opens with them."""
        return f"{begin(self.state)}: {self.reasons}"

    def leak_seen(self, metric: str) -> bool:
        """Tell whether an attack sees a leak at the level that was asked for."""
        return any(
            judged.leak_seen for risk in self.risks for judged in risk.metrics if judged.metric == metric
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        found: dict[str, Any] = to_plain(self)
        return {"state": self.state, "sentence": self.sentence} | {
            key: value for key, value in found.items() if key != "reasons"
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild what :meth:`to_json` wrote."""
        fields = dict(data)
        told = from_plain(str, fields.pop("sentence"))
        return from_plain(cls, {**fields, "reasons": told.removeprefix(f"{begin(str(fields['state']))}: ")})


EXIT_CODES: Mapping[State, int] = {WITHIN: 0, ABOVE: 1, INCONCLUSIVE: 3}
"""How a pipeline hears a verdict; 2 is what programs say of a faulty command line."""
