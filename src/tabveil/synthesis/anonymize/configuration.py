"""What is asked for in a file: hierarchies, privacy models, the loss, how many rows may be suppressed.

>>> asked = read({"hierarchies": {"age": {"intervals": [5, 10]}}, "models": [{"k": 5}], "suppression": "5 %"})
>>> asked.models, asked.suppression
((KAnonymity(k=5),), 0.05)
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tabveil.core.check import nearest, quoted
from tabveil.core.settings import yaml_files
from tabveil.errors import ParameterError, SchemaError
from tabveil.synthesis.anonymize.anonymizing import Anonymization, anonymize
from tabveil.synthesis.anonymize.building import ColumnValues, HierarchyEntry, read_entry
from tabveil.synthesis.anonymize.losses import LOSSES, GeneralizationLoss, LossModel
from tabveil.synthesis.anonymize.privacy_models import (
    DISTANCES,
    Closeness,
    Distance,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    PrivacyModel,
    RecursiveDiversity,
)
from tabveil.synthesis.anonymize.search import BUDGET
from tabveil.tables.reading import LoadedTable

KEYS = (
    "hierarchies",
    "models",
    "loss",
    "suppression",
    "local",
    "budget",
    "drop",
    "keep",
    "missing",
    "schema",
)
KINDS = ("distinct", "entropy", "recursive")
FACTOR = 3.0
_MODEL_KEYS = {
    "k": {"k"},
    "l": {"l", "column", "kind", "c"},
    "t": {"t", "column", "distance", "hierarchy"},
}


@dataclass(frozen=True, kw_only=True)
class AnonymizationSettings:
    """Everything that anonymizing is asked for; make one with :func:`read`."""

    hierarchies: Mapping[str, HierarchyEntry]
    models: tuple[PrivacyModel, ...]
    loss: LossModel = field(default_factory=GeneralizationLoss)
    suppression: float = 1.0
    local: bool = False
    budget: int = BUDGET
    drop: tuple[str, ...] = ()  # columns that are not released
    keep: tuple[str, ...] = ()  # columns that look like identifiers and are released all the same
    missing: tuple[str, ...] = ()
    schema: Path | None = None
    sensitive_hierarchies: Mapping[str, HierarchyEntry] = field(default_factory=dict)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive columns, each once."""
        return tuple(dict.fromkeys(model.column for model in self.models if model.column is not None))


def read(source: str | Path | Mapping[str, Any]) -> AnonymizationSettings:
    """Read a file (YAML, JSON) or a mapping; paths in a file start at its folder."""
    where = yaml_files.place(source, "configuration")
    said = yaml_files.load(Path(source), where) if isinstance(source, (str, Path)) else source
    folder = Path(source).parent if isinstance(source, (str, Path)) else Path()
    if not isinstance(said, Mapping):
        raise SchemaError(where, "the top level must hold settings, such as hierarchies and models.")
    for key in said:
        if key not in KEYS:
            close = nearest(str(key), KEYS)
            hint = f" Did you mean {quoted(close)}?" if close else f" Known: {', '.join(KEYS)}."
            raise SchemaError(where, f"unknown key {quoted(key)}.{hint}")
    given = said.get("hierarchies")
    if not isinstance(given, Mapping) or not given:
        raise SchemaError(where, "hierarchies must name each quasi-identifier, such as 'age: auto'.")
    models, trees = _models(said.get("models"), where, folder)
    found = AnonymizationSettings(
        hierarchies={str(column): read_entry(str(column), entry, folder) for column, entry in given.items()},
        models=models,
        loss=_loss(said.get("loss", "geometric loss"), where),
        suppression=_share(said.get("suppression", 1.0), where),
        local=_boolean(said.get("local", False), where),
        budget=_budget(said.get("budget", BUDGET), where),
        drop=_names("drop", said.get("drop", ()), where),
        keep=_names("keep", said.get("keep", ()), where),
        missing=_names("missing", said.get("missing", ()), where),
        schema=_path(said.get("schema"), where, folder),
        sensitive_hierarchies=trees,
    )
    for column in found.sensitive:
        if column in found.hierarchies:
            raise SchemaError(
                where, f"column {quoted(column)} has a hierarchy and is sensitive; it can be only one."
            )
    for column in found.drop:
        if column in found.hierarchies or column in found.sensitive:
            raise SchemaError(where, f"drop names {quoted(column)}, which is used.")
    return found


def apply(asked: AnonymizationSettings, loaded: LoadedTable) -> Anonymization:
    """Anonymize a table as asked for; columns that are dropped are not in the result."""
    table, layout = loaded.table, loaded.layout
    for key, names in (
        ("hierarchies", tuple(asked.hierarchies)),
        ("models", asked.sensitive),
        ("drop", asked.drop),
        ("keep", asked.keep),
    ):
        for name in names:
            if name not in table.schema.names:
                close = nearest(name, table.schema.names)
                hint = f" Did you mean {quoted(close)}?" if close else ""
                raise SchemaError(key, f"column {quoted(name)} is not in the table.{hint}")
    named = {*asked.hierarchies, *asked.drop, *asked.keep, *asked.sensitive}
    naming = [name for name in loaded.identifiers if name not in named]
    if naming:
        raise SchemaError(
            f"Column {quoted(naming[0])} seems to name people and would be released as it is: name it under "
            "drop, give it a hierarchy, or name it under keep."
        )
    released = table.select(name for name in table.schema.names if name not in asked.drop)
    return anonymize(
        released,
        [entry.build(ColumnValues.of(table, column, layout)) for column, entry in asked.hierarchies.items()],
        models=asked.models,
        loss=asked.loss,
        suppression=asked.suppression,
        local=asked.local,
        budget=asked.budget,
        sensitive_hierarchies={
            column: entry.build(ColumnValues.of(table, column, layout))
            for column, entry in asked.sensitive_hierarchies.items()
        },
    )


def _models(
    given: object, where: str, folder: Path
) -> tuple[tuple[PrivacyModel, ...], dict[str, HierarchyEntry]]:
    if not isinstance(given, (list, tuple)) or not given:
        raise SchemaError(where, "models must be a list, such as [{k: 5}].")
    models, trees = [], {}
    for number, entry in enumerate(given, start=1):
        place = f"models, entry {number}"
        try:
            model = _model(entry, place)
        except SchemaError as error:
            raise SchemaError(where, error) from None
        models.append(model)
        if isinstance(model, Closeness) and "hierarchy" in entry:
            trees[model.column] = read_entry(model.column, entry["hierarchy"], folder)
        elif isinstance(model, Closeness) and model.distance == "hierarchical" and model.column not in trees:
            raise SchemaError(
                where, place, f"column {quoted(model.column)} needs a hierarchy for hierarchical distances."
            )
    return tuple(models), trees


def _model(entry: object, place: str) -> PrivacyModel:
    if not isinstance(entry, Mapping):
        raise SchemaError(place, "it must be k, l or t with its value, such as {k: 5}.")
    kinds = [kind for kind in _MODEL_KEYS if kind in entry]
    if len(kinds) != 1:
        raise SchemaError(place, "it must hold one of k, l and t.")
    kind = kinds[0]
    for key in entry:
        if key not in _MODEL_KEYS[kind]:
            raise SchemaError(place, f"unknown key {quoted(key)} beside {kind}.")
    value = _number(entry[kind], place, kind)
    column = entry.get("column")
    if kind != "k" and (not isinstance(column, str) or not column):
        raise SchemaError(place, f"{kind} needs the name of a sensitive column.")
    try:
        match kind:
            case "k":
                return KAnonymity(k=_whole(value, place, "k"))
            case "l":
                return _diversity(entry, str(column), value, place)
            case _:
                return Closeness(column=str(column), t=value, distance=_distance(entry, place))
    except ParameterError as error:
        raise SchemaError(place, error) from None


def _distance(entry: Mapping[str, Any], place: str) -> Distance:
    given = entry.get("distance", "equal")
    for distance in DISTANCES:
        if given == distance:
            return distance
    raise SchemaError(place, f"distance must be one of {', '.join(DISTANCES)}.")


def _number(value: object, place: str, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise SchemaError(place, f"{key} must be a number.")
    return value


def _diversity(entry: Mapping[str, Any], column: str, value: float, place: str) -> PrivacyModel:
    kind = entry.get("kind", "distinct")
    if "c" in entry and kind != "recursive":
        raise SchemaError(place, "c belongs to kind: recursive.")
    match kind:
        case "distinct":
            return DistinctDiversity(column=column, l=_whole(value, place, "l"))
        case "entropy":
            return EntropyDiversity(column=column, l=value)
        case "recursive":
            factor = _number(entry.get("c", FACTOR), place, "c")
            return RecursiveDiversity(column=column, l=_whole(value, place, "l"), c=factor)
    raise SchemaError(place, f"kind must be one of {', '.join(KINDS)}.")


def _whole(value: float, place: str, key: str) -> int:
    if value != int(value):
        raise SchemaError(place, f"{key} must be a whole number.")
    return int(value)


def _loss(given: object, where: str) -> LossModel:
    if not isinstance(given, str) or given not in LOSSES:
        raise SchemaError(where, f"loss must be one of {', '.join(LOSSES)}.")
    return LOSSES[given]


def _share(given: object, where: str) -> float:
    """Read a share of rows, as 0.05 or 5 %."""
    if isinstance(given, str) and given.strip().endswith("%"):
        try:
            given = float(given.strip()[:-1]) / 100
        except ValueError:
            given = None
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 <= given <= 1:
        raise SchemaError(where, "suppression must be a share from 0 to 1, or from 0 % to 100 %.")
    return float(given)


def _boolean(given: object, where: str) -> bool:
    if not isinstance(given, bool):
        raise SchemaError(where, "local must be true or false.")
    return given


def _budget(given: object, where: str) -> int:
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 1 <= given < math.inf:
        raise SchemaError(where, "budget must be a number of groups, at least 1.")
    return int(given)


def _names(key: str, given: object, where: str) -> tuple[str, ...]:
    if not isinstance(given, (list, tuple)) or not all(isinstance(name, str) for name in given):
        raise SchemaError(where, f"{key} must be a list of texts.")
    return tuple(given)


def _path(given: object, where: str, folder: Path) -> Path | None:
    if given is None:
        return None
    if not isinstance(given, (str, Path)):
        raise SchemaError(where, "schema must be the name of a file.")
    return folder / given
