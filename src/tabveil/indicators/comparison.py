"""What the indicators compare: which distance, and equally many rows of each table in one fixed order.

Of several equally near rows the engine names the first. Tables are therefore put in an order that depends on
what their rows hold: no answer changes when a file is sorted differently.
"""

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil import check
from tabveil.errors import NotApplicable
from tabveil.neighbors import Found, Neighbors, Space
from tabveil.table import Floats, Indices, Split, Table


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A distance as a parameter: Gower's, or the Euclidean one over one-hot or ordinal codes."""

    distance: Literal["gower", "euclidean"] = "gower"
    encoding: Literal["onehot", "ordinal"] = "onehot"

    def __post_init__(self) -> None:
        check.one_of(type(self).__name__, "distance", self.distance, ("gower", "euclidean"))
        check.one_of(type(self).__name__, "encoding", self.encoding, ("onehot", "ordinal"))

    def space(self, split: Split) -> Space:
        """Return the distance for these tables."""
        if self.distance == "gower":
            return Space.gower(split.schema)
        return Space.euclidean(in_order(split.train).table, self.encoding)


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawn:
    """Rows of a table in the order of their content, and where they stood."""

    table: Table
    rows: Indices

    def __len__(self) -> int:
        return len(self.rows)


def draw(table: Table, n_rows: int, *, rng: Generator) -> Drawn:
    """Sample rows without replacement (all of them where there are no more)."""
    rows = table.sample(n_rows, rng=rng)
    rows = rows[np.argsort(table.row_hash()[rows], kind="stable")]
    return Drawn(table=table.take(rows), rows=rows)


def in_order(table: Table) -> Drawn:
    """Put all rows in the order of their content."""
    rows = np.argsort(table.row_hash(), kind="stable")
    return Drawn(table=table.take(rows), rows=rows)


def params(metric: Any) -> dict[str, Any]:  # noqa: ANN401 - any dataclass
    """Return a metric's parameters, as they stand in its result."""
    return {item.name: getattr(metric, item.name) for item in fields(metric)}


def require_control(name: str, split: Split, n_rows: int = 1) -> None:
    """Refuse tables without enough real rows the generator never saw."""
    if len(split.control) < n_rows:
        raise NotApplicable(
            f"{name}: needs at least {n_rows} control row{'s'[: n_rows > 1]} (real rows the generator never "
            f"saw), got {len(split.control)}. Hold some back before training: tabveil split."
        )


def sampling_note(n_rows: int, **tables: Table) -> tuple[str, ...]:
    """Say which tables were sampled down, and what that hides."""
    larger = [f"{role} ({len(table)})" for role, table in tables.items() if len(table) > n_rows]
    if not larger:
        return ()
    note = f"Compared on {n_rows} rows of each; sampled down: {', '.join(larger)}. "
    return (note + "What was leaked from rows outside the sample is not seen.",)


def nearest(space: Space, reference: Table, queries: Table, n_neighbors: int = 1) -> Found:
    """Find the nearest reference rows, with distances that are equal where they should be."""
    return _even(Neighbors(space, reference).nearest(queries, n_neighbors))


def nearest_other(space: Space, reference: Table, n_neighbors: int = 1) -> Found:
    """Likewise within one table, where a row is never its own neighbor."""
    return _even(Neighbors(space, reference).nearest_other(n_neighbors))


def _even(found: Found) -> Found:
    # 0.1 + 0.2 and 0.3 are one distance; a comparison must see the tie.
    return Found(distance=np.round(found.distance, 12), index=found.index)


def summary(distances: Floats) -> dict[str, float]:
    """Return the two figures the papers give for a set of distances."""
    low, middle = np.quantile(distances, [0.05, 0.5])
    return {"median": float(middle), "percentile_5": float(low)}


def group_equal_rows(*tables: Table) -> tuple[NDArray[np.int64], ...]:
    """Give one number to equal rows of any of the tables. Missing equals missing."""
    values = np.concatenate([table.values for table in tables]) + 0.0  # -0.0 and 0.0 are one value
    values[np.isnan(values)] = np.nan
    bits = values.view(np.uint64)
    hashes = np.concatenate([table.row_hash() for table in tables])
    _, first, numbers = np.unique(hashes, return_index=True, return_inverse=True)
    if not np.array_equal(bits, bits[first[numbers]]):  # two rows share a hash: compare the rows themselves
        _, numbers = np.unique(bits, axis=0, return_inverse=True)
    ends = np.cumsum([len(table) for table in tables])
    return tuple(np.split(numbers.reshape(-1).astype(np.int64), ends[:-1]))
