"""What an audit of ε found: bounds, each with what it proves, and what could have been seen."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

from tabveil.core.estimate import Estimate
from tabveil.core.settings.plain import Number, PlainData
from tabveil.workflows.epsilon.bounds import Accounting, Counts

State = Literal["violated", "no violation seen", "inconclusive"]

EXIT_CODES: dict[State, int] = {"no violation seen": 0, "violated": 1, "inconclusive": 3}
"""The exit code of each state, as those of a verdict."""

PROVES: dict[Accounting, str] = {
    "any": "whatever the mechanism",
    "concentrated": "for a promise from concentrated privacy",
    "gaussian": "for a promise from Gaussian noise alone",
}


@dataclass(frozen=True, kw_only=True)
class EpsilonFinding(PlainData):
    """Lower bounds of ε beside the promise.

    ``bounds`` has a bound for each way of accounting; those up to ``accounting``, the promise's own, are
    proofs, and all of them hold together with a chance of ``1 - alpha``. ``by_area`` describes.

    ``ceiling`` is what perfect guesses would have proven, ``detectable`` the least true ε behind Gaussian
    noise (at a δ of 0: of randomized response) that would have been found with a chance of ``power``, if the
    release showed all of it; None where none would.
    """

    tabveil: str
    generator: str
    settings: dict[str, Any]
    promised: Number
    delta: Number
    alpha: Number
    accounting: Accounting
    fits: int  # in each world
    tested: int  # of those in each world
    rows: int  # of each release
    counts: Counts
    area: Estimate
    bounds: dict[Accounting, Number]
    by_area: Number | None
    ceiling: Number
    detectable: Number | None
    power: Number

    def proves(self, kind: Accounting) -> bool:
        """Tell whether a bound of this kind is a proof against the promise."""
        order = get_args(Accounting)
        return order.index(kind) <= order.index(self.accounting)

    @property
    def proven(self) -> float:
        """The largest bound that is a proof."""
        return max(bound for kind, bound in self.bounds.items() if self.proves(kind))

    @property
    def described(self) -> float:
        """The largest bound, a proof or not."""
        return max(*self.bounds.values(), self.by_area or 0.0)

    @property
    def state(self) -> State:
        """Whether the promise is broken.

        Inconclusive: perfect guesses would not have proven it, or only a bound that is no proof exceeds it.
        """
        if self.proven > self.promised:
            return "violated"
        if self.ceiling <= self.promised or self.described > self.promised:
            return "inconclusive"
        return "no violation seen"

    @property
    def exit_code(self) -> int:
        """The exit code of the state."""
        return EXIT_CODES[self.state]

    def lines(self) -> list[str]:
        """Say it in words, the most important first."""
        return [self._verdict(), self._proof(), *self._readings(), self._counted(), self._could_be_seen()]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _verdict(self) -> str:
        promise = f"{self.generator}, ε = {self.promised:g}, δ = {self.delta:g}"
        match self.state:
            case "violated":
                return f"Violated: {promise}. One row shows more than that."
            case "no violation seen":
                return f"No violation seen: {promise}. That is no proof that the promise is kept."
        if self.described <= self.promised:
            return f"Inconclusive: {promise}. So few fits could not have proven more, whatever they showed."
        return (
            f"Inconclusive: {promise}. One row shows more than Gaussian noise of that promise lets through, "
            "which is no proof for this mechanism; look at its noise, or test more fits."
        )

    def _proof(self) -> str:
        return (
            f"Proven: ε is at least {self.proven:.2f} at δ = {self.delta:g}, with an error of {self.alpha:g} "
            f"at most. Promised: {self.promised:g}."
        )

    def _counted(self) -> str:
        counts = self.counts
        return (
            f"Of {counts.n_with:,} releases with the row {counts.hits:,} were recognized, of "
            f"{counts.n_without:,} without it {counts.false_alarms:,} were mistaken for such; the guess was "
            f"chosen on {self.fits - self.tested:,} other fits of each kind."
        )

    def _readings(self) -> list[str]:
        """Say what each bound is worth."""
        told = [
            f"  {bound:.2f} {PROVES[kind]} ({'a proof here' if self.proves(kind) else 'describes only'})"
            for kind, bound in self.bounds.items()
        ]
        if self.by_area is not None:
            told.append(
                f"  {self.by_area:.2f} by all thresholds, as if noise were Gaussian (describes only): AUC "
                f"{self.area.value:.3f}"
            )
        return told

    def _could_be_seen(self) -> str:
        most = f"Perfect guesses would have proven {self.ceiling:.2f}"
        if self.detectable is None:
            return f"{most}."
        return (
            f"{most}; a true ε of {self.detectable:.2f} would have been called a violation with a chance of "
            f"{self.power:.0%}, if the release showed all of it."
        )
