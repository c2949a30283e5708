"""Some rows of a table, in the kind of table that came in."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tabveil.frame import sources
from tabveil.frame.files import read_raw
from tabveil.frame.hashing import RawTable
from tabveil.frame.layout import to_native
from tabveil.frame.load import load_table


def raw_rows(data: Any) -> RawTable:  # noqa: ANN401 - a path or any kind of table
    """Return the rows before anybody decided what types their columns have."""
    return read_raw(data) if isinstance(data, (str, Path)) else sources.read(data, "data").data


def native_parts(data: Any, parts: Iterable[NDArray[np.int64]]) -> list[Any]:  # noqa: ANN401 - likewise
    """Return rows by their numbers: of a dataframe as it has them, of a file as an Arrow table with types."""
    if isinstance(data, (str, Path)):
        loaded = load_table(data)
        return [to_native(loaded.table.take(rows), loaded.layout) for rows in parts]
    frame = nw.from_native(data)
    whole = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    return [whole[rows].to_native() for rows in parts]
