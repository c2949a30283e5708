"""The file that ``tabveil hierarchies`` writes: a hierarchy proposed for each column, ready to be edited."""

from collections.abc import Collection
from typing import Any

from tabveil.core import check
from tabveil.core.people import LEAST_SHARED
from tabveil.core.settings import yaml_files
from tabveil.errors import SchemaError
from tabveil.synthesis.anonymize.building import Automatic, ColumnValues
from tabveil.synthesis.anonymize.building.automatic import Kept, Neighbors
from tabveil.synthesis.anonymize.building.dates import Dates
from tabveil.synthesis.anonymize.building.intervals import Intervals
from tabveil.synthesis.anonymize.building.masks import Mask
from tabveil.tables.reading import LoadedTable

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


def template(loaded: LoadedTable, columns: Collection[str] = ()) -> str:
    """Return a file with a hierarchy for each of the columns, or for all but those that name people."""
    names = loaded.table.schema.names
    check.known_names("hierarchies", "column", columns, names)
    chosen = [name for name in names if (name in columns if columns else name not in loaded.identifiers)]
    if not chosen:
        raise SchemaError("hierarchies: no column is left: all seem to name people.")
    lines = [_HEAD, "hierarchies:\n"]
    for name in chosen:
        values = ColumnValues.of(loaded.table, name, loaded.layout)
        entry, note = _entry(values)
        lines += [f"  # {note}\n"] if note else []
        lines += [f"  {line}\n" for line in yaml_files.to_yaml({name: entry}).splitlines()]
    dropped = [name for name in loaded.identifiers if name not in chosen]
    return "".join([*lines, _TAIL, yaml_files.to_yaml({"drop": dropped})])


def _entry(values: ColumnValues) -> tuple[Any, str]:
    """Return the entry of a column, and what to know about it. No rare value stands in either."""
    match Automatic().choose(values):
        case Intervals(cuts=cuts):
            return {"intervals": [[_plain(cut) for cut in level] for level in cuts]}, ""
        case Dates(units=units):
            return {"dates": list(units)}, ""
        case Mask(side=side, steps=steps):
            return {"mask": side, "steps": list(steps)}, ""
        case Kept(sizes=sizes):
            shown = ", ".join(map(str, sizes))
            return (
                "auto",
                f"keeps the {shown} most frequent labels, then none; or write a tree{_labels(values)}",
            )
        case Neighbors():
            return "auto", "joins neighboring labels, pair by pair"
        case _:
            return "auto", "has few values: they stay, or all become *"


def _labels(values: ColumnValues) -> str:
    """List the labels that enough rows share, for somebody who wants to group them."""
    shared = [text for text, n in zip(values.texts, values.counts, strict=True) if n >= LEAST_SHARED]
    written = yaml_files.to_yaml({"labels": shared}).replace("\n", " ").strip() if shared else ""
    return f"; {' '.join(written.split())}" if written else ""


def _plain(cut: float) -> float:
    return int(cut) if cut.is_integer() else cut
