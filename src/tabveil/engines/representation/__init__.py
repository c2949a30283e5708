"""What an attack calls near: ways to look at rows, so that one neighbor engine can compare them.

See docs/definitions.md, Distances.
"""

from tabveil.core.settings.registry import Registry
from tabveil.engines.representation.contrastive import Contrastive
from tabveil.engines.representation.euclidean import Euclidean
from tabveil.engines.representation.mixed import Mixed
from tabveil.engines.representation.outliers import outlier_factors, require_representation
from tabveil.engines.representation.tolerant import Tolerant
from tabveil.engines.representation.vectors import VectorView
from tabveil.protocols import Representation

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
