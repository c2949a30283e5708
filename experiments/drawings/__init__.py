"""Charts that stand by themselves, for pages of the documentation.

They are made of the parts that the reports' charts are made of. An image on a page does not know the page's
colors, so each brings its style and its ground, light or dark as the reader's system is.
"""

from drawings.cloud import Cloud, Point, clouds
from drawings.curves import Axes, Curve, curves
from drawings.dots import Panel, Row, around, dots
from drawings.frame import Spot, reach

__all__ = [
    "Axes",
    "Cloud",
    "Curve",
    "Panel",
    "Point",
    "Row",
    "Spot",
    "around",
    "clouds",
    "curves",
    "dots",
    "reach",
]
