"""Searchers: which configurations to try next, as a pure function of the seed and of what was tried.

So a search that is ended at any moment goes on as if nothing had happened: what was tried stands in the
store, and the same proposals follow from it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, Protocol

from tabveil.core.rng import stream
from tabveil.errors import ParameterError
from tabveil.workflows.tuning.by_optuna import ByOptuna
from tabveil.workflows.tuning.search import Tuning
from tabveil.workflows.tuning.space import Point, SearchSpace, new_points
from tabveil.workflows.tuning.tradeoffs import Attempt


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Every point in turn; where there are more than trials, as many of them, drawn by the seed."""

    space: SearchSpace
    trials: int
    seed: int

    name: ClassVar[str] = "grid"

    @classmethod
    def of(cls, tuning: Tuning) -> "Grid":
        """Make one, or say which setting has no grid."""
        if tuning.space.size is None:
            raise ParameterError(
                "search", f"{tuning.space.uncounted}: a grid needs a list, or a step of the range."
            )
        return cls(space=tuning.space, trials=tuning.trials, seed=tuning.seed)

    @property
    def n_trials(self) -> int:
        """How many trials there will be."""
        return min(self.trials, self.space.size or 0)

    def propose(self, tried: Sequence[Attempt]) -> list[Point]:
        """Return all points at once."""
        if tried:
            return []
        if self.n_trials == self.space.size:
            return [self.space.point(place) for place in range(self.n_trials)]
        drawn = new_points(self.space, set(), rng=stream(self.seed, "grid"))
        return list(islice(drawn, self.n_trials))


class Searcher(Protocol):
    """Proposes points."""

    name: ClassVar[str]

    @property
    def n_trials(self) -> int:
        """How many trials there will be, at most."""
        ...

    def propose(self, tried: Sequence[Attempt]) -> list[Point]:
        """Return the points to try after those that were tried; none ends the search."""
        ...


def searcher_of(tuning: Tuning) -> Searcher:
    """Return the searcher that was asked for: unless one is named, a grid where it can try every point."""
    size, wanted = tuning.space.size, tuning.searcher
    if wanted == Grid.name or (wanted == "auto" and size is not None and size <= tuning.trials):
        return Grid.of(tuning)
    return ByOptuna.of(tuning)
