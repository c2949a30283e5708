"""Learn a table and draw new rows that look like it, in the kind of table that came in."""

from tabveil.synthesis.generators import GENERATORS
from tabveil.workflows.synthesizing.learning import (
    choose,
    learn,
    prepare,
    sample,
    settings_for_users,
    summary,
    synthesize,
)
from tabveil.workflows.synthesizing.table_model import SyntheticRows, TableModel

__all__ = [
    "GENERATORS",
    "SyntheticRows",
    "TableModel",
    "choose",
    "learn",
    "prepare",
    "sample",
    "settings_for_users",
    "summary",
    "synthesize",
]
