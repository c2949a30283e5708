"""Dataframes made here: what a report or a simulation hands to people who work with pandas."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas import DataFrame

__all__ = ["DataFrame", "from_columns", "from_rows", "stack", "to_html"]


def from_rows(rows: Iterable[Mapping[str, Any]]) -> DataFrame:
    """Make a dataframe of rows, each with its values by name."""
    return pd.DataFrame(list(rows))


def from_columns(
    columns: Mapping[str, Any], *, ordered: Mapping[str, Sequence[str]] | None = None
) -> DataFrame:
    """Make a dataframe of columns.

    A masked array of truth values becomes pandas' own kind, which knows missing from false. A column named in
    ``ordered`` holds labels that have this order.

    >>> table = from_columns({"smokes": np.ma.array([True, False], mask=[False, True]), "age": [30, 40]})
    >>> table["smokes"].tolist()
    [True, <NA>]
    """
    orders = ordered or {}
    return pd.DataFrame({name: _column(values, orders.get(name)) for name, values in columns.items()})


def _column(values: Any, labels: Sequence[str] | None) -> Any:  # noqa: ANN401 - whatever pandas takes
    if labels is not None:
        return pd.Categorical(values, categories=list(labels), ordered=True)
    if isinstance(values, np.ma.MaskedArray):
        return pd.arrays.BooleanArray(values.data, np.ma.getmaskarray(values))
    return values


def stack(tables: Iterable[DataFrame]) -> DataFrame:
    """Put tables of the same columns one below the other."""
    return pd.concat(list(tables), ignore_index=True)


def to_html(tables: Iterable[DataFrame]) -> str:
    """Write tables that have rows for a notebook; pandas escapes every text on the way."""
    with pd.option_context("display.max_colwidth", None):
        return "".join(
            table.to_html(index=False, border=0, na_rep="", float_format="{:.3f}".format, justify="left")
            for table in tables
            if len(table)
        )
