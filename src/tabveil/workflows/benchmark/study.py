"""What a benchmark is asked for: metrics × risk models × levels × datasets × repeats, from one file.

Datasets are simulated people, the rows of a file, linked tables, or what users' own code loads.

>>> leaks = {"name": "leaky", "levels": [0, 0.1]}
>>> study = Study.read({"datasets": ["hospital"], "risks": [leaks]}, repeats=2)
>>> study.risks[0].levels, study.repeats, len(study.metrics) > 10
((0.0, 0.1), 2, True)
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError, field_validator

from tabveil import datasets
from tabveil.core import check
from tabveil.core.rng import stream
from tabveil.core.settings import values, yaml_files
from tabveil.core.settings.registry import Registry, completed, make, name_and_settings
from tabveil.core.settings.yaml_files import Strict
from tabveil.core.table import Indices, Table
from tabveil.core.wording import clean
from tabveil.errors import ParameterError, TabveilError
from tabveil.metrics.registry import Knowledge, MetricChoice, defaults, read_setting
from tabveil.protocols import Dataset, Metric, Modifier, RiskModel
from tabveil.synthesis.risks import MODIFIERS, RISKS
from tabveil.tables.reading import load_table
from tabveil.workflows.benchmark.databases import LinkedTablesFile
from tabveil.workflows.benchmark.papers import Census1940, Texas


@dataclass(frozen=True, kw_only=True)
class Hospital:
    """The admissions of a simulated hospital: mixed types, dates, rare codes, missing values.

    Parameters
    ----------
    rows
        How many people there are.
    """

    rows: int = 9_000

    name: ClassVar[str] = "hospital"

    def load(self) -> Any:  # noqa: ANN401 - a dataframe
        """Simulate them."""
        return datasets.hospital(self.rows, seed=0)


@dataclass(frozen=True, kw_only=True)
class TableFile:
    """The rows of a file, without what would keep them from being independent people.

    Parameters
    ----------
    file
        Where it is; in a configuration, seen from the folder of that file.
    schema
        A file that declares column types, if need be.
    missing
        Texts that mean missing, such as ``"?"``.
    one_row_per
        A column that names people: of each, the first row stays.
    drop
        Columns to leave out, such as those that name people.
    distinct
        Of equal rows, keep the first.
    sample
        Draw so many rows at random; always the same ones.
    """

    file: Path
    schema: Path | None = None
    missing: tuple[str, ...] = ()
    one_row_per: str | None = None
    drop: tuple[str, ...] = ()
    distinct: bool = False
    sample: int | None = None

    name: ClassVar[str] = "file"

    def __post_init__(self) -> None:
        if self.sample is not None:
            check.at_least("file", "sample", self.sample, 1)

    def load(self) -> Table:
        """Read the file and keep what is asked for."""
        table = load_table(self.file, schema=self.schema, missing=self.missing).table
        named = (*self.drop, *(() if self.one_row_per is None else (self.one_row_per,)))
        check.known_names(self.file.name, "column", named, table.schema.names)
        if self.one_row_per is not None:
            table = table.take(_firsts(table.column_hash(self.one_row_per)))
        table = table.select(name for name in table.schema.names if name not in self.drop)
        if self.distinct:
            table = table.take(_firsts(table.row_hash()))
        if self.sample is not None:
            check.at_most(self.file.name, "sample", self.sample, len(table))
            table = table.take(np.sort(stream(0, "sample").permutation(len(table))[: self.sample]))
        return table


DATASETS: Registry[Dataset] = Registry("dataset", (Hospital, TableFile, LinkedTablesFile, Texas, Census1940))
"""Every dataset by its name; your own joins by ``DATASETS.add``."""

FROM_FILES = (TableFile.name, LinkedTablesFile.name, Texas.name, Census1940.name)
"""Those that are read from a file whose place starts at the study's folder."""


def load(dataset: Dataset) -> Table:
    """Load the people of a dataset, whatever kind of table it returns."""
    found = dataset.load()
    table = found if isinstance(found, Table) else load_table(found).table
    if len(table) == 0:
        raise ParameterError(dataset.name, "there are no rows.")
    return table


def _firsts(keys: NDArray[np.uint64]) -> Indices:
    """Return the first row of each key, in the order of the rows."""
    return np.sort(np.unique(keys, return_index=True)[1])


_UNNAMED = "everything there must have a name."
_ROLES = ("train", "control", "release")


@dataclass(frozen=True, kw_only=True)
class DatasetChoice:
    """A dataset, and what the report calls it."""

    label: str
    dataset: Dataset


@dataclass(frozen=True, kw_only=True)
class ModifierChoice:
    """A change of circumstances, and how strongly it is tried."""

    modifier: Modifier
    levels: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class RiskChoice:
    """A risk model, its levels, and the circumstances it is tried in; what the report calls it."""

    label: str
    model: RiskModel
    levels: tuple[float, ...]
    modifier: ModifierChoice | None = None


@dataclass(frozen=True, kw_only=True)
class LabeledMetric:
    """A metric, and what the report calls it."""

    label: str
    metric: Metric


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How many rows a trial has: to learn from, to compare with, and to release."""

    train: int
    control: int
    release: int

    @property
    def total(self) -> int:
        """How many different people that takes."""
        return self.train + self.control + self.release


class Study(Strict):
    """Everything a benchmark is asked for; make one with :meth:`read`.

    ``rows`` are those of train, of control and of the release, all alike or each its own; None takes thirds
    of the dataset. Choose settings with some seeds and report others.
    """

    title: str = ""
    seed: int = Field(default=0, ge=0)
    repeats: int = Field(default=3, ge=1)
    rows: int | dict[str, int] | None = None
    datasets: tuple[Any, ...]
    risks: tuple[Any, ...]
    metrics: tuple[Any, ...] = Field(default=(), validate_default=True)
    utility: bool = False

    @classmethod
    def read(cls, source: str | Path | Mapping[str, Any], **given: Any) -> Self:  # noqa: ANN401 - checked by the fields
        """Read a file (YAML, JSON) or a mapping; what is given by name replaces what it says."""
        where = yaml_files.place(source, "study")
        said = yaml_files.load(Path(source), where) if isinstance(source, (str, Path)) else source
        if not isinstance(said, Mapping):
            raise ParameterError(where, "the top level must hold settings, such as 'datasets: [hospital]'.")
        folder = Path(source).parent if isinstance(source, (str, Path)) else Path()
        named = {key: value for key, value in given.items() if value is not None}
        try:
            return cls.model_validate({**said, **named}, context=folder)
        except ValidationError as error:
            raise first_fault(error, where) from None

    @field_validator("title", mode="after")
    @classmethod
    def _clean(cls, value: str) -> str:
        return clean(value)

    @field_validator("rows", mode="after")
    @classmethod
    def _sizes(cls, value: int | dict[str, int] | None) -> Any:  # noqa: ANN401 - as the field says
        if isinstance(value, dict):
            check.known_names("rows", "table", value, _ROLES)
            for role in _ROLES:
                if role not in value:
                    raise ParameterError("rows", f"{role} is missing.")
        for size in value.values() if isinstance(value, dict) else () if value is None else (value,):
            check.at_least("study", "rows", size, 1)
        return value

    @field_validator("datasets", "risks", "metrics", mode="before")
    @classmethod
    def _labeled(cls, value: Any, info: Any) -> tuple[Any, ...]:  # noqa: ANN401 - checked here
        key = info.field_name
        if key == "metrics" and value in ((), None):
            value = list(defaults(words=False))
        items = [value] if isinstance(value, (str, Mapping)) or not isinstance(value, Sequence) else value
        if not items:
            raise ParameterError(key, "the list is empty.")
        folder = info.context or Path()
        readers: dict[str, Callable[[Any], Any]] = {
            "risks": _risk,
            "metrics": _metric,
            "datasets": partial(read_dataset, key, folder=folder),
        }
        found = [readers[key](item) for item in items]
        labels = [item.label for item in found]
        for label in labels:
            if labels.count(label) > 1:
                raise ParameterError(key, f"{label!r} stands there twice; give one of them another label.")
        return tuple(found)

    def sizes(self, label: str, n_rows: int) -> Sizes:
        """Return how many rows a trial on a dataset has, or say that it has too few."""
        alike = n_rows // 3 if self.rows is None else self.rows
        sizes = Sizes(**(alike if isinstance(alike, dict) else dict.fromkeys(_ROLES, alike)))
        if min(sizes.train, sizes.control, sizes.release) < 1 or sizes.total > n_rows:
            raise ParameterError(
                f"dataset {label!r}: train, control and release together need {max(sizes.total, 3):,} "
                f"different rows, and there are {n_rows:,}; lower 'rows'."
            )
        return sizes


def first_fault(error: ValidationError, where: str) -> TabveilError:
    """Tell the first fault of a file in a line."""
    first = error.errors(include_url=False)[0]
    if first["type"] == "missing":
        return ParameterError(where, f"{first['loc'][0]} must be given.")
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, TabveilError):
        return type(cause)(where, cause)
    return ParameterError(where, yaml_files.complaint(error))


def read_dataset(key: str, given: Any, folder: Path) -> DatasetChoice:  # noqa: ANN401 - checked here
    """Read a dataset: an object, its name, or its name and settings; paths start at ``folder``."""
    if not isinstance(given, (str, Mapping)):
        return DatasetChoice(label=_name_of(key, given), dataset=given)
    usual = next((kind for kind in ("file", "tables") if kind in given), None)
    label, name, parameters = _parts(key, given, default=usual)
    for setting in ("file", "schema", "tables"):
        if (
            name in FROM_FILES
            and setting in parameters
            and (setting, parameters[setting]) != ("schema", None)
        ):
            if not isinstance(parameters[setting], (str, Path)):
                raise ParameterError(key, f"{setting} must be the name of a file.")
            parameters[setting] = folder / parameters[setting]
    dataset = make(DATASETS.find(key, name), parameters, read_setting)
    if label is None:
        label = parameters[name].stem if name in ("file", "tables") else name
    return DatasetChoice(label=label, dataset=dataset)


def _risk(given: Any) -> RiskChoice:  # noqa: ANN401 - checked here
    if not isinstance(given, (str, Mapping)):
        return RiskChoice(
            label=_name_of("risks", given), model=completed(given, RiskModel), levels=given.levels
        )
    label, name, parameters = _parts("risks", given)
    asked, changed = parameters.pop("levels", None), parameters.pop("modifier", None)
    model = make(RISKS.find("risks", name), parameters, read_setting)
    levels = _levels(model, asked)
    choice = RiskChoice(label=label or _told(name, parameters), model=model, levels=levels)
    if changed is None:
        return choice
    _, name, parameters = _parts("modifier", changed)
    asked = parameters.pop("levels", None)
    modifier = make(MODIFIERS.find("modifier", name), parameters, read_setting)
    return replace(choice, modifier=ModifierChoice(modifier=modifier, levels=_levels(modifier, asked)))


def _metric(given: Any) -> LabeledMetric:  # noqa: ANN401 - checked here
    if not isinstance(given, (str, Mapping)):
        name = _name_of("metrics", given)
        metric = completed(given() if isinstance(given, type) else given, Metric)
        return LabeledMetric(label=name, metric=metric)
    label, name, parameters = _parts("metrics", given)
    choice = MetricChoice.read("study", {"name": name, **parameters})
    return LabeledMetric(label=label or _told(name, parameters), metric=Knowledge().make(choice))


def _name_of(key: str, thing: Any) -> str:  # noqa: ANN401 - it is what is found out
    name = getattr(thing, "name", None)
    if not isinstance(name, str):
        raise ParameterError(key, _UNNAMED)
    return name


def _parts(
    key: str, given: str | Mapping[Any, Any], default: str | None = None
) -> tuple[str | None, str, dict[str, Any]]:
    """Part what is said about one thing: its label, its name, its parameters."""
    name, said = name_and_settings(given, ParameterError(key, _UNNAMED), default=default)
    label = said.pop("label", None)
    if label is not None and not (isinstance(label, str) and clean(label)):
        raise ParameterError(key, f"{name}: label must be a text.")
    return None if label is None else clean(label), name, said


def _levels(model: Any, asked: Any) -> tuple[float, ...]:  # noqa: ANN401 - checked here
    """Return the levels to try, each of which the model accepts."""
    levels = model.levels if asked is None else values.read(model.name, "levels", asked, tuple[float, ...])
    if not levels or len(set(levels)) < len(levels):
        raise ParameterError(model.name, "levels must be different numbers, and at least one.")
    for level in levels:
        model.check_level(level)
    return tuple(float(level) for level in levels)


def _told(name: str, parameters: Mapping[str, Any]) -> str:
    """Name something by what was said about it.

    >>> _told("noisy", {"sigma": 0.05, "reading": "absolute"})
    'noisy (sigma 0.05, reading absolute)'
    """
    said = ", ".join(f"{key} {_short(value)}" for key, value in parameters.items())
    return clean(f"{name} ({said})" if said else name)


def _short(value: Any) -> str:  # noqa: ANN401 - of any type
    match value:
        case Mapping():
            return " ".join(f"{key} {_short(item)}" for key, item in value.items())
        case list() | tuple():
            return " ".join(map(_short, value))
        case _:
            return str(value)
