"""Spreadsheets in: one sheet of an .xlsx workbook, its numbers and dates typed as the sheet says.

A workbook is a packed folder of XML. It is unpacked and looked through before the library that knows the
format sees it: that library keeps a place for every cell between the first and the last, so that a small file
with one cell in the far corner would fill any memory.
"""

import datetime as dt
import io
import re
import zipfile
import zlib
from dataclasses import dataclass, field
from xml.parsers import expat

import pyarrow as pa

from tabveil.core.check import quoted
from tabveil.errors import ParameterError, SchemaError
from tabveil.tables.reading.csvfile import require_names, require_room

MOST_CELLS = 100
"""How many cells a sheet may span for each byte of its file; tables of people have less than one."""

_ALWAYS_READ = 1 << 23
_ROWS, _COLUMNS = 1 << 20, 1 << 14  # of the largest sheet that there can be
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")
_OLD_OR_LOCKED = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_NEEDED = (
    "[Content_Types]",
    "_rels/",
    "xl/_rels/",
    "xl/workbook",
    "xl/worksheets/",
    "xl/styles",
    "xl/shared",
)

Cell = bool | int | float | str | dt.time | dt.date | dt.datetime | dt.timedelta


def parse(data: bytes, *, role: str, what: str) -> tuple[list[str], pa.Table, tuple[str, ...]]:
    """Read the first sheet of a workbook that anybody can see; ``what`` is what errors call the file.

    Returns its header, its rows (columns named 0, 1, ...), and what to know about how it was chosen.
    """
    try:
        import python_calamine as calamine  # noqa: PLC0415 - only for those who bring spreadsheets
    except ModuleNotFoundError:
        raise ParameterError(
            role,
            "reading .xlsx files needs python-calamine; install tabveil[xlsx], or save the sheet as "
            "a .csv file.",
        ) from None
    unpacked = _unpacked(data, what)
    try:
        with calamine.CalamineWorkbook.from_filelike(unpacked) as book:
            sheets = [
                item.name
                for item in book.sheets_metadata
                if item.typ == calamine.SheetTypeEnum.WorkSheet
                and item.visible == calamine.SheetVisibleEnum.Visible
            ]
            rows = book.get_sheet_by_name(sheets[0]).to_python() if sheets else []
    except (calamine.CalamineError, OSError, ValueError, OverflowError):
        raise _damaged(what) from None  # the library's own message may quote a cell
    held = [row for row in rows if any(cell != "" for cell in row)]
    if not held:
        raise SchemaError(f"{what} has no sheet with cells in it.")
    if any(isinstance(cell, str) and _CONTROL.search(cell) for row in held for cell in row):
        raise SchemaError(what, "a cell holds a control character, which is no text.")
    columns = [column for column in zip(*held, strict=True) if any(cell != "" for cell in column)]
    names = [_as_text(name) for name, *_ in columns]
    require_names(names, what)
    arrays = [_array([None if cell == "" else cell for cell in cells]) for _, *cells in columns]
    table = pa.Table.from_arrays(arrays, names=[str(place) for place in range(len(names))])
    several = f"The {role} file has {len(sheets)} sheets; the first, {quoted(sheets[0])}, was read."
    return names, table, (several,) if len(sheets) > 1 else ()


def _damaged(what: str) -> SchemaError:
    return SchemaError(f"{what} is damaged or not an .xlsx file.")


def _unpacked(data: bytes, what: str) -> io.BytesIO:
    """Return the workbook without packing, once all its parts are known to be harmless."""
    if data.startswith(_OLD_OR_LOCKED):
        raise SchemaError(
            f"{what} has a password, or is an old .xls file. Save it as .xlsx without a password."
        )
    sink, size = io.BytesIO(), 0
    extent = _Extent(most=max(_ALWAYS_READ, MOST_CELLS * len(data)))
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed, zipfile.ZipFile(sink, "w") as plain:
            for name in dict.fromkeys(packed.namelist()):
                if not name.startswith(_NEEDED) or not name.endswith((".xml", ".rels")):
                    continue
                part = bytearray()
                with packed.open(name) as source:
                    while piece := source.read(1 << 20):
                        part += piece
                        require_room(size + len(part), len(data), what)
                size += len(part)
                _look_through(part, extent)
                plain.writestr(name, bytes(part))
    except _TooLargeError:
        raise SchemaError(
            f"{what} has cells so far apart that a sheet spans more than {extent.most:,} cells. Delete what "
            "stands far outside of the table."
        ) from None
    except SchemaError:
        raise
    except (zipfile.BadZipFile, zlib.error, expat.ExpatError, EOFError, OSError, RuntimeError, ValueError):
        raise _damaged(what) from None
    sink.seek(0)
    return sink


class _TooLargeError(Exception):
    """More cells than can be held."""


@dataclass(kw_only=True)
class _Extent:
    """How far the cells of a sheet reach that hold something."""

    most: int
    row: int = 0
    column: int = 0
    rows: int = 0
    columns: int = 0
    letters: dict[str, int] = field(default_factory=dict)

    def open(self, tag: str, attributes: dict[str, str]) -> None:
        """Take notice of an element that begins."""
        for name in ("count", "uniqueCount"):  # the other reader makes room for so many
            if int(attributes.get(name, 0)) > self.most:
                raise _TooLargeError
        match tag.rpartition(":")[2]:
            case "sheetData":
                self.row = self.column = self.rows = self.columns = 0
            case "row":
                self.row = int(attributes["r"]) if "r" in attributes else self.row + 1
                self.column = 0
            case "c":
                self.column += 1
                if (place := attributes.get("r")) is not None:
                    letters = place.rstrip("0123456789")
                    if letters not in self.letters:
                        self.letters[letters] = _number_of(letters)
                    self.row, self.column = int(place[len(letters) :]), self.letters[letters]
            case "v" | "is" | "f":
                self.rows, self.columns = max(self.rows, self.row), max(self.columns, self.column)
                if self.rows * self.columns > self.most or self.rows > _ROWS or self.columns > _COLUMNS:
                    raise _TooLargeError


def _number_of(letters: str) -> int:
    """Return the number of a column: 1 for A, 28 for AB."""
    if not 0 < len(letters) <= 8 or not (letters.isascii() and letters.isalpha()):  # noqa: PLR2004 - no sheet
        raise ValueError("not a column")
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def _look_through(part: bytearray, extent: _Extent) -> None:
    """Refuse XML that is none, or that could grow, and cells that are too far apart."""
    parser = expat.ParserCreate("utf-8")  # whatever it says of itself: the other reader knows no other
    parser.StartDoctypeDeclHandler = _refuse
    parser.StartElementHandler = extent.open
    parser.Parse(part, True)


def _refuse(*_: object) -> None:
    raise ValueError("a workbook has no document type")


def _array(cells: list[Cell | None]) -> pa.Array:
    """Return a column in the type that all its cells have, or as text where they differ."""
    kinds = {type(cell) for cell in cells if cell is not None}
    kind = next((kind for alike, kind in _TYPES if kinds and kinds <= alike), None)
    if kind is None:
        return pa.array([None if cell is None else _as_text(cell) for cell in cells], pa.large_string())
    if pa.types.is_timestamp(kind):  # dates and datetimes, of which Arrow makes no one type
        cells = [cell if cell is None or isinstance(cell, dt.datetime) else _midnight(cell) for cell in cells]
    array = pa.array(cells, kind)
    try:  # sheets know no whole numbers, only those with decimals
        return array.cast(pa.int64()) if kind == pa.float64() else array
    except pa.ArrowInvalid:
        return array


def _midnight(day: Cell) -> dt.datetime:
    assert isinstance(day, dt.date)
    return dt.datetime(day.year, day.month, day.day)  # noqa: DTZ001 - sheets know no zones


_TYPES: tuple[tuple[set[type], pa.DataType], ...] = (
    ({bool}, pa.bool_()),
    ({int, float}, pa.float64()),
    ({dt.date}, pa.date32()),
    ({dt.date, dt.datetime}, pa.timestamp("us")),
    ({dt.time}, pa.time64("us")),
    ({dt.timedelta}, pa.duration("us")),
)


def _as_text(cell: Cell) -> str:
    match cell:
        case float() if cell.is_integer():
            return str(int(cell))
        case dt.datetime() | dt.date() | dt.time():
            return cell.isoformat()
        case _:
            return str(cell)
