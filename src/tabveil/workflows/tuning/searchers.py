"""Searchers: which configurations to try next, as a pure function of the seed and of what was tried.

So a search that is ended at any moment goes on as if nothing had happened: what was tried stands in the
store, and the same proposals follow from it.
"""

import importlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

from tabveil.core.rng import stream
from tabveil.errors import ParameterError
from tabveil.workflows.tuning.search import Tuning
from tabveil.workflows.tuning.space import Choices, Dimension, Point, key_of, new_points
from tabveil.workflows.tuning.tradeoffs import Attempt

_ASKS_FOR_EACH = 20
"""So often the estimator may repeat itself before chance proposes in its place."""


@dataclass(frozen=True, kw_only=True)
class Searcher(ABC):
    """Proposes points."""

    tuning: Tuning

    name: ClassVar[str]

    @property
    def n_trials(self) -> int:
        """How many trials there will be, at most."""
        size = self.tuning.space.size
        return self.tuning.trials if size is None else min(self.tuning.trials, size)

    @abstractmethod
    def propose(self, tried: Sequence[Attempt]) -> list[Point]:
        """Return the points to try after those that were tried; none ends the search."""


class Grid(Searcher):
    """Every point in turn; where there are more than trials, as many of them, drawn by the seed."""

    name: ClassVar[str] = "grid"

    def propose(self, tried: Sequence[Attempt]) -> list[Point]:
        """Return all points at once."""
        if tried:
            return []
        space = self.tuning.space
        if self.n_trials == space.size:
            return list(space.points())
        return list(islice(new_points(space, set(), rng=stream(self.tuning.seed, "grid")), self.n_trials))


class ByOptuna(Searcher):
    """A searcher that learns from what was tried: Optuna's tree-structured Parzen estimator, two objectives.

    Every round begins with a study of its own in memory: all trials so far are put into it in their order,
    and a seed made of the search's seed and their number asks for the next ones. Nothing else is remembered,
    so the round is the same whenever and wherever it is asked for.
    """

    name: ClassVar[str] = "optuna"

    def propose(self, tried: Sequence[Attempt]) -> list[Point]:
        """Return the points of the next round, none of which was tried."""
        wanted = min(self.tuning.batch, self.n_trials - len(tried))
        if wanted <= 0:
            return []
        found = self._asked(tried, wanted)
        seen = {key_of(point) for point in (*(item.point for item in tried), *found)}
        rng = stream(self.tuning.seed, "instead", f"after {len(tried)}")
        return [*found, *islice(new_points(self.tuning.space, seen, rng=rng), wanted - len(found))]

    def _asked(self, tried: Sequence[Attempt], wanted: int) -> list[Point]:
        """Ask Optuna for points, more of them where it repeats itself."""
        import optuna  # noqa: PLC0415 - an extra

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        seed = int(stream(self.tuning.seed, "search", f"after {len(tried)}").integers(2**31))
        study = optuna.create_study(
            directions=["minimize", "minimize"],
            sampler=optuna.samplers.TPESampler(seed=seed, constant_liar=True),
        )
        dimensions, states = self.tuning.space.dimensions, optuna.trial.TrialState
        spread = {item.path: _distribution(item) for item in dimensions}
        for attempt in tried:
            score = attempt.score
            study.add_trial(
                optuna.trial.create_trial(
                    state=states.FAIL if score is None else states.COMPLETE,
                    values=None if score is None else [score.privacy, score.loss],
                    params={item.path: _parameter(item, attempt.point[item.path]) for item in dimensions},
                    distributions=dict(spread),
                )
            )
        seen = {key_of(item.point) for item in tried}
        found: dict[str, Point] = {}
        for _ in range(wanted * _ASKS_FOR_EACH):
            trial = study.ask(spread)
            point = {item.path: _value(item, trial.params[item.path]) for item in dimensions}
            if key_of(point) in seen or key_of(point) in found:
                study.tell(trial, state=states.FAIL)
                continue
            found[key_of(point)] = point  # it stays open, so that the next ones keep away from it
            if len(found) == wanted:
                break
        return list(found.values())


def _distribution(item: Dimension) -> Any:  # noqa: ANN401 - Optuna's own
    """Say what a setting may be: places in a list, or a number."""
    from optuna.distributions import (  # noqa: PLC0415 - an extra
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    if isinstance(item, Choices):
        places = len(item.points)
        return IntDistribution(0, places - 1) if item.ordered else CategoricalDistribution(range(places))
    if item.points is None:
        return FloatDistribution(item.low, item.high, log=item.log)
    if item.log:
        return IntDistribution(int(item.low), int(item.high), log=True)
    return IntDistribution(0, len(item.points) - 1)


def _by_place(item: Dimension) -> bool:
    """Whether a value is told by its place among all; the others by themselves."""
    return isinstance(item, Choices) or (item.points is not None and not item.log)


def _value(item: Dimension, parameter: Any) -> Any:  # noqa: ANN401 - JSON types
    if _by_place(item):
        return (item.points or ())[int(parameter)]
    assert not isinstance(item, Choices), "choices are told by their place"
    return item.written(parameter) if item.points is None else parameter


def _parameter(item: Dimension, value: Any) -> Any:  # noqa: ANN401 - JSON types
    return (item.points or ()).index(value) if _by_place(item) else value


def searcher_of(tuning: Tuning) -> Searcher:
    """Return the searcher that was asked for: unless one is named, a grid where it can try every point."""
    space, wanted = tuning.space, tuning.searcher
    if wanted == Grid.name or (wanted == "auto" and space.size is not None and space.size <= tuning.trials):
        if space.size is None:
            raise ParameterError("search", f"{space.uncounted}: a grid needs a list, or a step of the range.")
        return Grid(tuning=tuning)
    try:
        importlib.import_module("optuna")
    except ModuleNotFoundError:
        raise ParameterError(
            "searcher",
            "Optuna is not installed; install tabveil[tune], or search a grid: give lists or steps, and "
            "'searcher: grid'.",
        ) from None
    return ByOptuna(tuning=tuning)
