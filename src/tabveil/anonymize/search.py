"""The best full-domain generalization: a search of the lattice, upward, in the order of a lower bound.

The loss that a node has at least is known before anything is grouped: what its levels lose where no row is
suppressed. It only grows on the way up. So nodes are looked at in its order, and as soon as the next bound
reaches the best loss found, nothing better is left: the optimum is exact. What a lattice cannot be searched
for within a budget is said: then the result is the best that was found, not proven to be optimal.

Where few rows may be suppressed and the models are monotone, a node that suppresses too many rules out all
below it: from such a node, the highest of its kind on a way to the top is sought first.
"""

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tabveil import workers
from tabveil.anonymize.lattice import Classes, Groups, Lattice, Node
from tabveil.anonymize.losses import Keep, LossModel
from tabveil.anonymize.models import KAnonymity, PrivacyModel
from tabveil.errors import NotApplicable

BUDGET = 10_000_000_000
"""Groups that a search may look at; a few minutes of computing."""
SMALL_LATTICE = 100_000
"""Nodes: beyond these, a good node is sought first, or a search that is broken off had none to show."""
CACHE_BYTES = 600_000_000
"""Memory for the groups of nodes that coarser nodes may be found from."""
_EVERY = 64  # nodes between two messages about progress


@dataclass(frozen=True, kw_only=True)
class Step:
    """A node that was better than all before it."""

    node: Node
    loss: float
    n_suppressed: int
    n_looked_at: int  # nodes up to here


@dataclass(frozen=True, kw_only=True, eq=False)
class Found:
    """What a search found, and whether nothing can be better."""

    classes: Classes
    keep: Keep  # (c,) classes that are released
    loss: float
    proven: bool
    at_least: float  # no node has a smaller loss
    n_nodes: int
    n_looked_at: int
    way: tuple[Step, ...]

    @property
    def node(self) -> Node:
        """The level of each quasi-identifier."""
        return self.classes.node


@dataclass(frozen=True, kw_only=True, eq=False)
class _Candidate:
    classes: Classes
    keep: Keep
    n_suppressed: int
    feasible: bool


def judge(lattice: Lattice, classes: Classes, models: Sequence[PrivacyModel]) -> Keep:
    """Return which classes keep all promises, (c,)."""
    combinations = lattice.combinations
    names = [column.name for column in combinations.sensitive]
    keep = np.ones(len(classes), dtype=np.bool_)
    # Sizes are looked at first: what is struck by them need not be looked at again.
    for model in sorted(models, key=lambda model: not isinstance(model, KAnonymity)):
        place = None if model.column is None else names.index(model.column)
        column = None if place is None else combinations.sensitive[place]
        values = combinations.leaves[0 if place is None else len(lattice.heights) + place]
        model.judge(classes, values[classes.groups.rows] if place is not None else values, column, keep)
    return keep


def search(
    lattice: Lattice,
    models: Sequence[PrivacyModel],
    loss: LossModel,
    *,
    most_suppressed: int,
    budget: int = BUDGET,
) -> Found:
    """Find the node with the least loss that suppresses no more rows than may be."""
    return _Search(lattice, models, loss, most_suppressed=most_suppressed, budget=budget).run()


class _Search:
    def __init__(
        self,
        lattice: Lattice,
        models: Sequence[PrivacyModel],
        loss: LossModel,
        *,
        most_suppressed: int,
        budget: int,
    ) -> None:
        self._lattice = lattice
        self._models = models
        self._scorer = loss.scorer(lattice)
        self._most = most_suppressed
        self._budget = budget
        self._least = max((model.k for model in models if isinstance(model, KAnonymity)), default=1)
        n_rows = lattice.combinations.n_rows
        # Without suppression all models are monotone; where all may be suppressed there is nothing to rule out.
        self._monotone = most_suppressed < n_rows and (
            most_suppressed == 0 or all(model.monotone for model in models)
        )
        self._bottom = lattice.bottom()
        self._cache: dict[Node, Groups] = {}
        self._cached_bytes = 0
        self._open: dict[Node, int] = {}  # coarser neighbors of cached nodes that are not yet looked at
        self._ruled_out = np.empty((0, len(lattice.heights)), dtype=np.int64)
        self._best: _Candidate | None = None
        self._best_loss = math.inf
        self._way: list[Step] = []
        self._looked_at: set[Node] = set()

    def run(self) -> Found:
        lattice, scorer = self._lattice, self._scorer
        if lattice.n_nodes > SMALL_LATTICE:
            self._dive()
        start = sum(float(terms[0]) for terms in scorer.terms)
        waiting: list[tuple[float, float, Node]] = [(scorer.bound(start), start, lattice.bottom_node)]
        seen = {lattice.bottom_node}
        at_least = math.inf
        while waiting:
            bound, total, node = heapq.heappop(waiting)
            if bound >= self._best_loss:
                break
            if self._budget <= 0:
                at_least = bound
                break
            if not self._is_ruled_out(node):
                ahead = self._visit(node)
                bound = max(bound, ahead)
            if bound >= self._best_loss:  # of everything above it, too
                continue
            for column, higher in self._above(node):
                if higher not in seen:
                    seen.add(higher)
                    terms = scorer.terms[column]
                    next_total = total + float(terms[higher[column]] - terms[node[column]])
                    heapq.heappush(waiting, (max(bound, scorer.bound(next_total)), next_total, higher))
        if self._best is None:
            raise NotApplicable(self._no_node(exhausted=math.isinf(at_least)))
        return Found(
            classes=self._best.classes,
            keep=self._best.keep,
            loss=self._best_loss,
            proven=math.isinf(at_least),
            at_least=min(at_least, self._best_loss),
            n_nodes=lattice.n_nodes,
            n_looked_at=len(self._looked_at),
            way=tuple(self._way),
        )

    def _no_node(self, *, exhausted: bool) -> str:
        if not exhausted:
            return "anonymize: no generalization was found within the budget; raise it or the suppression."
        n_rows = self._lattice.combinations.n_rows
        return (
            f"anonymize: no generalization keeps all promises with at most {self._most:,} of {n_rows:,} rows "
            "suppressed; raise the suppression, or add coarser levels."
        )

    def _above(self, node: Node) -> Iterator[tuple[int, Node]]:
        """Yield the neighbors that are one level coarser in one column."""
        for column, height in enumerate(self._lattice.heights):
            if node[column] < height:
                yield column, (*node[:column], node[column] + 1, *node[column + 1 :])

    def _below(self, node: Node) -> Iterator[Node]:
        for column, level in enumerate(node):
            if level > 0:
                yield (*node[:column], level - 1, *node[column + 1 :])

    def _visit(self, node: Node) -> float:
        """Look at a node; return a bound on all that are coarser."""
        candidate = self._look(node)
        if self._monotone and not candidate.feasible:
            self._rule_out(node)
        return self._scorer.ahead(candidate.classes, self._least)

    def _look(self, node: Node) -> _Candidate:
        """Group the rows by a node, judge its classes, and remember it if it is the best."""
        lattice = self._lattice
        source = self._source(node)
        self._budget -= len(source)
        groups = source if node == source.node else lattice.roll_up(source, node)
        self._remember(node, groups)
        classes = lattice.classes(groups)
        keep = judge(lattice, classes, self._models)
        n_suppressed = int(classes.counts[~keep].sum())
        found = _Candidate(
            classes=classes, keep=keep, n_suppressed=n_suppressed, feasible=n_suppressed <= self._most
        )
        if node not in self._looked_at:
            self._looked_at.add(node)
            if len(self._looked_at) % _EVERY == 0:
                n = lattice.n_nodes
                workers.tell(f"generalizing, {len(self._looked_at):,} of {n:,}", len(self._looked_at) / n)
        if found.feasible:
            loss = self._scorer.score(classes, keep, self._best_loss)
            if loss < self._best_loss:
                self._best, self._best_loss = found, loss
                self._way.append(
                    Step(
                        node=node, loss=loss, n_suppressed=n_suppressed, n_looked_at=len(self._looked_at)
                    )
                )
        return found

    def _source(self, node: Node) -> Groups:
        """Return the groups to find a node's from: those of the finer neighbor that has fewest."""
        if node in self._cache:
            return self._cache[node]
        best = self._bottom
        for lower in self._below(node):
            groups = self._cache.get(lower)
            if groups is not None:
                if len(groups) < len(best):
                    best = groups
                self._open[lower] -= 1
                if self._open[lower] == 0:
                    self._forget(lower)
        return best

    def _remember(self, node: Node, groups: Groups) -> None:
        if node in self._cache or groups is self._bottom:
            return
        n_open = sum(
            level < height for level, height in zip(node, self._lattice.heights, strict=True)
        )
        if n_open == 0 or groups.nbytes > CACHE_BYTES:
            return
        self._cache[node] = groups
        self._open[node] = n_open
        self._cached_bytes += groups.nbytes
        while self._cached_bytes > CACHE_BYTES:
            self._forget(next(iter(self._cache)))

    def _forget(self, node: Node) -> None:
        self._cached_bytes -= self._cache.pop(node).nbytes
        del self._open[node]

    def _is_ruled_out(self, node: Node) -> bool:
        return len(self._ruled_out) > 0 and bool((self._ruled_out >= np.array(node)).all(axis=1).any())

    def _rule_out(self, node: Node) -> None:
        """Find the highest node that suppresses too many on a way up, and rule out all below it."""
        way = [node]
        while higher := next((found for _, found in self._above(way[-1])), None):
            way.append(higher)
        low, high = 0, len(way)  # way[low] suppresses too many; from way[high] on none does, if there is one
        while high - low > 1:
            middle = (low + high) // 2
            if self._look(way[middle]).feasible:
                high = middle
            else:
                low = middle
        top = np.array(way[low])
        covered = (self._ruled_out <= top).all(axis=1)
        self._ruled_out = np.vstack((self._ruled_out[~covered], top))

    def _dive(self) -> None:
        """Climb from the bottom to the top by the best neighbor, then improve what was best step by step."""
        node = self._lattice.bottom_node
        self._look(node)
        while (above := [higher for _, higher in self._above(node)]) and self._budget > 0:
            node = min(above, key=self._promise)
        while self._best is not None and self._budget > 0:
            node = self._best.classes.node
            for near in (*(higher for _, higher in self._above(node)), *self._below(node)):
                if near not in self._looked_at:
                    self._look(near)
            if self._best.classes.node == node:
                return

    def _promise(self, node: Node) -> tuple[bool, float]:
        """Rank a node on the way up: one that may be chosen first, then by its loss."""
        found = self._look(node)
        loss = self._scorer.score(found.classes, found.keep, math.inf)
        return not found.feasible, loss if found.feasible else float(found.n_suppressed)
