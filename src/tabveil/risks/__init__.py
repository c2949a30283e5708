"""Releases with a known risk, so that what a metric says can be checked; and circumstances to try them in."""

from tabveil.protocols import Modifier, RiskModel
from tabveil.registry import Registry
from tabveil.risks.canaries import Canaries
from tabveil.risks.generated import Generated
from tabveil.risks.leaky import Leaky
from tabveil.risks.noisy import Noisy
from tabveil.risks.outlier_removal import OutlierRemoval
from tabveil.risks.overfit import Overfit
from tabveil.risks.oversample import Oversample
from tabveil.risks.private import Private

RISKS: Registry[RiskModel] = Registry("risk model", (Leaky, Noisy, Overfit, Private, Generated))
"""Every risk model by its name; your own joins by ``RISKS.add``."""

MODIFIERS: Registry[Modifier] = Registry("modifier", (OutlierRemoval, Oversample, Canaries))
"""Every modifier by its name; your own joins by ``MODIFIERS.add``."""

__all__ = [
    "MODIFIERS",
    "RISKS",
    "Canaries",
    "Generated",
    "Leaky",
    "Noisy",
    "OutlierRemoval",
    "Overfit",
    "Oversample",
    "Private",
]
