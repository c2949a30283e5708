"""Properties: how large classes of equal quasi-identifiers are, and what they tell about sensitive columns.

A property is no attack and gives no verdict: a table can have it and still betray people, and lack it and
betray nobody. What is known against each stands in :data:`WEAKNESSES`.
"""

from tabveil.properties.measuring import WEAKNESSES, Properties, SensitiveProperties, measure
from tabveil.properties.of_split import SplitProperties, measure_split

__all__ = [
    "WEAKNESSES",
    "Properties",
    "SensitiveProperties",
    "SplitProperties",
    "measure",
    "measure_split",
]
