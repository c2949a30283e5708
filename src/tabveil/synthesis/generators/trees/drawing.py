"""What is drawn from a leaf: pairs that somebody has, and no number that is somebody's alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.core.people import LEAST_SHARED
from tabveil.core.table import Floats, Indices, Numeric
from tabveil.synthesis.generators.dependencies import NOTHING, Dependency, pairs
from tabveil.synthesis.generators.trees.growth import GrownTree
from tabveil.tables.matrices.ordinal import MISSING, Codes, CountedValues
from tabveil.tables.matrices.unshared import StandInRanges

SILVERMAN = 0.9, -0.2
"""The width of a kernel is 0.9 standard deviations, times the number of values to the power of -1/5."""


class Mover(Protocol):
    """A way to move numbers that few rows share."""

    def __call__(
        self, members: Indices, leaves: Codes, tree: GrownTree, levels: CountedValues, *, rng: Generator
    ) -> Floats:
        """Return the numbers of members drawn from leaves, by where they stand; missing stays missing."""
        ...


def move_between_neighbors(
    members: Indices, leaves: Codes, tree: GrownTree, levels: CountedValues, *, rng: Generator
) -> Floats:
    """Draw between the numbers beside it in its leaf, see :mod:`tabveil.tables.matrices.unshared`."""
    del leaves
    assert isinstance(levels.column, Numeric), "labels are not moved"
    present = np.flatnonzero(tree.members != MISSING)
    leaf = np.repeat(np.arange(len(tree.left)), np.diff(tree.first))
    around = StandInRanges.of(
        levels.column,
        levels.values,
        levels.counts[1:-1],
        places=tree.members[present].astype(np.int64) - 1,
        groups=leaf[present],
    )
    moved = np.full(len(members), np.nan)
    here = tree.members[members] != MISSING
    moved[here] = around.draw(levels.column, np.searchsorted(present, members[here]), rng=rng)
    return moved


class _Kernels(NamedTuple):
    """The mean, the spread and the width of the kernel of the numbers that few rows share, for each node."""

    mean: Floats
    spread: Floats
    width: Floats

    @classmethod
    def of(cls, tree: GrownTree, levels: CountedValues) -> Self:
        """Measure the leaves.

        Where a leaf has no two such numbers, the whole column stands in: a single person's number is not
        repeated because nobody resembles them.
        """
        few = (levels.counts < LEAST_SHARED)[tree.members] & (tree.members != MISSING)
        leaf = np.repeat(np.arange(len(tree.left)), np.diff(tree.first))[few]
        cells = levels.cells(tree.members[few])
        if len(cells) == 0:
            return cls(*np.zeros((3, len(tree.left))))
        n = np.maximum(np.bincount(leaf, minlength=len(tree.left)), 1)
        mean = np.bincount(leaf, weights=cells, minlength=len(tree.left)) / n
        spread = np.sqrt(np.bincount(leaf, weights=(cells - mean[leaf]) ** 2, minlength=len(tree.left)) / n)
        alone = spread == 0
        n[alone], mean[alone], spread[alone] = len(cells), cells.mean(), cells.std()
        factor, power = SILVERMAN
        return cls(mean, spread, factor * spread * n**power)


def move_by_kernel(
    members: Indices, leaves: Codes, tree: GrownTree, levels: CountedValues, *, rng: Generator
) -> Floats:
    """Move the numbers that few rows share, without spreading them wider than they are.

    Silverman and Young's shrinkage undoes what a kernel adds to the variance. A number that would leave the
    range that was seen is reflected.
    """
    codes = tree.members[members]
    cells = levels.cells(codes)
    mean, spread, width = (part[leaves] for part in _Kernels.of(tree, levels))
    shrinking = spread / np.maximum(np.hypot(spread, width), np.finfo(float).tiny)
    moved = mean + (cells - mean + rng.normal(size=len(cells)) * width) * shrinking
    low, high = levels.values[[0, -1]]
    moved = low + np.abs(moved - low)
    moved = np.clip(high - np.abs(high - moved), low, high)
    return np.where(levels.counts[codes] < LEAST_SHARED, moved, cells)


TRIES = 8
"""So often a member of the leaf is drawn anew before one of any leaf is taken that goes with the rest."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Agreement:
    """What a column must agree with: the code that goes with each code, -1 where none does.

    ``visit`` is the column it is about, visited before; none if there is nothing to agree with. Looked up,
    codes are those of that column, and what goes with them is of the own one; drawn, it is the other way.
    """

    visit: int = NOTHING
    wanted: Codes
    least: int = LEAST_SHARED  # rows that must share a pair for it to be filled in

    @classmethod
    def none(cls) -> Self:
        """Agree with nothing."""
        return cls(wanted=np.empty(0, dtype=np.int32))

    def filled(self, keys: Codes, goal: Codes) -> Self:
        """Return the same with what goes together in rows (n,)."""
        if self.visit < 0:
            return self
        return replace(self, wanted=pairs(keys, goal, len(self.wanted), least=self.least))

    def fits(self, n_before: int, *, n_keys: int, n_codes: int) -> bool:
        """Whether it is about a column before, with a code below ``n_codes`` for each of its keys."""
        if self.visit < 0:
            return self.visit == NOTHING and len(self.wanted) == 0
        return bool(
            self.visit < n_before
            and len(self.wanted) == n_keys
            and (self.wanted >= NOTHING).all()
            and (self.wanted < n_codes).all()
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Agreements:
    """Of each visit, what it is looked up from and what it is drawn to go with."""

    looked_up: tuple[Agreement, ...]
    drawn: tuple[Agreement, ...]

    @classmethod
    def none(cls, n_visits: int) -> Self:
        """Let nothing agree with anything."""
        return cls(looked_up=(Agreement.none(),) * n_visits, drawn=(Agreement.none(),) * n_visits)

    @classmethod
    def of(
        cls, dependencies: Sequence[Dependency], visits: Sequence[int], levels: Sequence[CountedValues]
    ) -> Self:
        """Say what must agree, to be filled; ``levels`` are those of each visit.

        A pair that few rows share can be somebody's. Only numbers, which are moved where they are rare, keep
        to such a pair: they are not to meet that of another.
        """
        place = {column: k for k, column in enumerate(visits)}
        found = cls.none(len(visits))
        looked_up, drawn = list(found.looked_up), list(found.drawn)
        for item in dependencies:
            source, column = place[item.source], place[item.column]
            wanted = np.full(len(levels[source].counts), NOTHING, dtype=np.int32)
            if source < column:
                looked_up[column] = Agreement(visit=source, wanted=wanted)
            else:
                least = 1 if isinstance(levels[source].column, Numeric) else LEAST_SHARED
                drawn[source] = Agreement(visit=column, wanted=wanted, least=least)
        return cls(looked_up=tuple(looked_up), drawn=tuple(drawn))

    def fits(self, visit: int, n_codes: Sequence[int]) -> bool:
        """Whether a visit can agree with those before; ``n_codes`` is the number of codes of each visit."""
        looked_up, drawn = self.looked_up[visit], self.drawn[visit]
        return looked_up.fits(
            visit, n_keys=n_codes[looked_up.visit], n_codes=n_codes[visit] - 1
        ) and drawn.fits(visit, n_keys=n_codes[visit], n_codes=n_codes[drawn.visit] - 1)

    def filled(self, codes: Codes) -> Self:
        """Return the same with what goes together in these rows (n, visits)."""
        return replace(
            self,
            looked_up=tuple(
                each.filled(codes[:, each.visit], codes[:, k]) for k, each in enumerate(self.looked_up)
            ),
            drawn=tuple(each.filled(codes[:, k], codes[:, each.visit]) for k, each in enumerate(self.drawn)),
        )

    def look_up(self, visit: int, codes: Codes) -> Codes:
        """Return the code that follows for a visit from each row (n, visits), -1 where nothing does."""
        each = self.looked_up[visit]
        if each.visit < 0:
            return np.full(len(codes), NOTHING, dtype=np.int32)
        return np.asarray(each.wanted[codes[:, each.visit]])

    def draw(self, visit: int, tree: GrownTree, leaves: Codes, codes: Codes, *, rng: Generator) -> Indices:
        """Draw a member of each leaf that goes with the rest of its row; return where it stands."""
        each, members = self.drawn[visit], tree.draw(leaves, rng=rng)
        if each.visit < 0:
            return members
        given, follows = codes[:, each.visit], each.wanted[tree.members]  # (n,), (members,)
        wrong = np.flatnonzero(_part(follows[members], given))
        for _ in range(TRIES):
            members[wrong] = tree.draw(leaves[wrong], rng=rng)
            wrong = wrong[_part(follows[members[wrong]], given[wrong])]
        found, there = _of_any_leaf(follows, np.arange(len(follows)), given[wrong], rng=rng)
        members[wrong[there]] = found
        return members

    def mended(
        self,
        visit: int,
        tree: GrownTree,
        levels: CountedValues,
        cells: Floats,
        codes: Codes,
        *,
        rng: Generator,
    ) -> Floats:
        """Return cells (n,) of a visit that go with the rest of their rows again, where moving parted them.

        A code that is a number and that few rows share is moved like any other, and becomes another code.
        Such a row takes a number that enough rows share, which is not moved.
        """
        each = self.drawn[visit]
        if each.visit < 0:
            return cells
        own, given = levels.codes(cells), codes[:, each.visit]
        wrong = np.flatnonzero(_part(each.wanted[own], given) & (levels.cells(own) == cells))
        shared = np.flatnonzero(levels.counts[tree.members] >= LEAST_SHARED)
        found, there = _of_any_leaf(each.wanted[tree.members], shared, given[wrong], rng=rng)
        cells[wrong[there]] = levels.cells(tree.members[found])
        return cells


def _part(follows: Codes, given: Codes) -> NDArray[np.bool_]:
    """Whether something follows, and is not what is given."""
    return np.asarray((follows >= 0) & (follows != given))


def _of_any_leaf(
    follows: Codes, members: Indices, given: Codes, *, rng: Generator
) -> tuple[Indices, NDArray[np.bool_]]:
    """Draw for each row one of these members that goes with what is given; say for which there is any.

    ``follows`` is what goes with every member there is.
    """
    order = members[np.argsort(follows[members], kind="stable")]
    begin = np.searchsorted(follows[order], given)
    n_fitting = np.searchsorted(follows[order], given, side="right") - begin
    there = n_fitting > 0  # else nobody has what this row has so far
    return order[begin[there] + rng.integers(n_fitting[there])], there


def visits_with(dependencies: Sequence[Dependency], n_visits: int, fixed: int) -> tuple[int, ...]:
    """Return visits 0, 1 … in an order that lets all dependencies be kept; the first ``fixed`` ones stay.

    Of several columns that follow from one, the first may be visited before it. The others come right after:
    drawn each for itself, they might be such as nobody has together.
    """
    before: dict[int, int] = {}
    following: dict[int, list[int]] = {}
    for item in sorted(dependencies, key=lambda item: item.column):
        if item.column < item.source and item.source not in before:
            before[item.source] = item.column
        elif item.column < item.source and item.column >= fixed:
            following.setdefault(item.source, []).append(item.column)
    moved = {column for columns in following.values() for column in columns}
    ordered: list[int] = []

    def visit(column: int) -> None:
        ordered.append(column)
        for other in following.get(column, ()):
            visit(other)

    for column in range(n_visits):
        if column not in moved:
            visit(column)
    return (*range(fixed), *(column for column in ordered if column >= fixed))
