"""Searchers: which configurations to try next, as a pure function of the seed and of what was tried.

So a search that is ended at any moment goes on as if nothing had happened: what was tried stands in the
store, and the same proposals follow from it.
"""

from collections.abc import Sequence
from typing import ClassVar, Protocol

from tabveil.workflows.tuning.by_optuna import ByOptuna
from tabveil.workflows.tuning.configuration import Tuning
from tabveil.workflows.tuning.findings import Tried
from tabveil.workflows.tuning.grid import Grid
from tabveil.workflows.tuning.space import Point


class Searcher(Protocol):
    """Proposes points."""

    name: ClassVar[str]

    @property
    def n_trials(self) -> int:
        """How many trials there will be, at most."""
        ...

    def propose(self, tried: Sequence[Tried]) -> list[Point]:
        """Return the points to try after those that were tried; none ends the search."""
        ...


def searcher_of(tuning: Tuning) -> Searcher:
    """Return the searcher that was asked for: unless one is named, a grid where it can try every point."""
    size, wanted = tuning.space.size, tuning.searcher
    if wanted == Grid.name or (wanted == "auto" and size is not None and size <= tuning.trials):
        return Grid.of(tuning)
    return ByOptuna.of(tuning)
