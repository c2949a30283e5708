"""Search the settings of a generator for what keeps people private and the table useful (SPEC 7)."""

from tabveil.workflows.tuning.configuration import Tuning
from tabveil.workflows.tuning.findings import Tuned
from tabveil.workflows.tuning.running import tune

__all__ = ["Tuned", "Tuning", "tune"]
