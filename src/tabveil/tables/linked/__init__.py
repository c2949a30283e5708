"""Databases of linked tables: what says how they hang together, and the door through which they come in."""

from tabveil.tables.linked.database_file import Database, read_database
from tabveil.tables.linked.loading import LoadedDatabase, load_database

__all__ = ["Database", "LoadedDatabase", "load_database", "read_database"]
