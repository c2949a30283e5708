"""What is asked for in a file: hierarchies, privacy models, the loss, how many rows may be suppressed.

>>> asked = read({"hierarchies": {"age": {"intervals": [5, 10]}}, "models": [{"k": 5}], "suppression": "5 %"})
>>> asked.models, asked.suppression
((KAnonymity(k=5),), 0.05)
"""

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeGuard

from tabveil.core import check
from tabveil.core.check import quoted
from tabveil.core.settings import yaml_files
from tabveil.core.table import Numeric, Table
from tabveil.errors import ParameterError, SchemaError, TabveilError
from tabveil.synthesis.anonymize.anonymizing import Anonymization, anonymize
from tabveil.synthesis.anonymize.building import Automatic, ColumnValues, HierarchyEntry, meant, read_entry
from tabveil.synthesis.anonymize.building.written import FromFile, LabelTree
from tabveil.synthesis.anonymize.losses import LOSSES, GeneralizationLoss, LossModel
from tabveil.synthesis.anonymize.privacy_models import (
    DISTANCES,
    Closeness,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    PrivacyModel,
    RecursiveDiversity,
)
from tabveil.synthesis.anonymize.search import BUDGET
from tabveil.tables.reading import Layout, LoadedTable
from tabveil.tables.reading.moments import RANGE, STEPS

FACTOR = 3.0
_MODEL_KEYS = {"k": {"k"}, "l": {"l", "column", "kind", "c"}, "t": {"t", "column", "distance", "hierarchy"}}


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
    levels: Mapping[str, int] | None = None  # chosen by somebody; None: searched for

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive columns, each once."""
        return tuple(dict.fromkeys(model.column for model in self.models if model.column is not None))

    @property
    def k(self) -> int:
        """How many rows a class must have; 1 where nobody says."""
        return max((model.k for model in self.models if isinstance(model, KAnonymity)), default=1)

    @property
    def automatic(self) -> tuple[str, ...]:
        """The columns whose hierarchies are made from their values."""
        return tuple(name for name, entry in self.hierarchies.items() if isinstance(entry, Automatic))

    @property
    def named(self) -> frozenset[str]:
        """The columns of which somebody wrote down every label that there may be."""
        return frozenset(
            name
            for name, entry in self.hierarchies.items()
            if isinstance(entry, FromFile) or (isinstance(entry, LabelTree) and entry.others is None)
        )

    def build(self, table: Table, look: Callable[[str], ColumnValues]) -> Anonymization:
        """Anonymize a table by hierarchies of what ``look`` sees of its columns."""
        trees = self.sensitive_hierarchies
        return anonymize(
            table,
            [entry.build(look(column)) for column, entry in self.hierarchies.items()],
            models=self.models,
            loss=self.loss,
            suppression=self.suppression,
            local=self.local,
            budget=self.budget,
            sensitive_hierarchies={column: entry.build(look(column)) for column, entry in trees.items()},
            levels=self.levels,
        )


_NOT_IN_FILES = ("sensitive_hierarchies", "levels")
KEYS = tuple(item.name for item in fields(AnonymizationSettings) if item.name not in _NOT_IN_FILES)
_WHERE = "configuration"  # whom complaints about a mapping name


def _is_number(given: object) -> TypeGuard[float]:
    return isinstance(given, (int, float)) and not isinstance(given, bool)


def _are_texts(given: object) -> bool:
    return isinstance(given, (list, tuple)) and all(isinstance(name, str) for name in given)


def _is_share(given: object) -> bool:
    return _is_number(given) and 0 <= given <= 1


_PLAIN: Mapping[str, tuple[Callable[[Any], bool], str, Callable[[Any], Any]]] = {
    "loss": (lambda given: given in list(LOSSES), f"one of {', '.join(LOSSES)}", LOSSES.get),
    "suppression": (_is_share, "a share from 0 to 1, or from 0 % to 100 %", float),
    "local": (lambda given: isinstance(given, bool), "true or false", bool),
    "budget": (
        lambda given: _is_number(given) and 1 <= given < math.inf,
        "a number of groups, at least 1",
        int,
    ),
    **dict.fromkeys(("drop", "keep", "missing"), (_are_texts, "a list of texts", tuple)),
}
"""What a setting that is no more than a value must be, how that is said, and what becomes of it."""


def read(source: str | Path | Mapping[str, Any]) -> AnonymizationSettings:
    """Read a file (YAML, JSON) or a mapping; paths in a file start at its folder."""
    where = yaml_files.place(source, _WHERE)
    said = yaml_files.load(Path(source), where) if isinstance(source, (str, Path)) else source
    folder = Path(source).parent if isinstance(source, (str, Path)) else Path()
    if not isinstance(said, Mapping):
        raise SchemaError(where, "the top level must hold settings, such as hierarchies and models.")
    for key in said:
        if key not in KEYS:
            hint = meant(str(key), KEYS) or f" Known: {', '.join(KEYS)}."
            raise SchemaError(where, f"unknown key {quoted(key)}.{hint}")
    given = said.get("hierarchies")
    if not isinstance(given, Mapping) or not given:
        raise SchemaError(where, "hierarchies must name each quasi-identifier, such as 'age: auto'.")
    models, trees = _models(said.get("models"), where, folder)
    hierarchies = {str(column): read_entry(str(column), entry, folder) for column, entry in given.items()}
    plain = _plain(said, where)
    schema = said.get("schema")
    if schema is not None and not isinstance(schema, (str, Path)):
        raise SchemaError(where, "schema must be the name of a file.")
    found = AnonymizationSettings(
        hierarchies=hierarchies,
        models=models,
        schema=None if schema is None else folder / schema,
        sensitive_hierarchies=trees,
        **plain,
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


def _plain(said: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the settings among those given that are no more than a value."""
    found = {}
    for key, (fits, what, as_value) in _PLAIN.items():
        if key in said:
            value = _without_percent(said[key]) if key == "suppression" else said[key]
            if not fits(value):
                raise SchemaError(where, f"{key} must be {what}.")
            found[key] = as_value(value)
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
                hint = meant(name, table.schema.names)
                raise SchemaError(key, f"column {quoted(name)} is not in the table.{hint}")
    named = {*asked.hierarchies, *asked.drop, *asked.keep, *asked.sensitive}
    naming = [name for name in loaded.identifiers if name not in named]
    if naming:
        raise SchemaError(
            f"Column {quoted(naming[0])} seems to name people and would be released as it is: name it under "
            "drop, give it a hierarchy, or name it under keep."
        )
    released = table.select(name for name in table.schema.names if name not in asked.drop)
    return asked.build(released, lambda column: ColumnValues.of(table, column, layout))


def read_step(given: Mapping[str, Any], levels: Mapping[str, Any]) -> AnonymizationSettings:
    """Read settings of a pipeline's first step, and the levels of its hierarchies, if any.

    Either the levels are searched for that lose least, which asks the rows, or somebody chose them, which
    does not: then rows decide only whether their own class is large enough to be released.
    """
    try:
        asked = read(given)
    except TabveilError as error:
        raise ParameterError(error.without(_WHERE)) from None
    if not levels:
        return asked
    check.known_names("levels", "hierarchy of", map(str, levels), asked.hierarchies)
    for name, level in levels.items():
        if isinstance(level, bool) or not isinstance(level, int) or level < 0:
            raise ParameterError("levels", f"column {name!r} must have a whole number from 0 on.")
    for name in asked.hierarchies:
        if name not in levels:
            raise ParameterError("levels", f"column {name!r} has a hierarchy and no level.")
    if asked.local:
        raise ParameterError("levels", "where they are chosen, nothing is recoded locally.")
    return replace(asked, levels=dict(levels))


def generalize(
    asked: AnonymizationSettings, table: Table, layout: Layout | None, *, blind: bool = False
) -> Anonymization:
    """Take a pipeline's first step; ``layout`` says how the columns are written, if anybody knows.

    Where ``blind``, hierarchies follow from the schema, not from which of its values rows have; but for those
    that are made from the rows (``auto``).
    """
    check.known_names("hierarchies", "column", asked.hierarchies, table.schema.names)
    check.known_names("models", "column", asked.sensitive, table.schema.names)

    def look(name: str) -> ColumnValues:
        found = _values(table, name, layout)
        return found.without_rows() if blind and name not in asked.automatic else found

    return asked.build(table, look)


def _values(table: Table, name: str, layout: Layout | None) -> ColumnValues:
    """Look at a column; where nobody says how it is written, the schema tells numbers, labels and dates."""
    found = ColumnValues.of(table, name, layout)
    column = table.schema[name]
    if layout is not None or not isinstance(column, Numeric) or not column.arbitrary_zero:
        return found
    first, last = RANGE
    # The microseconds in a unit of dates: the coarsest in which all are in a calendar.
    fitting = (step for step in STEPS.values() if first <= column.low * step and column.high * step <= last)
    return replace(found, clock=next(fitting, None))


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
                distance = entry.get("distance", "equal")
                if distance not in DISTANCES:
                    raise SchemaError(place, f"distance must be one of {', '.join(DISTANCES)}.")
                return Closeness(column=str(column), t=value, distance=distance)
    except ParameterError as error:
        raise SchemaError(place, error) from None


def _number(value: object, place: str, key: str) -> float:
    if not _is_number(value) or not math.isfinite(value):
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
    raise SchemaError(place, "kind must be one of distinct, entropy, recursive.")


def _whole(value: float, place: str, key: str) -> int:
    if value != int(value):
        raise SchemaError(place, f"{key} must be a whole number.")
    return int(value)


def _without_percent(given: object) -> object:
    """Return the share that a text such as 5 % stands for; anything else as it is."""
    if isinstance(given, str) and given.strip().endswith("%"):
        with suppress(ValueError):
            return float(given.strip()[:-1]) / 100
    return given
