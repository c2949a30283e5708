"""The first step of a pipeline: generalize quasi-identifiers until their classes keep what is promised.

Either the levels are searched for that lose least, which asks the rows, or somebody chose them, which does
not: then rows decide only whether their own class is large enough to be released.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from tabveil.core import check
from tabveil.core.table import Numeric, Table
from tabveil.errors import ParameterError, TabveilError
from tabveil.synthesis.anonymize import Anonymization, KAnonymity
from tabveil.synthesis.anonymize.building import Automatic, ColumnValues
from tabveil.synthesis.anonymize.building.written import FromFile, LabelTree
from tabveil.synthesis.anonymize.configuration import AnonymizationSettings
from tabveil.synthesis.anonymize.configuration import read as read_configuration
from tabveil.tables.reading import Layout
from tabveil.tables.reading.moments import RANGE, STEPS

_WHERE = "configuration"  # whom complaints about a mapping name


@dataclass(frozen=True, kw_only=True)
class Generalizing:
    """What the quasi-identifiers are, how each may be generalized, and what must hold in the end."""

    asked: AnonymizationSettings
    levels: Mapping[str, int] | None = None  # chosen by somebody; None: searched for

    @classmethod
    def read(cls, given: Mapping[str, Any], levels: Mapping[str, Any]) -> Self:
        """Read settings as ``tabveil anonymize`` takes them, and levels, if any."""
        try:
            asked = read_configuration(given)
        except TabveilError as error:
            raise ParameterError(error.without(_WHERE)) from None
        if not levels:
            return cls(asked=asked)
        check.known_names("levels", "hierarchy of", map(str, levels), asked.hierarchies)
        for name, level in levels.items():
            if isinstance(level, bool) or not isinstance(level, int) or level < 0:
                raise ParameterError("levels", f"column {name!r} must have a whole number from 0 on.")
        for name in asked.hierarchies:
            if name not in levels:
                raise ParameterError("levels", f"column {name!r} has a hierarchy and no level.")
        if asked.local:
            raise ParameterError("levels", "where they are chosen, nothing is recoded locally.")
        return cls(asked=asked, levels=dict(levels))

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The columns that are generalized."""
        return tuple(self.asked.hierarchies)

    @property
    def k(self) -> int:
        """How many rows a class must have; 1 where nobody says."""
        return max((model.k for model in self.asked.models if isinstance(model, KAnonymity)), default=1)

    @property
    def automatic(self) -> tuple[str, ...]:
        """The columns whose hierarchies are made from their values."""
        return tuple(name for name, entry in self.asked.hierarchies.items() if isinstance(entry, Automatic))

    @property
    def named(self) -> frozenset[str]:
        """The columns of which somebody wrote down every label that there may be."""
        return frozenset(
            name
            for name, entry in self.asked.hierarchies.items()
            if isinstance(entry, FromFile) or (isinstance(entry, LabelTree) and entry.others is None)
        )

    def apply(self, table: Table, layout: Layout | None) -> Anonymization:
        """Generalize a table; ``layout`` says how its columns are written, if anybody knows."""
        asked = self.asked
        check.known_names("hierarchies", "column", asked.hierarchies, table.schema.names)
        check.known_names("models", "column", asked.sensitive, table.schema.names)
        return asked.build(table, lambda name: _values(table, name, layout), levels=self.levels)


def _values(table: Table, name: str, layout: Layout | None) -> ColumnValues:
    """Look at a column; where nobody says how it is written, the schema tells numbers, labels and dates."""
    found = ColumnValues.of(table, name, layout)
    column = table.schema[name]
    if layout is not None or not isinstance(column, Numeric) or not column.arbitrary_zero:
        return found
    first, last = RANGE
    # The microseconds in a unit of dates: the coarsest in which all are in a calendar.
    fitting = (step for step in STEPS.values() if first <= column.low * step and column.high * step <= last)
    return replace(found, clock=next(fitting, None))
