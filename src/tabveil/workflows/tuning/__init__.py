"""Search the settings of a generator for what keeps people private and the table useful.

See docs/definitions.md, Hybrid pipeline.
"""

from tabveil.workflows.tuning.measuring import tune
from tabveil.workflows.tuning.search import Tuning
from tabveil.workflows.tuning.tradeoffs import SearchFindings

__all__ = ["SearchFindings", "Tuning", "tune"]
