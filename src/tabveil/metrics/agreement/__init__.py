"""Who is alone among all real people with what stands in a released row?"""

from tabveil.metrics.agreement.cells import Cells
from tabveil.metrics.agreement.near_copies import nearly_copied
from tabveil.metrics.agreement.scanning import Found, Hits, hits, scan, union

__all__ = ["Cells", "Found", "Hits", "hits", "nearly_copied", "scan", "union"]
