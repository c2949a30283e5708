"""Which people stand apart from all others, and are therefore the first that a release may betray?

The package is not called ``outliers`` because ``tabveil.outliers`` is the function users call.
"""

from tabveil.metrics.outlying.standing_apart import Outliers, outliers
from tabveil.metrics.outlying.vulnerability import Vulnerable, vulnerable

__all__ = ["Outliers", "Vulnerable", "outliers", "vulnerable"]
