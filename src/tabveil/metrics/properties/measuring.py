"""All properties of a table at once, with what an attacker could read from them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tabveil.core import check
from tabveil.core.sampling import group_equal_rows
from tabveil.core.storage.plain import PlainData, Unbounded
from tabveil.core.table import Floats, Indices, Numeric, Split, Table
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.properties.sensitive import (
    Entries,
    distinct,
    entropy,
    equal,
    hierarchical,
    ordered,
    recursive,
)

FACTOR = 3.0
"""The c of recursive (c, l)-diversity where none is given."""

WEAKNESSES = {
    "k": "Everybody in a class may share a sensitive value, and who knows more columns than the "
    "quasi-identifiers sees smaller classes.",
    "l": "Different values may mean the same (two kinds of cancer), and a value that is rare in the table "
    "may be frequent in a class.",
    "t": "It bounds how much a class differs from the table, not what a single person's value is worth; the "
    "reference itself is taken as known to everybody.",
}
"""What is known against each property, in a sentence."""


@dataclass(frozen=True, kw_only=True)
class SensitiveProperties:
    """What the classes tell about one sensitive column."""

    column: str
    distinct: int  # different values of the class that has fewest
    entropy: float  # as many equally frequent values have the least entropy
    recursive: int  # the largest l for which all classes are (c, l)-diverse
    factor: float  # that c
    equal: float  # t, where all values are equally far apart
    ordered: float | None  # t by ranks; None for labels without an order
    hierarchical: float | None  # t by levels; None without a hierarchy
    information_gain: Unbounded  # bits that the class tells about the value, on average
    largest_gain: Unbounded  # and of the class that tells most; infinite if the reference lacks a value
    reference: str  # what the distribution of each class is compared with

    def __post_init__(self) -> None:
        """Refuse what no class has, as a changed file may say."""
        if min(self.distinct, self.recursive) < 1 or not self.entropy > 0:
            raise ValueError("every class has at least one value")

    @property
    def certainty(self) -> float:
        """1/l: the chance of guessing a value in the least varied class, were all equally frequent."""
        return 1 / self.distinct


@dataclass(frozen=True, kw_only=True)
class Properties:
    """The classes of equal quasi-identifiers, and what they tell."""

    quasi_identifiers: tuple[str, ...]
    n_rows: int
    n_classes: int
    k: int  # rows of the smallest class
    n_unique: int  # rows that are alone in their class
    sensitive: tuple[SensitiveProperties, ...]

    def __post_init__(self) -> None:
        """Refuse what no table has, as a changed file may say."""
        if not (1 <= self.k <= self.n_rows and 1 <= self.n_classes <= self.n_rows):
            raise ValueError("every class has rows, and no more than the table")

    def columns(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the quasi-identifiers and the sensitive columns."""
        return self.quasi_identifiers, tuple(own.column for own in self.sensitive)

    @property
    def reidentification(self) -> float:
        """1/k: the chance of naming the right row of the smallest class."""
        return 1 / self.k

    @property
    def mean_reidentification(self) -> float:
        """The same chance for a random row."""
        return self.n_classes / self.n_rows


def measure(
    table: Table,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str] = (),
    reference: Table | None = None,
    levels: Mapping[str, tuple[Floats, Indices]] | None = None,
    factor: float = FACTOR,
) -> Properties:
    """How large are the classes of equal quasi-identifiers, and what do they tell about sensitive columns?

    A missing value is a value of its own, in both kinds of columns.

    Parameters
    ----------
    quasi_identifiers, sensitive
        Columns of the table.
    reference
        The table whose distribution is taken as known (t-closeness, information gain); this one if left out.
        For a release from which rows were suppressed, that is the original table.
    levels
        Hierarchies of sensitive columns, for distances by levels: the cells that are leaves, (n_leaves,), and
        the value of each level that each of them lies under, (n_levels, n_leaves).
    factor
        The c of recursive (c, l)-

    >>> from tabveil.core.table import Categorical, Schema
    >>> sick = Categorical(name="illness", labels=("cold", "flu"))
    >>> table = Table(schema=Schema((Numeric(name="age", low=30, high=40), sick)),
    ...               values=np.array([[30.0, 0], [30, 1], [40, 0], [40, 0], [40, 1]]))
    >>> found = measure(table, quasi_identifiers=["age"], sensitive=["illness"])
    >>> found.k, found.reidentification, found.sensitive[0].distinct, round(found.sensitive[0].equal, 3)
    (2, 0.5, 2, 0.1)
    """
    names = table.schema.names
    check.known_names("properties", "column", [*quasi_identifiers, *sensitive], names)
    both = [name for name in sensitive if name in quasi_identifiers]
    if both:
        raise ParameterError(
            "properties", f"column {both[0]!r} is sensitive and a quasi-identifier; it can be one."
        )
    if not quasi_identifiers:
        raise ParameterError("properties", "name at least one quasi-identifier.")
    if len(table) == 0:
        raise NotApplicable("properties", "the table has no rows.")
    (classes,) = group_equal_rows(table.select(quasi_identifiers))
    sizes = np.bincount(classes)
    return Properties(
        quasi_identifiers=tuple(quasi_identifiers),
        n_rows=len(table),
        n_classes=len(sizes),
        k=int(sizes.min()),
        n_unique=int((sizes == 1).sum()),
        sensitive=tuple(
            _of_column(table, classes, name, reference, (levels or {}).get(name), factor=factor)
            for name in sensitive
        ),
    )


def _of_column(
    table: Table,
    classes: Indices,
    name: str,
    reference: Table | None,
    levels: tuple[Floats, Indices] | None,
    *,
    factor: float,
) -> SensitiveProperties:
    if reference is not None and reference.schema[name] != table.schema[name]:
        raise ParameterError(
            "properties", f"column {name!r} of the reference must be like that of the table."
        )
    others = table if reference is None else reference
    entries = Entries.of(classes, table.column(name), others.column(name))
    gains, column = _gains(entries), table.schema[name]
    has_order = isinstance(column, Numeric) or column.ordered
    return SensitiveProperties(
        column=name,
        distinct=distinct(entries),
        entropy=entropy(entries),
        recursive=recursive(entries, factor),
        factor=factor,
        equal=float(equal(entries).max()),
        ordered=float(ordered(entries).max()) if has_order else None,
        hierarchical=None
        if levels is None
        else float(hierarchical(entries, _codes(name, entries, *levels)).max()),
        information_gain=float(gains @ entries.sizes / entries.sizes.sum()),
        largest_gain=float(gains.max()),
        reference="all rows of this table" if reference is None else "all rows of the original table",
    )


def _gains(entries: Entries) -> Floats:
    """Return the bits by which each class tells values apart from the reference (relative entropy), (c,)."""
    expected = entries.reference[entries.values]
    with np.errstate(divide="ignore"):
        ratio = np.where(expected > 0, entries.shares / np.where(expected > 0, expected, 1.0), math.inf)
    return np.maximum(entries.summed(entries.shares * np.log2(ratio)), 0.0)


def _codes(name: str, entries: Entries, leaves: Floats, codes: Indices) -> Indices:
    """Return the hierarchy of the values at hand, (n_levels, v), by the cells of its leaves."""
    order = np.argsort(leaves, kind="stable")  # a missing value last
    places = np.minimum(np.searchsorted(leaves[order], entries.cells), len(leaves) - 1)
    found = order[places]
    if not np.array_equal(leaves[found], entries.cells, equal_nan=True):
        raise ParameterError("properties", f"the hierarchy of {name!r} lacks values of the table.")
    own = codes[:, found].copy()
    own[0] = np.arange(len(entries.cells))
    return own


@dataclass(frozen=True, kw_only=True)
class SplitProperties(PlainData):
    """The same properties of both tables; what each class of either tells is compared with all of train."""

    train: Properties
    synthetic: Properties

    def __post_init__(self) -> None:
        """Refuse two tables that were not measured alike, as a changed file may say."""
        if self.train.columns() != self.synthetic.columns():
            raise ValueError("both tables must be measured by the same columns")


def measure_split(
    split: Split, *, quasi_identifiers: Sequence[str], sensitive: Sequence[str]
) -> SplitProperties:
    """Measure train and release; the reference distribution of both is that of train.

    An attacker who looks at a release wants to learn about the people of train, so it is their distribution
    that he is taken to know. A class of the release may hold values that train lacks: its gain is infinite.
    """
    return SplitProperties(
        train=measure(split.train, quasi_identifiers=quasi_identifiers, sensitive=sensitive),
        synthetic=measure(
            split.synthetic, quasi_identifiers=quasi_identifiers, sensitive=sensitive, reference=split.train
        ),
    )
