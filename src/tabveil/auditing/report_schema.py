"""The JSON Schema of a report: what programs that read reports may rely on (docs/stability.md).

It is made from the types that are stored, so that it cannot say anything else than what is written. Objects
whose fields a metric or a user decides (``details``, ``params``, ``settings``, ``request``) are left open.
"""

from typing import Any

from tabveil.auditing.attackers import Attacker
from tabveil.auditing.policy import Policy
from tabveil.auditing.report import PARTS, SCHEMA_VERSION
from tabveil.auditing.verdict import Verdict
from tabveil.core.estimate import Estimate
from tabveil.core.findings import ESTIMATES
from tabveil.core.result import DroppedColumn, Input, Labels, Threat
from tabveil.core.storage.plain import schema_of
from tabveil.metrics.registry import Explanation

ADDRESS = "https://json-schema.org/draft/2020-12/schema"
_TEXT, _TEXTS = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
_OPEN = {"type": "object"}
_OTHER = ("shadow",)  # what another command found; that command says what stands in it


def report_schema() -> dict[str, Any]:
    """Return the schema of what ``tabveil audit --json`` writes."""
    shared: dict[str, Any] = {}

    def of(kind: Any) -> dict[str, Any]:  # noqa: ANN401 - any type that is stored
        found = schema_of(kind)
        shared.update(found.pop("$defs", {}))
        return found

    required = {
        "schema_version": {"const": SCHEMA_VERSION},
        "tabveil": _TEXT,
        "title": _TEXT,
        "seed": {"type": "integer"},
        "inputs": {"type": "object", "additionalProperties": of(Input)},
        "verdict": _verdict(of(Verdict)),
        "policy": of(Policy),
        "results": {"type": "array", "items": _result(of)},
        "skipped": {"type": "array", "items": _skipped()},
        "notes": _TEXTS,
        "dropped": {"type": "array", "items": of(DroppedColumn)},
        "metrics": {"type": "object", "additionalProperties": of(Explanation)},
        "settings": _OPEN,
        "request": _OPEN,
        "attackers": {"type": "array", "items": of(Attacker)},
        "seconds": {"type": "number"},
    }
    parts = {name: _OPEN if name in _OTHER else of(kind) for name, kind in PARTS.items()}
    return {
        "$schema": ADDRESS,
        "title": "A report of tabveil audit",
        "type": "object",
        "properties": {**required, **parts},
        "required": list(required),
        "additionalProperties": False,
        "$defs": dict(sorted(shared.items())),
    }


def _verdict(found: dict[str, Any]) -> dict[str, Any]:
    """Say that a verdict is stored with its sentence in the place of its reasons."""
    told = {key: value for key, value in found["properties"].items() if key != "reasons"}
    named = [name for name in found["required"] if name != "reasons"]
    return {**found, "properties": {**told, "sentence": _TEXT}, "required": [*named, "sentence"]}


def _result(of: Any) -> dict[str, Any]:  # noqa: ANN401 - a function
    def perhaps(kind: Any) -> dict[str, Any]:  # noqa: ANN401 - any type that is stored
        return {"anyOf": [of(kind), {"type": "null"}]}

    number = {"anyOf": [{"type": "number"}, {"type": "null"}]}
    fields = {
        "metric": _TEXT,
        "name": _TEXT,
        "attacker": {"anyOf": [_TEXT, {"type": "null"}]},
        "title": _TEXT,
        "sentence": _TEXT,
        "threat": perhaps(Threat),
        "labels": of(Labels),
        "params": _OPEN,
        **{name: perhaps(Estimate) for name in ESTIMATES},
        "p_value": number,
        "details": _OPEN,
        "notes": _TEXTS,
        "seconds": {"type": "number"},
    }
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _skipped() -> dict[str, Any]:
    fields = {
        "metric": _TEXT,
        "name": _TEXT,
        "attacker": {"anyOf": [_TEXT, {"type": "null"}]},
        "reason": _TEXT,
    }
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
