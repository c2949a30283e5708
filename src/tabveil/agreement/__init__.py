"""Who is alone among all real people with what stands in a released row?"""

from tabveil.agreement.cells import Cells
from tabveil.agreement.lone import Hits, hits, union
from tabveil.agreement.scanning import Found, scan
from tabveil.agreement.trace import nearly_copied

__all__ = ["Cells", "Found", "Hits", "hits", "nearly_copied", "scan", "union"]
