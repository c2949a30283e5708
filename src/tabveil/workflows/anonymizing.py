"""``tabveil.anonymize`` and what proposes to it: what the commands of these names do, from table to table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tabveil.core.wording import escaped, plural
from tabveil.core.workers import Listener, part, tell, working
from tabveil.metrics.properties import Properties, measure
from tabveil.synthesis.anonymize import configuration, releasing
from tabveil.synthesis.anonymize.anonymizing import Anonymization
from tabveil.synthesis.anonymize.building import ColumnValues
from tabveil.synthesis.anonymize.configuration import AnonymizationSettings
from tabveil.synthesis.anonymize.proposing import Proposal, propose, template
from tabveil.synthesis.anonymize.releasing import Summary
from tabveil.tables.reading import Layout, LoadedTable, declare, load_table


@dataclass(frozen=True, kw_only=True, eq=False)
class Anonymized:
    """A generalized table: how that was done, and what it measurably keeps."""

    found: Anonymization
    layout: Layout
    summary: Summary
    properties: Properties
    notes: tuple[str, ...] = ()

    @cached_property
    def rows(self) -> Any:  # noqa: ANN401 - whichever library the user works with
        """The rows that may be released, in random order, in the kind of table that came in."""
        return releasing.to_native(self.found, self.layout)

    def write(self, path: str | Path) -> None:
        """Write the rows to a file, whole or not at all."""
        releasing.write(self.found, self.layout, path)

    def __repr__(self) -> str:
        kept, all_rows = self.summary.n_rows - self.summary.n_suppressed, self.summary.n_rows
        classes = plural(self.summary.n_classes, "class", "classes")
        promised = "; ".join(self.summary.models)
        return escaped(f"{plural(kept, 'row')} of {all_rows:,} in {classes}; {promised}")


def anonymize(
    data: Any,  # noqa: ANN401 - a path or a table of any dataframe library
    config: str | Path | Mapping[str, Any],
    *,
    drop: str | Iterable[str] = (),
    threads: int | None = None,
    progress: Listener | None = None,
) -> Anonymized:
    """Generalize a table as little as its promises allow, as ``tabveil anonymize`` does.

    Parameters
    ----------
    data
        The real rows: a path, or a table of pandas, polars or Arrow, which stays as it is.
    config
        What is asked for: a file (YAML, JSON) as ``tabveil hierarchies`` proposes it, or a mapping.
    drop
        Columns to leave out from the start; none of them is released.
    threads, progress
        How many threads; told what is being done and which share of it is complete.

    Examples
    --------
    >>> from tabveil.datasets import hospital
    >>> asked = {"hierarchies": {"age": {"intervals": [10, 20, 40]}, "sex": "auto"}, "models": [{"k": 5}]}
    >>> found = anonymize(hospital(200, seed=1), {**asked, "suppression": 0.05})
    >>> found.properties.k >= 5, type(found.rows).__name__
    (True, 'DataFrame')
    """
    asked = configuration.read(config)
    with working(threads=threads, listener=progress):
        tell("reading", 0.0)
        loaded = load_table(data, schema=declare.read(asked.schema, drop=drop), missing=asked.missing)
        with part(0.1, 0.9):
            found = configuration.apply(asked, loaded)
        tell("measuring", 0.9)
        properties = _measured(found, asked, loaded)
        tell("done", 1.0)
    return Anonymized(
        found=found,
        layout=loaded.layout,
        summary=Summary.of(found),
        properties=properties,
        notes=tuple(loaded.notes),
    )


def quasi_identifiers(
    data: Any,  # noqa: ANN401 - a path or a table of any dataframe library
    *,
    drop: str | Iterable[str] = (),
    missing: Sequence[str] = (),
) -> Proposal:
    """Say which columns set people apart, alone and together, as ``tabveil quasi-identifiers`` does.

    >>> from tabveil.datasets import hospital
    >>> found = quasi_identifiers(hospital(200, seed=1))
    >>> found.n_rows, found.columns[0].name
    (200, 'age')
    """
    return propose(load_table(data, schema=declare.read(None, drop=drop), missing=missing))


def hierarchies(
    data: Any,  # noqa: ANN401 - a path or a table of any dataframe library
    columns: Sequence[str] = (),
    *,
    drop: str | Iterable[str] = (),
    missing: Sequence[str] = (),
) -> str:
    """Return the text of a file to edit for :func:`anonymize`, as ``tabveil hierarchies`` writes it.

    It has a hierarchy for each of the columns; for all but those that name people, if none is named.

    >>> from tabveil.datasets import hospital
    >>> "  age:" in hierarchies(hospital(200, seed=1), ["age"]).splitlines()
    True
    """
    schema = declare.read(None, drop=drop)
    return template(load_table(data, schema=schema, missing=missing), columns, dropped=schema.drop)


def _measured(found: Anonymization, asked: AnonymizationSettings, loaded: LoadedTable) -> Properties:
    """Measure what was promised in what is released, beside the table that came in."""
    trees = {
        column: entry.build(ColumnValues.of(loaded.table, column, loaded.layout))
        for column, entry in asked.sensitive_hierarchies.items()
    }
    return measure(
        found.table,
        quasi_identifiers=found.quasi_identifiers,
        sensitive=asked.sensitive,
        reference=found.original,
        levels={column: (tree.cells, tree.codes) for column, tree in trees.items()},
    )
