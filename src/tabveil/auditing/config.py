"""The file that repeats an audit: what was asked for, written down as ``tabveil audit --config`` reads it.

Nothing stands in it that the user did not give, and no table.
"""

import math
import os
from collections.abc import Mapping
from dataclasses import MISSING
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np

from tabveil.auditing.request import ON_A_PAGE, TABLES, AuditRequest
from tabveil.core.result import Input
from tabveil.core.settings import yaml_files
from tabveil.core.settings.registry import is_named, kept_by, values_of
from tabveil.core.wording import begin
from tabveil.engines.representation import Contrastive
from tabveil.metrics.registry import METRICS, MetricChoice
from tabveil.protocols import Metric
from tabveil.tables.lot import SplitRecord
from tabveil.tables.reading.declare import SchemaFile

_HEAD = """\
# What the audit was asked for. To repeat it: tabveil audit --config audit.yaml
# Relative paths start at the folder of this file.
"""
MEANINGS: Mapping[str, str] = {
    "train": "the real rows the generator learned from",
    "synthetic": "the release: the rows that are to be given away",
    "control": "real rows the generator never saw, to compare with",
    "tables": "how linked tables hang together; train, control and synthetic are then databases",
    "metadata": "how linked tables hang together, as SDV writes it",
    "person_table": "the table whose rows are people",
    "title": "what the report is called",
    "schema": "types of columns, texts that mean missing, columns to leave out",
    "missing": "texts that stand for a missing value",
    "drop_identifiers": "true: columns that look like identifiers are left out",
    "drop": "columns that are left out, also such that not all tables have",
    "independent_rows": "true: every row is another person, whatever a column looks like",
    "person": "the column that says whose row it is; people are then counted, not rows",
    "metrics": "only these run ('tabveil metrics' explains each), with these parameters",
    "quick": "true: metrics that take minutes are left out",
    "contrastive": "attacks are repeated in a space that a network learned from the release",
    "secrets": "columns that attackers want to learn",
    "known": "columns that attackers know of a person",
    "auxiliary": "pairs of sets of columns that attackers want to link",
    "quasi_identifiers": "columns others may know of a person: k, l and t are measured with them",
    "sensitive": "columns that nobody should learn from these: l and t are measured for them",
    "attackers": "who may attack: what each knows, wants to learn, or wants to link",
    "policy": "what is accepted, and by whom the release is used ('tabveil policy' explains each field)",
    "utility": "true: how useful the release is was measured, too",
    "target": "columns that models predict, to measure usefulness",
    "shadow": "what 'tabveil attack --json' found about the generator, to be shown in the report",
    "power": "leaks are planted, to tell which this audit would have seen; affordable: not for slow metrics",
    "portrait": "true: the distances and maps of the page are computed",
    "advice": "false: nothing is tried that could change the verdict",
    "initial_risk": "true: the training rows are attacked as if they were released, to show beside",
    "claimed_epsilon": "the ε that the generator states",
    "delta": "the δ that goes with it",
    "neighbors": "whether it is about a row that is added or removed, or replaced by another",
    "split": "how train and control were divided by lot ('tabveil split' writes it)",
    "show_values": "true: the report shows values of real people. Guard it like the data",
    "sample": "so many people each of train and control are attacked, drawn at random",
    "seed": "the same seed gives the same numbers",
}
"""What each setting means, in the comment above it."""

_WIDTH = 78
OF_THE_MACHINE = ("threads", "device", "memory", "scheduler")
"""Settings that change no number: they do not stand in the file."""


def written(request: AuditRequest) -> dict[str, Any]:
    """Return plain data that ask for the same: the tables, and every setting that is not its default.

    A table in memory is written as None: whoever repeats the audit must name a file.

    >>> written(AuditRequest.read(train="t.csv", synthetic="s.csv", metrics=["mmd"], seed=3))
    {'train': 't.csv', 'synthetic': 's.csv', 'metrics': ['mmd'], 'seed': 3}
    """
    tables = {role: getattr(request, role) for role in TABLES}
    linked = request.database is not None
    said: dict[str, Any] = {
        role: _file(table)
        for role, table in tables.items()
        if not (table is None or (linked and isinstance(table, Mapping) and _all_files(table)))
    }
    for name, field in AuditRequest.model_fields.items():
        value = getattr(request, name)
        decided = name in ON_A_PAGE and name in request.model_fields_set  # a page would else bring it
        if name not in (*TABLES, *OF_THE_MACHINE) and (decided or value != field.default):
            said[field.alias or name] = _setting(request, name, value)
    return said


def text(asked: Mapping[str, Any], inputs: Mapping[str, Input]) -> str:
    """Return the file as YAML, with a remark where it cannot say everything."""
    return _HEAD + "".join(
        f"{_explained(key)}{_remark(key, value, inputs)}{yaml_files.to_yaml({key: value})}"
        for key, value in asked.items()
    )


def relocated(asked: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the same for a file in another folder, where relative paths start elsewhere than here."""
    return {
        key: os.path.relpath(value, folder)
        if key in (*TABLES, "schema", "shadow", "split", "tables", "metadata")
        and isinstance(value, str)
        and not Path(value).is_absolute()
        else value
        for key, value in asked.items()
    }


def _explained(key: str) -> str:
    """Say above a setting what it means; a report of another version may have others."""
    lines = wrap(f"{begin(MEANINGS[key])}.", _WIDTH) if key in MEANINGS else []
    return "\n" + "".join(f"# {line}\n" for line in lines)


def _remark(key: str, value: Any, inputs: Mapping[str, Input]) -> str:  # noqa: ANN401 - plain data
    if key in TABLES and value is None:
        size = f" ({inputs[key].rows} rows, {inputs[key].columns} columns)" if key in inputs else ""
        return f"# {key} was no file but in memory{size}: name a file that holds it.\n"
    if key == "metrics" and isinstance(value, list):
        names = [item.get("name") if isinstance(item, Mapping) else item for item in value]
        own = sorted({ascii(name) for name in names if isinstance(name, str) and name not in METRICS})
        return "".join(f"# Not a metric of tabveil, add it with METRICS.add: {name}\n" for name in own)
    return ""


def _setting(request: AuditRequest, name: str, value: Any) -> Any:  # noqa: ANN401 - plain data
    match name:
        case "column_types" if isinstance(value, SchemaFile):
            return value.model_dump(mode="json", exclude_defaults=True)
        case "policy":
            return value.model_dump(mode="json", exclude_defaults=True)
        case "split" if isinstance(value, SplitRecord):
            return value.to_json()
        case "attackers":
            return [profile.model_dump(mode="json", exclude_none=True) for profile in value]
        case "contrastive":
            return True if value == Contrastive() else _plain(values_of(value))
        case "metrics":
            return [_entry(request, item) for item in value]
        case _:
            return _plain(value)


def _entry(request: AuditRequest, item: MetricChoice | Metric) -> str | dict[str, Any]:
    """Write a metric as its name, with the parameters that it would not have by its name alone."""
    if isinstance(item, MetricChoice):
        return {"name": item.name, **_plain(item.parameters)} if item.parameters else item.name
    return _named(item, {key: value for key, value in vars(request.knowledge).items() if value is not None})


def _named(thing: Any, told: Mapping[str, Any]) -> str | dict[str, Any]:  # noqa: ANN401 - any object with a name
    """Write an object as its name, with the settings that are neither told by others nor its defaults."""
    usual = {key: told.get(key, setting.default) for key, setting in kept_by(type(thing)).items()}
    given = {key: getattr(thing, key, None) for key in usual}
    own = {
        key: value
        for key, value in given.items()
        if usual[key] is MISSING or _plain(value) != _plain(usual[key])
    }
    return {"name": thing.name, **_plain(own)} if own else str(thing.name)


def _all_files(tables: Mapping[str, Any]) -> bool:
    """Tell tables that the file of linked tables names one by one from such in memory."""
    return all(isinstance(table, (str, Path)) for table in tables.values())


def _file(table: Any) -> str | None:  # noqa: ANN401 - a path or a table
    return str(table) if isinstance(table, Path) and _encodable(str(table)) else None


def _plain(value: Any) -> Any:  # noqa: ANN401 - anything in, JSON types out
    """Write a setting; of what is not plain, and might hold anything, no more than its kind."""
    match value:
        case np.generic():
            return _plain(value.item())
        case Path() | str() if _encodable(str(value)):
            return str(value)
        case float() if not math.isfinite(value):
            return str(value)
        case None | bool() | int() | float():
            return value
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _ if is_named(value):
            return _named(value, {})
        case _:
            return f"<{type(value).__name__}>"


def _encodable(value: str) -> bool:
    """Whether a text can stand in a file; names in another encoding than UTF-8 cannot."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
