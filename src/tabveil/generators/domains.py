"""What a table must have before a generator learns from it."""

from tabveil.errors import ParameterError
from tabveil.table import Table


def require_rows(generator: str, table: Table, n_rows: int = 1) -> None:
    """Refuse a table with too few rows to learn from."""
    if len(table) < n_rows:
        few = f"{n_rows} row{'s'[: n_rows > 1]}"
        raise ParameterError(f"{generator}: needs at least {few} to learn from, got {len(table)}.")
