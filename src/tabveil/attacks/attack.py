"""What every attack takes: how sure its intervals are to be."""

from dataclasses import dataclass

from tabveil import check
from tabveil.estimate import CONFIDENCE


@dataclass(frozen=True, kw_only=True)
class Attack:
    """A confidence level as a parameter; whatever interval an attack reports is made at this level."""

    confidence: float = CONFIDENCE

    def __post_init__(self) -> None:
        check.between(type(self).__name__, "confidence", self.confidence, 0.5, 1)
