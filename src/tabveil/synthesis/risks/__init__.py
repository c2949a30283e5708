"""Releases with a known risk, so that what a metric says can be checked; and circumstances to try them in."""

from tabveil.core.settings.registry import Registry
from tabveil.protocols import Modifier, RiskModel
from tabveil.synthesis.risks.generated import Generated, Overfit, Private
from tabveil.synthesis.risks.modifiers import Canaries, OutlierRemoval, Oversample
from tabveil.synthesis.risks.people import LeakyPeople, NoisyPeople
from tabveil.synthesis.risks.planted import Leaky, Noisy

RISKS: Registry[RiskModel] = Registry("risk model", (Leaky, Noisy, Overfit, Private, Generated), RiskModel)
"""Every risk model by its name; your own joins by ``RISKS.add``."""

MODIFIERS: Registry[Modifier] = Registry("modifier", (OutlierRemoval, Oversample, Canaries), Modifier)
"""Every modifier by its name; your own joins by ``MODIFIERS.add``."""

__all__ = [
    "MODIFIERS",
    "RISKS",
    "Canaries",
    "Generated",
    "Leaky",
    "LeakyPeople",
    "Noisy",
    "NoisyPeople",
    "OutlierRemoval",
    "Overfit",
    "Oversample",
    "Private",
]
