"""The plain search: every point, or as many as there may be trials."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

from tabveil.core.rng import stream
from tabveil.errors import ParameterError
from tabveil.workflows.tuning.configuration import Tuning
from tabveil.workflows.tuning.drawing import new_points
from tabveil.workflows.tuning.findings import Tried
from tabveil.workflows.tuning.space import Point, Space


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Every point in turn; where there are more than trials, as many of them, drawn by the seed."""

    space: Space
    trials: int
    seed: int

    name: ClassVar[str] = "grid"

    @classmethod
    def of(cls, tuning: Tuning) -> "Grid":
        """Make one, or say which setting has no grid."""
        if tuning.space.size is None:
            raise ParameterError(
                f"search: {tuning.space.uncounted}: a grid needs a list, or a step of the range."
            )
        return cls(space=tuning.space, trials=tuning.trials, seed=tuning.seed)

    @property
    def n_trials(self) -> int:
        """How many trials there will be."""
        return min(self.trials, self.space.size or 0)

    def propose(self, tried: Sequence[Tried]) -> list[Point]:
        """Return all points at once."""
        if tried:
            return []
        if self.n_trials == self.space.size:
            return [self.space.point(place) for place in range(self.n_trials)]
        drawn = new_points(self.space, set(), rng=stream(self.seed, "grid"))
        return list(islice(drawn, self.n_trials))
