"""Hierarchies that somebody wrote: in a file, as ARX writes them, or as groups of groups of labels."""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from tabveil.core import check
from tabveil.core.check import quoted
from tabveil.core.storage.files import Unreadable, read_bytes
from tabveil.errors import ParameterError
from tabveil.synthesis.anonymize.building.column_values import (
    ColumnValues,
    EntryError,
    assemble,
    match_leaves,
    require_covered,
)
from tabveil.synthesis.anonymize.hierarchy import Hierarchy

FILE = "file"
_HEADERS = {"leaf", "value", "level 0", "level0"}
_DELIMITERS = ";\t,"
_LEAST_LEVELS = 2
_MOST_BYTES = 1 << 28


@dataclass(frozen=True, kw_only=True)
class FromFile:
    """A file with a line for each leaf."""

    path: Path

    def build(self, values: ColumnValues) -> Hierarchy:
        """Read the hierarchy and match its leaves with a column."""
        rows = self._rows(values.name)
        self._require_even(values.name, rows)
        levels = list(zip(*rows, strict=True))
        cells = match_leaves(values, levels[0], FILE)
        what = quoted(self.path.name)
        require_covered(values, cells, FILE, what)
        for number, (below, above) in enumerate(pairwise(levels), start=1):
            if torn := _torn(below, above):
                raise EntryError(
                    values.name,
                    FILE,
                    f"in {what}, {torn:,} of the {len(set(below)):,} values of level {number - 1} lie under "
                    f"several values of level {number}; levels must be nested.",
                )
        return assemble(values, cells, levels)

    def _rows(self, column: str) -> list[list[str]]:
        what = quoted(self.path.name)
        try:
            check.ordinary_file(what, self.path)
            text = read_bytes(self.path, most=_MOST_BYTES).decode("utf-8-sig")
        except ParameterError as error:
            raise EntryError(column, FILE, error) from None
        except FileNotFoundError:
            raise EntryError(column, FILE, f"there is no file {what}.") from None
        except UnicodeDecodeError:
            raise EntryError(column, FILE, f"{what} is not UTF-8 text.") from None
        except (OSError, Unreadable) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise EntryError(column, FILE, f"{what} cannot be read: {reason}.") from None
        first = text.partition("\n")[0]
        delimiter = next((mark for mark in _DELIMITERS if mark in first), ";")
        try:
            rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
        except csv.Error:
            raise EntryError(column, FILE, f"{what} cannot be read as lines of values.") from None
        if rows and rows[0][0].strip().casefold() in {*_HEADERS, column.casefold()}:
            rows = rows[1:]
        if not rows:
            raise EntryError(column, FILE, f"{what} is empty.")
        return [[cell.strip() for cell in row] for row in rows]

    def _require_even(self, column: str, rows: list[list[str]]) -> None:
        what = quoted(self.path.name)
        depths = np.array([len(row) for row in rows])
        usual = int(np.bincount(depths).argmax())
        if usual < _LEAST_LEVELS:
            raise EntryError(column, FILE, f"{what} has no level above the values; write 'leaf;group;*'.")
        odd = np.flatnonzero(depths != usual)
        if len(odd):
            raise EntryError(
                column,
                FILE,
                f"in {what}, {len(odd):,} of {len(rows):,} leaves have another depth than {usual} levels "
                f"(the first is leaf {odd[0] + 1}).",
            )
        for number, row in enumerate(rows, start=1):
            if any(not cell for cell in row[1:]) and row[0]:
                raise EntryError(column, FILE, f"in {what}, leaf {number} has a level without a value.")


TREE = "tree"


@dataclass(frozen=True, kw_only=True)
class LabelTree:
    """Groups by name, each a list of labels or again groups; one value for all above.

    ``others`` names a group for the labels that stand nowhere in the tree.
    """

    groups: Mapping[str, Any]
    others: str | None = None

    def check(self, column: str) -> None:
        """Refuse trees that are uneven or hold something else than labels."""
        if not self.groups:
            raise EntryError(column, TREE, "it has no groups.")
        depths = {len(way) for way in _ways(column, self.groups, ())}
        if len(depths) > 1:
            raise EntryError(column, TREE, "all labels must lie equally deep; some lie deeper than others.")
        if not depths:
            raise EntryError(column, TREE, "it has no labels.")

    def build(self, values: ColumnValues) -> Hierarchy:
        """Make the hierarchy of a column."""
        ways = list(_ways(values.name, self.groups, ()))
        cells = match_leaves(values, [way[-1] for way in ways], TREE)
        depth = len(ways[0])
        if self.others is not None:
            possible, texts = values.possible()
            rest = ~np.isin(possible, cells)
            ways += [(self.others,) * (depth - 1) + (texts[place],) for place in np.flatnonzero(rest)]
            cells = np.concatenate((cells, possible[rest]))
        require_covered(values, cells, TREE, "the tree; add them, or name a group for 'others'")
        if any(
            _torn([way[level] for way in ways], [way[:level] for way in ways])
            for level in range(1, depth - 1)
        ):
            raise EntryError(values.name, TREE, "a group's name occurs in several places; names must differ.")
        # From the leaves up: a way runs from the outermost group to the label.
        return assemble(
            values, cells, [[way[-1 - level] for way in ways] for level in range(depth)], top=True
        )


def _torn(below: Sequence[str], above: Sequence[Any]) -> int:
    """Count the labels of a level that lie under several of the level above."""
    n_parents = Counter(label for label, _ in set(zip(below, above, strict=True)))
    return sum(n > 1 for n in n_parents.values())


def _ways(column: str, node: object, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the way to every label, from the outermost group."""
    match node:
        case Mapping():
            for name, inner in node.items():
                yield from _ways(column, inner, (*above, _text(column, name)))
        case list() | tuple():
            if not node:
                raise EntryError(column, TREE, "a group is empty.")
            for label in node:
                yield (*above, _text(column, label))
        case _:
            raise EntryError(column, TREE, "every group must be a list of labels, or groups by name.")


def _text(column: str, label: object) -> str:
    """Return a label as text; YAML reads yes, 1 and 2020-01-01 as something else."""
    match label:
        case str():
            return label
        case bool() | None:
            raise EntryError(column, TREE, "labels such as yes, no or null must stand in quotes.")
        case int() | float():
            return str(label)
        case _ if hasattr(label, "isoformat"):
            return str(label.isoformat())
        case _:
            raise EntryError(column, TREE, "a label must be a text or a number.")
