"""What attacks take: how sure their intervals are to be, and what they call near."""

from dataclasses import dataclass, field

from tabveil.core import check
from tabveil.core.estimate import CONFIDENCE
from tabveil.engines.representation import Mixed, require_representation
from tabveil.protocols import Representation


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


@dataclass(frozen=True, kw_only=True)
class NearestRowAttack(Attack):
    """A representation as a parameter: attacks that look for the nearest rows look for them in it."""

    representation: Representation = field(default_factory=Mixed)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_representation(type(self).__name__, self.representation)
