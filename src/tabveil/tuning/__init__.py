"""Search the settings of a generator for what keeps people private and the table useful (SPEC 7)."""

from tabveil.tuning.configuration import Tuning
from tabveil.tuning.findings import Tuned
from tabveil.tuning.running import tune

__all__ = ["Tuned", "Tuning", "tune"]
