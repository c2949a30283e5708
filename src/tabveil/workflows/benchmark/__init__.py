"""Judge privacy metrics by a risk that is known: insert it, and see what each metric sees.

See docs/definitions.md, Known risks.
"""

from tabveil.workflows.benchmark.experiment import Outcome, run
from tabveil.workflows.benchmark.plan import Record, Store
from tabveil.workflows.benchmark.study import DATASETS, Study

__all__ = ["DATASETS", "Outcome", "Record", "Store", "Study", "run"]
