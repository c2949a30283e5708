"""Who is alone among all real people with what stands in a released row?"""

from tabveil.metrics.agreement.cells import ComparedCells
from tabveil.metrics.agreement.scanning import ColumnScan, Hits, hits, nearly_copied, scan, union

__all__ = ["ColumnScan", "ComparedCells", "Hits", "hits", "nearly_copied", "scan", "union"]
