"""Learn people with their rows of linked tables, and draw new people with new rows."""

from tabveil.workflows.databases.database_model import DatabaseModel, learn_tables, synthesize_tables

__all__ = ["DatabaseModel", "learn_tables", "synthesize_tables"]
