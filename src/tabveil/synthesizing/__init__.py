"""Learn a table and draw new rows that look like it, in the kind of table that came in."""

from tabveil.generators import GENERATORS
from tabveil.synthesizing.choice import choose, settings_for_users, summary
from tabveil.synthesizing.fresh_identifiers import Identifiers
from tabveil.synthesizing.learning import Lesson, RareLabels, learn, prepare, sample, synthesize
from tabveil.synthesizing.table_model import SyntheticRows, TableModel

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
