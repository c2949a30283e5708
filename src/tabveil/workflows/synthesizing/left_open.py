"""What a schema leaves open about columns, so that it was read from their rows: no promise covers that."""

from collections.abc import Mapping
from typing import Any

from tabveil.core import wording
from tabveil.core.table import Categorical, Column
from tabveil.synthesis.generators.privacy import Fact
from tabveil.tables.reading import LoadedTable, declare
from tabveil.tables.reading.infer import Declaration

Facts = Mapping[str, tuple[Fact, ...]]


def facts_read(loaded: LoadedTable, schema: Any) -> Facts:  # noqa: ANN401 - a path or plain data
    """Return what was read from the rows of each column that a schema does not declare as a whole.

    Of such a column the rows also told whether any value is missing, and how values are written.
    """
    said = declare.read(schema)
    known = loaded.declared.union(loaded.declared_identifiers)
    return {
        column.name: (*_domain(column, said.of(column.name)), "missing values", "form")
        for column in loaded.table.schema.columns
        if column.name not in known
    }


def _domain(column: Column, said: Declaration | None) -> tuple[Fact, ...]:
    """Return what was read about the values that a column may have."""
    if isinstance(column, Categorical):
        return () if said is not None and said.labels is not None else ("labels",)
    low_open, high_open = said is None or said.low is None, said is None or said.high is None
    ends: dict[tuple[bool, bool], tuple[Fact, ...]] = {
        (True, True): ("range",),
        (True, False): ("lowest value",),
        (False, True): ("highest value",),
    }
    return ends.get((low_open, high_open), ()) + _digits(column, said)


def _digits(column: Column, said: Declaration | None) -> tuple[Fact, ...]:
    """Return what was read about how fine numbers or moments are."""
    moment = not isinstance(column, Categorical) and column.arbitrary_zero
    if said is None:
        return ("unit",) if moment else ("decimals",)
    if said.type in ("integer", "date"):
        return ()
    if said.type == "real":
        return () if said.decimals is not None else ("decimals",)
    return () if said.step is not None else ("unit",)


def note(read: Facts) -> str:
    """Say what was read of which columns.

    >>> note({"weight": ("decimals",), "ward": ("labels", "form")})
    'Read from the rows, as the schema leaves it open: decimals of weight; labels, form of ward.'
    """
    told = [f"{', '.join(facts)} of {wording.name(name)}" for name, facts in read.items()]
    shown = told[: wording.FEW_NAMES]
    more = f"; and of {len(told) - len(shown):,} more columns" if len(told) > len(shown) else ""
    return f"Read from the rows, as the schema leaves it open: {'; '.join(shown)}{more}."
