"""Text tables in and out, verbatim: every cell a string; only delimiter and encoding are guessed."""

import codecs
import csv
import gzip
import io
import itertools
import re
import zlib
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from tabveil.errors import SchemaError

MOST_UNPACKED = 200
"""How many times its size a packed file may unpack to; tables of people stay far below."""

_ALWAYS_UNPACKED = 1 << 25  # 32 MiB are no burden, however small the file


def require_room(unpacked: int, packed: int, what: str) -> None:
    """Refuse a file of ``packed`` bytes that has unpacked to too many."""
    most = max(_ALWAYS_UNPACKED, MOST_UNPACKED * packed)
    if unpacked > most:
        raise SchemaError(
            f"{what} unpacks to more than {most >> 20:,} MiB, over {MOST_UNPACKED} times its size; unpack it "
            "yourself if that is meant."
        )


Bytes = bytes | bytearray

DELIMITERS = ",;\t|"
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1")
MOST_COLUMNS = 10_000

_PIECE = 1 << 20
_HEAD = 1 << 16
_LONGEST_HEADER = 1 << 24
_BLOCK = 1 << 26  # one record may be this long


@dataclass(frozen=True, kw_only=True)
class CsvForm:
    """How a text table is written."""

    delimiter: str = ","
    encoding: str = "utf-8"


def parse(data: bytes, *, what: str, tabs: bool = False) -> tuple[list[str], pa.Table, CsvForm]:
    """Read a text table: its header, its rows as strings (columns named 0, 1, ...), and how it is written.

    The bytes may be packed with gzip, and errors call the file ``what``. If its name says that ``tabs``
    separate the cells, but none does, it is found out as usual.
    """
    text, encoding = _decode(_unpack(data, what), what)
    if not re.search(rb"\S", text):
        raise SchemaError(f"{what} is empty.")
    form = CsvForm(delimiter=_delimiter(text, what, tabs=tabs), encoding=encoding)
    records = csv.reader(_lines(text[:_LONGEST_HEADER]), delimiter=form.delimiter)
    try:
        header = next(record for record in records if record)
    except (csv.Error, StopIteration) as error:
        raise SchemaError(f"{what} has no readable header line.") from error
    if len(header) > MOST_COLUMNS:
        raise SchemaError(f"{what} has {len(header):,} columns; an absurd width, more than {MOST_COLUMNS:,}.")
    require_names(header, what)
    return header, _rows(text, len(header), form.delimiter, what), form


def _unpack(data: bytes, what: str) -> Bytes:
    """Unpack gzip by pieces, and stop where a small file turns out to be a very large one."""
    if data[:2] != b"\x1f\x8b":
        return data
    unpacked = bytearray()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            while piece := packed.read(_PIECE):
                unpacked += piece
                require_room(len(unpacked), len(data), what)
    except (OSError, EOFError, zlib.error) as error:
        raise SchemaError(f"{what} is a damaged gzip file.") from error
    return unpacked


def _decode(data: Bytes, what: str) -> tuple[Bytes, str]:
    """Return the text as UTF-8 and the encoding it came in; UTF-8 is only looked through, not copied."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encodings = ["utf-16"]
    elif data.startswith(b"\xef\xbb\xbf"):
        encodings = ["utf-8-sig"]
    elif re.search(rb"[\x00-\x08\x0e-\x1f]", data[:_HEAD]):
        raise SchemaError(f"{what} is not a text table: it holds binary data.")
    else:
        encodings = ["utf-8", "cp1252", "latin-1"]
    for encoding in encodings:
        try:
            text = _as_utf8(data, encoding)
        except UnicodeDecodeError:
            continue
        if (place := text.find(b"\0")) >= 0:
            line = text.count(b"\n", 0, place) + 1
            raise SchemaError(f"{what} is not a text table: line {line:,} holds a NUL byte.")
        return text, encoding
    raise SchemaError(f"{what} is not readable as {encodings[0]} text.")


def _as_utf8(data: Bytes, encoding: str) -> Bytes:
    if encoding == "utf-8" and data.isascii():
        return data
    decoder = codecs.getincrementaldecoder(encoding)()
    same, text = encoding == "utf-8", bytearray()
    for start in range(0, len(data), _PIECE):
        piece = decoder.decode(data[start : start + _PIECE])
        if not same:
            text += piece.encode()
    text += decoder.decode(b"", final=True).encode()  # refuses a character that is cut off
    return data if same else text


def _lines(text: Bytes) -> io.TextIOWrapper:
    """Read UTF-8 line by line; line ends stay as they are."""
    return io.TextIOWrapper(pa.BufferReader(text), encoding="utf-8", errors="replace", newline="")


def _delimiter(text: Bytes, what: str, *, tabs: bool) -> str:
    """Choose the delimiter under which most lines have as many cells as the first."""
    lines = list(_lines(text[:_HEAD]))
    lines = lines[:-1] if len(lines) > 1 and len(text) > _HEAD else lines  # the last may be cut off
    fits: dict[str, tuple[float, int]] = {}
    for candidate in DELIMITERS:
        try:
            counts = [len(record) for record in csv.reader(lines[:200], delimiter=candidate) if record]
        except csv.Error:
            continue
        if counts and counts[0] > 1:
            fits[candidate] = (counts.count(counts[0]) / len(counts), counts[0])
    if tabs and ("\t" in fits or not fits):
        return "\t"
    if not fits:
        return ","
    best = [candidate for candidate, fit in fits.items() if fit == max(fits.values())]
    if len(best) > 1:
        raise SchemaError(
            what,
            f"cannot tell what separates its cells, as {' and '.join(map(repr, best))} fit alike. "
            "Quote names and cells that hold the other.",
        )
    return best[0]


def require_names(header: list[str], what: str) -> None:
    """Refuse a first line that is a record: its cells would be shown as column names."""
    numeric = [float(name) for name in header if re.fullmatch(r"\s*-?\d+(\.\d+)?\s*", name)]
    steps = {round(after - before, 9) for before, after in itertools.pairwise(numeric)}
    if len(numeric) * 4 >= len(header) and numeric and not (len(numeric) > 1 and steps == {1.0}):
        raise SchemaError(
            what,
            f"the first line looks like a record, not like column names ({len(numeric)} of "
            f"{len(header)} cells are numbers). Add a header line.",
        )


def _rows(text: Bytes, width: int, delimiter: str, what: str) -> pa.Table:
    names = [str(position) for position in range(width)]
    quotes = text.count(b'"')
    if quotes % 2:
        _check_quotes(text, delimiter, what)
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(text),
            read_options=arrow_csv.ReadOptions(column_names=names, block_size=_BLOCK),
            parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=quotes > 0),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.large_string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:
        # Arrow's own message quotes the line, which is somebody's record.
        raise _ragged(text, width, delimiter, what) from None
    return table.slice(1)  # the header


def _ragged(text: Bytes, width: int, delimiter: str, what: str) -> SchemaError:
    """Find the first line that has too many or too few cells."""
    start = 1
    reader = csv.reader(_lines(text), delimiter=delimiter)
    try:
        for record in reader:
            if record and len(record) != width:
                cells = "cell" if len(record) == 1 else "cells"
                return SchemaError(
                    what,
                    f"line {start} has {len(record)} {cells}, the header has {width}. "
                    "Quote cells that hold the delimiter, and write empty cells for missing values.",
                )
            start = reader.line_num + 1
    except csv.Error as error:
        if "limit" in str(error):
            return SchemaError(what, f"line {start} has a very long cell, or a quote that is not closed.")
        return SchemaError(what, f"line {start} cannot be read as delimited text.")
    return SchemaError(f"{what} cannot be read as a table of delimited text.")


def _check_quotes(text: Bytes, delimiter: str, what: str) -> None:
    """Refuse a quoted cell that never ends: it would swallow the rest of the file."""
    start = 1
    reader = csv.reader(_lines(text), delimiter=delimiter, strict=True)
    try:
        for _ in reader:
            start = reader.line_num + 1
    except csv.Error as error:
        if "end of data" in str(error):
            raise SchemaError(what, f"a quote opened on line {start} is never closed.") from None


def compose(table: pa.Table, form: CsvForm) -> bytes:
    """Write a table of strings as delimited text, quoting only what needs it."""
    single = table.num_columns == 1  # there, a blank line would be no row at all
    columns = [_quote(table.column(i), form.delimiter, empty=single) for i in range(table.num_columns)]
    lines = pc.binary_join_element_wise(*columns, pa.scalar(form.delimiter, pa.large_string()))
    header = _quote(pa.chunked_array([table.column_names], pa.large_string()), form.delimiter, empty=single)
    text = "\n".join([form.delimiter.join(header.to_pylist()), *lines.to_pylist(), ""])
    try:
        return text.encode(form.encoding)
    except UnicodeEncodeError:
        return text.encode("utf-8")


def _quote(cells: pa.ChunkedArray, delimiter: str, *, empty: bool) -> pa.ChunkedArray:
    cells = pc.fill_null(cells.cast(pa.large_string()), "")
    pattern = rf'["\r\n{re.escape(delimiter)}]' + (r"|^\s*$" if empty else "")
    special = pc.match_substring_regex(cells, pattern)
    mark = pa.scalar('"', pa.large_string())
    doubled = pc.replace_substring(cells, '"', '""')
    nothing = pa.scalar("", pa.large_string())
    return pc.if_else(special, pc.binary_join_element_wise(mark, doubled, mark, nothing), cells)
