"""Proposals of Optuna's tree-structured Parzen estimator, for two objectives at once.

Every round begins with a study of its own in memory: all trials so far are put into it in their order, and a
seed made of the search's seed and their number asks for the next ones. Nothing else is remembered, so the
round is the same whenever and wherever it is asked for.
"""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

from tabveil.core.rng import stream
from tabveil.errors import ParameterError
from tabveil.workflows.tuning.search import Tuning
from tabveil.workflows.tuning.space import Choices, Dimension, Point, SearchSpace, key_of, new_points
from tabveil.workflows.tuning.tradeoffs import Attempt

_ASKS_FOR_EACH = 20
"""So often the estimator may repeat itself before chance proposes in its place."""


@dataclass(frozen=True, kw_only=True)
class ByOptuna:
    """A searcher that learns from what was tried."""

    space: SearchSpace
    trials: int
    batch: int
    seed: int

    name: ClassVar[str] = "optuna"

    @classmethod
    def of(cls, tuning: Tuning) -> "ByOptuna":
        """Make one, or say what must be installed, or be asked for instead."""
        try:
            importlib.import_module("optuna")
        except ModuleNotFoundError:
            raise ParameterError(
                "searcher",
                "Optuna is not installed; install tabveil[tune], or search a grid: give lists or "
                "steps, and 'searcher: grid'.",
            ) from None
        return cls(space=tuning.space, trials=tuning.trials, batch=tuning.batch, seed=tuning.seed)

    @property
    def n_trials(self) -> int:
        """How many trials there will be, at most."""
        size = self.space.size
        return self.trials if size is None else min(self.trials, size)

    def propose(self, tried: Sequence[Attempt]) -> list[Point]:
        """Return the points of the next round, none of which was tried."""
        wanted = min(self.batch, self.n_trials - len(tried))
        if wanted <= 0:
            return []
        seen = {key_of(item.point) for item in tried}
        found: list[Point] = []
        for point in self._asked(tried, wanted):
            if key_of(point) not in seen and len(found) < wanted:
                seen.add(key_of(point))
                found.append(point)
        by_chance = new_points(self.space, seen, rng=stream(self.seed, "instead", f"after {len(tried)}"))
        return [*found, *islice(by_chance, wanted - len(found))]

    def _asked(self, tried: Sequence[Attempt], wanted: int) -> list[Point]:
        """Ask Optuna for points, more of them where it repeats itself."""
        import optuna  # noqa: PLC0415 - an extra

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        seed = int(stream(self.seed, "search", f"after {len(tried)}").integers(2**31))
        study = optuna.create_study(
            directions=["minimize", "minimize"],
            sampler=optuna.samplers.TPESampler(seed=seed, constant_liar=True),
        )
        spread = {item.path: _distribution(item) for item in self.space.dimensions}
        for item in tried:
            study.add_trial(self._as_trial(item, spread))
        seen = {key_of(item.point) for item in tried}
        found: dict[str, Point] = {}
        for _ in range(wanted * _ASKS_FOR_EACH):
            trial = study.ask(spread)
            point = {item.path: _value(item, trial.params[item.path]) for item in self.space.dimensions}
            if key_of(point) in seen or key_of(point) in found:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
                continue
            found[key_of(point)] = point  # it stays open, so that the next ones keep away from it
            if len(found) == wanted:
                break
        return list(found.values())

    def _as_trial(self, item: Attempt, spread: Mapping[str, Any]) -> Any:  # noqa: ANN401 - Optuna's own
        from optuna.trial import TrialState, create_trial  # noqa: PLC0415 - an extra

        score = item.score
        return create_trial(
            state=TrialState.FAIL if score is None else TrialState.COMPLETE,
            values=None if score is None else [score.privacy, score.loss],
            params={
                dimension.path: _parameter(dimension, item.point[dimension.path])
                for dimension in self.space.dimensions
            },
            distributions=dict(spread),
        )


def _distribution(item: Dimension) -> Any:  # noqa: ANN401 - Optuna's own
    """Say what a setting may be: places in a list, or a number."""
    from optuna.distributions import (  # noqa: PLC0415 - an extra
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    if isinstance(item, Choices):
        places = len(item.values)
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
