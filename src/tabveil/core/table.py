"""Tables as arrays: a schema, one float64 matrix, and the three tables of an audit.

Types are decided once, at the door (``frame``). From here on a cell is a number, a category's code, or NaN
for missing, and nobody looks at dtypes again.
"""

import hashlib
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.core import check
from tabveil.core.belongings import Belongings
from tabveil.core.crew import once
from tabveil.core.storage import spool
from tabveil.errors import NotApplicable, SchemaError

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

MOST_DECIMALS = 15
"""Decimal places that a 64-bit float can have."""
OFF_GRID = 1e-6
"""How far a number with decimals may miss its last place, in units of that place."""
LARGEST = 1e100
"""Numbers are read up to here: squares and sums of larger ones would not be finite."""
SMALLEST_WIDTH = 1e-300
"""Different values of a column are at least so far apart, or dividing by their range would not be finite."""

PLURAL = {"row": "rows", "person": "people"}


@dataclass(frozen=True, kw_only=True)
class Numeric:
    """A column of numbers (dates among them), with the range over all tables that share the schema.

    ``decimals`` is the number of decimal places every value fits in (0 for integers), None if there is none.
    ``arbitrary_zero`` marks dates: their differences mean something, their size does not.
    ``stood_last`` marks the last column of a file, where many keep what is to be predicted; its place in a
    table tells nothing.
    """

    name: str
    low: float
    high: float
    decimals: int | None = None
    arbitrary_zero: bool = False
    stood_last: bool = field(default=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not -LARGEST <= self.low <= self.high <= LARGEST:
            limits = f"from {-LARGEST:g} to {LARGEST:g}"
            raise SchemaError(f"Column {self.name!r}: the range of its values must be finite, {limits}.")
        if self.low < self.high and self.high - self.low < SMALLEST_WIDTH:
            least = f"less than {SMALLEST_WIDTH:g}"
            raise SchemaError(f"Column {self.name!r}: its values differ by {least}; multiply all of them.")

    @property
    def integer(self) -> bool:
        """Whether the column holds whole numbers only."""
        return self.decimals == 0

    @property
    def width(self) -> float:
        """The distance between the smallest and the largest value."""
        return self.high - self.low


Holds = Literal["labels", "text", "identifiers"]


@dataclass(frozen=True, kw_only=True)
class Categorical:
    """A column of labels; a cell is the label's position in ``labels``.

    ``holds`` says what the labels are where they are more than that: free text, or the identifiers of people,
    as the user's schema says. Such columns are read by those who look for what reappears, and never compared.
    """

    name: str
    labels: tuple[str, ...]
    ordered: bool = False
    holds: Holds = field(default="labels", repr=False)  # stored benchmarks are named after what is printed
    stood_last: bool = field(default=False, repr=False, compare=False)  # as of a column of numbers

    def __post_init__(self) -> None:
        if len(set(self.labels)) != len(self.labels):
            raise SchemaError(f"Column {self.name!r}: labels must be distinct.")


Column = Numeric | Categorical


def within(column: Column, cells: Floats) -> Floats:
    """Return the cells in the form the column has: rounded to its decimals, cut to its range; NaN stays."""
    match column:
        case Numeric(low=low, high=high, decimals=decimals):
            rounded = cells if decimals is None else np.round(cells, decimals)
            return np.clip(rounded, low, high)
        case Categorical(labels=labels):
            return np.clip(np.round(cells), 0, max(len(labels) - 1, 0))


def holds(column: Column, cells: Floats) -> bool:
    """Whether all cells are missing or values that the column may have, up to noise of arithmetic.

    >>> age = Numeric(name="age", low=0, high=99, decimals=0)
    >>> holds(age, np.array([3.0, np.nan])), holds(age, np.array([3.5])), holds(age, np.array([100.0]))
    (True, False, False)
    """
    known = cells[~np.isnan(cells)]
    match column:
        case Numeric(low=low, high=high, decimals=decimals):
            inside = bool(((known >= low) & (known <= high)).all())
            if not inside or decimals is None:
                return inside
            return bool((np.abs(np.round(known, decimals) - known) <= OFF_GRID * 10.0**-decimals).all())
        case Categorical(labels=labels):
            return bool(((known >= 0) & (known < len(labels)) & (known == np.round(known))).all())


@dataclass(frozen=True)
class Schema:
    """The columns of a table, in order.

    >>> age = Numeric(name="age", low=0, high=99, decimals=0)
    >>> schema = Schema((age, Categorical(name="sex", labels=("f", "m"))))
    >>> schema.names
    ('age', 'sex')
    >>> Schema.from_json(schema.to_json()) == schema
    True
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for name in self.names:
            if name in seen:
                raise SchemaError(f"Column name {name!r} occurs more than once.")
            seen.add(name)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, name: str) -> Column:
        return self.columns[self.position(name)]

    def position(self, name: str) -> int:
        """Return where a column stands."""
        found = self._positions.get(name)
        if found is None:
            check.known_names("schema", "column", [name], self._positions)
            return self._positions[name]
        return found

    def select(self, names: Iterable[str]) -> Self:
        """Keep these columns, in this order."""
        return type(self)(tuple(self[name] for name in names))

    def to_json(self) -> list[dict[str, Any]]:
        """Return plain data. It holds labels and ranges, which are values of the tables."""
        return [
            {
                "name": column.name,
                "numeric": [column.low, column.high],
                "decimals": column.decimals,
                "arbitrary_zero": column.arbitrary_zero,
            }
            if isinstance(column, Numeric)
            else {
                "name": column.name,
                "labels": list(column.labels),
                "ordered": column.ordered,
                **({} if column.holds == "labels" else {"holds": column.holds}),
            }
            for column in self.columns
        ]

    @classmethod
    def from_json(cls, data: object) -> Self:
        """Rebuild what :meth:`to_json` wrote."""
        if not isinstance(data, list):
            raise SchemaError("schema", "its columns must be a list.")
        return cls(tuple(_column_from_json(item, place) for place, item in enumerate(data)))


def _column_from_json(data: object, place: int) -> Column:
    match data:
        case {
            "name": str(name),
            "numeric": [int() | float() as low, int() | float() as high],
            "decimals": None | int() as decimals,
            "arbitrary_zero": bool(zero),
            **others,
        } if not others and _possible(low, high, decimals):
            return Numeric(name=name, low=low, high=high, decimals=decimals, arbitrary_zero=zero)
        case {"name": str(name), "labels": list(labels), "ordered": bool(ordered), **others} if set(
            others
        ) <= {"holds"} and all(isinstance(label, str) for label in labels):
            for holds in get_args(Holds):
                if others.get("holds", "labels") == holds:
                    return Categorical(name=name, labels=tuple(labels), ordered=ordered, holds=holds)
    raise SchemaError("schema", f"column {place + 1} is neither one of numbers nor one of labels.")


def _possible(low: float, high: float, decimals: int | None) -> bool:
    """Whether these are bounds that a float can have, and decimals."""
    return max(abs(low), abs(high)) <= sys.float_info.max and (
        decimals is None or 0 <= decimals <= MOST_DECIMALS
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """Rows under a schema: a read-only float64 matrix, categories as codes, NaN for missing.

    ``people`` says whose row each is, where somebody may have several: one number for each person, the same
    in all tables of a split. None means that every row is another person. ``linked`` is what else belongs to
    people with rows in linked tables: it follows them and takes part in what is equal. Some columns lack it.
    """

    schema: Schema
    values: Floats  # (n_rows, n_columns)
    people: Indices | None = None  # (n_rows,)
    linked: Belongings | None = field(default=None, repr=False)  # of n_rows people

    def __post_init__(self) -> None:
        values = np.asarray(self.values, dtype=np.float64).view()
        if values.ndim != 2 or values.shape[1] != len(self.schema):  # noqa: PLR2004 - rows and columns
            raise SchemaError("Table", f"expected {len(self.schema)} columns, got shape {values.shape}.")
        values.flags.writeable = False
        object.__setattr__(self, "values", values)
        if self.people is not None and np.shape(self.people) != (len(self),):
            raise SchemaError("Table", f"expected a person for each of {len(self)} rows.")
        if self.linked is not None and len(self.linked) != len(self):
            raise SchemaError("Table", f"expected what is linked to each of {len(self)} people.")

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def column(self, name: str) -> Floats:
        """Return one column's cells."""
        return self.values[:, self.schema.position(name)]

    def select(self, names: Iterable[str]) -> Self:
        """Keep these columns, in this order."""
        names = tuple(names)
        if names == self.schema.names:
            return self
        positions = [self.schema.position(name) for name in names]
        values = spool.take_columns(self.values, positions)
        linked = self.linked if len(names) == len(self.schema) else None
        return type(self)(schema=self.schema.select(names), values=values, people=self.people, linked=linked)

    def take(self, rows: Indices) -> Self:
        """Keep these rows, in this order."""
        people = None if self.people is None else self.people[rows]
        taken = type(self)(
            schema=self.schema,
            values=spool.take_rows(self.values, rows),
            people=people,
            linked=None if self.linked is None else self.linked.take(rows),
        )
        if "_row_hash" in self.__dict__:  # known, it need not be found out again
            hashes = self._row_hash[rows]
            hashes.flags.writeable = False
            taken.__dict__["_row_hash"] = hashes
        return taken

    def joined(self, other: "Table") -> Self:
        """Return the rows of both, these first."""
        people = [side.people for side in (self, other) if side.people is not None]
        return type(self)(
            schema=self.schema,
            values=spool.stacked([self.values, other.values]),
            people=np.concatenate(people) if people else None,
            linked=None if self.linked is None or other.linked is None else self.linked.joined(other.linked),
        )

    @once
    def n_people(self) -> int:
        """How many people have rows here."""
        return len(self) if self.people is None else len(np.unique(self.people))

    def sample(self, n_rows: int, *, rng: Generator) -> Indices:
        """Draw distinct rows; which ones depends on what they hold, not on where they stand.

        So a report does not change when the file is sorted differently. Returns the rows' indices.
        """
        if n_rows >= len(self):
            return np.arange(len(self))
        return self.content_order[rng.choice(len(self), n_rows, replace=False)]

    @once
    def content_order(self) -> Indices:
        """Where the rows stand, in an order of what they hold (n,); equal ones as they stand.

        NumPy's stable sort of hashes is 0.7 % of an audit; by digits, 8 times as fast, gained nothing.
        """
        order: Indices = spool.kept(np.argsort(self.row_hash(), kind="stable"))
        order.flags.writeable = False
        return order

    def row_hash(self) -> NDArray[np.uint64]:
        """Hash every row to 64 bits: equal rows have equal hashes, whatever the order of the columns."""
        return self._row_hash

    @once
    def _row_hash(self) -> NDArray[np.uint64]:
        total = np.zeros(len(self), dtype=np.uint64)
        for hashed in self.parts_hashed():
            total += hashed
        hashes: NDArray[np.uint64] = spool.kept(mix_bits(total))
        hashes.flags.writeable = False
        return hashes

    def parts_hashed(self) -> Iterator[NDArray[np.uint64]]:
        """Hash each part that makes rows equal: the columns, and what each person has in linked tables."""
        known = {} if self.linked is None else self.linked.origins
        yield from (self.column_hash(name) for name in self.schema.names if name not in known)
        if self.linked is not None:
            yield from self.linked.set_hashes()

    def column_hash(self, name: str) -> NDArray[np.uint64]:
        """Hash every cell of a column; over some columns, rows are equal where the sums of these are."""
        salt = np.frombuffer(hashlib.sha256(name.encode()).digest()[:8], dtype=np.uint64)[0]
        cells = self.column(name) + 0.0  # -0.0 and 0.0 are one value
        cells[np.isnan(cells)] = np.nan  # and so are all NaNs
        return mix_bits(cells.view(np.uint64) ^ salt)


def mix_bits(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread every bit over all others (the finalizer of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@dataclass(frozen=True, kw_only=True, eq=False)
class Split:
    """The three tables of an audit under one schema.

    ``train`` are the real rows the generator learned from, ``control`` real rows it never saw (none is legal;
    then every metric that needs them says so), ``synthetic`` the rows to be released.
    """

    train: Table
    control: Table
    synthetic: Table

    def __post_init__(self) -> None:
        for role in ("control", "synthetic"):
            if getattr(self, role).schema != self.train.schema:
                raise SchemaError("Split", f"{role} must have the schema of train.")
        for role in ("train", "synthetic"):
            if len(getattr(self, role)) == 0:
                raise SchemaError(f"The {role} table has no rows.")
        if len(self.schema) == 0:
            raise SchemaError("The tables have no columns.")

    @property
    def schema(self) -> Schema:
        """The schema all three share."""
        return self.train.schema

    def require_control(self, metric: str, n_rows: int = 1) -> None:
        """Refuse a metric that needs more real rows the generator never saw than there are."""
        if self.control.n_people < n_rows:
            whose = "row" if self.control.people is None else "person"
            needed = f"{n_rows} control {whose if n_rows == 1 else PLURAL[whose]}"
            raise NotApplicable(
                metric,
                f"needs at least {needed} (real {PLURAL[whose]} the generator never saw), got "
                f"{self.control.n_people}. Hold some back before training: tabveil split.",
            )

    def select(self, names: Iterable[str]) -> Self:
        """Keep these columns of all three tables."""
        names = tuple(names)
        train, control, synthetic = (table.select(names) for table in self._tables)
        return type(self)(train=train, control=control, synthetic=synthetic)

    @property
    def _tables(self) -> tuple[Table, Table, Table]:
        return self.train, self.control, self.synthetic

    def _under(self, columns: Iterable[Column], values: Iterable[Floats]) -> Self:
        """Put the values of the three tables under other columns."""
        schema = Schema(tuple(columns))
        train, control, synthetic = (
            replace(table, schema=schema, values=part)
            for table, part in zip(self._tables, values, strict=True)
        )
        return type(self)(train=train, control=control, synthetic=synthetic)

    def with_own_labels(self) -> Self:
        """Leave out the labels that no row of the three tables has; the others stay in their order.

        >>> column = Categorical(name="town", labels=("Ulm", "Bonn", "Kiel"))
        >>> rows = Table(schema=Schema((column,)), values=np.array([[2.0], [0.0]]))
        >>> own = Split(train=rows, control=rows, synthetic=rows).with_own_labels()
        >>> own.schema["town"].labels, own.train.column("town")
        (('Ulm', 'Kiel'), array([1., 0.]))
        """
        values = np.concatenate([table.values for table in self._tables])
        columns: list[Column] = []
        for position, column in enumerate(self.schema.columns):
            if isinstance(column, Categorical):
                cells = values[:, position]
                there = ~np.isnan(cells)
                own, codes = np.unique(cells[there].astype(np.int64), return_inverse=True)
                cells[there] = codes
                columns.append(replace(column, labels=tuple(column.labels[code] for code in own)))
            else:
                columns.append(column)
        ends = np.cumsum([len(table) for table in self._tables])[:-1]
        return self._under(columns, np.split(values, ends))

    def with_own_ranges(self) -> Self:
        """Let the range of every number be that of the three tables, as in an audit of them alone.

        >>> column = Numeric(name="age", low=0, high=120, decimals=0)
        >>> rows = Table(schema=Schema((column,)), values=np.array([[30.0], [40.0]]))
        >>> own = Split(train=rows, control=rows, synthetic=rows).with_own_ranges()
        >>> own.schema["age"].low, own.schema["age"].high
        (30.0, 40.0)
        """
        columns: list[Column] = []
        for position, column in enumerate(self.schema.columns):
            cells = np.concatenate([table.values[:, position] for table in self._tables])
            if isinstance(column, Numeric) and not np.isnan(cells).all():
                column = replace(column, low=float(np.nanmin(cells)), high=float(np.nanmax(cells)))  # noqa: PLW2901
            columns.append(column)
        return self._under(columns, [table.values for table in self._tables])
