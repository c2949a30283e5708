"""What an attack calls near: ways to look at rows, so that one neighbor engine can compare them.

See docs/definitions.md, Distances.
"""

from tabveil.core.settings.registry import Registry
from tabveil.engines.representation.columnwise import Euclidean, Mixed, Tolerant
from tabveil.engines.representation.contrastive import Contrastive, VectorView
from tabveil.engines.representation.outliers import outlier_factors, require_representation
from tabveil.protocols import Representation

REPRESENTATIONS: Registry[Representation] = Registry(
    "representation", (Mixed, Euclidean, Tolerant, Contrastive), Representation
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
