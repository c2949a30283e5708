"""Which columns are codes, which are times of day, and which say what others do?"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tabveil.core.people import LEAST_SHARED
from tabveil.core.table import Categorical, Column, Floats, Numeric, Table
from tabveil.synthesis.generators.dependencies import COVERED, LOST, Dependency, families, find_dependencies
from tabveil.tables.matrices.ordinal import Codes, CountedValues
from tabveil.tables.matrices.ranked_kernels import find_determined
from tabveil.tables.reading import Layout
from tabveil.tables.reading.raw_column import Kind
from tabveil.workflows.synthesizing.banded import BandedColumn, band
from tabveil.workflows.synthesizing.linked import Value
from tabveil.workflows.synthesizing.recognizing import is_clock, to_minutes, whole_numbers
from tabveil.workflows.synthesizing.standing_in import other_of

MOST_LISTED = 500
"""Different numbers of a column of which each is learned as it is, with other numbers that follow from it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class KnownTable:
    """A table to be arranged, and what was said about its columns.

    Labels of those in ``kept`` stay as they are. Somebody said of those in ``explained`` what they hold, and
    settings speak of those in ``named``, which stay columns of their own. Only what at ``least`` so many rows
    share is learned as it is.
    """

    table: Table
    layout: Layout
    kept: Collection[str] = ()
    explained: Collection[str] = ()
    named: Collection[str] = ()
    least: int = LEAST_SHARED

    def other(self, k: int) -> Value:
        """Return what stands for all rare values of a column; None where nothing can."""
        column, cells = self.table.schema.columns[k], self.table.values[:, k]
        if column.name in self.kept or (isinstance(column, Categorical) and column.ordered):
            return None
        return other_of(column, self.layout.columns[column.name], cells)

    def linkable(self, k: int) -> bool:
        """Whether a column can be learned with others: if labels are rare, one can stand for all of them."""
        column = self.table.schema.columns[k]
        kind = self.layout.columns[column.name].kind
        if isinstance(column, Numeric):
            return kind is Kind.NUMBER
        if column.holds != "labels" or kind not in (Kind.LABELS, Kind.BOOLEAN):
            return False
        counts = np.unique(self.table.values[:, k], return_counts=True, equal_nan=True)[1]
        return self.other(k) is not None or bool((counts >= self.least).all())

    def in_minutes(self, clocks: Sequence[int]) -> "KnownTable":
        """Return the table with times of day as minutes since midnight."""
        values, columns = np.array(self.table.values), list(self.table.schema.columns)
        for k in clocks:
            values[:, k] = to_minutes(values[:, k])
            low, high = float(np.nanmin(values[:, k])), float(np.nanmax(values[:, k]))
            columns[k] = Numeric(name=columns[k].name, low=low, high=high, decimals=0)
        return replace(self, table=Table(schema=type(self.table.schema)(tuple(columns)), values=values))


@dataclass(kw_only=True, eq=False)
class Finding:
    """What was found, by the positions of columns."""

    clocks: list[int]
    codes: set[int] = field(default_factory=set)
    linked: dict[int, list[int]] = field(default_factory=dict)  # with the column that they are learned under
    banded: dict[int, BandedColumn] = field(default_factory=dict)
    dependencies: list[Dependency] = field(default_factory=list)

    @classmethod
    def of(cls, known: KnownTable) -> tuple["Finding", KnownTable]:
        """Look at a table; it is returned with times of day in minutes."""
        numbers = whole_numbers(known.table, known.layout, besides={*known.explained, *known.named})
        found = cls(clocks=[k for k in numbers if is_clock(known.table.values[:, k])])
        known = known.in_minutes(found.clocks) if found.clocks else known
        levels, codes = _levels(known.table, numbers)
        columns = known.table.schema.columns
        usable = [
            each.name not in known.named and (isinstance(each, Numeric) or each.holds == "labels")
            for each in columns
        ]
        found.dependencies = find_dependencies(codes, levels, lost=1.0)
        used = [item for item in found.dependencies if usable[item.source] and usable[item.column]]
        numbers = [k for k in numbers if k not in found.clocks]
        found.codes = _described(columns, levels, numbers, used)
        found.codes |= {k for k in numbers if known.layout.columns[columns[k].name].code}
        for family in families(used):
            found._sort(known, family, used, numbers)
        found._join(known, codes, levels, [k for k, fits in enumerate(usable) if fits])
        for k in found.codes.difference(*found.linked.values()):
            found.linked[k] = [k]
        return found, known

    @property
    def gone(self) -> set[int]:
        """The columns that are not learned themselves."""
        return {*self.banded, *(k for root, members in self.linked.items() for k in members if k != root)}

    def _sort(
        self,
        known: KnownTable,
        family: Sequence[int],
        dependencies: Sequence[Dependency],
        numbers: Sequence[int],
    ) -> None:
        """Decide how columns that follow from one are learned."""
        root, columns = family[0], known.table.schema.columns
        if isinstance(columns[root], Categorical) or root in self.codes:
            self._link(known, family, dependencies)
            return
        bands = {k: band(known.table, root, k, least=known.least) for k in family[1:]}
        direct = [item.column for item in dependencies if item.source == root]
        parted = [
            k
            for k in direct
            if isinstance(columns[k], Categorical) and band(known.table, root, k, least=1) is None
        ]
        exact = [k for k in direct if isinstance(columns[k], Numeric)]
        # No range says what it says, so it is none of a quantity; or it is one of a few that others go with.
        if (parted and root in numbers) or (exact and _is_list(known.table.values[:, root])):
            self._link(known, family, dependencies)
            return
        self.banded.update({k: each for k, each in bands.items() if each is not None})
        rest = [
            item for item in dependencies if item.source in family[1:] and self.banded.keys().isdisjoint(item)
        ]
        for others in families(rest):
            self._sort(known, others, rest, numbers)

    def _link(self, known: KnownTable, family: Sequence[int], dependencies: Sequence[Dependency]) -> None:
        members = [k for k in family if known.linkable(k)]
        if family[0] in members and len(members) > 1:
            self.linked[family[0]] = members
        elif family[0] not in members:
            rest = [item for item in dependencies if item.source in members and item.column in members]
            for others in families(rest):
                self._link(known, others, rest)

    def _join(
        self, known: KnownTable, codes: Codes, levels: Sequence[CountedValues], usable: Sequence[int]
    ) -> None:
        """Link what also determines a linked column, where nearly all rows keep what they have together."""
        followers = {k: root for root, members in self.linked.items() for k in members if k != root}
        free = [
            k
            for k in usable
            if k not in self.gone
            and known.linkable(k)
            and (isinstance(known.table.schema.columns[k], Categorical) or k in self.codes)
        ]
        tried = np.zeros((len(levels), len(levels)), dtype=np.bool_)
        tried[np.ix_(free, list(followers))] = True
        for root, members in self.linked.items():
            tried[root, members] = False
        if not tried.any():
            return
        holds = find_determined(
            np.ascontiguousarray(codes.T), np.array([len(each.counts) for each in levels]), tried
        )
        for source, column in np.argwhere(holds).tolist():
            root = next((root for root, members in self.linked.items() if column in members), source)
            own = next((root for root, members in self.linked.items() if source in members), source)
            together = [*self.linked[root], *(k for k in self.linked.get(own, [own]))] if own != root else []
            if together and _shared(codes[:, together], known.least):
                self.linked.pop(own, None)
                self.linked[root] = together


def _is_list(cells: Floats) -> bool:
    """Whether numbers are a short list, such as the rates of some months, of which enough rows share each."""
    _, counts = np.unique(cells[~np.isnan(cells)], return_counts=True)
    shared = counts[counts >= LEAST_SHARED].sum()
    return bool(len(counts) <= MOST_LISTED and shared >= COVERED["numbers"] * max(counts.sum(), 1))


def _levels(table: Table, numbers: Collection[int]) -> tuple[list[CountedValues], Codes]:
    """Return the values of all columns; whole numbers may be codes, of which many are rare, as of labels."""
    levels = [CountedValues.of(column, table.column(column.name)) for column in table.schema.columns]
    codes = np.column_stack([each.codes(table.values[:, k]) for k, each in enumerate(levels)])
    for k in numbers:
        levels[k] = replace(levels[k], column=Categorical(name=table.schema.names[k], labels=()))
    return levels, codes


def _described(
    columns: Sequence[Column],
    levels: Sequence[CountedValues],
    numbers: Collection[int],
    dependencies: Sequence[Dependency],
) -> set[int]:
    """Return the whole numbers that have a label each in another column."""
    n_values = [int(np.count_nonzero(each.counts)) for each in levels]
    return {
        k
        for item in dependencies
        if n_values[item.source] == n_values[item.column]
        for k, other in (item, item[::-1])
        if k in numbers and isinstance(columns[other], Categorical)
    }


def _shared(codes: Codes, least: int) -> bool:
    """Whether nearly all rows have what enough rows have."""
    _, counts = np.unique(codes, axis=0, return_counts=True)
    return bool(counts[counts < least].sum() <= LOST * len(codes))
