"""A process of its own, which reads a Parquet or Arrow file from standard input and may die of it.

It is no part of the program that starts it: it is run as a file, alone, with where the libraries stand, the
kind of the file, how many cells it may hold, and its size. One byte on standard output says that it has the
file; how it ends says the rest. What is wrong with a file that does not kill it, whoever reads it next says
better.
"""

import _thread
import os
import struct
import sys
import time
from contextlib import suppress

HAS_THE_FILE, IS_THROUGH = b".", b"!"
SIZES = struct.Struct("<QQ")
"""Where several files come one after the other, what stands before each: its bytes, and cells at most."""


def _try() -> None:
    place, library, kind, most_cells, size = sys.argv[1:]
    sys.path.append(place)
    if int(library.partition(".")[0]) >= 18:  # noqa: PLR2004 - from then on Arrow can do without
        sys.modules["numpy"] = None  # type: ignore[assignment] # which saves half of the time
    import pyarrow as pa  # noqa: PLC0415 - found from here on
    import pyarrow.parquet as pq  # noqa: PLC0415 - likewise

    data = sys.stdin.buffer.read(int(size))
    os.write(1, HAS_THE_FILE)
    _thread.start_new_thread(_end_with_parent, ())
    with suppress(BaseException):
        if kind == "parquet":
            file = pq.ParquetFile(pa.BufferReader(data))
            if file.metadata.num_rows * file.metadata.num_columns > int(most_cells):
                return
            table = file.read()
        else:
            try:
                table = pa.ipc.open_file(pa.BufferReader(data)).read_all()
            except pa.ArrowInvalid:
                table = pa.ipc.open_stream(pa.BufferReader(data)).read_all()
        for column in table.columns:
            column.validate(full=True)


def _try_parts() -> None:
    """Try one Parquet file after the other, until no more come, each by its groups of rows."""
    sys.path.append(sys.argv[1])
    if int(sys.argv[2].partition(".")[0]) >= 18:  # noqa: PLR2004 - as above
        sys.modules["numpy"] = None  # type: ignore[assignment] # likewise
    import pyarrow as pa  # noqa: PLC0415 - found from here on
    import pyarrow.parquet as pq  # noqa: PLC0415 - likewise

    _thread.start_new_thread(_end_without_parent, (os.getppid(),))
    while len(head := sys.stdin.buffer.read(SIZES.size)) == SIZES.size:
        size, most_cells = SIZES.unpack(head)
        data = sys.stdin.buffer.read(size)
        os.write(1, HAS_THE_FILE)
        with suppress(BaseException):
            file = pq.ParquetFile(pa.BufferReader(data))
            if file.metadata.num_rows * file.metadata.num_columns <= most_cells:
                for group in range(file.num_row_groups):
                    for column in file.read_row_group(group).columns:
                        column.validate(full=True)
        os.write(1, IS_THROUGH)


def _end_without_parent(parent: int) -> None:
    """Look now and then whether whoever wants to know is still there; the next file would not come."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _end_with_parent() -> None:
    """Wait until nobody can write to standard input any more: whoever wants to know is gone."""
    while os.read(0, 1):
        pass
    os._exit(1)


def _leave_no_core() -> None:
    """Let no memory with rows in it be written to disk."""
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - not everywhere

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    _leave_no_core()
    _try_parts() if sys.argv[4:] == [] else _try()
    os._exit(0)
