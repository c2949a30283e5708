"""Names of people replaced by others before anything else is done with a table."""

from tabveil.workflows.pseudonyms.keys import Style, read_key
from tabveil.workflows.pseudonyms.replacing import (
    STILL_PERSONAL,
    Pseudonymized,
    pseudonymize,
    pseudonymize_together,
)
from tabveil.workflows.pseudonyms.texts import UNRECOGNIZED, TextCounts

__all__ = [
    "STILL_PERSONAL",
    "UNRECOGNIZED",
    "Pseudonymized",
    "Style",
    "TextCounts",
    "pseudonymize",
    "pseudonymize_together",
    "read_key",
]
