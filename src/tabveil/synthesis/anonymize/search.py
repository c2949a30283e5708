"""The best full-domain generalization: a search of the lattice, upward, in the order of a lower bound.

The loss that a node has at least is known before anything is grouped: what its levels lose where no row is
suppressed. It only grows on the way up. So nodes are looked at in its order, and as soon as the next bound
reaches the best loss found, nothing better is left: the optimum is exact. What a lattice cannot be searched
for within a budget is said: then the result is the best that was found, not proven to be optimal.

Most nodes are passed over unseen. A row whose class is too small where some columns are generalized to their
top is in too small a class in every node that is finer: so the *shadows* of a node, which keep its levels in
the first columns alone, tell how many rows it suppresses at least. There are few different shadows, and they
have few groups. A node whose shadow suppresses more than may be, or too much to be the best, is passed over.
"""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tabveil.core import workers
from tabveil.core.table import Indices
from tabveil.errors import NotApplicable
from tabveil.synthesis.anonymize.hierarchy import SensitiveColumn
from tabveil.synthesis.anonymize.lattice import (
    Classes,
    Groups,
    GroupSources,
    Keep,
    Lattice,
    Node,
    above,
    below,
)
from tabveil.synthesis.anonymize.losses import LossModel
from tabveil.synthesis.anonymize.privacy_models import KAnonymity, PrivacyModel

BUDGET = 10_000_000_000
"""Groups that a search may look at; a few minutes of computing."""
MOST_NODES = 1_500_000
"""Nodes that a search may have in mind; each takes memory."""
_EVERY = 64  # nodes between two messages about progress
_BY_ITSELF = 1000  # a node costs as much as so many groups, even where it is passed over


@dataclass(frozen=True, kw_only=True)
class SearchStep:
    """A node that was better than all before it."""

    node: Node
    loss: float
    n_suppressed: int
    n_looked_at: int  # nodes up to here


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchResult:
    """What a search found, and whether nothing can be better."""

    classes: Classes
    keep: Keep  # (c,) classes that are released
    loss: float
    proven: bool
    at_least: float  # no node has a smaller loss
    n_nodes: int
    n_looked_at: int
    way: tuple[SearchStep, ...]

    @property
    def node(self) -> Node:
        """The level of each quasi-identifier."""
        return self.classes.node


@dataclass(frozen=True, kw_only=True, eq=False)
class _Candidate:
    classes: Classes
    keep: Keep
    n_suppressed: int


class LatticeSearch:
    """A search for the node with the least loss that suppresses no more rows than may be."""

    def __init__(
        self,
        lattice: Lattice,
        *,
        models: Sequence[PrivacyModel],
        loss: LossModel,
        most_suppressed: int,
        budget: int = BUDGET,
    ) -> None:
        self._lattice = lattice
        # Sizes are looked at first: what is struck by them need not be looked at again.
        self._models = sorted(models, key=lambda model: not isinstance(model, KAnonymity))
        self._scorer = loss.scorer(lattice)
        self._most = most_suppressed
        self._budget = budget
        self._least = max((model.k for model in models if isinstance(model, KAnonymity)), default=1)
        self._sources = GroupSources(lattice)
        self._shadows: dict[Node, int] = {}  # rows that they suppress at least
        self._best: _Candidate | None = None
        self._best_loss = math.inf
        self._way: list[SearchStep] = []
        self._looked_at: set[Node] = set()

    def take(self, node: Node) -> SearchResult:
        """Take a node as it is; what a better one would lose is not asked."""
        found = self._judged(self._lattice.roll_up(self._sources.bottom, node))
        if found.n_suppressed > self._most:
            raise NotApplicable(
                "anonymize",
                f"with these levels {found.n_suppressed:,} rows must be suppressed, and at most "
                f"{self._most:,} may be; raise the suppression, or the levels.",
            )
        return self._result(found, proven=False, at_least=0.0)

    def run(self) -> SearchResult:
        """Look at nodes until nothing better can be left, or the budget is spent."""
        lattice, scorer = self._lattice, self._scorer
        self._dive()
        start = sum(float(terms[0]) for terms in scorer.terms)
        waiting: list[tuple[float, float, Node]] = [(scorer.bound(start), start, lattice.bottom_node)]
        seen = {lattice.bottom_node}
        at_least = math.inf
        while waiting:
            bound, total, node = heapq.heappop(waiting)
            if bound >= self._best_loss:
                break
            if self._budget <= 0 or len(seen) > MOST_NODES:
                at_least = bound
                break
            self._budget -= _BY_ITSELF
            if not self._is_passed_over(node):
                found = self._look(node)
                bound = max(bound, scorer.ahead(found.classes, self._least))
            if bound >= self._best_loss:  # of everything above it, too
                continue
            for column, higher in above(node, lattice.heights):
                if higher not in seen:
                    seen.add(higher)
                    terms = scorer.terms[column]
                    next_total = total + float(terms[higher[column]] - terms[node[column]])
                    heapq.heappush(waiting, (max(bound, scorer.bound(next_total)), next_total, higher))
        if self._best is None and not math.isinf(at_least):
            raise NotApplicable(
                "anonymize: no generalization was found within the budget; raise it or the suppression."
            )
        if self._best is None:
            n_rows = lattice.combinations.n_rows
            raise NotApplicable(
                f"anonymize: no generalization keeps all promises with at most {self._most:,} of {n_rows:,} "
                "rows suppressed; raise the suppression, or add coarser levels."
            )
        at_best = min(at_least, self._best_loss)
        return self._result(self._best, proven=math.isinf(at_least), at_least=at_best)

    def _result(self, found: _Candidate, *, proven: bool, at_least: float) -> SearchResult:
        return SearchResult(
            classes=found.classes,
            keep=found.keep,
            loss=self._best_loss,
            proven=proven,
            at_least=at_least,
            n_nodes=self._lattice.n_nodes,
            n_looked_at=len(self._looked_at),
            way=tuple(self._way),
        )

    def _is_passed_over(self, node: Node) -> bool:
        """Whether a shadow of the node shows that it cannot be the best."""
        n_rows = self._lattice.combinations.n_rows
        if self._most >= n_rows and self._scorer.at_least(node, n_rows, self._least) < self._best_loss:
            return False  # however many it suppresses
        for shadow in self._sources.shadows_of(node):
            suppressed = self._shadows.get(shadow)
            if suppressed is None:
                groups, work = self._sources.shadow(shadow)
                self._budget -= work
                suppressed = self._shadows[shadow] = self._lost(self._lattice.classes(groups))
            if suppressed > self._most:
                return True
            if suppressed and self._scorer.at_least(node, suppressed, self._least) >= self._best_loss:
                return True
        return False

    def _lost(self, classes: Classes) -> int:
        """Return how many rows are suppressed wherever these classes are parted further.

        Where none may be suppressed, a class that breaks a promise has a part that breaks it, too.
        """
        if self._most == 0:
            return self._judge(classes)[1]
        lost = np.zeros(len(classes), dtype=np.int64)
        for model in self._models:
            lost = np.maximum(lost, model.lost(classes, *self._sensitive(classes, model), self._least))
        return int(lost.sum())

    def _judge(self, classes: Classes) -> tuple[Keep, int]:
        """Return which classes keep all promises, (c,), and how many rows the others have."""
        keep = np.ones(len(classes), dtype=np.bool_)
        for model in self._models:
            model.judge(classes, *self._sensitive(classes, model), keep)
        return keep, int(classes.counts[~keep].sum())

    def _sensitive(self, classes: Classes, model: PrivacyModel) -> tuple[Indices, SensitiveColumn | None]:
        """Return the sensitive values of the classes' groups that a model speaks of, and their column."""
        if model.column is None:
            return np.empty(0, dtype=np.int64), None
        combinations, d = self._lattice.combinations, len(self._lattice.heights)
        place = [column.name for column in combinations.sensitive].index(model.column)
        return combinations.leaves[d + place][classes.groups.rows], combinations.sensitive[place]

    def _look(self, node: Node) -> _Candidate:
        """Group the rows by a node, and judge it."""
        groups, work = self._sources.groups(node)
        self._budget -= work
        return self._judged(groups)

    def _judged(self, groups: Groups) -> _Candidate:
        """Judge the classes of a node, and remember it if it is the best."""
        node, classes = groups.node, self._lattice.classes(groups)
        keep, n_suppressed = self._judge(classes)
        found = _Candidate(classes=classes, keep=keep, n_suppressed=n_suppressed)
        if node not in self._looked_at:
            self._looked_at.add(node)
            if len(self._looked_at) % _EVERY == 0:
                n = self._lattice.n_nodes
                workers.tell(f"generalizing, {len(self._looked_at):,} of {n:,}", len(self._looked_at) / n)
        may_be = n_suppressed <= self._most
        if may_be and self._scorer.at_least(node, n_suppressed, self._least) < self._best_loss:
            loss = self._scorer.score(classes, keep)
            if loss < self._best_loss:
                self._best, self._best_loss = found, loss
                n = len(self._looked_at)
                self._way.append(SearchStep(node=node, loss=loss, n_suppressed=n_suppressed, n_looked_at=n))
        return found

    def _dive(self) -> None:
        """Climb from the bottom to the top by the best neighbor, then improve what was best step by step.

        A good node is needed first: by it the others are passed over, and a search that is broken off has it.
        """
        heights = self._lattice.heights
        node = self._lattice.bottom_node
        self._look(node)
        while (coarser := [higher for _, higher in above(node, heights)]) and self._budget > 0:
            node = min(coarser, key=self._promise)
        while self._best is not None and self._budget > 0:
            node = self._best.classes.node
            for near in (*(higher for _, higher in above(node, heights)), *below(node)):
                if near not in self._looked_at:
                    self._look(near)
            if self._best.classes.node == node:
                return

    def _promise(self, node: Node) -> tuple[bool, float]:
        """Rank a node on the way up: one that may be chosen first, then by its loss."""
        found = self._look(node)
        if found.n_suppressed > self._most:
            return True, float(found.n_suppressed)
        return False, self._scorer.score(found.classes, found.keep)
