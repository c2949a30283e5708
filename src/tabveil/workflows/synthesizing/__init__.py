"""Learn a table and draw new rows that look like it, in the kind of table that came in."""

from tabveil.synthesis.generators import GENERATORS
from tabveil.workflows.synthesizing.choice import choose, settings_for_users, summary
from tabveil.workflows.synthesizing.fresh_identifiers import Identifiers
from tabveil.workflows.synthesizing.learning import Lesson, RareLabels, learn, prepare, sample, synthesize
from tabveil.workflows.synthesizing.table_model import SyntheticRows, TableModel

__all__ = [
    "GENERATORS",
    "Identifiers",
    "Lesson",
    "RareLabels",
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
