"""What a search is asked for, from one file, and the searchers that say which configurations to try next.

A file names data, a generator, what may be changed, and what counts. What is tried next is a pure function of
the seed and of what was tried. So a search that is ended at any moment goes on as if nothing had happened:
what was tried stands in the store, and the same proposals follow from it.

>>> tuning = Tuning.read({"data": "hospital", "generator": "copy", "search": {"noise": [0.0, 0.5]}})
>>> tuning.space.size, tuning.repeats, tuning.objectives.utility.name
(2, 3, 'discriminator')
"""

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, ValidationError

from tabveil.auditing.policy import Policy, read_policy
from tabveil.core.rng import stream
from tabveil.core.settings import yaml_files
from tabveil.core.settings.registry import check_names, settings_of
from tabveil.core.settings.yaml_files import Strict
from tabveil.core.table import Table
from tabveil.core.wording import clean
from tabveil.errors import ParameterError, TabveilError, told
from tabveil.synthesis.generators import GENERATORS
from tabveil.synthesis.generators.hybrid.plain_settings import with_paths_from
from tabveil.synthesis.risks import Generated
from tabveil.tables.reading import declare, load_table
from tabveil.workflows.benchmark.study import DATASETS, DatasetChoice, first_fault, read_dataset
from tabveil.workflows.tuning.space import OWNER as SEARCH
from tabveil.workflows.tuning.space import Choices, Dimension, Point, SearchSpace, key_of, new_points
from tabveil.workflows.tuning.tradeoffs import Attempt, Objectives

SearcherName = Literal["auto", "grid", "optuna"]
HYBRID = "hybrid"
_MOST_ATTEMPTS = 200
"""So many combinations are tried before a value is said to go with none."""

Share = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]


@dataclass(frozen=True, kw_only=True, eq=False)
class GivenRows:
    """Rows that somebody handed over."""

    rows: Table

    name: ClassVar[str] = "data"

    def load(self) -> Table:
        """Return them."""
        return self.rows


class _Said(Strict):
    """The file as it is written; what has a form of its own is read afterwards."""

    title: str = ""
    data: Any
    held_out: Share = 0.5
    control: Share = 0.3
    rows: int | None = Field(default=None, ge=2)
    generator: str = HYBRID
    settings: dict[str, Any] = Field(default_factory=dict)
    search: Any
    searcher: SearcherName = "auto"
    trials: int = Field(default=50, ge=1)
    batch: int = Field(default=8, ge=1)
    repeats: int = Field(default=3, ge=1)
    seed: int = Field(default=0, ge=0)
    objectives: Any = Field(default_factory=dict)
    policy: Any = None


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """Everything a search is asked for; make one with :meth:`read`.

    Of the rows of ``data``, the share ``held_out`` has no part in the search: what is chosen is checked on
    them. A trial draws ``rows`` people (None: as many as either part has), of whom the share ``control`` is
    kept from the generator. A trial is repeated with other people each time. ``batch`` trials are proposed at
    once where proposals follow from what was found before.
    """

    title: str
    data: DatasetChoice
    held_out: float
    control: float
    rows: int | None
    generator: str
    settings: Mapping[str, Any]
    space: SearchSpace
    searcher: SearcherName
    trials: int
    batch: int
    repeats: int
    seed: int
    objectives: Objectives
    policy: Policy
    folder: Path

    @classmethod
    def read(
        cls,
        source: str | Path | Mapping[str, Any],
        *,
        data: Any = None,  # noqa: ANN401 - a path or a table of any dataframe library
        drop: str | Iterable[str] = (),
    ) -> Self:
        """Read a file (YAML, JSON) or a mapping, or say in one line what is wrong with it.

        ``data`` are rows that take the place of those it names; columns to ``drop`` are left out of either.
        """
        where = yaml_files.place(source, "tuning")
        given = yaml_files.load(Path(source), where) if isinstance(source, (str, Path)) else source
        if not isinstance(given, Mapping):
            raise ParameterError(where, "the top level must hold settings, such as 'data: patients.csv'.")
        folder = Path(source).parent if isinstance(source, (str, Path)) else Path()
        names = declare.columns_named(drop)
        if data is not None:
            rows = load_table(data, schema=declare.read(None, drop=names)).table
            given = {**given, "data": GivenRows(rows=rows)}
        try:
            said = _with_schema(given)
            if names and data is None:
                said = _without(said, names)
            return cls._of(_Said.model_validate(said), folder)
        except ValidationError as error:
            raise first_fault(error, where) from None
        except TabveilError as error:
            raise type(error)(where, error) from None

    @classmethod
    def _of(cls, said: _Said, folder: Path) -> Self:
        policy = read_policy(folder / said.policy if isinstance(said.policy, str) else said.policy)
        of_its_own_form = {
            "title": clean(said.title),
            "data": read_dataset("data", _named_data(said.data), folder),
            "space": SearchSpace.read(said.search),
            "objectives": Objectives.read(said.objectives, policy),
            "policy": policy,
        }
        as_written = {name: value for name, value in said if name != "search"}
        found = cls(**as_written | of_its_own_form, folder=folder)
        found.check()
        return found

    def made(self, point: Point) -> Generated:
        """Return what makes the releases of a point, or complain."""
        asked = self.space.settings(self.settings, point)
        if self.generator == HYBRID:
            asked = with_paths_from(self.folder, asked)
        return Generated(generator=self.generator, settings=asked)

    def check(self) -> None:
        """Require settings that there are, and of every value that it goes with some of the others."""
        known = settings_of(GENERATORS.find("generator", self.generator))
        check_names("settings", self.settings, known)
        check_names(SEARCH, [item.path.split(".", maxsplit=1)[0] for item in self.space.dimensions], known)
        for item in self.space.dimensions:
            for value in item.ends:
                self._attempt(item.path, value)

    def _attempt(self, path: str, value: Any) -> None:  # noqa: ANN401 - JSON types
        first: TabveilError | None = None
        for point in islice(self.space.around(path, value), _MOST_ATTEMPTS):
            try:
                self.made(point)
            except TabveilError as error:
                first = first or error
            else:
                return
        assert first is not None, "there is a point with every value"
        raise ParameterError(SEARCH, path, told(value), first.without(Generated.__name__))


def _without(said: Mapping[str, Any], drop: Sequence[str]) -> dict[str, Any]:
    """Leave out more columns of the file that the data are in."""
    data = _named_data(said.get("data"))
    if not isinstance(data, Mapping) or "file" not in data:
        raise ParameterError("drop", "only the data of a file have columns to leave out.")
    dropped = declare.columns_named(data.get("drop", ()))
    return {**said, "data": {**data, "drop": [*dropped, *(name for name in drop if name not in dropped)]}}


def _with_schema(given: Mapping[Any, Any]) -> dict[str, Any]:
    """Let a schema stand beside the data, as it does on the command line."""
    said = {str(key): value for key, value in given.items()}
    schema, data = said.pop("schema", None), said.get("data")
    if schema is None:
        return said
    if not isinstance(schema, str):
        raise ParameterError("schema must be the name of a file.")
    named = {"file": data} if isinstance(data, str) else data
    if not isinstance(named, Mapping) or "file" not in named or data in DATASETS:
        raise ParameterError("schema", "only the data of a file have one.")
    return {**said, "data": {**named, "schema": schema}}


def _named_data(data: Any) -> Any:  # noqa: ANN401 - checked by whoever reads it
    if isinstance(data, str):
        return data if data in DATASETS and data != "file" else {"file": data}
    if not isinstance(data, Mapping) and not hasattr(data, "load"):
        raise ParameterError("data must be a file, or the name of a dataset and its settings.")
    return data


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
