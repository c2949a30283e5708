"""Names of people replaced by others before anything else is done with a table."""

from tabveil.pseudonyms.key_file import read_key
from tabveil.pseudonyms.replacing import Pseudonymized, Style, pseudonymize

__all__ = ["Pseudonymized", "Style", "pseudonymize", "read_key"]
