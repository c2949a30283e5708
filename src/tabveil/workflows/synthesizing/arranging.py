"""A table made ready to be learned: codes as labels, columns that determine each other as one, none rare.

What follows here from rows is told as the notes of whoever fits a model; what a model stores of it, many
rows share.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from numpy.random import Generator

from tabveil.core import wording
from tabveil.core.people import LEAST_SHARED_IN_WORDS
from tabveil.core.table import Categorical, Column, Floats, Table
from tabveil.core.wording import plural
from tabveil.synthesis.generators.dependencies import Dependency
from tabveil.synthesis.generators.rare_values import PooledTable, pool_rare_labels
from tabveil.tables.reading import Layout
from tabveil.tables.reading.layout import as_labels, without_unused_labels
from tabveil.workflows.synthesizing.finding import Finding, KnownTable
from tabveil.workflows.synthesizing.learned_form import LearnedForm, of_columns
from tabveil.workflows.synthesizing.linked import LinkedTable, link
from tabveil.workflows.synthesizing.standing_in import OTHER


@dataclass(frozen=True, kw_only=True, eq=False)
class ArrangedTable:
    """A table to be learned, how its columns are written, the way back, and what was done, in sentences."""

    table: Table
    layout: Layout
    form: LearnedForm
    notes: tuple[str, ...]


def arrange(known: KnownTable, *, looking_up: bool, rng: Generator) -> ArrangedTable:
    """Arrange a table to be learned; some generators are ``looking_up`` what follows from what themselves."""
    found, known = Finding.of(known)
    together = {
        root: _linked(known, found, members, rng=rng) for root, members in sorted(found.linked.items())
    }
    stay = [k for k in range(len(known.table.schema)) if k not in found.gone]
    table = _learned(known.table, stay, together)
    names = known.table.schema.names
    ready = {names[root] for root in together}
    layout = as_labels(known.layout, ready)
    notes: tuple[str, ...] = ()
    form = LearnedForm(
        banded=tuple(found.banded[k] for k in sorted(found.banded)),
        linked=tuple(each.linked for each in together.values()),
        clocks=tuple(names[k] for k in found.clocks),
    )
    if known.least > 1:
        own = {
            names[k]: str(other) for k in stay if k not in together and (other := known.other(k)) is not None
        }
        edges = _edges_left(found.dependencies, stay, together) if looking_up else ()
        pooled = pool_rare_labels(table, keep={*known.kept, *ready}, dependencies=edges, own=own, rng=rng)
        if pooled.columns:
            table, layout = without_unused_labels(
                pooled.table, layout, keep=set(table.schema.names).difference(pooled.columns)
            )
        notes = _rare_notes(pooled, list(together.values()))
    codes = [names[k] for k in sorted(found.codes) if known.layout.columns[names[k]].code]
    said = _notes(form, codes, shared=known.least > 1)
    return ArrangedTable(table=table, layout=layout, form=form, notes=(*said, *notes))


def _linked(known: KnownTable, found: Finding, members: Sequence[int], *, rng: Generator) -> LinkedTable:
    """Learn columns as one; a rare quantity has nothing that could stand for it."""
    columns = known.table.schema.columns
    others = [
        known.other(k) if isinstance(columns[k], Categorical) or k in found.codes else None for k in members
    ]
    return link(known.table, members, others, least=known.least, rng=rng)


def _learned(table: Table, stay: Sequence[int], together: dict[int, LinkedTable]) -> Table:
    columns: list[tuple[Column, Floats]] = [
        (together[k].column, together[k].cells)
        if k in together
        else (table.schema.columns[k], table.values[:, k])
        for k in stay
    ]
    return of_columns(columns, len(table))


def _edges_left(
    dependencies: Sequence[Dependency], stay: Sequence[int], together: dict[int, LinkedTable]
) -> list[Dependency]:
    """Return what follows from what among the columns that are learned as they are."""
    place = {k: new for new, k in enumerate(stay) if k not in together}
    return [
        Dependency(place[item.source], place[item.column])
        for item in dependencies
        if item.source in place and item.column in place
    ]


def _notes(form: LearnedForm, codes: Sequence[str], *, shared: bool) -> tuple[str, ...]:
    """Say what is learned in another way than it stands there."""
    notes = []
    if codes:
        notes.append(f"Whole numbers learned as labels, not as quantities: {wording.listed(codes)}.")
    if form.clocks:
        notes.append(f"Times of day, learned as minutes: {wording.listed(form.clocks)}.")
    links = [[each.name for each in item.columns] for item in form.linked if len(item.columns) > 1]
    if links:
        told = "; ".join(" with ".join((wording.name(one), wording.listed(rest))) for one, *rest in links)
        such = (
            f" In every row they have values that {LEAST_SHARED_IN_WORDS} rows of the table have together; "
            "all rare values of a column count as one."
        )
        notes.append(f"Columns that determine each other are learned as one: {told}.{such if shared else ''}")
    if form.banded:
        told = ", ".join(
            f"{wording.name(item.column.name)} from {wording.name(item.source)}" for item in form.banded
        )
        notes.append(f"Columns that follow from ranges of a number, in every row: {told}.")
    return tuple(notes)


def _rare_notes(pooled: PooledTable, together: Sequence[LinkedTable]) -> tuple[str, ...]:
    """Say how much was pooled, and into what."""
    n_labels = pooled.n_labels + sum(sum(each.n_rare.values()) for each in together)
    n_cells = pooled.n_cells + sum(each.n_cells for each in together)
    columns = {*pooled.columns, *(name for each in together for name in each.n_rare)}
    if not n_cells:
        return ()
    note = (
        f"Rare labels: {plural(n_labels, 'label')} that fewer than {LEAST_SHARED_IN_WORDS} rows share, in "
        f"{plural(n_cells, 'cell')} of {plural(len(columns), 'column')}, learned as one label of their own "
        f"('{OTHER[0]}', of codes a number that none has), or as other labels of the column where fewer than "
        f"{LEAST_SHARED_IN_WORDS} rows have any of them."
    )
    return (note,)
