"""Properties: classes of equal quasi-identifiers and what they tell, and what of real people reappears.

A property is no attack and gives no verdict: a table can have it and still betray people, and lack it and
betray nobody. What is known against each stands in :data:`WEAKNESSES`.
"""

from tabveil.metrics.properties.measuring import (
    WEAKNESSES,
    Properties,
    SensitiveProperties,
    SplitProperties,
    measure,
    measure_split,
)
from tabveil.metrics.properties.replay import PiiReplay, TextReplay
from tabveil.protocols import Metric

PROPERTIES: tuple[type[Metric], ...] = (PiiReplay, TextReplay)
"""Those that are metrics, in the order of the report."""

__all__ = [
    "PROPERTIES",
    "WEAKNESSES",
    "PiiReplay",
    "Properties",
    "SensitiveProperties",
    "SplitProperties",
    "TextReplay",
    "measure",
    "measure_split",
]
