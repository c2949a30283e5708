"""What an equivalence class must promise: how many rows it has, and what it tells about sensitive columns.

Every model says which classes keep its promise, and how many rows of a class are lost at least however finely
its rows are told apart: that bounds what a finer node suppresses. A row that is kept under k-anonymity or
distinct l-diversity stays kept however much further all is generalized, so there a class that breaks the
promise is lost as a whole; for the other models, only what can be shown is.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np

from tabveil.core import check
from tabveil.core.storage.arrays import MOST_ROWS
from tabveil.core.table import Indices
from tabveil.synthesis.anonymize import class_kernels as kernels
from tabveil.synthesis.anonymize.hierarchy import SensitiveColumn
from tabveil.synthesis.anonymize.lattice import Classes, Keep

Distance = Literal["equal", "ordered", "hierarchical"]
ROUNDING = 1e-9
DISTANCES: tuple[Distance, ...] = ("equal", "ordered", "hierarchical")


class PrivacyModel(Protocol):
    """A promise about every equivalence class."""

    @property
    def column(self) -> str | None:
        """The sensitive column that it speaks of, if any."""
        ...

    def judge(self, classes: Classes, values: Indices, column: SensitiveColumn | None, keep: Keep) -> None:
        """Strike from ``keep`` (c,) the classes that break the promise.

        ``values`` (g,) are the sensitive values of the classes' groups.
        """
        ...

    def lost(self, classes: Classes, values: Indices, column: SensitiveColumn | None, least: int) -> Indices:
        """Return how many rows of each class no finer classes can keep, (c,); a kept class has ``least``."""
        ...

    def in_words(self) -> str:
        """Say what is promised."""
        ...


class _LostAsAWhole(ABC):
    """A promise that loses the classes which break it, or what it needs at least, as a whole."""

    words: ClassVar[str]

    def in_words(self) -> str:
        """Say what is promised."""
        return self.words.format(self)

    @property
    def needed(self) -> "_LostAsAWhole":
        """What no class can do without, however finely its rows are told apart."""
        return self

    @abstractmethod
    def judge(self, classes: Classes, values: Indices, column: SensitiveColumn | None, keep: Keep) -> None:
        """Strike the classes that break the promise."""

    def lost(self, classes: Classes, values: Indices, column: SensitiveColumn | None, least: int) -> Indices:  # noqa: ARG002 - other models count it
        """Count the rows of each class that breaks what is needed, (c,)."""
        keep = np.ones(len(classes), dtype=np.bool_)
        self.needed.judge(classes, values, column, keep)
        return np.where(keep, 0, classes.counts)


@dataclass(frozen=True, kw_only=True)
class KAnonymity(_LostAsAWhole):
    """Does every class have at least k rows?"""

    k: int
    column: ClassVar[None] = None
    words: ClassVar[str] = "k-anonymity, k = {0.k:,}"

    def __post_init__(self) -> None:
        check.at_least("k-anonymity", "k", self.k, 1)
        check.at_most("k-anonymity", "k", self.k, MOST_ROWS)

    def judge(self, classes: Classes, values: Indices, column: SensitiveColumn | None, keep: Keep) -> None:  # noqa: ARG002 - rows alone count
        """Strike small classes."""
        keep &= classes.counts >= self.k


@dataclass(frozen=True, kw_only=True)
class DistinctDiversity(_LostAsAWhole):
    """Does every class have at least l different sensitive values?"""

    column: str
    l: int  # noqa: E741 - its name everywhere
    words: ClassVar[str] = "distinct l-diversity of {0.column}, l = {0.l}"

    def __post_init__(self) -> None:
        check.at_least("distinct l-diversity", "l", self.l, 1)
        check.at_most("distinct l-diversity", "l", self.l, MOST_ROWS)

    def judge(self, classes: Classes, values: Indices, column: SensitiveColumn | None, keep: Keep) -> None:
        """Strike classes with fewer values."""
        kernels.keep_distinct(*_sorted(classes), values, _known(column).n_values, self.l, keep)


@dataclass(frozen=True, kw_only=True)
class EntropyDiversity(_LostAsAWhole):
    """Is the entropy of the sensitive values of every class at least that of l equally frequent ones?"""

    column: str
    l: float  # noqa: E741 - its name everywhere
    words: ClassVar[str] = "entropy l-diversity of {0.column}, l = {0.l:g}"

    def __post_init__(self) -> None:
        check.at_least("entropy l-diversity", "l", self.l, 1)
        check.at_most("entropy l-diversity", "l", self.l, MOST_ROWS)

    def judge(self, classes: Classes, values: Indices, column: SensitiveColumn | None, keep: Keep) -> None:
        """Strike classes that tell too much."""
        kernels.keep_entropy(*_sorted(classes), values, _known(column).n_values, float(self.l), keep)

    @property
    def needed(self) -> "DistinctDiversity":
        """Fewer values than even the most varied class needs lose a class."""
        return DistinctDiversity(column=self.column, l=math.ceil(self.l - ROUNDING))


@dataclass(frozen=True, kw_only=True)
class RecursiveDiversity(_LostAsAWhole):
    """Is the most frequent value of a class rarer than c times all but the l - 1 most frequent ones?"""

    column: str
    l: int  # noqa: E741 - its name everywhere
    c: float
    words: ClassVar[str] = "recursive (c, l)-diversity of {0.column}, c = {0.c:g}, l = {0.l}"

    def __post_init__(self) -> None:
        check.at_least("recursive l-diversity", "l", self.l, 2)
        check.at_most("recursive l-diversity", "l", self.l, MOST_ROWS)
        check.between("recursive l-diversity", "c", self.c, 0, math.inf)

    def judge(self, classes: Classes, values: Indices, column: SensitiveColumn | None, keep: Keep) -> None:
        """Strike classes in which one value is too frequent."""
        known = _known(column)
        kernels.keep_recursive(*_sorted(classes), values, known.n_values, self.l, float(self.c), keep)

    @property
    def needed(self) -> "DistinctDiversity":
        """Fewer than l values lose a class."""
        return DistinctDiversity(column=self.column, l=self.l)


@dataclass(frozen=True, kw_only=True)
class Closeness:
    """Is the distribution of the sensitive values in every class near to that in the original table?

    The reference is the table that came in, suppressed rows among it. Distances of values: all alike
    (``equal``), by their ranks (``ordered``), or by the level of their hierarchy at which they meet
    (``hierarchical``; Li, Li and Venkatasubramanian 2007).
    """

    column: str
    t: float
    distance: Distance = "equal"

    def __post_init__(self) -> None:
        check.share("t-closeness", "t", self.t)
        check.one_of("t-closeness", "distance", self.distance, DISTANCES)

    def judge(self, classes: Classes, values: Indices, column: SensitiveColumn | None, keep: Keep) -> None:
        """Strike classes that lie too far from the whole table."""
        known = _known(column)
        arguments = (*_sorted(classes), values, known.n_values, float(self.t), known.reference)
        match self.distance:
            case "equal":
                kernels.keep_equal(*arguments, keep)
            case "ordered":
                kernels.keep_ordered(*arguments, keep)
            case "hierarchical":
                kernels.keep_hierarchical(*arguments, *known.levels, keep)

    def lost(self, classes: Classes, values: Indices, column: SensitiveColumn | None, least: int) -> Indices:
        """Count the rows that must go for the others to be near enough.

        Values that meet at the top are as far apart as can be, and those that meet lower in proportion: so
        the groups of each level must be near, as if all were equally far apart, by a limit of their own.
        """
        known, lost = _known(column), np.zeros(len(classes), dtype=np.int64)
        if self.distance == "ordered":
            return lost
        levels = [(np.arange(known.n_values), float(self.t))]
        if self.distance == "hierarchical":
            codes, height = known.codes, len(known.codes) - 1
            levels = [(codes[level], self.t * height / (level + 1)) for level in range(height)]
        for groups, most in levels:
            n_groups = int(groups.max()) + 1
            reference = np.bincount(groups, weights=known.reference, minlength=n_groups)
            found = np.empty(len(classes), dtype=np.int64)
            kernels.lost_to_closeness(
                *_sorted(classes), groups[values], n_groups, min(most, 1.0), reference, least, found
            )
            lost = np.maximum(lost, found)
        return lost

    def in_words(self) -> str:
        """Say what is promised."""
        return f"t-closeness of {self.column}, t = {self.t:g} ({self.distance} distance)"


def _sorted(classes: Classes) -> tuple[Indices, Indices, Indices]:
    return classes.order, classes.starts, classes.groups.counts


def _known(column: SensitiveColumn | None) -> SensitiveColumn:
    assert column is not None, "models with a column are judged with it"
    return column
