"""What attacks take and how they speak: intervals, nearness, tolerance, and phrases for their results."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tabveil.core import check
from tabveil.core.estimate import CONFIDENCE
from tabveil.core.result import Labels, Result, Threat
from tabveil.core.table import Column, Floats, Numeric
from tabveil.core.wording import NOT_COMPUTED, UNSEEN, begin, listed, name, percent, share_of
from tabveil.engines.representation import Mixed, require_representation
from tabveil.protocols import Metric, Representation

REST = "all other data of the person (worst case)"


def surely(result: Result) -> str:
    """Say at which level a careful attacker acted, if the headline is theirs."""
    if result.leading is None or result.leading.level == 1:
        return ""
    if result.params.get("calibrated"):
        return f"Counting only the surest {surest(result)} of all guesses: "
    return f"Counting only guesses as sure as the surest {surest(result)} about {UNSEEN}: "


def surest(result: Result) -> str:
    """Write the level of the headline, to a tenth of a percent as in its name."""
    return f"{float(f'{100 * result.leading.level:.1f}'):g}%" if result.leading else NOT_COMPUTED


def both_sides(result: Result) -> str:
    """Say for how many training people, and how many others, the attack succeeded."""
    train = _of("train", result, "training people")
    return f"{train} and {_of('control', result, UNSEEN)}" if result.control else train


def _of(side: str, result: Result, who: str) -> str:
    """Write how many people of one side the attack succeeded on, by count where there is one."""
    facts = result.facts
    successes, among = facts.get(f"people_{side}", facts.get(f"successes_{side}")), facts.get(f"n_{side}")
    if isinstance(successes, (int, float)) and isinstance(among, int) and among > 0:
        return f"{round(successes):,} of {among:,} {who} ({percent(round(successes) / among)})"
    estimate = result.attack if side == "train" else result.control
    return f"{share_of(estimate)} of {who}" if estimate else f"an unknown share of {who}"


def naively(result: Result) -> str:
    """Say how often a guesser without the release is right: counted, where the sides are counted, too."""
    if result.baseline is None:
        return ""
    counted = result.facts.get("naive")
    rate = counted if isinstance(counted, (int, float)) else result.baseline.value
    return f" Guessing without the release would do so for {percent(rate)}."


def guessed(result: Result) -> str:
    """Tell how often one secret was guessed: a label, or a number that is near enough."""
    secret = None if result.leading is None else result.leading.target
    what = f"the value of “{name(secret)}”" if secret else "the unknown value"
    told = f"{surely(result)}{what} is guessed right for {both_sides(result)}"
    return f"{begin(told)}.{naively(result)}"


def secret_threat(known: Sequence[str] | None, secrets: Sequence[str] | None, otherwise: str) -> Threat:
    """Describe somebody who knows some columns and wants others."""
    return Threat(
        knows=listed(known) if known else REST,
        wants=listed(secrets) if secrets else otherwise,
    )


Bools = NDArray[np.bool_]

TOLERANCE = 0.05
ZERO_TOLERANCE = 0.001
ROUNDING = 1 + 1e-9  # 0.315 is within 5 % of 0.3, whatever floating point makes of it


@dataclass(frozen=True, kw_only=True, eq=False)
class Truth:
    """The values that count as right for each row.

    A label must be met exactly. A number must be met within ``tolerance`` times its true size; where that
    size says nothing (a true 0, a date) within ``zero_tolerance`` times the column's range. Where the true
    value is missing, no guess is right: there is nothing to infer.
    """

    low: Floats  # (n,) NaN where the true value is missing
    high: Floats  # (n,)

    @property
    def present(self) -> Bools:
        """Tell for each row whether there is a true value."""
        return ~np.isnan(self.low)

    @classmethod
    def of(cls, cells: Floats, column: Column, tolerance: float, zero_tolerance: float) -> Self:
        """Put the bounds around the true cells of a column."""
        if not isinstance(column, Numeric):
            return cls(low=cells, high=cells)
        sizeless = (cells == 0) | column.arbitrary_zero
        slack = np.where(sizeless, zero_tolerance * column.width, tolerance * np.abs(cells)) * ROUNDING
        return cls(low=cells - slack, high=cells + slack)

    def met_by(self, guesses: Floats | float) -> Bools:
        """Tell for each row whether its guess is right."""
        return np.asarray((guesses >= self.low) & (guesses <= self.high))

    def chance(self, pool: Floats) -> Floats:
        """Return for each row the share of a pool of guesses that would be right."""
        ordered = np.sort(pool[~np.isnan(pool)])
        n_met = np.searchsorted(ordered, self.high, side="right") - np.searchsorted(ordered, self.low)
        return np.where(self.present, n_met, 0) / len(pool)


@dataclass(frozen=True, kw_only=True)
class Attack(Metric):
    """What is attacked, and how sure an attack is of what it reports.

    Parameters
    ----------
    n_attacks
        How many training rows, and as many control rows, are attacked; None attacks all.
    confidence
        The level of all intervals: at 0.95, 95 of 100 such intervals hold the true value.

    Notes
    -----
    The headline is the configuration with the largest lower bound of its gain, among intervals that hold for
    all of them together (Šidák, or max-T where labels are dealt anew); each is in ``details``.
    """

    confidence: float = CONFIDENCE

    def __post_init__(self) -> None:
        owner = type(self).__name__
        check.between(owner, "confidence", self.confidence, 0.5, 1)
        n_attacks = getattr(self, "n_attacks", None)  # None attacks all rows
        if n_attacks is not None:
            check.at_least(owner, "n_attacks", n_attacks, 1)


class TellsMembers:
    """What attacks say that tell members from others; with a ``reference``, a sample of the population."""

    reference: ClassVar[bool] = False
    labels: ClassVar[Labels] = Labels(pillar="attack", wp29="propensity", mechanism="density", auxiliary=True)

    def sentence(self, result: Result) -> str:
        """Tell how well members were told from others."""
        if result.leading is not None and result.leading.statistic == "area":
            return (
                "Shown one training person and one of the people the generator never saw, the attack tells "
                f"which is which in {share_of(result.attack)} of cases; a coin is right in 50%."
            )
        return (
            f"An attacker who would take at most about {surest(result)} of {UNSEEN} for members names "
            f"{both_sides(result)}. Equal shares would mean that membership does not show."
        )

    def threat(self, result: Result) -> Threat:  # noqa: ARG002 - always the same attacker
        """Describe somebody who asks whether a person's data were trained on."""
        knows = f"the person's whole row{' and a sample of the same population' if self.reference else ''}"
        return Threat(knows=knows, wants="whether the person's data were trained on")


@dataclass(frozen=True, kw_only=True)
class NearestRowAttack(Attack):
    """What attacks have in common that look for the nearest rows.

    Parameters
    ----------
    representation
        What is called near: Gower's distance over the known columns (``Mixed``), the Euclidean one, or the
        distance in an embedding.
    """

    representation: Representation = field(default_factory=Mixed)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_representation(type(self).__name__, self.representation)
