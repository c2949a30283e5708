"""What each column holds, and what became of it in the audit: a dictionary that shows nobody's value.

Labels stand here only where ten people or more share them, and ranges are round and open at both ends, as
everywhere in a report (docs/tool_privacy.md).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tabveil.auditing.request import AuditRequest
from tabveil.core.storage.plain import PlainData
from tabveil.core.table import Categorical, Numeric
from tabveil.metrics.utility import Bar, bars
from tabveil.tables.reading import LoadedTables, edges_in_words, type_name

Treatment = Literal["compared", "words counted", "rescaled", "left out"]
TREATMENTS: dict[Treatment, str] = {
    "compared": "compared as it is",
    "words counted": "compared by the number of its words; its passages are looked for in the release",
    "rescaled": "compared after the release was brought to the scale of the real rows",
    "left out": "left out: no attack was shown it",
}
"""What an audit may do with a column, in words."""

Role = Literal["secret", "known to attackers", "quasi-identifier", "sensitive", "to be predicted"]


@dataclass(frozen=True, kw_only=True)
class DictionaryEntry:
    """One column: its type, what it holds as far as that may be said, and its treatment.

    ``labels`` are those that most people have, ten at least; ``more`` says that there are others. ``low`` and
    ``high`` are round numbers, or dates, between which all but a few values lie. ``missing`` and
    ``missing_released`` are shares of the real and of the released rows.
    """

    name: str
    type: str
    treatment: Treatment
    roles: tuple[Role, ...] = ()
    labels: tuple[str, ...] = ()
    more: bool = False
    low: str = ""
    high: str = ""
    missing: float | None = None
    missing_released: float | None = None


@dataclass(frozen=True, kw_only=True)
class Dictionary(PlainData):
    """All columns, those that were left out last."""

    columns: tuple[DictionaryEntry, ...]


def describe_columns(loaded: LoadedTables, request: AuditRequest) -> Dictionary:
    """Describe every column of the tables."""
    written = loaded.written.schema.columns if loaded.written is not None else ()
    texts = {item.name for item in written if isinstance(item, Categorical) and item.holds == "text"}
    compared = tuple(_entry(name, loaded, request, texts) for name in loaded.given.schema.names)
    left_out = tuple(
        DictionaryEntry(name=item.name, type=item.reason, treatment="left out") for item in loaded.dropped
    )
    return Dictionary(columns=(*compared, *left_out))


def _entry(name: str, loaded: LoadedTables, request: AuditRequest, texts: Collection[str]) -> DictionaryEntry:
    column, place = loaded.given.schema[name], loaded.layout.columns[name]
    found = bars(loaded.given, name)
    shown = [bar.label for bar in found if bar.label is not None]
    ends = _ends(name, found, loaded) if isinstance(column, Numeric) else ("", "")
    missing = next((bar for bar in found if bar.kind == "missing"), None)
    treatment: Treatment = "compared"
    if name in texts:
        treatment = "words counted"
    elif name in loaded.turned:
        treatment = "rescaled"
    return DictionaryEntry(
        name=name,
        type="text" if name in texts else type_name(column, place),
        treatment=treatment,
        roles=_roles(name, request),
        labels=tuple(shown),
        more=isinstance(column, Categorical) and len(column.labels) > len(shown),
        low=ends[0],
        high=ends[1],
        missing=0.0 if missing is None else missing.real,
        missing_released=0.0 if missing is None else missing.synthetic,
    )


def _ends(name: str, found: Sequence[Bar], loaded: LoadedTables) -> tuple[str, str]:
    """Write the lowest and the highest round edge, if there are any."""
    edges = sorted({end for bar in found for end in (bar.low, bar.high) if end is not None})
    if not edges:
        return "", ""
    ends = [edges[0], edges[-1]]
    words = edges_in_words(np.array(ends), loaded.given.schema[name], loaded.layout)
    low, high = words if words is not None else [f"{end:.10g}" for end in ends]
    return low, high


def _roles(name: str, request: AuditRequest) -> tuple[Role, ...]:
    """Return what the user said of a column."""
    said: dict[Role, Collection[str] | None] = {
        "secret": request.secrets,
        "known to attackers": request.known,
        "quasi-identifier": request.quasi_identifiers,
        "sensitive": request.sensitive,
        "to be predicted": request.target,
    }
    return tuple(role for role, names in said.items() if names and name in names)
