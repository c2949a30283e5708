"""Hierarchies as people write them down, and made from them: one kind in a file, each by its own entry."""

from tabveil.synthesis.anonymize.building.automatic import Automatic
from tabveil.synthesis.anonymize.building.column_values import ColumnValues
from tabveil.synthesis.anonymize.building.entries import HierarchyEntry, read_entry

__all__ = ["Automatic", "ColumnValues", "HierarchyEntry", "read_entry"]
