"""How far an upper bound moves with the seed: an attack that draws by lot draws otherwise next time."""

from dataclasses import dataclass

from tabveil.auditing.verdict.policy import Risk
from tabveil.core.settings.plain import Number, PlainData


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
