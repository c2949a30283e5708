"""What is each column, and what is its range? Decided once for all tables, so that no metric asks again."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from tabveil.core.check import quoted, shown
from tabveil.core.people import LEAST_SHARED
from tabveil.errors import SchemaError
from tabveil.tables.reading import arrow, parsing, ways
from tabveil.tables.reading.arrow import Floats
from tabveil.tables.reading.moments import STEPS
from tabveil.tables.reading.raw_column import Form, Kind, RawColumn, Texts, has_values
from tabveil.tables.reading.text_format import TextFormat

TypeName = Literal[
    "integer",
    "real",
    "boolean",
    "category",
    "ordered category",
    "date",
    "datetime",
    "time",
    "duration",
    "identifier",
    "text",
]

KINDS: dict[TypeName, Kind] = {
    "integer": Kind.NUMBER,
    "real": Kind.NUMBER,
    "boolean": Kind.BOOLEAN,
    "category": Kind.LABELS,
    "ordered category": Kind.LABELS,
    "date": Kind.MOMENT,
    "datetime": Kind.MOMENT,
    "time": Kind.TIME,
    "duration": Kind.DURATION,
    "identifier": Kind.LABELS,
    "text": Kind.LABELS,
}

_STRAY = 5
"""Up to so many different texts among numbers are taken for strays or missing markers, not for labels."""


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What the user's schema says about a column."""

    type: TypeName
    labels: tuple[str, ...] | None = None
    low: float | None = None  # of numbers; microseconds since 1970 of dates
    high: float | None = None
    decimals: int | None = None  # of a real number
    step: int | None = None  # microseconds in a unit, of datetimes
    form: TextFormat = field(default_factory=TextFormat)  # for those who may not look how rows are written
    written: Form | None = None  # how numbers, dates and times are written, if the schema says so

    @property
    def bounds(self) -> tuple[float, ...]:
        """The bounds that are given."""
        return tuple(bound for bound in (self.low, self.high) if bound is not None)

    @property
    def whole_domain(self) -> bool:
        """Whether the schema says which values are possible, so that no row has to be asked."""
        bounded = self.low is not None and self.high is not None
        match self.type:
            case "boolean":
                return True
            case "category" | "ordered category":
                return self.labels is not None
            case "integer" | "date":
                return bounded
            case "real":
                return bounded and self.decimals is not None
            case "datetime":
                return bounded and self.step is not None
            case _:
                return False


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What a column holds in all tables, and what the user may want to know about it."""

    kind: Kind
    pieces: Mapping[str, RawColumn]  # by role, each with the way that its strings are read by
    notes: tuple[str, ...] = ()
    markers: tuple[str, ...] = ()  # labels that may mean missing


def decide(
    name: str,
    pieces: Mapping[str, RawColumn],
    declared: Declaration | None,
    *,
    form_by_schema: bool = False,
) -> Decision:
    """Decide what a column holds in all tables.

    The schema's word comes first, then what the tables agree on. Where one has text and another numbers,
    dates or truth values, the text must read as such, or the offending rows are named.
    """
    if declared is not None:
        return _as_declared(name, pieces, declared, form_by_schema=form_by_schema)
    agreed = ways.agree(name, pieces)
    pieces = agreed.pieces
    holding = [piece for piece in pieces.values() if has_values(piece)]
    kinds = {piece.kind for piece in holding} or {piece.kind for piece in pieces.values()}
    kinds = kinds - {Kind.NOTHING} or {Kind.NOTHING}
    kind = kinds.pop() if len(kinds) == 1 else _reconcile(name, holding, kinds)
    if kind is Kind.NUMBER and any(parsing.too_large(piece) for piece in holding):
        note = (
            f"Column {quoted(name)}: its numbers have more digits than a 64-bit float holds; "
            "they are treated as categories, not rounded."
        )
        return Decision(kind=Kind.LABELS, pieces=pieces, notes=(note,))
    if kind in (Kind.TEXT, Kind.NOTHING):
        found = {marker: None for piece in holding for marker in _markers(piece)}
        notes = () if found else ways.unread(name, holding)
        return Decision(kind=Kind.LABELS, pieces=pieces, notes=notes, markers=tuple(found))
    return Decision(kind=kind, pieces=pieces, notes=agreed.notes if kind is not Kind.LABELS else ())


def _as_declared(
    name: str, pieces: Mapping[str, RawColumn], declared: Declaration, *, form_by_schema: bool
) -> Decision:
    """Read a column as the schema says; where no row may be asked how it is written, in one way for all."""
    kind = KINDS[declared.type]
    if kind in (Kind.LABELS, Kind.BOOLEAN, Kind.DURATION):
        return Decision(kind=kind, pieces=pieces)
    if declared.written is not None:
        return Decision(kind=kind, pieces=ways.given(pieces, declared.written))
    if form_by_schema:
        return Decision(kind=kind, pieces=ways.fixed(pieces, kind))
    agreed = ways.agree(name, pieces, kind, whole=declared.type == "integer")
    return Decision(kind=kind, pieces=agreed.pieces, notes=agreed.notes)


def _reconcile(name: str, holding: list[RawColumn], kinds: set[Kind]) -> Kind:
    """Find the kind that tables which differ can share."""
    written = all(isinstance(piece, Texts) for piece in holding)
    if Kind.LABELS in kinds and (written or kinds <= {Kind.LABELS, Kind.TEXT, Kind.NUMBER, Kind.BOOLEAN}):
        return Kind.LABELS
    if kinds == {Kind.TEXT, Kind.NUMBER}:
        return _text_or_number(name, holding)
    if kinds == {Kind.TEXT, Kind.BOOLEAN}:
        return Kind.TEXT if any(parsing.booleans(piece)[1].any() for piece in holding) else Kind.BOOLEAN
    if kinds == {Kind.NUMBER, Kind.BOOLEAN}:
        for piece in holding:
            bad = parsing.booleans(piece)[1]
            if bad.any():
                raise parsing.offending(name, piece, bad, "true or false (or 1 or 0)")
        return Kind.BOOLEAN
    if kinds in ({Kind.TEXT, Kind.MOMENT}, {Kind.TEXT, Kind.TIME}):
        kind = (kinds - {Kind.TEXT}).pop()
        for piece in holding:
            bad = parsing.ticks(piece, kind).bad
            if bad.any():
                raise parsing.offending(name, piece, bad, parsing.expected(piece, kind))
        return kind
    held = "; ".join(f"{piece.role} holds {piece.kind.value}" for piece in holding)
    raise SchemaError(
        f"Column {quoted(name)}: {held}. Give it one type in all tables, or a type in a schema."
    )


def _text_or_number(name: str, holding: list[RawColumn]) -> Kind:
    """Text in one table, numbers in another: stray text among numbers, or codes that happen to be digits."""
    worded = [piece for piece in holding if isinstance(piece, Texts) and piece.kind is Kind.TEXT]
    readable = all(isinstance(piece, Texts) for piece in holding)  # the numbers, too, are there as written
    if readable and any(arrow.has_leading_zero(piece.words) for piece in worded):
        return Kind.TEXT
    for piece in worded:
        bad = parsing.numbers(piece)[1]
        strays = len(np.unique(piece.codes[bad]))
        if strays and not (readable and piece is holding[0] and strays > _STRAY):
            expected = parsing.expected(piece, Kind.NUMBER)
            raise parsing.offending(name, piece, bad, f"{expected}, as in another table,")
        if strays:
            return Kind.TEXT
    return Kind.NUMBER


def _markers(piece: RawColumn) -> list[str]:
    """Return labels that may mean missing, if enough rows share them to be shown."""
    if not isinstance(piece, Texts):
        return []
    suspects = np.flatnonzero(_suspects(piece) & (piece.counts >= LEAST_SHARED))
    return [shown(piece.words[int(position)].as_py()) for position in suspects]


def _suspects(piece: Texts) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Flag words known to mean missing, and the few words that keep a column from being numbers."""
    known = arrow.is_missing_word(piece.words) | arrow.matches(piece.words, r"^(\?|-|\.)$")
    bad = piece.numbers[1]
    few = bad.sum() <= _STRAY and piece.counts[~bad].sum() > piece.counts[bad].sum()
    return known | bad if piece.verbatim and few and not arrow.has_leading_zero(piece.words) else known


DOMAIN_HINT = "Correct them, or what the schema declares."


def found(cells: Sequence[Floats]) -> tuple[float, float]:
    """Return the smallest and the largest value of all tables; zeros if there is none."""
    held = [each[~np.isnan(each)] for each in cells]
    lows = [float(each.min()) for each in held if len(each)]
    highs = [float(each.max()) for each in held if len(each)]
    return (min(lows), max(highs)) if lows else (0.0, 0.0)


def declared_or_found(
    name: str,
    pieces: Sequence[RawColumn],
    cells: Sequence[Floats],
    declared: Declaration | None,
    *,
    step: int = 1,
) -> tuple[float, float]:
    """Return the declared range, in units of ``step``; a bound that is not declared comes from the rows.

    Rows outside are refused by their numbers: a value may be shown only where many rows share it.
    """
    if declared is None or not declared.bounds:
        return found(cells)
    low = -np.inf if declared.low is None else declared.low / step
    high = np.inf if declared.high is None else declared.high / step
    for piece, each in zip(pieces, cells, strict=True):
        outside = (each < low) | (each > high)
        if outside.any():
            raise parsing.offending(name, piece, outside, _expected(declared), DOMAIN_HINT)
    held = found([*cells, np.array([bound / step for bound in declared.bounds])])
    return (held[0] if declared.low is None else low, held[1] if declared.high is None else high)


def _expected(declared: Declaration) -> str:
    what, write = ("dates", _date) if declared.type in ("date", "datetime") else ("numbers", _number)
    if declared.high is None:
        return f"{what} from {write(declared.low or 0)} on"
    if declared.low is None:
        return f"{what} up to {write(declared.high)}"
    return f"{what} from {write(declared.low)} to {write(declared.high)}"


def _number(bound: float) -> str:
    return f"{bound:.15g}"


def _date(bound: float) -> str:
    moment = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=bound)  # noqa: DTZ001 - as it was written
    return moment.date().isoformat() if bound % STEPS["days"] == 0 else moment.isoformat(" ")
