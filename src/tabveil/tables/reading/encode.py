"""One column of all tables, from what came to cells, with its schema and its way back."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from tabveil.core.check import quoted, rows
from tabveil.core.storage import spool
from tabveil.core.table import LARGEST, Categorical, Column, Numeric, Schema, Split, Table
from tabveil.errors import SchemaError
from tabveil.tables.reading import arrow, written
from tabveil.tables.reading.arrow import Bools, Floats
from tabveil.tables.reading.infer import DOMAIN_HINT, Declaration, TypeName, decide, declared_or_found
from tabveil.tables.reading.layout import ColumnLayout
from tabveil.tables.reading.moments import MINUTE, STEPS, MomentForm
from tabveil.tables.reading.number_form import NumberForm
from tabveil.tables.reading.raw_column import EXACT, Kind, RawColumn, Texts, Values, has_values
from tabveil.tables.reading.written import TextFormat, form_of, moment_type, plain_type

_MOST_DECIMALS = 6
_PIECE = 1 << 14


@dataclass(frozen=True, kw_only=True, eq=False)
class EncodedColumn:
    """One column, ready to stand in the tables."""

    column: Column
    cells: Mapping[str, Floats]  # by role
    unbound: Mapping[str, Floats | Texts]  # by role: as one table says it, whatever the others hold
    place: ColumnLayout
    notes: tuple[str, ...] = ()
    markers: tuple[str, ...] = ()  # labels that may mean missing

    def content(self, role: str) -> bytes:
        """Return what the digest of a dataframe is taken of: the same for every library.

        Of labels these are codes over the sorted ones in use, and those.
        """
        piece = self.unbound[role]
        if not isinstance(piece, Texts):
            plain = piece + 0.0
            plain[np.isnan(plain)] = np.nan  # one NaN for all
            return b"number" + plain.tobytes()
        used = np.flatnonzero(piece.counts > 0)
        texts = piece.texts.take(pa.array(used))
        order = pc.sort_indices(texts).to_numpy()
        rank = np.full(len(piece.texts) + 1, -1, np.int64)
        rank[used[order]] = np.arange(len(used))
        labels = texts.take(pa.array(order)).to_pylist()
        listing = "\x1f".join(f"{len(label)}:{label}" for label in labels)
        return b"labels" + rank[piece.codes].tobytes() + listing.encode()

    def spooled(self) -> "EncodedColumn":
        """Return the same, with what grows with the rows on disk where memory is bounded."""
        there: dict[int, Floats] = {}  # cells that two readings share are kept once

        def kept(cells: Floats) -> Floats:
            return there.setdefault(id(cells), spool.kept(cells))

        return replace(
            self,
            cells={role: kept(cells) for role, cells in self.cells.items()},
            unbound={
                role: replace(each, codes=spool.kept(each.codes)) if isinstance(each, Texts) else kept(each)
                for role, each in self.unbound.items()
            },
        )

    def of_tables(self, tables: Mapping[str, str], *, listed: bool = True) -> "EncodedColumn":
        """Return the column of some tables alone, by their roles there.

        What it can hold stays, and so does its scale; but labels that are not ``listed`` by anybody and that
        only other tables have are none.
        """
        cells = {role: self.cells[name] for role, name in tables.items() if name in self.cells}
        unbound = {role: self.unbound[name] for role, name in tables.items() if name in self.unbound}
        column, texts = self.column, [each for each in unbound.values() if isinstance(each, Texts)]
        if not listed and texts and isinstance(column, Categorical) and not column.ordered:
            held = (texts[0].texts, *(each.texts.filter(pa.array(each.counts > 0)) for each in texts[1:]))
            own = {label for some in held for label in some.to_pylist()}
            kept = np.array([label in own for label in column.labels], dtype=np.bool_)
            codes = np.append(np.cumsum(kept) - 1.0, np.nan)
            column = replace(column, labels=tuple(label for label in column.labels if label in own))
            cells = {
                role: codes[np.where(np.isnan(each), -1, each).astype(np.int64)]
                for role, each in cells.items()
            }
        return replace(self, column=column, cells=cells, unbound=unbound)

    def distinct_share(self, role: str) -> float:
        """Return the share of different values among the cells that hold one."""
        piece = self.unbound[role]
        if isinstance(piece, Texts):
            return float((piece.counts > 0).sum() / max(piece.counts.sum(), 1))
        held = pa.array(piece[~np.isnan(piece)])
        return float(pc.count_distinct(held).as_py() / max(len(held), 1))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Read:
    """Cells before they are bound to a place."""

    column: Column
    cells: list[Floats]
    unbound: Sequence[Floats | Texts]
    step: int = 1
    notes: tuple[str, ...] = ()


def encode(
    name: str,
    pieces: Mapping[str, RawColumn],
    declared: Declaration | None = None,
    *,
    form_by_schema: bool = False,
) -> EncodedColumn:
    """Turn a column of all tables into cells under one schema; the first table is the one that leads.

    ``form_by_schema`` is for columns whose whole domain is declared: how their values are typed and written
    is then the declaration's to say as well, and no row is asked.
    """
    decision = decide(name, pieces, declared, form_by_schema=form_by_schema)
    kind, pieces = decision.kind, decision.pieces
    held = list(pieces.values())
    match kind:
        case Kind.NUMBER:
            read = _numbers(name, held, declared)
        case Kind.BOOLEAN:
            read = _booleans(name, held)
        case Kind.MOMENT | Kind.TIME | Kind.DURATION:
            read = _moments(name, held, kind, declared)
            if form_by_schema and declared is not None and declared.type == "datetime":
                _require_said_zone(name, held, declared)
        case _:
            read = _labels(name, held, declared)
    return EncodedColumn(
        column=read.column,
        cells=dict(zip(pieces, read.cells, strict=True)),
        unbound=dict(zip(pieces, read.unbound, strict=True)),
        place=_place(name, held, kind, read.step, declared if form_by_schema else None),
        notes=(*decision.notes, *read.notes),
        markers=decision.markers,
    )


def _place(
    name: str, pieces: list[RawColumn], kind: Kind, step: int, declared: Declaration | None
) -> ColumnLayout:
    """Remember how the column stood in the first table that holds values of it, or how it is declared."""
    leader = next((piece for piece in pieces if has_values(piece)), pieces[0])
    form, came, plain = TextFormat(), leader.type, leader.type
    if declared is not None:
        form = declared.form
        came = plain = _PLAIN.get(declared.type, pa.string())
        if kind is Kind.MOMENT:
            came = plain = moment_type(form.moment or MomentForm())
    elif isinstance(leader, Texts) and leader.levels:
        plain = came if kind is Kind.LABELS else pa.string()
    elif isinstance(leader, Texts):
        form = form_of(leader, kind)
        plain = plain_type(leader, kind)
        came = plain if leader.verbatim else came
        plain = came if kind is Kind.LABELS else plain
    return ColumnLayout(label=name, kind=kind, type=came, plain=plain, step=step, form=form)


_PLAIN: Mapping[TypeName, pa.DataType] = {"integer": pa.int64(), "real": pa.float64(), "boolean": pa.bool_()}


def _numbers(name: str, pieces: list[RawColumn], declared: Declaration | None) -> _Read:
    cells = []
    for piece in pieces:
        each, bad = written.numbers(piece)
        written.refuse(name, piece, bad, written.expected(piece, Kind.NUMBER))
        huge = np.abs(each) > LARGEST
        if huge.any():
            endless = np.isinf(each)
            what, which = ("infinity", endless) if endless.any() else (f"more than {LARGEST:g}", huge)
            raise SchemaError(
                f"Column {quoted(name)} of {piece.role}: {what} in {rows(which)}. "
                "Replace it by a number or leave the cell empty."
            )
        cells.append(each + 0.0)  # -0.0 and 0.0 are one value
    integer = declared is not None and declared.type == "integer"
    if integer:
        for piece, each in zip(pieces, cells, strict=True):
            written.refuse(name, piece, ~(np.isnan(each) | (each == np.round(each))), "whole numbers")
            if written.too_large(piece):
                raise SchemaError(
                    f"Column {quoted(name)} of {piece.role}: its whole numbers have more digits than a "
                    "64-bit float holds. Declare it category."
                )
    declared_bounds = np.array(() if declared is None else declared.bounds)
    decimals = 0 if integer else _decimals([*cells, declared_bounds])
    if declared is not None and declared.decimals is not None:
        decimals = declared.decimals
        expected = f"numbers with at most {decimals} decimals"
        for piece, each in zip(pieces, cells, strict=True):
            written.refuse(name, piece, ~(np.isnan(each) | _close(each, decimals)), expected, DOMAIN_HINT)
    rounded = cells if decimals is None else [_rounded(each, decimals) for each in cells]
    low, high = declared_or_found(name, pieces, rounded, declared)
    return _Read(
        column=Numeric(name=name, low=low, high=high, decimals=decimals), cells=rounded, unbound=cells
    )


def _decimals(parts: list[Floats]) -> int | None:
    """Return the fewest decimal places that hold every number, None if more than six are needed.

    A number may miss the grid by a billionth of itself, which is noise of arithmetic or of writing, but never
    by more than a millionth of the grid's step: large numbers keep their decimals.
    """
    # Looked at by pieces, as most columns show it in the first.
    pieces = [cells[start : start + _PIECE] for cells in parts for start in range(0, len(cells), _PIECE)]
    for decimals in range(_MOST_DECIMALS + 1):
        if all((_close(piece, decimals) | np.isnan(piece)).all() for piece in pieces):
            return decimals
    return None


def _rounded(cells: Floats, decimals: int) -> Floats:
    """Round; numbers that are round already are not held twice."""
    rounded = np.round(cells, decimals)
    rounded += 0.0
    return cells if ((rounded == cells) | np.isnan(cells)).all() else rounded


def _close(cells: Floats, decimals: int) -> Bools:
    with np.errstate(over="ignore", invalid="ignore"):
        miss = np.abs(np.round(cells, decimals) - cells)
    return np.asarray(miss <= np.minimum(np.abs(cells) * 1e-9, 1e-6 * 10.0**-decimals), dtype=np.bool_)


def _booleans(name: str, pieces: list[RawColumn]) -> _Read:
    cells = []
    for piece in pieces:
        each, bad = written.booleans(piece)
        written.refuse(name, piece, bad, "true or false")
        cells.append(each)
    return _Read(column=Categorical(name=name, labels=("False", "True")), cells=cells, unbound=cells)


def _moments(name: str, pieces: list[RawColumn], kind: Kind, declared: Declaration | None) -> _Read:
    read = []
    for piece in pieces:
        each = written.ticks(piece, kind)
        written.refuse(name, piece, each.bad, written.expected(piece, kind))
        read.append(each)
    _require_one_clock(name, pieces, [each.zoned for each in read])
    step = _step(name, pieces, read, kind, declared)
    cells = [np.where(each.missing, np.nan, each.ticks // step) for each in read]
    low, high = declared_or_found(name, pieces, cells, declared, step=step)
    coarse = any(each.rounded for each in read) or max(abs(low), abs(high)) > EXACT
    note = f"Column {quoted(name)}: times are finer than can be held exactly; they are rounded."
    return _Read(
        column=Numeric(name=name, low=low, high=high, decimals=0, arbitrary_zero=kind is Kind.MOMENT),
        cells=cells,
        unbound=[np.where(each.missing, np.nan, each.ticks) for each in read],
        step=step,
        notes=(note,) if coarse else (),
    )


def _step(
    name: str, pieces: list[RawColumn], read: list[written.Ticks], kind: Kind, declared: Declaration | None
) -> int:
    """Return the coarsest unit that all moments fit in, or the declared one, which they must fit in."""
    if declared is not None and (declared.type == "date" or declared.step is not None):
        step = declared.step or STEPS["days"]
        expected = "a date without a time" if declared.type == "date" else "moments in the schema's unit"
        for piece, each in zip(pieces, read, strict=True):
            written.refuse(name, piece, each.ticks % step != 0, expected)
        return step
    limits = np.array(() if declared is None else declared.bounds, np.int64)
    ticks = [*(each.ticks for each in read), limits]
    steps = (MINUTE, *STEPS.values()) if kind is Kind.TIME else tuple(STEPS.values())
    return next(step for step in steps if not any((each % step).any() for each in ticks))


def _require_one_clock(name: str, pieces: list[RawColumn], zoned: list[bool]) -> None:
    """Refuse to compare moments in a time zone with moments of nobody knows where."""
    held = [(zone, piece.role) for piece, zone in zip(pieces, zoned, strict=True) if has_values(piece)]
    first = dict(reversed(held))
    if len(first) > 1:
        raise SchemaError(
            f"Column {quoted(name)} has a time zone in {first[True]} but none in {first[False]}. "
            "Give both a time zone, or neither."
        )


def _require_said_zone(name: str, pieces: list[RawColumn], declared: Declaration) -> None:
    """Refuse datetimes with a time zone where the schema's form has none, and the other way round."""
    said = declared.form.moment is not None and declared.form.moment.zone is not None
    for piece in pieces:
        each = written.ticks(piece, Kind.MOMENT)
        if not each.missing.all() and each.zoned != said:
            has, form = ("a", "YYYY-MM-DDTHH:MM:SSZ") if each.zoned else ("no", "YYYY-MM-DDTHH:MM:SS")
            raise SchemaError(
                f"Column {quoted(name)} of {piece.role} has {has} time zone, unlike its form in the schema. "
                f"Give it a form such as {form}."
            )


def _labels(name: str, pieces: list[RawColumn], declared: Declaration | None) -> _Read:
    listed = () if declared is None or declared.labels is None else declared.labels
    read = [written.labels(piece, listed) for piece in pieces]
    numeric = all(  # labels made of numbers that programs write can be sorted
        piece.kind is Kind.NOTHING
        or (piece.kind is Kind.NUMBER and (isinstance(piece, Values) or piece.way == NumberForm()))
        for piece in pieces
    )
    ordered = any(pt.is_dictionary(each.type) and each.type.ordered for each in read)
    notes: tuple[str, ...] = ()
    labels = pa.array(listed, pa.large_string()) if listed else _union(read, numeric=numeric)
    if declared is not None:
        ordered = declared.type == "ordered category"
        if ordered and not (numeric or listed or any(each.levels for each in read)):
            notes = (
                f"Column {quoted(name)}: no labels are given in the schema; their order is alphabetical.",
            )
    cells = []
    for each in read:
        into = pc.index_in(each.texts, labels).to_numpy(zero_copy_only=False).astype(np.float64)
        written.refuse(name, each, each.flag(np.isnan(into)), "a label that the schema lists")
        cells.append(each.spread(into))
    return _Read(
        column=Categorical(name=name, labels=tuple(labels.to_pylist()), ordered=ordered),
        cells=cells,
        unbound=read,
        notes=notes,
    )


def _union(read: list[Texts], *, numeric: bool) -> pa.Array:
    """Return the leading table's labels, sorted unless its author listed them, then those only others use."""
    known = _sorted(read[0].texts, numeric=numeric) if not read[0].levels else read[0].texts
    used = [each.texts.filter(pa.array(each.counts > 0)) for each in read[1:]]
    others = pc.unique(pa.concat_arrays([known.slice(0, 0), *used]))
    fresh = others.filter(pc.invert(pc.is_in(others, known)))
    return pa.concat_arrays([known, _sorted(fresh, numeric=numeric)])


def _sorted(texts: pa.Array, *, numeric: bool) -> pa.Array:
    if not numeric:
        return texts.take(pc.sort_indices(texts))
    return texts.take(pa.array(np.argsort(arrow.numbers(pc.utf8_trim_whitespace(texts))[0], kind="stable")))


def strangers(encoded: EncodedColumn) -> tuple[str, ...]:
    """Note tables that share no label with the first: mostly a matter of spelling."""
    texts = [each for each in encoded.unbound.values() if isinstance(each, Texts)]
    used = [each.texts.filter(pa.array(each.counts > 0)) for each in texts]
    for each, theirs in zip(texts[1:], used[1:], strict=True):
        if len(used[0]) and len(theirs) and not arrow.as_bools(pc.is_in(theirs, used[0])).any():
            where = f"no label of {each.role} occurs in {texts[0].role}"
            return (f"Column {quoted(encoded.column.name)}: {where}; check spelling and spaces.",)
    return ()


def content_digest(columns: Mapping[str, EncodedColumn], role: str) -> str:
    """Digest one table's content, column by column in the order of their names."""
    digest = hashlib.sha256()
    for name in sorted(columns):
        if role in columns[name].unbound:
            for part in (name.encode("utf-8", "surrogatepass"), columns[name].content(role)):
                digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def split_of(columns: Collection[EncodedColumn], n_rows: Mapping[str, int]) -> Split:
    """Return the tables of an audit under these columns; a table that lacks one has it missing."""
    roles = ("train", "control", "synthetic")
    return Split(**{role: table_of(columns, role, n_rows.get(role, 0)) for role in roles})


def table_of(columns: Collection[EncodedColumn], role: str, n_rows: int) -> Table:
    """Return one table under these columns."""
    values = spool.room((n_rows, len(columns)), order="F")  # columns are read one by one
    for position, encoded in enumerate(columns):
        values[:, position] = encoded.cells.get(role, np.nan)
    kept = [encoded.column for encoded in columns]
    kept[-1:] = [replace(column, stood_last=True) for column in kept[-1:]]
    return Table(schema=Schema(tuple(kept)), values=values)
