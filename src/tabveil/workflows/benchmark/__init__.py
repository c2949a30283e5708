"""Judge privacy metrics by a risk that is known: insert it, and see what each metric sees (SPEC 5)."""

from tabveil.workflows.benchmark.experiment import Outcome, run
from tabveil.workflows.benchmark.store import Record, Store
from tabveil.workflows.benchmark.study import DATASETS, Study

__all__ = ["DATASETS", "Outcome", "Record", "Store", "Study", "run"]
