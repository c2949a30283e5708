"""DOMIAS: membership by the ratio of two densities."""

from tabveil.metrics.attacks.domias.flow import DomiasFlow
from tabveil.metrics.attacks.domias.kde import DomiasKde

__all__ = ["DomiasFlow", "DomiasKde"]
