"""Names of people replaced by others before anything else is done with a table."""

from tabveil.pseudonyms.key_file import read_key
from tabveil.pseudonyms.replacing import (
    STILL_PERSONAL,
    Pseudonymized,
    Style,
    pseudonymize,
    pseudonymize_together,
)

__all__ = [
    "STILL_PERSONAL",
    "Pseudonymized",
    "Style",
    "pseudonymize",
    "pseudonymize_together",
    "read_key",
]
