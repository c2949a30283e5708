"""Names of people replaced by others before anything else is done with a table."""

from tabveil.pseudonyms.hiding import Style
from tabveil.pseudonyms.key_file import read_key
from tabveil.pseudonyms.replacing import (
    STILL_PERSONAL,
    Pseudonymized,
    pseudonymize,
    pseudonymize_together,
)
from tabveil.pseudonyms.texts import UNRECOGNIZED, TextCounts

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
