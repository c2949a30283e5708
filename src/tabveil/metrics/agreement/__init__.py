"""Who is alone among all real people with what stands in a released row?"""

from tabveil.metrics.agreement.cells import Cells
from tabveil.metrics.agreement.lone import Hits, hits, union
from tabveil.metrics.agreement.scanning import Found, scan
from tabveil.metrics.agreement.trace import nearly_copied

__all__ = ["Cells", "Found", "Hits", "hits", "nearly_copied", "scan", "union"]
