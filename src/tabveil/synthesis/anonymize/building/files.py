"""Hierarchies in files as ARX writes them: a line for each leaf, its values level by level, ``;`` between."""

import csv
import io
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from tabveil.core import check
from tabveil.core.check import quoted
from tabveil.errors import ParameterError
from tabveil.synthesis.anonymize.building.assembling import assemble
from tabveil.synthesis.anonymize.building.faults import EntryError
from tabveil.synthesis.anonymize.building.leaves import match_leaves, require_covered
from tabveil.synthesis.anonymize.building.values import ColumnValues
from tabveil.synthesis.anonymize.hierarchy import Hierarchy

ENTRY = "file"
_HEADERS = {"leaf", "value", "level 0", "level0"}
_DELIMITERS = ";\t,"
_LEAST_LEVELS = 2


@dataclass(frozen=True, kw_only=True)
class FromFile:
    """A file with a line for each leaf."""

    path: Path

    def build(self, values: ColumnValues) -> Hierarchy:
        """Read the hierarchy and match its leaves with a column."""
        rows = self._rows(values.name)
        self._require_even(values.name, rows)
        levels = list(zip(*rows, strict=True))
        cells = match_leaves(values, levels[0], ENTRY)
        what = quoted(self.path.name)
        require_covered(values, cells, ENTRY, what)
        for number, (below, above) in enumerate(pairwise(levels), start=1):
            parents: dict[str, set[str]] = {}
            for label, parent in zip(below, above, strict=True):
                parents.setdefault(label, set()).add(parent)
            torn = sum(len(found) > 1 for found in parents.values())
            if torn:
                raise EntryError(
                    values.name,
                    ENTRY,
                    f"in {what}, {torn:,} of the {len(parents):,} values of level {number - 1} lie under "
                    f"several values of level {number}; levels must be nested.",
                )
        return assemble(values, cells, levels)

    def _rows(self, column: str) -> list[list[str]]:
        what = quoted(self.path.name)
        try:
            check.ordinary_file(what, self.path)
            text = self.path.read_text(encoding="utf-8-sig")
        except ParameterError as error:
            raise EntryError(column, ENTRY, str(error)) from None
        except FileNotFoundError:
            raise EntryError(column, ENTRY, f"there is no file {what}.") from None
        except UnicodeDecodeError:
            raise EntryError(column, ENTRY, f"{what} is not UTF-8 text.") from None
        except OSError as error:
            raise EntryError(column, ENTRY, f"{what} cannot be read: {error.strerror}.") from None
        first = text.partition("\n")[0]
        delimiter = next((mark for mark in _DELIMITERS if mark in first), ";")
        try:
            rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
        except csv.Error:
            raise EntryError(column, ENTRY, f"{what} cannot be read as lines of values.") from None
        if rows and rows[0][0].strip().casefold() in {*_HEADERS, column.casefold()}:
            rows = rows[1:]
        if not rows:
            raise EntryError(column, ENTRY, f"{what} is empty.")
        return [[cell.strip() for cell in row] for row in rows]

    def _require_even(self, column: str, rows: list[list[str]]) -> None:
        what = quoted(self.path.name)
        depths = np.array([len(row) for row in rows])
        usual = int(np.bincount(depths).argmax())
        if usual < _LEAST_LEVELS:
            raise EntryError(column, ENTRY, f"{what} has no level above the values; write 'leaf;group;*'.")
        odd = np.flatnonzero(depths != usual)
        if len(odd):
            raise EntryError(
                column,
                ENTRY,
                f"in {what}, {len(odd):,} of {len(rows):,} leaves have another depth than {usual} levels "
                f"(the first is leaf {odd[0] + 1}).",
            )
        for number, row in enumerate(rows, start=1):
            if any(not cell for cell in row[1:]) and row[0]:
                raise EntryError(column, ENTRY, f"in {what}, leaf {number} has a level without a value.")
