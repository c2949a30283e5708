"""All properties of a table at once, with what an attacker could read from them.

Among them what classes tell about sensitive values, from their counts: l-diversity and t-closeness.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np

from tabveil.core import check
from tabveil.core.sampling import group_equal_rows
from tabveil.core.storage.plain import PlainData, Unbounded
from tabveil.core.table import Floats, Indices, Numeric, Split, Table
from tabveil.errors import NotApplicable, ParameterError

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


@dataclass(frozen=True, kw_only=True, eq=False)
class Entries:
    """How often each class holds each value, sorted by class and value; zeros are left out.

    Values are numbered in ascending order, a missing one last, over the table and its reference.
    """

    classes: Indices  # (e,)
    values: Indices  # (e,)
    counts: Indices  # (e,)
    sizes: Indices  # (c,) rows of each class
    reference: Floats  # (v,) share of each value in the reference
    cells: Floats  # (v,) the values themselves

    @classmethod
    def of(cls, classes: Indices, cells: Floats, reference: Floats) -> Self:
        """Count the cells of each class; ``reference`` are cells, too."""
        known, codes = np.unique(np.concatenate((cells, reference)), return_inverse=True)
        own, others = codes[: len(cells)], codes[len(cells) :]
        pairs, counts = np.unique(classes * len(known) + own, return_counts=True)
        return cls(
            classes=pairs // len(known),
            values=pairs % len(known),
            counts=counts,
            sizes=np.bincount(classes),
            reference=np.bincount(others, minlength=len(known)) / max(len(others), 1),
            cells=known,
        )

    @property
    def shares(self) -> Floats:
        """The share of its class that each entry has, (e,)."""
        return np.asarray(self.counts / self.sizes[self.classes])

    @property
    def distinct(self) -> int:
        """The least number of different values that a class has."""
        return int(np.bincount(self.classes).min())

    def summed(self, terms: Floats) -> Floats:
        """Add up a number of each entry by class, (c,)."""
        return np.bincount(self.classes, weights=terms, minlength=len(self.sizes)).astype(np.float64)


def recursive_factor(entries: Entries, l: int) -> float:  # noqa: E741 - its name everywhere
    """Return the c that (c, l)-diversity must be above: the largest ratio of first value to the l-th and on.

    Infinity where a class has fewer than l values.
    """
    order = np.lexsort((-entries.counts, entries.classes))  # largest first; classes stay where they are
    ranked = entries.counts[order].astype(np.float64)
    ranks = np.arange(len(order)) - np.searchsorted(entries.classes, entries.classes)
    first = np.zeros(len(entries.sizes))
    first[entries.classes[ranks == 0]] = ranked[ranks == 0]
    rest = entries.summed(np.where(ranks >= l - 1, ranked, 0.0))
    with np.errstate(divide="ignore"):
        return float(np.max(first / rest))


def recursive(entries: Entries, c: float) -> int:
    """Return the largest l for which every class is (c, l)-diverse; 1 where it is so for none above.

    The factor rises with l, so halving finds it: a number has as many values as there are rows.
    """
    above_one = range(2, entries.distinct + 1)
    return 1 + bisect_left(above_one, True, key=lambda l: recursive_factor(entries, l) >= c)  # noqa: E741 - as above


def ordered(entries: Entries) -> Floats:
    """Return the distance of each class where values are as far apart as their ranks, (c,).

    It is the mean difference of the two cumulative distributions. That of a class is constant between the
    values it holds, and that of the reference rises: so each stretch is a sum up to where they meet, and one
    from there on.
    """
    n_values, start = len(entries.reference), entries.values
    cumulative = np.cumsum(entries.reference)
    sums = np.concatenate(([0.0], np.cumsum(cumulative)))
    totals = np.cumsum(entries.counts)
    starts = np.searchsorted(entries.classes, np.arange(len(entries.sizes)))
    before = np.concatenate(([0], totals))[starts]
    level = (totals - before[entries.classes]) / entries.sizes[entries.classes]  # from this value on
    end = np.append(start[1:], n_values)
    end[np.append(entries.classes[1:] != entries.classes[:-1], True)] = n_values
    meeting = np.clip(np.searchsorted(cumulative, level), start, end)
    below = level * (meeting - start) - (sums[meeting] - sums[start])
    moved = entries.summed(below + (sums[end] - sums[meeting]) - level * (end - meeting))
    moved += sums[start[starts]]  # up to its first value a class has nothing
    return np.maximum(moved, 0.0) / max(n_values - 1, 1)


def hierarchical(entries: Entries, codes: Indices) -> Floats:
    """Return the distance of each class where values are as far apart as the level at which they meet, (c,).

    ``codes`` (n_levels, v) has the value of each level that each value lies under; the first level are the
    values themselves. What a parent's children have too much is moved to those that have too little, at the
    price of its level; the rest goes on to the next. What is not in the class has too little everywhere.
    """
    height = len(codes) - 1
    moved = np.zeros(len(entries.sizes))
    for level, (below, above) in enumerate(pairwise(codes), start=1):
        n_below, n_above = int(below.max()) + 1, int(above.max()) + 1
        parents = np.zeros(n_below, dtype=np.int64)
        parents[below] = above
        children, places = np.unique(entries.classes * n_below + below[entries.values], return_inverse=True)
        owner, child = children // n_below, children % n_below
        mass = np.bincount(places, weights=entries.shares)
        expected = np.bincount(below, weights=entries.reference, minlength=n_below)
        nodes, places = np.unique(owner * n_above + parents[child], return_inverse=True)
        # Of every parent that a class touches: what its children have too much, and what it has itself. The
        # first counts only children that have too much; what the others have too little is the difference.
        over = np.bincount(places, weights=np.maximum(mass - expected[child], 0.0))
        whole = np.bincount(above, weights=entries.reference, minlength=n_above)
        extra = np.bincount(places, weights=mass) - whole[nodes % n_above]
        price = level / height
        moved += np.bincount(
            nodes // n_above, weights=np.minimum(over, over - extra) * price, minlength=len(entries.sizes)
        )
    return np.maximum(moved, 0.0)


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
        The c of recursive (c, l)-diversity.

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
    shares, expected = entries.shares, entries.reference[entries.values]
    with np.errstate(divide="ignore"):
        ratio = np.where(expected > 0, shares / np.where(expected > 0, expected, 1.0), math.inf)
    # The bits by which each class tells values apart from the reference (relative entropy), (c,).
    gains = np.maximum(entries.summed(shares * np.log2(ratio)), 0.0)
    column = table.schema[name]
    has_order = isinstance(column, Numeric) or column.ordered
    by_level = None if levels is None else hierarchical(entries, _codes(name, entries, *levels))
    return SensitiveProperties(
        column=name,
        distinct=entries.distinct,
        entropy=float(np.exp(np.maximum(entries.summed(-shares * np.log(shares)), 0.0).min())),
        recursive=recursive(entries, factor),
        factor=factor,
        equal=float(entries.summed(np.maximum(shares - expected, 0.0)).max()),
        ordered=float(ordered(entries).max()) if has_order else None,
        hierarchical=None if by_level is None else float(by_level.max()),
        information_gain=float(gains @ entries.sizes / entries.sizes.sum()),
        largest_gain=float(gains.max()),
        reference="all rows of this table" if reference is None else "all rows of the original table",
    )


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
