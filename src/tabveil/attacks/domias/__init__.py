"""DOMIAS: membership by the ratio of two densities."""

from tabveil.attacks.domias.flow import DomiasFlow
from tabveil.attacks.domias.kde import DomiasKde

__all__ = ["DomiasFlow", "DomiasKde"]
