"""What an attack calls near: ways to look at rows, so that one neighbor engine can compare them (SPEC 2)."""

from tabveil.protocols import Representation
from tabveil.registry import Registry
from tabveil.representation.contrastive import Contrastive
from tabveil.representation.euclidean import Euclidean
from tabveil.representation.mixed import Mixed
from tabveil.representation.outliers import outlier_factors, require_representation
from tabveil.representation.tolerant import Tolerant
from tabveil.representation.vectors import VectorView

REPRESENTATIONS: Registry[Representation] = Registry(
    "representation", (Mixed, Euclidean, Tolerant, Contrastive)
)
"""Every representation by its name."""

__all__ = [
    "REPRESENTATIONS",
    "Contrastive",
    "Euclidean",
    "Mixed",
    "Tolerant",
    "VectorView",
    "outlier_factors",
    "require_representation",
]
