"""Hypothesis strategies for files that should be tables: text of every dialect, and all types of Arrow."""

import gzip
import io
import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from hypothesis import strategies as st

from supplies import workbooks

NAMES = st.sampled_from(["a", "b", "age", "Ärger", "", " ", "1", "x y", "__index_level_0__", '"', "€", "="])
CELLS = st.sampled_from(
    [
        *("1", "2", "-3.5", "1e308", "5e-324", "-1e300", "inf", "nan", "NA", "", " ", "007", "1,5", "1" * 20),
        *("true", "FALSE", "2024-02-29", "0001-01-01", "9999-12-31T23:59:59-05:00", "2024-01-01 10:00Z"),
        *("0000-01-01", "ä", "€", "\u2028", "\x0b", "\x1f", "\x00", "a;b", "a\tb", "a|b", "a,b", 'x"y', '"'),
        *("two\nlines", "\r", "x" * 5000, "\ufeff", "?", "\U0001f600", "'"),
        *(
            "12,345.67",
            "1.324,85",
            "1.324",
            "1,324",
            "5%",
            "7 %",
            "€ 5",
            "-$1,234.5",
            "1'000",
            "1 000",
            "5 EUR",
        ),
        *(
            "31.12.2020",
            "1.2.2020",
            "12/31/2020",
            "03/04/2020",
            "31-Dec-2020",
            "01FEB2020",
            "20201231",
            "20200230",
        ),
        *(
            "12:30",
            "9:05",
            "23:59:59.5",
            "24:00",
            "31.12.2020 12:30",
            "1/2/2020 9:05Z",
            "99.99.9999",
            "1,3",
            "+5%",
        ),
    ]
)
ENCODINGS = ("utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252", "latin-1")


@st.composite
def text_files(draw):
    """The name and the bytes of a text file that may be a table."""
    delimiter = draw(st.sampled_from(",,;\t|:"))
    quote = draw(st.sampled_from(["never", "needed", "always", "carelessly"]))
    ends = draw(st.sampled_from([["\n"], ["\r\n"], ["\r"], ["\n", "\r\n"], ["\n", "\n\n", "\r"]]))
    odd = draw(st.integers(0, 4)) == 0
    header = draw(st.lists(NAMES, min_size=1, max_size=4)) if odd else ["a", "b", "age"]
    pool = draw(st.lists(CELLS, min_size=1, max_size=5))  # a column repeats itself
    rows = [header]
    for _ in range(draw(st.integers(0, 12))):
        width = len(header) if draw(st.integers(0, 30)) else draw(st.integers(0, 5))
        rows.append(draw(st.lists(st.sampled_from(pool), min_size=width, max_size=width)))
    text = "".join(
        delimiter.join(_quoted(cell, delimiter, quote) for cell in row) + draw(st.sampled_from(ends))
        for row in rows
    )
    data = text.encode(draw(st.sampled_from(ENCODINGS)), errors="ignore")
    if draw(st.integers(0, 5)) == 0:
        data = draw(changed(data))
    name = draw(st.sampled_from(["t.csv", "t.tsv", "t.txt"]))
    if draw(st.integers(0, 6)) == 0:
        data = gzip.compress(data, mtime=0)
        data = draw(
            st.sampled_from([data, data, data, data, data[:-3], data[: len(data) // 2], data + b"more"])
        )
        name += draw(st.sampled_from(["", ".gz"]))
    return name, data


def _quoted(cell, delimiter, quote):
    special = any(mark in cell for mark in (delimiter, '"', "\n", "\r"))
    if quote == "never" or (quote == "needed" and not special):
        return cell
    return f'"{cell}"' if quote == "carelessly" else '"' + cell.replace('"', '""') + '"'


@st.composite
def changed(draw, data):
    """The same bytes but for a few."""
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(data)))
        kind = draw(st.sampled_from(["cut", "put", "drop"]))
        extra = draw(st.binary(max_size=3)) if kind == "put" else b""
        data = data[:place] if kind == "cut" else data[:place] + extra + data[place + (kind == "drop") :]
    return data


FIXED = [
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    *(pa.float16(), pa.float32(), pa.float64(), pa.bool_(), pa.date32(), pa.date64()),
    *(pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")),
    *(pa.duration(unit) for unit in ("s", "ms", "us", "ns")),
    *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")),
    *(pa.timestamp("us", "Europe/Berlin"), pa.timestamp("s", "+05:30"), pa.timestamp("ns", "UTC")),
    pa.timestamp("ms", "Nowhere/Land"),
    *(pa.decimal128(7, 2), pa.decimal128(38, 0), pa.decimal256(60, 10), pa.binary(4), pa.uuid()),
    *(pa.month_day_nano_interval(), pa.bool8()),
]
INDICES = [pa.int8(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32(), pa.uint64()]
EXTENSIONS = [pa.json_(), pa.opaque(pa.string(), "type", "vendor")]
WORDS = st.text(max_size=6) | st.sampled_from(["a", "b", "NA", "", "2024-01-01", "1", "x" * 300])


def plain_arrays(n):
    """An Arrow array of one value a cell, mostly of a type that can be audited."""
    return st.sampled_from(FIXED).flatmap(lambda kind: fixed(kind, n)) | words(n) | binaries(n)


@st.composite
def arrays(draw, n, depth=0):
    """An Arrow array of any type, with any value that its type allows and some that it does not."""
    kind = draw(
        st.sampled_from([*"pppppppppp", "d", "d", "n", *(["l", "s", "m", "r", "e"] if depth < 2 else "")])
    )
    offsets = pa.array(range(n + 1), pa.int32())
    match kind:
        case "d":
            return draw(dictionaries(n, depth))
        case "n":
            return pa.nulls(n)
        case "l":
            return pa.ListArray.from_arrays(offsets, draw(arrays(n, depth + 1)))
        case "s":
            return pa.StructArray.from_arrays([draw(arrays(n, depth + 1))], names=["inner"])
        case "m":
            return pa.MapArray.from_arrays(offsets, pa.array(range(n)), draw(arrays(n, depth + 1)))
        case "r":
            return pc.run_end_encode(draw(fixed(draw(st.sampled_from([pa.int64(), pa.float64()])), n)))
        case "e":
            texts = pa.array(draw(st.lists(WORDS, min_size=n, max_size=n)), pa.string())
            return pa.ExtensionArray.from_storage(draw(st.sampled_from(EXTENSIONS)), texts)
        case _:
            return draw(plain_arrays(n))


@st.composite
def words(draw, n):
    kind = draw(st.sampled_from([pa.string(), pa.large_string(), pa.string_view()]))
    return pa.array(draw(st.lists(WORDS | st.none(), min_size=n, max_size=n)), kind)


@st.composite
def binaries(draw, n):
    """Bytes, or strings that are perhaps no text at all."""
    kind = draw(st.sampled_from([pa.binary(), pa.large_binary(), pa.binary_view()]))
    cells = pa.array(draw(st.lists(st.binary(max_size=3) | st.none(), min_size=n, max_size=n)), kind)
    if draw(st.integers(0, 3)):
        return cells
    text = {pa.binary(): pa.string(), pa.large_binary(): pa.large_string()}.get(kind, pa.string_view())
    return pa.Array.from_buffers(text, n, cells.buffers(), cells.null_count)


@st.composite
def dictionaries(draw, n, depth):
    n_entries = draw(st.integers(1, 4))
    entries = draw(arrays(n_entries, depth + 1) if depth == 0 else plain_arrays(n_entries))
    codes = draw(st.lists(st.integers(0, len(entries) - 1) | st.none(), min_size=n, max_size=n))
    ordered = draw(st.booleans())
    return pa.DictionaryArray.from_arrays(
        pa.array(codes, draw(st.sampled_from(INDICES))), entries, ordered=ordered
    )


@st.composite
def fixed(draw, kind, n):
    """An array of values of one size: plain ones, or any bits."""
    storage = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    size = max(storage.bit_width, 8) // 8
    bits = draw(st.sampled_from(["small", "small", "any", "extreme", "constant"]))
    raw = np.zeros((n, size), np.uint8)
    match bits:
        case "small" if pa.types.is_floating(storage):
            raw = rng.normal(0, 10, n).round(1).astype(storage.to_pandas_dtype()).view(np.uint8)
        case "small":
            raw[:, 0] = rng.integers(0, 100, n)
        case "any":
            raw[:] = rng.integers(0, 256, (n, size))
        case "extreme":
            raw[:] = 255 * rng.integers(0, 2, (n, 1))
            raw[:, -1] = rng.choice([127, 128, 0, 255], n)
    missing = rng.random(n) < draw(st.sampled_from([0, 0, 0.3, 1]))
    valid = pa.array(~missing).buffers()[1]
    array = pa.Array.from_buffers(storage, n, [valid, pa.py_buffer(raw.tobytes())])
    return array if storage is kind else pa.ExtensionArray.from_storage(kind, array)


@st.composite
def typed_tables(draw):
    """A table of any types, perhaps with a name twice, without rows or without columns."""
    n = draw(st.sampled_from([12, 30, 12, 30, 2, 1, 0]))
    width = draw(st.sampled_from([1, 2, 3, 1, 2, 1, 0]))
    odd = draw(st.integers(0, 7)) == 0
    names = draw(st.lists(NAMES, min_size=width, max_size=width)) if odd else ["a", "b", "age"][:width]
    columns = [draw(arrays(n)) for _ in names]
    table = pa.Table.from_arrays(columns, names=names)
    if draw(st.integers(0, 3)) == 0 and n > 1 and width:
        table = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    return table


@st.composite
def typed_files(draw):
    """The name and the bytes of a Parquet or Arrow file, with the table that was written."""
    table = draw(typed_tables())
    kind = draw(st.sampled_from(["parquet", "arrow", "feather", "stream"]))
    sink = io.BytesIO()
    try:
        if kind == "parquet":
            pq.write_table(table, sink, store_schema=draw(st.booleans()))
        else:
            pack = None if kind == "stream" else draw(st.sampled_from([None, "lz4", "zstd"]))
            make = pa.ipc.new_stream if kind == "stream" else pa.ipc.new_file
            with make(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=pack)) as writer:
                writer.write_table(table)
    except (pa.ArrowException, OSError):  # this type cannot be in such a file
        return "t.parquet", b"PAR1"
    return {"stream": "t.arrow"}.get(kind, f"t.{kind}"), sink.getvalue()


TEXTS = st.sampled_from(
    ["a", "NA", "", "x" * 300, "31.12.2020", "5%", "1,5", "\u20ac", "_x0000_", "&<>", "2020-01-01"]
)
SERIALS = st.sampled_from(
    ["0", "1", "-1", "0.5", "45000", "45000.75", "60", "2958466", "1e300", "1e999", "nan", "x", ""]
)
NUMBERS = st.sampled_from(
    [
        "0",
        "-1",
        "1",
        "99",
        "1048576",
        "1048577",
        "4294967296",
        "1" * 20,
        "1e308",
        "A",
        "XFD1",
        "A1",
        "ZZZZ9",
        "",
    ]
)


@st.composite
def sheets(draw):
    """The XML of rows of cells, mostly a table."""
    width = draw(st.integers(1, 4))
    header = [draw(NAMES) for _ in range(width)] if draw(st.integers(0, 3)) == 0 else list("abcd"[:width])
    styles = st.sampled_from(sorted(workbooks.STYLES))
    cells = (
        st.none()
        | TEXTS.map(workbooks.text)
        | st.builds(workbooks.number, SERIALS, styles)
        | st.booleans()
        | st.just(workbooks.error())
    )
    pool = draw(st.lists(cells, min_size=1, max_size=4))
    lines = draw(st.lists(st.lists(st.sampled_from(pool), min_size=width, max_size=width), max_size=9))
    return workbooks.rows(header, *lines)


@st.composite
def spreadsheets(draw):
    """The name and the bytes of a workbook, some of whose numbers, tags or bytes may be wrong."""
    data = workbooks.workbook(
        *draw(st.lists(sheets(), max_size=2)), hidden=draw(st.sampled_from([(), (), (1,)]))
    )
    kind = draw(st.sampled_from(["whole", "whole", "numbers", "numbers", "tags", "bytes"]))
    if kind == "bytes":
        return "t.xlsx", draw(changed(data))
    parts = workbooks.parts(data)
    for _ in range(draw(st.integers(1, 3)) if kind != "whole" else 0):
        name = draw(st.sampled_from(sorted(parts)))
        pattern = r"\d+" if kind == "numbers" else r"<[^>]*>"
        found = [*re.finditer(pattern, parts[name])]
        if found:
            place = found[draw(st.integers(0, len(found) - 1))]
            fresh = (
                draw(NUMBERS)
                if kind == "numbers"
                else draw(st.sampled_from(["", place[0] * 2, "<c r='B2'/>"]))
            )
            parts[name] = parts[name][: place.start()] + fresh + parts[name][place.end() :]
    return "t.xlsx", workbooks.pack(parts)
