"""Linked tables in an audit: read, brought to one scale, and each person summed up in a row."""

import hashlib
from dataclasses import replace

from tabveil.auditing.request import AuditRequest
from tabveil.core.linked import LinkedSplit
from tabveil.core.result import DroppedColumn, Input
from tabveil.core.table import Split
from tabveil.errors import SchemaError
from tabveil.metrics.scales import all_on_one_scale
from tabveil.tables.linked import LoadedDatabase, load_database
from tabveil.tables.linked.summaries import people_tables
from tabveil.tables.linked.told_of_people import words_of_people
from tabveil.tables.reading import LoadedTables, people_layout
from tabveil.tables.reading.sources import ROLES

ROWS_ARE_PEOPLE = (
    "A row of this report is a person with all that belongs to them: their own columns and the sets of their "
    "rows in linked tables. Columns such as “{example}” sum up those sets. Two people are equal where all of "
    "it is."
)


def load_people(request: AuditRequest) -> LoadedTables:
    """Read databases, bring their tables to one scale, and sum each person up in a row."""
    database = request.database
    assert database is not None, "somebody named linked tables"
    loaded = load_database(database, missing=request.missing, drop_identifiers=request.drop_identifiers)
    if not loaded.tables:
        raise SchemaError("database", "no table has a column beside its keys; there is nothing to compare.")
    linked, notes, turned = _on_one_scale(loaded.split)
    people = people_tables(linked)
    layout = people_layout(
        {name: each.layout for name, each in loaded.tables.items()},
        linked.linkage.person,
        {
            summary.column.name: (summary.table, summary.source if summary.alike else None)
            for summary in people.summaries
        },
    )
    own = loaded.tables.get(linked.linkage.person)
    example = people.summaries[0].column.name
    return LoadedTables(
        split=people.split,
        given=people.split,
        layout=layout,
        notes=(ROWS_ARE_PEOPLE.format(example=example), *loaded.notes, *notes),
        inputs=_inputs(loaded),
        dropped=_dropped(loaded),
        written=None if own is None else own.written,
        words=words_of_people(loaded.split, loaded.tables),
        identifiers=None if own is None else own.identifiers,
        turned=turned,
    )


def _on_one_scale(linked: LinkedSplit) -> tuple[LinkedSplit, list[str], tuple[str, ...]]:
    """Bring released columns back to the scale of the real rows, table by table."""
    databases = {role: getattr(linked, role) for role in ROLES}
    notes: list[str] = []
    turned: list[str] = []
    for name in linked.linkage.tables:
        tables = {role: each.table(name) for role, each in databases.items()}
        if len(tables["train"].schema) == 0 or min(len(tables["train"]), len(tables["synthetic"])) == 0:
            continue
        (found,) = all_on_one_scale([Split(**tables)])
        notes += [f"{name}: {note}" for note in found.notes]
        turned += [f"{name}: {column}" for column in found.turned]
        databases = {
            role: each.with_table(name, getattr(found.split, role)) for role, each in databases.items()
        }
    return LinkedSplit(**databases), notes, tuple(turned)


def _inputs(loaded: LoadedDatabase) -> dict[str, Input]:
    """Describe each database as one input: people, the columns of all tables, a digest of all digests."""
    found: dict[str, Input] = {}
    for role in ROLES:
        people = getattr(loaded.split, role)
        parts = {name: each.inputs[role] for name, each in loaded.tables.items() if role in each.inputs}
        if not parts:
            continue
        digest = hashlib.sha256()
        for name in sorted(parts):
            digest.update(f"{name}: {parts[name].sha256}\n".encode())
        found[role] = Input(
            rows=len(people),
            columns=sum(part.columns for part in parts.values()),
            sha256=digest.hexdigest(),
            people=len(people),
        )
    return found


def _dropped(loaded: LoadedDatabase) -> tuple[DroppedColumn, ...]:
    """Return the columns that are not compared, named with their tables: keys are used, to link rows."""
    found = []
    for table, each in loaded.tables.items():
        keys = loaded.linkage.keys(table)
        found += [
            replace(item, name=f"{table}: {item.name}", reason="person" if item.name in keys else item.reason)
            for item in each.dropped
        ]
    return tuple(found)
