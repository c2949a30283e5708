"""One scale for real and released numbers: no absurd value and no change of units hides a leak.

Attacks compare numbers by differences, and count these in shares of a column's range or deviation. So before
they begin, released columns in other units are brought back to those of the real rows
(:mod:`~tabveil.metrics.scales.alignment`), and values far outside of all others are set just beyond them
(:mod:`~tabveil.metrics.scales.attacked`). Neither knows which real rows are train and which control.
"""

from tabveil.metrics.scales.attacked import AttackedTables, all_on_one_scale, on_one_scale

__all__ = ["AttackedTables", "all_on_one_scale", "on_one_scale"]
