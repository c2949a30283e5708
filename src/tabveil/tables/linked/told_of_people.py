"""All that is written about people, in their own table and in those linked to it, as one table by person.

Metrics that read words look for names and texts of people in what was released. A row here is a person's
own row, or one of their linked rows; what the other tables hold is missing in it. Whose it is stands beside
it, so that ten letters of one person are one person.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tabveil.core.linked import LinkedSplit, LinkedTables
from tabveil.core.table import Categorical, Schema, Split, Table
from tabveil.tables.reading import LoadedTables
from tabveil.tables.reading.sources import ROLES


def words_of_people(people: LinkedSplit, tables: Mapping[str, LoadedTables]) -> Split | None:
    """Put together what is written in all tables; None where that is in the person's own table alone.

    ``tables`` are those that were read, by name, with their rows in the order of ``people``. Columns of
    linked tables are called after them, such as ``visits: note``.
    """
    person = people.linkage.person
    written = {
        name: (each.written, [one for one in each.written.schema.columns if isinstance(one, Categorical)])
        for name, each in tables.items()
        if each.written is not None
    }
    written = {name: found for name, found in written.items() if found[1]}
    if not set(written) - {person}:
        return None
    columns = [
        column if table == person else replace(column, name=f"{table}: {column.name}")
        for table, (_, held) in written.items()
        for column in held
    ]
    schema = Schema(tuple(columns))
    stacked = {}
    for role in ROLES:
        parts = {
            table: getattr(split, role).select([column.name for column in held])
            for table, (split, held) in written.items()
        }
        stacked[role] = _stacked(getattr(people, role), parts, schema)
    return Split(**{**stacked, "synthetic": replace(stacked["synthetic"], people=None)})


def _stacked(people: LinkedTables, parts: Mapping[str, Table], schema: Schema) -> Table:
    """Put the rows of all people below each other, their own first; a row of several people is each one's."""
    person, n = people.linkage.person, len(people)
    whose, blocks = [np.arange(n)], []
    before = 0
    own = np.full((n, len(schema)), np.nan)
    for table, part in parts.items():
        width = len(part.schema)
        if table == person:
            own[:, before : before + width] = part.values
        else:
            rows = people.linked[table]
            block = np.full((len(rows.rows), len(schema)), np.nan)
            block[:, before : before + width] = part.values[rows.rows]
            blocks.append(block)
            whose.append(rows.whose)
        before += width
    return Table(schema=schema, values=np.concatenate([own, *blocks]), people=np.concatenate(whose))
