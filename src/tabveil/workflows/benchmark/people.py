"""The tables that a benchmark draws its people from: simulated ones, files, and those of users' own code."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tabveil import datasets
from tabveil.core import check
from tabveil.core.rng import stream
from tabveil.core.settings.registry import Registry
from tabveil.core.table import Indices, Table
from tabveil.errors import ParameterError
from tabveil.protocols import Dataset
from tabveil.tables.reading import load_table


@dataclass(frozen=True, kw_only=True)
class Hospital:
    """The admissions of a simulated hospital: mixed types, dates, rare codes, missing values.

    Parameters
    ----------
    rows
        How many people there are.
    """

    rows: int = 9_000

    name: ClassVar[str] = "hospital"

    def load(self) -> Any:  # noqa: ANN401 - a dataframe
        """Simulate them."""
        return datasets.hospital(self.rows, seed=0)


@dataclass(frozen=True, kw_only=True)
class TableFile:
    """The rows of a file, without what would keep them from being independent people.

    Parameters
    ----------
    file
        Where it is; in a configuration, seen from the folder of that file.
    schema
        A file that declares column types, if need be.
    missing
        Texts that mean missing, such as ``"?"``.
    one_row_per
        A column that names people: of each, the first row stays.
    drop
        Columns to leave out, such as those that name people.
    distinct
        Of equal rows, keep the first.
    sample
        Draw so many rows at random; always the same ones.
    """

    file: Path
    schema: Path | None = None
    missing: tuple[str, ...] = ()
    one_row_per: str | None = None
    drop: tuple[str, ...] = ()
    distinct: bool = False
    sample: int | None = None

    name: ClassVar[str] = "file"

    def __post_init__(self) -> None:
        if self.sample is not None:
            check.at_least("file", "sample", self.sample, 1)

    def load(self) -> Table:
        """Read the file and keep what is asked for."""
        table = load_table(self.file, schema=self.schema, missing=self.missing).table
        named = (*self.drop, *(() if self.one_row_per is None else (self.one_row_per,)))
        check.known_names(self.file.name, "column", named, table.schema.names)
        if self.one_row_per is not None:
            table = table.take(_firsts(table.column_hash(self.one_row_per)))
        table = table.select(name for name in table.schema.names if name not in self.drop)
        if self.distinct:
            table = table.take(_firsts(table.row_hash()))
        if self.sample is not None:
            check.at_most(self.file.name, "sample", self.sample, len(table))
            table = table.take(np.sort(stream(0, "sample").permutation(len(table))[: self.sample]))
        return table


DATASETS: Registry[Dataset] = Registry("dataset", (Hospital, TableFile))
"""Every dataset by its name; your own joins by ``DATASETS.add``."""


def load(dataset: Dataset) -> Table:
    """Load the people of a dataset, whatever kind of table it returns."""
    found = dataset.load()
    table = found if isinstance(found, Table) else load_table(found).table
    if len(table) == 0:
        raise ParameterError(f"{dataset.name}: there are no rows.")
    return table


def _firsts(keys: NDArray[np.uint64]) -> Indices:
    """Return the first row of each key, in the order of the rows."""
    return np.sort(np.unique(keys, return_index=True)[1])
