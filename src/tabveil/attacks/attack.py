"""What every attack takes: how sure its intervals are to be."""

from dataclasses import dataclass

from tabveil import check
from tabveil.estimate import CONFIDENCE


@dataclass(frozen=True, kw_only=True)
class Attack:
    """A confidence level as a parameter; whatever interval an attack reports is made at this level."""

    confidence: float = CONFIDENCE

    def __post_init__(self) -> None:
        owner = type(self).__name__
        check.between(owner, "confidence", self.confidence, 0.5, 1)
        n_attacks = getattr(self, "n_attacks", None)  # None attacks all rows
        if n_attacks is not None:
            check.at_least(owner, "n_attacks", n_attacks, 1)
