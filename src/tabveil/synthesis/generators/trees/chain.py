"""A chain of trees: each column's looks at the columns visited before it; or memorizes them, on purpose.

What is drawn from their leaves are pairs that somebody has, and no number that is somebody's alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.core.people import LEAST_SHARED
from tabveil.core.table import Floats, Indices, Numeric, within
from tabveil.core.workers import part, tell
from tabveil.synthesis.generators.dependencies import NOTHING, Dependency, pairs
from tabveil.synthesis.generators.trees.growth import GrownTree, grow
from tabveil.tables.matrices.ordinal import MISSING, Codes, CountedValues
from tabveil.tables.matrices.unshared import StandInRanges

SILVERMAN = 0.9, -0.2
"""The width of a kernel is 0.9 standard deviations, times the number of values to the power of -1/5."""


Mover = Callable[..., Floats]
"""A way to move numbers that few rows share, of members drawn from leaves; missing stays missing."""


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


def _kernels(tree: GrownTree, levels: CountedValues) -> Floats:
    """Return mean, spread and width (3, nodes) of the kernel of the numbers that few rows share in a leaf.

    Where a leaf has no two such numbers, the whole column stands in: a single person's number is not
    repeated because nobody resembles them.
    """
    few = (levels.counts < LEAST_SHARED)[tree.members] & (tree.members != MISSING)
    leaf = np.repeat(np.arange(len(tree.left)), np.diff(tree.first))[few]
    cells = levels.cells(tree.members[few])
    if len(cells) == 0:
        return np.zeros((3, len(tree.left)))
    n = np.maximum(np.bincount(leaf, minlength=len(tree.left)), 1)
    mean = np.bincount(leaf, weights=cells, minlength=len(tree.left)) / n
    spread = np.sqrt(np.bincount(leaf, weights=(cells - mean[leaf]) ** 2, minlength=len(tree.left)) / n)
    alone = spread == 0
    n[alone], mean[alone], spread[alone] = len(cells), cells.mean(), cells.std()
    factor, power = SILVERMAN
    return np.array([mean, spread, factor * spread * n**power])


def move_by_kernel(
    members: Indices, leaves: Codes, tree: GrownTree, levels: CountedValues, *, rng: Generator
) -> Floats:
    """Move the numbers that few rows share, without spreading them wider than they are.

    Silverman and Young's shrinkage undoes what a kernel adds to the variance. A number that would leave the
    range that was seen is reflected.
    """
    codes = tree.members[members]
    cells = levels.cells(codes)
    mean, spread, width = _kernels(tree, levels)[:, leaves]
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
    wanted: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    least: int = LEAST_SHARED  # rows that must share a pair for it to be filled in

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
    def of(
        cls, dependencies: Sequence[Dependency], visits: Sequence[int], levels: Sequence[CountedValues]
    ) -> Self:
        """Say what must agree, to be filled; ``levels`` are those of each visit.

        A pair that few rows share can be somebody's. Only numbers, which are moved where they are rare, keep
        to such a pair: they are not to meet that of another.
        """
        place = {column: k for k, column in enumerate(visits)}
        looked_up, drawn = ([Agreement()] * len(visits) for _ in range(2))
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


BESIDE = 0.01
"""In a likelihood so much of a leaf is the whole column: what was seen anywhere is possible everywhere."""
UNSEEN = 0.5
"""The rows that a likelihood adds to each value of a column: a label may be new."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Chain:
    """The columns' levels and trees, in the order of the visits, and which of them agree exactly."""

    levels: tuple[CountedValues, ...]
    trees: tuple[GrownTree, ...]
    agreements: Agreements

    def draw(
        self,
        n_rows: int,
        *,
        move: Mover | None,
        forget: bool,
        given: Floats | None = None,
        rng: Generator,
    ) -> Floats:
        """Draw cells (n, columns) column after column; ``move`` numbers that few rows share.

        To ``forget`` makes what follows go with a number as it was moved, and not as a person has it. The
        cells of the first columns may be ``given``, (n, first columns).
        """
        n_given = 0 if given is None else given.shape[1]
        codes = np.zeros((n_rows, len(self.trees)), dtype=np.int32)
        cells = np.empty((n_rows, len(self.trees)))
        exact = np.ones((n_rows, len(self.trees)), dtype=np.bool_)  # cells that are what their codes say
        for k, (tree, levels) in enumerate(zip(self.trees, self.levels, strict=True)):
            if given is not None and k < n_given:
                codes[:, k], cells[:, k] = levels.codes(given[:, k]), given[:, k]
                exact[:, k] = (levels.cells(codes[:, k]) == cells[:, k]) | np.isnan(cells[:, k])
                continue
            leaves = tree.leaves(codes)
            members = self.agreements.draw(k, tree, leaves, codes, rng=rng)
            codes[:, k] = tree.members[members]
            drawn = levels.cells(codes[:, k])
            if move is not None and isinstance(levels.column, Numeric) and len(levels.values):
                drawn = move(members, leaves, tree, levels, rng=rng)
            follows = self.agreements.look_up(k, codes)
            known = (follows >= 0) & exact[:, self.agreements.looked_up[k].visit]
            codes[known, k] = follows[known]
            drawn[known] = levels.cells(follows[known])
            moved = within(levels.column, drawn)
            cells[:, k] = self.agreements.mended(k, tree, levels, moved, codes, rng=rng)
            if forget:
                codes[:, k] = levels.codes(cells[:, k])
            exact[:, k] = (levels.cells(codes[:, k]) == cells[:, k]) | np.isnan(cells[:, k])
        return cells

    def losses(self, codes: Codes) -> Floats:
        """Return the negative log-likelihood (n, columns) of each cell given those before it, in nats.

        It is the cell's share in the row's leaf, or certain where it follows, mixed with that overall.
        """
        losses = np.empty(codes.shape)
        for k, (tree, levels) in enumerate(zip(self.trees, self.levels, strict=True)):
            goal, follows = codes[:, k], self.agreements.look_up(k, codes)
            low, high = levels.ranges()
            totals = np.concatenate([[0], np.cumsum(levels.counts)])
            in_range = totals[high] - totals[low] + UNSEEN
            overall = in_range / in_range[np.unique(low)].sum()
            same, size = tree.in_leaf(tree.leaves(codes), low[goal], high[goal])
            inside = np.where(follows >= 0, low[follows] == low[goal], same / size)
            losses[:, k] = -np.log((1 - BESIDE) * inside + BESIDE * overall[goal])
        return losses

    def loss(self, codes: Codes) -> float:
        """Return the mean negative log-likelihood of a row."""
        return float(self.losses(codes).sum(axis=1).mean())

    def filled(self, codes: Codes) -> Self:
        """Return the same trees with these rows in their leaves."""
        trees = tuple(tree.filled(codes, codes[:, k]) for k, tree in enumerate(self.trees))
        levels = tuple(_counted(self.levels, codes))
        return replace(self, levels=levels, trees=trees, agreements=self.agreements.filled(codes))


def _counted(levels: Sequence[CountedValues], codes: Codes) -> list[CountedValues]:
    return [each.counted(codes[:, k]) for k, each in enumerate(levels)]


def grow_chain(
    levels: Sequence[CountedValues],
    codes: Codes,
    *,
    min_leaf: int,
    caution: float | None = None,
    agreements: Agreements | None = None,
    rng: Generator,
) -> Chain:
    """Grow a tree for each column from rows (n, columns), and fill in what must agree."""
    levels, trees = _counted(levels, codes), []
    for k, goal in enumerate(levels):
        tree = grow(
            codes[:, :k],
            codes[:, k],
            features=levels[:k],
            levels=goal,
            min_leaf=min_leaf,
            caution=caution,
            rng=rng,
        )
        trees.append(tree)
        tell("growing trees", (k + 1) / len(levels))
    agreements = agreements or Agreements.of((), range(len(levels)), levels)
    return Chain(levels=tuple(levels), trees=tuple(trees), agreements=agreements.filled(codes))


LEAF_SIZES = (377, 233, 144, 89, 55, 34, 21, 13, 8, 5, 3, 2, 1)
"""Tried in turn."""


def memorize(
    levels: Sequence[CountedValues], learned: Codes, held_out: Codes, *, ratio: float, rng: Generator
) -> tuple[Chain, list[tuple[float, float]]]:
    """Shrink the leaves until the held-out loss is ``ratio`` times its minimum.

    At the first leaf size past the ratio, columns change over from the size before one by one, in the order
    of the visits, until the ratio is passed. A ratio of 1 keeps the size with the minimum. The losses of the
    rows learned from and of those held out are those on the way there.
    """
    sizes = [size for size in LEAF_SIZES if size <= max(len(learned) // 2, 1)]
    losses: list[tuple[float, float]] = []
    chain: Chain | None = None
    kept: Chain | None = None
    least = np.inf
    for i, size in enumerate(sizes):
        before = chain
        with part(i / len(sizes), (i + 1) / len(sizes)):
            chain = grow_chain(levels, learned, min_leaf=size, rng=rng)
        loss = chain.loss(held_out)
        losses.append((chain.loss(learned), loss))
        if loss < least:
            kept, least = chain, loss
        elif ratio > 1:
            kept = chain
            if loss >= ratio * least and before is not None:
                kept = _change_over(before, chain, held_out, ratio * least)
                losses.append((kept.loss(learned), kept.loss(held_out)))
                break
    assert kept is not None, "there is always a leaf size"
    return kept, losses


def _change_over(before: Chain, after: Chain, held_out: Codes, wanted: float) -> Chain:
    """Return a chain whose first trees are those after, as many as it takes to reach the wanted loss."""
    old, new = (chain.losses(held_out).mean(axis=0) for chain in (before, after))
    reached = old.sum() + np.cumsum(new - old) >= wanted
    reached[-1] = True
    n = int(np.argmax(reached)) + 1
    return replace(after, trees=after.trees[:n] + before.trees[n:])


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
