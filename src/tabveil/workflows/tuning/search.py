"""What a search is asked for, from one file: data, a generator, what may be changed, and what counts.

>>> tuning = Tuning.read({"data": "hospital", "generator": "copy", "search": {"noise": [0.0, 0.5]}})
>>> tuning.space.size, tuning.repeats, tuning.objectives.utility.name
(2, 3, 'discriminator')
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError

from tabveil.auditing.policy import Policy, read_policy
from tabveil.core.settings import yaml_files
from tabveil.core.settings.registry import check_names, settings_of
from tabveil.core.settings.yaml_files import Strict
from tabveil.core.wording import clean
from tabveil.errors import ParameterError, TabveilError
from tabveil.synthesis.generators import GENERATORS
from tabveil.synthesis.generators.hybrid.plain_settings import with_paths_from
from tabveil.synthesis.risks import Generated
from tabveil.workflows.benchmark.study import DATASETS, DatasetChoice, first_fault, read_dataset
from tabveil.workflows.tuning.space import OWNER as SEARCH
from tabveil.workflows.tuning.space import Point, SearchSpace
from tabveil.workflows.tuning.tradeoffs import Objectives

SearcherName = Literal["auto", "grid", "optuna"]
HYBRID = "hybrid"
_MOST_ATTEMPTS = 200
"""So many combinations are tried before a value is said to go with none."""

Share = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]


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
    def read(cls, source: str | Path | Mapping[str, Any]) -> Self:
        """Read a file (YAML, JSON) or a mapping, or say in one line what is wrong with it."""
        where = yaml_files.place(source, "tuning")
        given = yaml_files.load(Path(source), where) if isinstance(source, (str, Path)) else source
        if not isinstance(given, Mapping):
            raise ParameterError(where, "the top level must hold settings, such as 'data: patients.csv'.")
        folder = Path(source).parent if isinstance(source, (str, Path)) else Path()
        try:
            return cls._of(_Said.model_validate(_with_schema(given)), folder)
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
        raise ParameterError(SEARCH, path, clean(repr(value), 80), first.without(Generated.__name__))


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
