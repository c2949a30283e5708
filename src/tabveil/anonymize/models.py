"""What an equivalence class must promise: how many rows it has, and what it tells about sensitive columns.

Every model says which classes keep its promise. ``monotone`` models let a row that is kept stay kept however
much further all is generalized; the others do so only as long as no row is suppressed.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from tabveil import check
from tabveil.anonymize import model_kernels as kernels
from tabveil.anonymize.combinations import SensitiveColumn
from tabveil.anonymize.lattice import Classes
from tabveil.table import Indices

Keep = NDArray[np.bool_]
Distance = Literal["equal", "ordered", "hierarchical"]
DISTANCES: tuple[Distance, ...] = ("equal", "ordered", "hierarchical")


class PrivacyModel(Protocol):
    """A promise about every equivalence class."""

    monotone: ClassVar[bool]

    @property
    def column(self) -> str | None:
        """The sensitive column that it speaks of, if any."""
        ...

    def judge(self, classes: Classes, values: Indices, column: SensitiveColumn | None, keep: Keep) -> None:
        """Strike from ``keep`` (c,) the classes that break the promise.

        ``values`` (g,) are the sensitive values of the classes' groups.
        """
        ...

    def in_words(self) -> str:
        """Say what is promised."""
        ...


@dataclass(frozen=True, kw_only=True)
class KAnonymity:
    """Does every class have at least k rows?"""

    k: int
    monotone: ClassVar[bool] = True
    column: ClassVar[None] = None

    def __post_init__(self) -> None:
        check.at_least("k-anonymity", "k", self.k, 1)

    def judge(self, classes: Classes, values: Indices, column: SensitiveColumn | None, keep: Keep) -> None:  # noqa: ARG002 - rows alone count
        """Strike small classes."""
        keep &= classes.counts >= self.k

    def in_words(self) -> str:
        """Say what is promised."""
        return f"k-anonymity, k = {self.k:,}"


@dataclass(frozen=True, kw_only=True)
class DistinctDiversity:
    """Does every class have at least l different sensitive values?"""

    column: str
    l: int  # noqa: E741 - its name everywhere
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check.at_least("distinct l-diversity", "l", self.l, 1)

    def judge(self, classes: Classes, values: Indices, column: SensitiveColumn | None, keep: Keep) -> None:
        """Strike classes with fewer values."""
        kernels.keep_distinct(*_sorted(classes), values, _known(column).n_values, self.l, keep)

    def in_words(self) -> str:
        """Say what is promised."""
        return f"distinct l-diversity of {self.column}, l = {self.l}"


@dataclass(frozen=True, kw_only=True)
class EntropyDiversity:
    """Is the entropy of the sensitive values of every class at least that of l equally frequent ones?"""

    column: str
    l: float  # noqa: E741 - its name everywhere
    monotone: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check.at_least("entropy l-diversity", "l", self.l, 1)

    def judge(self, classes: Classes, values: Indices, column: SensitiveColumn | None, keep: Keep) -> None:
        """Strike classes that tell too much."""
        kernels.keep_entropy(*_sorted(classes), values, _known(column).n_values, float(self.l), keep)

    def in_words(self) -> str:
        """Say what is promised."""
        return f"entropy l-diversity of {self.column}, l = {self.l:g}"


@dataclass(frozen=True, kw_only=True)
class RecursiveDiversity:
    """Is the most frequent value of a class rarer than c times all but the l - 1 most frequent ones?"""

    column: str
    l: int  # noqa: E741 - its name everywhere
    c: float
    monotone: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check.at_least("recursive l-diversity", "l", self.l, 2)
        if not 0 < self.c < math.inf:
            check.between("recursive l-diversity", "c", self.c, 0, math.inf)

    def judge(self, classes: Classes, values: Indices, column: SensitiveColumn | None, keep: Keep) -> None:
        """Strike classes in which one value is too frequent."""
        known = _known(column)
        kernels.keep_recursive(*_sorted(classes), values, known.n_values, self.l, float(self.c), keep)

    def in_words(self) -> str:
        """Say what is promised."""
        return f"recursive (c, l)-diversity of {self.column}, c = {self.c:g}, l = {self.l}"


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
    monotone: ClassVar[bool] = False

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

    def in_words(self) -> str:
        """Say what is promised."""
        return f"t-closeness of {self.column}, t = {self.t:g} ({self.distance} distance)"


def _sorted(classes: Classes) -> tuple[Indices, Indices, Indices]:
    return classes.order, classes.starts, classes.groups.counts


def _known(column: SensitiveColumn | None) -> SensitiveColumn:
    assert column is not None, "models with a column are judged with it"
    return column
