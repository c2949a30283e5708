"""What may be anonymized, and how: quasi-identifiers with reasons, and hierarchies ready to be edited."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabveil.core import check
from tabveil.core.people import LEAST_SHARED
from tabveil.core.settings import yaml_files
from tabveil.core.table import Indices
from tabveil.errors import SchemaError
from tabveil.synthesis.anonymize.building import Automatic, ColumnValues
from tabveil.synthesis.anonymize.building.graded import Dates, JoinedLabels, Kept, Mask, NumberIntervals
from tabveil.synthesis.anonymize.class_kernels import number_rows
from tabveil.tables.reading import LoadedTable

MOST_TOGETHER = 4
"""Columns of the combination that is grown: who knows more of somebody hardly needs the table."""
LIKELY = 0.05
"""A column that sets so many more rows apart with one other is worth a look."""

TELLING = 0.5
"""A column that sets so many rows apart by itself needs no others, and tells nothing about them."""


@dataclass(frozen=True, kw_only=True)
class ColumnReason:
    """What a column does to tell people apart."""

    name: str
    n_values: int
    alone: float  # share of rows that nobody shares this value with
    separated: float  # share of pairs of rows that it tells apart
    partner: str | None  # the column with which it sets most rows apart that neither does alone
    with_partner: float  # share of rows that both together set apart
    added: float  # and how much of it neither does alone
    naming: bool  # it seems to name people: not to be generalized, but dropped

    @property
    def likely(self) -> bool:
        """Whether it sets people apart, alone or with one other."""
        return not self.naming and max(self.alone, self.added) >= LIKELY


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """All columns with reasons, and the combination that sets most people apart."""

    n_rows: int
    columns: tuple[ColumnReason, ...]
    together: tuple[tuple[str, float], ...]  # each column added, and the share set apart from then on


def propose(loaded: LoadedTable) -> Proposal:
    """Look at all columns, alone, in pairs, and in a combination grown column by column."""
    table = loaded.table
    names = table.schema.names
    codes = {name: np.unique(table.column(name), return_inverse=True)[1].astype(np.int64) for name in names}
    asked = [name for name in names if name not in loaded.identifiers]
    alone = {name: _unique_share([codes[name]]) for name in names}
    pairs = {
        frozenset(pair): _unique_share([codes[name] for name in pair]) for pair in combinations(asked, 2)
    }
    columns = []
    for name in names:
        naming = name not in asked
        others = [] if naming else [other for other in asked if other != name]
        added = {other: pairs[frozenset((name, other))] - max(alone[name], alone[other]) for other in others}
        best = max(added, key=lambda other: added[other], default=None)
        counts, n = np.bincount(codes[name]).astype(np.float64), len(table)
        columns.append(
            ColumnReason(
                name=name,
                n_values=len(counts),
                alone=alone[name],
                separated=float(1 - counts @ (counts - 1) / max(n * (n - 1), 1)),
                partner=best,
                with_partner=0.0 if best is None else added[best] + max(alone[name], alone[best]),
                added=0.0 if best is None else added[best],
                naming=naming,
            )
        )
    together = _grown([name for name in asked if alone[name] < TELLING], codes)
    return Proposal(n_rows=len(table), columns=tuple(columns), together=together)


def _unique_share(columns: Sequence[NDArray[np.int64]]) -> float:
    """Return the share of rows that are alone with their values."""
    keys = np.ascontiguousarray(np.stack(columns, axis=1))
    numbers, firsts = number_rows(keys)
    return float((np.bincount(numbers, minlength=len(firsts)) == 1).sum() / max(len(keys), 1))


def _grown(names: Sequence[str], codes: dict[str, Indices]) -> tuple[tuple[str, float], ...]:
    """Add the column that sets most rows apart, again and again, until a few columns or all people are.

    Where they set nobody apart, there is nothing to tell.
    """
    grown: list[tuple[str, float]] = []
    reached = 0.0
    while len(grown) < min(MOST_TOGETHER, len(names)) and reached < 1:
        chosen = [name for name, _ in grown]
        shares = {
            name: _unique_share([codes[other] for other in (*chosen, name)])
            for name in names
            if name not in chosen
        }
        best = max(shares, key=lambda name: shares[name])
        if shares[best] <= reached and grown:
            break
        reached = shares[best]
        grown.append((best, reached))
    return tuple(grown) if reached > 0 else ()


_HEAD = """\
# What 'tabveil anonymize' is asked for. Look through all of it: nothing here is decided.
#
# A quasi-identifier is a column that somebody else may know of a person. Delete the columns that are none;
# they are released as they are. A hierarchy says what its values may be generalized to:
#   age: {intervals: [5, 10, 20], origin: 0, top: 90}     widths, each a multiple of the one before
#   weight: {intervals: [[50, 60, 70, 80], [60, 80]]}     or cuts, level by level
#   ward: {tree: {surgery: [A1, A2], medicine: [B1]}, others: other wards}
#   postcode: {mask: right, steps: [1, 2, 3]}             characters, from the right or the left
#   admitted: {dates: [month, quarter, year]}             also hour, day, half year, decade, century
#   job: {file: job.csv}                                  a line a value: value;group;wider group;*
#   town: auto                                            made from the values when the program runs
# Cuts that are proposed here lie at rounded quantiles of the table: they tell a little about it.

"""
_TAIL = """
# What every group of rows with equal quasi-identifiers must promise; all of them must hold.
#   {k: 5}                                                at least five rows
#   {l: 2, column: diagnosis}                             two different values; kind: entropy or recursive
#   {t: 0.2, column: income, distance: ordered}           near to the whole table; or equal, hierarchical
models:
- {k: 5}

# What is made as small as possible: geometric loss, arithmetic loss, discernibility, entropy, class size.
loss: geometric loss

# The share of rows that may be left out, and whether they get rules of their own first.
suppression: 5 %
local: false

# Columns that are not released at all, such as names and numbers of people.
"""


def template(loaded: LoadedTable, columns: Collection[str] = (), *, dropped: Sequence[str] = ()) -> str:
    """Return a file with a hierarchy for each of the columns, or for all but those that name people.

    Columns that were ``dropped`` before are no part of the table, and the file says so.
    """
    names = loaded.table.schema.names
    check.known_names("hierarchies", "column", columns, names)
    chosen = [name for name in names if (name in columns if columns else name not in loaded.identifiers)]
    if not chosen:
        raise SchemaError("hierarchies", "no column is left: all seem to name people.")
    lines = [_HEAD, "hierarchies:\n"]
    for name in chosen:
        values = ColumnValues.of(loaded.table, name, loaded.layout)
        entry, note = _entry(values)
        lines += [f"  # {note}\n"] if note else []
        lines += [f"  {line}\n" for line in yaml_files.to_yaml({name: entry}).splitlines()]
    gone = [*dropped, *(name for name in loaded.identifiers if name not in chosen)]
    return "".join([*lines, _TAIL, yaml_files.to_yaml({"drop": gone})])


def _entry(values: ColumnValues) -> tuple[Any, str]:
    """Return the entry of a column, and what to know about it. No rare value stands in either."""
    match Automatic().choose(values):
        case NumberIntervals(cuts=cuts):
            plain = [[int(cut) if cut.is_integer() else cut for cut in level] for level in cuts]
            return {"intervals": plain}, ""
        case Dates(units=units):
            return {"dates": list(units)}, ""
        case Mask(side=side, steps=steps):
            return {"mask": side, "steps": list(steps)}, ""
        case Kept(sizes=sizes):
            shown, labels = ", ".join(map(str, sizes)), _labels(values)
            return "auto", f"keeps the {shown} most frequent labels, then none; or write a tree{labels}"
        case JoinedLabels():
            return "auto", "joins neighboring labels, pair by pair"
        case _:
            return "auto", "has few values: they stay, or all become *"


def _labels(values: ColumnValues) -> str:
    """List the labels that enough rows share, for somebody who wants to group them."""
    shared = [text for text, n in zip(values.texts, values.counts, strict=True) if n >= LEAST_SHARED]
    return f"; {' '.join(yaml_files.to_yaml({'labels': shared}).split())}" if shared else ""
