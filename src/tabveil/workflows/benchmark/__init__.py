"""Judge privacy metrics by a risk that is known: insert it, and see what each metric sees (SPEC 5)."""

from tabveil.workflows.benchmark.people import DATASETS
from tabveil.workflows.benchmark.running import Outcome, run
from tabveil.workflows.benchmark.store import Record, Store
from tabveil.workflows.benchmark.study import Study

__all__ = ["DATASETS", "Outcome", "Record", "Store", "Study", "run"]
