"""What a promise for a row is worth to a person, who may have several, and of which table it speaks."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from tabveil.core.storage.plain import FORBID_OTHERS
from tabveil.core.table import Table
from tabveil.core.wording import name, plural
from tabveil.synthesis.generators.privacy import WARNING


@dataclass(frozen=True, kw_only=True)
class RowsOfPeople:
    """How many rows a person has in the table that is learned from, as far as anybody says or knows.

    ``column`` says whose row it is, None where nobody said so; ``most`` are the most rows of a person, None
    where that is not known. ``bounded`` tells whether a step before keeps them to so many: otherwise the
    number was read from the rows. ``after`` are the steps that made the table.
    """

    __pydantic_config__ = FORBID_OTHERS

    column: str | None = None
    most: int | None = None
    bounded: bool = False
    after: tuple[str, ...] = ()

    @classmethod
    def of(cls, table: Table, column: str | None, deduplicated: Mapping[str, Any] | None) -> Self:
        """Look at a table in which a column says whose row it is; a row without a value is somebody's own."""
        asked = deduplicated or {}
        after = () if deduplicated is None else ("deduplicate",)
        column = asked.get("person") or column
        if column is not None and column == asked.get("person"):
            return cls(column=column, most=asked["most"], bounded=True, after=after)
        if column is None or column not in table.schema.names:
            return cls(column=column, after=after)
        cells = table.column(column)
        _, counts = np.unique(cells[~np.isnan(cells)], return_counts=True)
        return cls(column=column, most=int(counts.max(initial=1)), after=after)

    def stored(self) -> Self:
        """Return what may stand in a model: no number that was read from the rows."""
        return self if self.bounded else replace(self, most=None)

    def sentence(self, epsilon: float, delta: float) -> str:
        """Say of which table a promise for a row speaks, and what it is worth to a person."""
        steps = f", after {' and '.join(self.after)}" if self.after else ""
        table = f"ε = {epsilon:g} is for a row of the table that was learned from{steps}."
        if self.column is None:
            return f"{table} For a person with several rows there it is as many times larger."
        whose = f"({name(self.column)})"
        if self.most is None:
            return f"{table} For a person {whose} with several rows there it is as many times larger."
        if self.bounded:
            rows = f"A person {whose} has at most {plural(self.most, 'row')} there"
            return f"{table} {rows}: {_worth(epsilon, delta, self.most)}."
        read = (
            "That number was read from the rows, which the promise does not cover: bound it with deduplicate."
        )
        rows = f"A person {whose} has up to {plural(self.most, 'row')} there"
        loud = "" if self.most == 1 else f"{WARNING}: "
        return f"{loud}{table} {rows}: {_worth(epsilon, delta, self.most)}. {read}"

    def to_person(self, epsilon: float, delta: float) -> tuple[float, float] | None:
        """Return ε and δ for whoever has most rows; None where their number is not known."""
        return None if self.most is None else for_rows(epsilon, delta, self.most)


def for_rows(epsilon: float, delta: float, n_rows: int) -> tuple[float, float]:
    """Return what (ε, δ) for one row is for so many rows of a person together.

    One row after the other: ε adds up, and each further δ counts by e^ε of those before it.

    >>> epsilon, delta = for_rows(0.5, 1e-6, 3)
    >>> epsilon, round(delta * 1e6, 2)
    (1.5, 5.37)
    """
    with np.errstate(over="ignore"):
        weights = np.exp(epsilon * np.arange(n_rows)) if delta else np.zeros(1)
    return epsilon * n_rows, float(delta * weights.sum())


def _worth(epsilon: float, delta: float, n_rows: int) -> str:
    own, failure = for_rows(epsilon, delta, n_rows)
    if failure >= 1 or math.isinf(own):
        return "for such a person nothing is promised"
    return f"for a person ε = {own:.3g}" + (f" and δ = {failure:.1e}" if delta else "")
