"""Judge privacy metrics by a risk that is known: insert it, and see what each metric sees (SPEC 5)."""

from tabveil.benchmark.people import DATASETS
from tabveil.benchmark.running import Outcome, run
from tabveil.benchmark.store import Record, Store
from tabveil.benchmark.study import Study

__all__ = ["DATASETS", "Outcome", "Record", "Store", "Study", "run"]
