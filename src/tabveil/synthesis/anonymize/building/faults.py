"""How a bad entry is told: one line, with the column and the entry at fault."""

from tabveil.core.check import quoted
from tabveil.errors import SchemaError


class EntryError(SchemaError):
    """An entry of a hierarchy cannot be used."""

    def __init__(self, column: str, entry: str, problem: str) -> None:
        super().__init__(f"hierarchies: column {quoted(column)}, entry {quoted(entry)}: {problem}")
