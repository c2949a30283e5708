"""Columns that name people: set aside before anything is learned, and made anew for the rows drawn.

A generator that learns case numbers gives case numbers of people. So it is not shown them. The rows carry
fresh ones of the same form, each of which nobody in the data has, or the column is left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.random import Generator

from tabveil.core import wording
from tabveil.core.storage.plain import FORBID_OTHERS
from tabveil.core.table import Categorical, Column, Floats, Numeric, Schema, Table
from tabveil.tables.reading import Layout, LoadedTable
from tabveil.tables.reading.layout import ColumnLayout, roomier, without_labels
from tabveil.tables.reading.raw_column import Kind
from tabveil.workflows.synthesizing import codes
from tabveil.workflows.synthesizing.codes import Code, Known, Texts

Identifiers = Literal["fresh", "drop", "learn"]
Forms = Mapping[tuple[str, ...], int]
"""The places of each form, and how many identifiers have it."""

MOST_ROWS = 1_000_000_000
"""So many rows may be drawn from a model."""
_MATCHED = 1e-9


@dataclass(frozen=True, kw_only=True)
class FreshColumn:
    """A column of identifiers that were not learned: how fresh ones are written.

    ``shares`` says how many of them have each of the forms; ``room`` is a longer form for more rows than
    there are free codes. ``missing`` is the share of cells that hold none. ``neutral`` ones are called after
    their column, because those in the data are names or texts.
    """

    __pydantic_config__ = FORBID_OTHERS

    name: str
    codes: tuple[Code, ...]
    shares: tuple[float, ...]
    room: Code
    missing: float
    neutral: bool
    by_schema: bool = False  # no row was asked how it is written, or which there are

    def sound(self, place: ColumnLayout) -> bool:
        """Whether fresh identifiers can be drawn for such a column: read from a file, it may be anything."""
        forms = (*self.codes, self.room)
        return (
            place.kind in (Kind.LABELS, Kind.NUMBER)
            and len(self.codes) == len(self.shares) > 0
            and all(0 <= share <= 1 for share in (*self.shares, self.missing))
            and abs(sum(self.shares) - 1) < _MATCHED
            and all(form.sound for form in forms)
            and (place.kind is Kind.LABELS or all(codes.is_number(form.places) for form in forms))
            and self.room.capacity >= codes.ROOM * MOST_ROWS
        )

    def draw(self, n_rows: int, place: ColumnLayout, *, rng: Generator) -> tuple[Column, Floats]:
        """Draw a column; all that is not missing is different."""
        held = np.flatnonzero(rng.random(n_rows) >= self.missing)
        texts = self.texts(len(held), rng=rng)
        cells = np.full(n_rows, np.nan)
        if place.kind is Kind.NUMBER:
            cells[held] = texts.astype(np.float64)
            low, high = (float(cells[held].min()), float(cells[held].max())) if len(held) else (0.0, 0.0)
            return Numeric(name=self.name, low=low, high=high, decimals=0), cells
        cells[held] = np.arange(len(held))
        return Categorical(name=self.name, labels=tuple(texts.tolist())), cells

    def texts(self, n: int, *, rng: Generator) -> Texts:
        """Draw distinct identifiers, in an order that tells nothing."""
        wanted = rng.multinomial(n, np.array(self.shares) / sum(self.shares))
        found: Texts = np.empty(0, dtype="<U1")
        for code, count in zip(self.codes, wanted.tolist(), strict=True):
            fitting = min(count, code.capacity // codes.ROOM)
            found = np.concatenate([found, code.draw(fitting, beside=found, rng=rng)])
        found = np.concatenate([found, self.room.draw(n - len(found), beside=found, rng=rng)])
        return found[rng.permutation(n)]


@dataclass(frozen=True, kw_only=True, eq=False)
class SetAside:
    """A table without its identifiers, what to make of them, and what to say about it."""

    table: Table
    layout: Layout  # of the rows that will be drawn
    notes: tuple[str, ...]
    fresh: tuple[FreshColumn, ...] = ()
    left_out: tuple[str, ...] = ()
    by_looks: tuple[str, ...] = ()  # those that nobody declared, where rows should have no say


def set_aside(
    loaded: LoadedTable, wanted: Identifiers, *, by_schema: bool, looking: bool, rng: Generator
) -> SetAside:
    """Take identifiers out of a table before it is learned.

    ``by_schema`` is for those who state an ε: of declared identifiers only the declaration says how they are
    written, and a column whose values are all declared names nobody. Unless they are ``looking``, only
    declared ones are taken: which columns look like identifiers would be read from the rows.
    """
    declared = loaded.declared_identifiers
    known = loaded.declared if by_schema else frozenset()
    found = [name for name in loaded.identifiers if name in declared or (looking and name not in known)]
    others = [name for name in loaded.identifiers if name not in found]
    notes = []
    if others:
        notes.append(
            f"Nearly every row has its own value in {wording.listed(others)}: if these are identifiers, "
            "declare them as such in a schema, or list them under 'drop'."
        )
    if found and wanted == "learn":
        notes.append(
            f"Identifiers are learned as they are: {wording.listed(found)}. The rows may carry those of real "
            "people."
        )
    if wanted == "learn" or not found:
        return SetAside(table=loaded.table, layout=loaded.layout, notes=tuple(notes))
    kept = [name for name in loaded.table.schema.names if name not in found]
    fresh = tuple(
        _by_declaration(name, declared[name], rng=rng)
        if by_schema and name in declared
        else _like(loaded.table, name, declared.get(name), loaded.layout.columns[name].kind, rng=rng)
        for name in (found if wanted == "fresh" else ())
    )
    places = {
        name: without_labels(place) if name in found else place
        for name, place in loaded.layout.columns.items()
        if wanted == "fresh" or name not in found
    }
    without = f"Identifiers are not learned, and the rows come without them: {wording.listed(found)}."
    return SetAside(
        table=loaded.table.select(kept),
        layout=replace(loaded.layout, columns=places),
        notes=(*notes, note(fresh) if fresh else without),
        fresh=fresh,
        left_out=() if fresh else tuple(found),
        by_looks=tuple(name for name in found if name not in declared) if by_schema else (),
    )


def _like(table: Table, name: str, form: str | None, kind: Kind, *, rng: Generator) -> FreshColumn:
    """Find out how the identifiers of a column are written, and how fresh ones can be."""
    cells = table.column(name)
    held, column = cells[~np.isnan(cells)], table.schema[name]
    whole: list[int] = np.unique(held).astype(np.int64).tolist()
    texts = [column.labels[code] if isinstance(column, Categorical) else str(code) for code in whole]
    if isinstance(column, Numeric):
        forms: Forms | None = _number_forms(texts)
    else:
        forms = codes.shapes(texts) if form is None else {codes.loosened(form): 1}
    return _fresh(
        name,
        forms,
        Known.of(texts),
        number=kind is Kind.NUMBER,
        n_rows=len(held),
        missing=float(np.isnan(cells).mean()),
        rng=rng,
    )


def fresh_texts(
    name: str, texts: Sequence[str], *, whole: bool, neutral: bool = False, rng: Generator
) -> Texts:
    """Draw as many identifiers as there are different ones here, of the same forms, none of which any is.

    Names and texts, which have no form, are replaced by neutral ones, or all where ``neutral`` ones are asked
    for; ``whole`` numbers stay such.

    >>> some = [f"A-{number}" for number in range(100, 120)]
    >>> drawn = fresh_texts("case", some, whole=False, rng=np.random.default_rng(0)).tolist()
    >>> len(set(drawn)), set(drawn) & set(some), {text[:2] for text in drawn}
    (20, set(), {'A-'})
    """
    forms = None if neutral else _number_forms(texts) if whole else codes.shapes(texts)
    column = _fresh(name, forms, Known.of(texts), number=whole, n_rows=max(len(texts), 1), rng=rng)
    return column.texts(len(texts), rng=rng)


def _number_forms(texts: Sequence[str]) -> Forms:
    forms = codes.widths([int(text) for text in texts])
    return forms or {codes.number_places(min(max(map(len, texts), default=1), codes.MOST_EXACT)): 1}


def _by_declaration(name: str, form: str | None, *, rng: Generator) -> FreshColumn:
    """Take the form that is declared, or a neutral one; no row is asked whether it has such an identifier."""
    forms = None if form is None else {codes.loosened(form): 1}
    return replace(_fresh(name, forms, Known.of(()), rng=rng), by_schema=True)


def _fresh(
    name: str,
    forms: Forms | None,
    known: Known,
    *,
    number: bool = False,
    n_rows: int = 1,
    missing: float = 0.0,
    rng: Generator,
) -> FreshColumn:
    """Keep the forms that have room for fresh ones; where none has, the last is made longer until it has.

    Without any form they are neutral.
    """
    neutral, forms = not forms, forms or {codes.token(name): 1}
    longest = codes.MOST_EXACT if number else codes.LONGEST
    last, total = list(forms)[-1], sum(forms.values())
    found: dict[Code, int] = {}
    for places, count in forms.items():
        n = -(-n_rows * count // total)
        for exactly in (places, codes.loosened(places)):
            code = codes.with_room(exactly, known, n=n, longest=len(places), rng=rng)
            if code is not None:
                found[code] = count
                break
    room = codes.with_room(last, known, n=MOST_ROWS, longest=longest, rng=rng)
    if room is None:  # of a form that is as long as any can be
        room = codes.with_room(codes.token(name), known, n=MOST_ROWS, rng=rng)
    assert room is not None, "digits can be added until one is free"
    if not found:
        found[codes.with_room(last, known, n=n_rows, longest=longest, rng=rng) or room] = 1
    return FreshColumn(
        name=name,
        codes=tuple(found),
        shares=tuple(count / sum(found.values()) for count in found.values()),
        room=room,
        missing=missing,
        neutral=neutral,
    )


def with_fresh(
    table: Table, layout: Layout, fresh: Sequence[FreshColumn], *, rng: Generator
) -> tuple[Table, Layout]:
    """Put fresh identifiers where they stood among the columns of the data."""
    columns: dict[str, tuple[Column, Floats]] = {
        column.name: (column, table.column(column.name)) for column in table.schema.columns
    }
    places = dict(layout.columns)
    for item, own in zip(fresh, rng.spawn(len(fresh)), strict=True):
        place = places[item.name]
        columns[item.name] = item.draw(len(table), place, rng=own)
        places[item.name] = roomier(place, columns[item.name][0])
    in_order = [columns[name] for name in places]
    values = np.column_stack([cells for _, cells in in_order])
    return (
        Table(schema=Schema(tuple(column for column, _ in in_order)), values=values),
        replace(layout, columns=places),
    )


def note(fresh: Sequence[FreshColumn]) -> str:
    """Say which columns carry fresh identifiers, and how they look."""
    alike = [item.name for item in fresh if not item.neutral]
    neutral = [item.name for item in fresh if item.neutral]
    parts = [f"fresh ones of the same form in {wording.listed(alike)}"] if alike else []
    if neutral:  # one that tells nothing but the name of its column
        places = next(item.codes[0].places for item in fresh if item.neutral)
        example = "".join(place if len(place) == 1 else "0" for place in places)
        parts.append(f"neutral ones such as {example} in {wording.listed(neutral)}")
    assurance = (
        "They follow from the schema alone, so one can equal a real one by chance."
        if any(item.by_schema for item in fresh)
        else "Nobody in the data has any of them."
    )
    return f"Identifiers are not learned: the rows carry {', and '.join(parts)}. {assurance}"
