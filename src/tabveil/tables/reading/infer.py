"""What is each column, how is it written, and what is its range? Decided once for all tables together.

So no metric asks again. Tables help each other where one alone cannot tell a way of writing. Where even all
of them cannot, the likeliest is taken, and a note says so and how to say what was meant.
"""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import pyarrow as pa

from tabveil.core.check import quoted, shown
from tabveil.core.people import LEAST_SHARED
from tabveil.errors import SchemaError
from tabveil.tables.reading import arrow, moments, number_form, written
from tabveil.tables.reading.arrow import Bools, Floats
from tabveil.tables.reading.moments import COMPACT, STEPS, MomentForm, template_of
from tabveil.tables.reading.number_form import NumberForm, example_of
from tabveil.tables.reading.raw_column import Form, Kind, RawColumn, Texts, has_values
from tabveil.tables.reading.written import TextFormat

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

_KINDS: Mapping[TypeName, Kind] = {
    "integer": Kind.NUMBER,
    "real": Kind.NUMBER,
    "boolean": Kind.BOOLEAN,
    "date": Kind.MOMENT,
    "datetime": Kind.MOMENT,
    "time": Kind.TIME,
    "duration": Kind.DURATION,
}
"""What columns of each type hold; those of all others hold labels."""

_NUMBER_NOT_DATE = (
    "Column {name} was taken for numbers, although some may be dates. If they are, declare it in a schema: "
    "{{type: date, form: YYYYMMDD}}."
)
_UNREAD = (
    "Column {name} was taken for labels, although most of its rows look like {what}. If they are, declare "
    "its type and form in a schema ('tabveil schema' writes one), and say with --missing what means missing."
)
_MOST = 0.5
"""From this share of rows on, labels that look like numbers or dates were hardly meant as labels."""

_POOLED = r"(?i)^others?\b"
"""What pooled rare labels are called, here and elsewhere: they are there, and mean something."""
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
        known: dict[TypeName, bool] = {
            "boolean": True,
            "category": self.labels is not None,
            "ordered category": self.labels is not None,
            "integer": bounded,
            "date": bounded,
            "real": bounded and self.decimals is not None,
            "datetime": bounded and self.step is not None,
        }
        return known.get(self.type, False)


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What a column holds in all tables, and what the user may want to know about it."""

    kind: Kind
    pieces: Mapping[str, RawColumn]  # by role, each with the way that its strings are read by
    notes: tuple[str, ...] = ()
    markers: tuple[str, ...] = ()  # labels that may mean missing


def decide(
    name: str, pieces: Mapping[str, RawColumn], declared: Declaration | None, *, form_by_schema: bool = False
) -> Decision:
    """Decide what a column holds in all tables.

    The schema's word comes first, then what the tables agree on. Where one has text and another numbers,
    dates or truth values, the text must read as such, or the offending rows are named.
    """
    if declared is not None:
        return _as_declared(name, pieces, declared, form_by_schema=form_by_schema)
    pieces, doubts = _agree(name, pieces)
    holding = [piece for piece in pieces.values() if has_values(piece)]
    kinds = {piece.kind for piece in holding} or {piece.kind for piece in pieces.values()}
    kinds = kinds - {Kind.NOTHING} or {Kind.NOTHING}
    kind = kinds.pop() if len(kinds) == 1 else _reconcile(name, holding, kinds)
    if kind is Kind.NUMBER and any(written.too_large(piece) for piece in holding):
        note = (
            f"Column {quoted(name)}: its numbers have more digits than a 64-bit float holds; "
            "they are treated as categories, not rounded."
        )
        return Decision(kind=Kind.LABELS, pieces=pieces, notes=(note,))
    if kind in (Kind.TEXT, Kind.NOTHING):
        found = {marker: None for piece in holding for marker in _markers(piece)}
        notes = () if found else _unread(name, holding)
        return Decision(kind=Kind.LABELS, pieces=pieces, notes=notes, markers=tuple(found))
    return Decision(kind=kind, pieces=pieces, notes=doubts if kind is not Kind.LABELS else ())


def _as_declared(
    name: str, pieces: Mapping[str, RawColumn], declared: Declaration, *, form_by_schema: bool
) -> Decision:
    """Read a column as the schema says; where no row may be asked how it is written, in one way for all."""
    kind = _KINDS.get(declared.type, Kind.LABELS)
    notes: tuple[str, ...] = ()
    if kind in _USUAL and declared.written is None and not form_by_schema:
        pieces, notes = _agree(name, pieces, kind, whole=declared.type == "integer")
    elif kind in _USUAL:
        comma = NumberForm(mark=",")
        chosen = dict(pieces)
        for role, piece in pieces.items():
            if isinstance(piece, Texts):  # no row decides what another one says
                may_comma = declared.written is None and kind is Kind.NUMBER and piece.comma
                usual = comma if may_comma and comma in piece.ways else _USUAL[kind]
                chosen[role] = replace(piece, form=declared.written or usual)
        pieces = chosen
    return Decision(kind=kind, pieces=pieces, notes=notes)


def _reconcile(name: str, holding: list[RawColumn], kinds: set[Kind]) -> Kind:
    """Find the kind that tables which differ can share."""
    texts = all(isinstance(piece, Texts) for piece in holding)
    if Kind.LABELS in kinds and (texts or kinds <= {Kind.LABELS, Kind.TEXT, Kind.NUMBER, Kind.BOOLEAN}):
        return Kind.LABELS
    if kinds == {Kind.TEXT, Kind.NUMBER}:
        return _text_or_number(name, holding)
    if kinds == {Kind.TEXT, Kind.BOOLEAN}:
        return Kind.TEXT if any(written.booleans(piece)[1].any() for piece in holding) else Kind.BOOLEAN
    if kinds == {Kind.NUMBER, Kind.BOOLEAN}:
        for piece in holding:
            written.refuse(name, piece, written.booleans(piece)[1], "true or false (or 1 or 0)")
        return Kind.BOOLEAN
    if kinds in ({Kind.TEXT, Kind.MOMENT}, {Kind.TEXT, Kind.TIME}):
        kind = (kinds - {Kind.TEXT}).pop()
        for piece in holding:
            written.refuse(name, piece, written.ticks(piece, kind).bad, written.expected(piece, kind))
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
        bad = written.numbers(piece)[1]
        strays = len(np.unique(piece.codes[bad]))
        if strays and not (readable and piece is holding[0] and strays > _STRAY):
            expected = written.expected(piece, Kind.NUMBER)
            written.refuse(name, piece, bad, f"{expected}, as in another table,")
        if strays:
            return Kind.TEXT
    return Kind.NUMBER


def _markers(piece: RawColumn) -> list[str]:
    """Return labels that may mean missing, if enough rows share them to be shown.

    Words known to mean it, and the few words that keep a column from being numbers.
    """
    if not isinstance(piece, Texts):
        return []
    suspect = arrow.is_missing_word(piece.words) | arrow.matches(piece.words, r"^(\?|-|\.)$")
    bad = piece.numbers[1]
    few = bad.sum() <= _STRAY and piece.counts[~bad].sum() > piece.counts[bad].sum()
    if piece.verbatim and few and not arrow.has_leading_zero(piece.words):
        suspect |= bad & ~arrow.matches(piece.words, r"\d")  # V57 among 250 and 401 is a code like these
    suspect &= ~arrow.matches(piece.words, _POOLED)
    found = np.flatnonzero(suspect & (piece.counts >= LEAST_SHARED))
    return [shown(piece.words[int(position)].as_py()) for position in found]


def _agree(
    name: str, pieces: Mapping[str, RawColumn], kind: Kind | None = None, *, whole: bool = False
) -> tuple[Mapping[str, RawColumn], tuple[str, ...]]:
    """Give every piece the way it is read by: its own, and where it has several, the one of another table.

    With a ``kind`` that was declared, other ways do not count; ``whole`` numbers have no decimals. Notes say
    what the user should know about it.
    """
    texts = {role: piece for role, piece in pieces.items() if isinstance(piece, Texts)}
    fitting = {role: _of_kind(piece.ways, kind) for role, piece in texts.items()}
    if whole:
        fitting = {
            role: tuple(form for form in forms if isinstance(form, NumberForm) and form.group) or forms
            for role, forms in fitting.items()
        }
    notes: tuple[str, ...] = ()
    if kind is None and any(_is_compact(form) for forms in fitting.values() for form in forms):
        digits = Kind.MOMENT if _are_dates(pieces) else Kind.NUMBER
        notes = () if digits is Kind.MOMENT else (_NUMBER_NOT_DATE.format(name=quoted(name)),)
        fitting = {
            role: _of_kind(forms, digits) if any(map(_is_compact, forms)) else forms
            for role, forms in fitting.items()
        }
    sure = [forms[0] for forms in fitting.values() if len(forms) == 1]
    chosen: dict[str, RawColumn] = dict(pieces)
    for role, piece in texts.items():
        forms = fitting[role]
        known = [form for form in forms if _order(form) in map(_order, sure)]
        # A text that fits no way is read in one of another's, so that the rows that do not fit can be named.
        borrowed = (*_of_kind(sure, kind), *(() if kind is None else (_USUAL[kind],)))
        way = next(iter((*(known or forms), *borrowed)), None)
        if way is not None and way != piece.way:
            chosen[role] = replace(piece, form=way)
        if len(forms) > 1 and not known:
            notes = (_doubt(name, *forms),)
            sure.append(forms[0])  # the tables after this one are read alike
    return chosen, notes


_USUAL: Mapping[Kind, Form] = {
    Kind.NUMBER: NumberForm(),
    Kind.MOMENT: MomentForm(),
    Kind.TIME: MomentForm(date=""),
}
"""How values of each kind are written where nobody says otherwise."""


def _kind_of(form: Form) -> Kind:
    if isinstance(form, NumberForm):
        return Kind.NUMBER
    return Kind.MOMENT if form.date else Kind.TIME


def _of_kind(forms: Sequence[Form], kind: Kind | None) -> tuple[Form, ...]:
    return tuple(form for form in forms if kind is None or _kind_of(form) is kind)


def _is_compact(form: Form) -> bool:
    return isinstance(form, MomentForm) and form.date == COMPACT


def _are_dates(pieces: Mapping[str, RawColumn]) -> bool:
    """Whether numbers such as 20201231 are dates: no table holds other numbers, and one alone says little."""
    held = [piece for piece in pieces.values() if has_values(piece)]
    digits = [piece for piece in held if isinstance(piece, Texts) and any(map(_is_compact, piece.ways))]
    others = {piece.kind for piece in held if piece not in digits}
    if others & {Kind.NUMBER, Kind.MOMENT}:
        return Kind.NUMBER not in others
    return max(len(piece.held) for piece in digits) > 1


def _order(form: Form) -> tuple[str, ...]:
    """Return what is equal of two ways that read a word alike, whatever units and times stand beside it."""
    if isinstance(form, NumberForm):
        return form.mark, form.group
    return (form.date.replace("DD", "D").replace("MM", "M"),)


def _doubt(name: str, taken: Form, other: Form) -> str:
    """Say what a column was taken for that may be meant in two ways."""
    if isinstance(taken, MomentForm) and isinstance(other, MomentForm):
        why = "no day is above 12, so days and months cannot be told apart"
        other_type = "datetime" if other.has_time else "date"
        known, entry = template_of(taken), f"{{type: {other_type}, form: {template_of(other)}}}"
    else:
        assert isinstance(taken, NumberForm)
        assert isinstance(other, NumberForm)
        mark = {".": "point", ",": "comma"}[taken.group or taken.mark]
        why = f"wherever its numbers have a {mark}, three digits follow, which may be decimals or thousands"
        known = "thousands" if taken.group else "decimals"
        kind, digits = ("real", 3) if taken.group else ("integer", 0)
        entry = f'{{type: {kind}, form: "{example_of(other, digits)}"}}'
    return (
        f"Column {quoted(name)}: {why}; it was taken for {known}. If that is wrong, declare it in a schema: "
        f"{entry}."
    )


def _unread(name: str, pieces: Sequence[RawColumn]) -> tuple[str, ...]:
    """Say that a column was taken for labels although most of its rows look like numbers, dates or times."""
    leader = next((piece for piece in pieces if isinstance(piece, Texts)), None)
    listed = any(isinstance(piece, Texts) and piece.levels for piece in pieces)  # somebody meant labels
    if leader is None or listed or _share(leader, lambda words: arrow.matches(words, r"\d")) <= _MOST:
        return ()
    looks: dict[str, Callable[[pa.Array], Bools]] = {
        "numbers": number_form.looks_like_number,
        "dates": moments.looks_like_date,
        "times of day": moments.looks_like_time,
    }
    if _are_codes(leader):
        return ()
    what = next((what for what, flagged in looks.items() if _share(leader, flagged) > _MOST), None)
    return () if what is None else (_UNREAD.format(name=quoted(name), what=what),)


def _are_codes(piece: Texts) -> bool:
    """Whether what keeps a column from being numbers are mostly codes themselves, as V57 and E11 are."""
    odd = ~number_form.looks_like_number(piece.words) & arrow.matches(piece.words, r"\w")
    coded = arrow.matches(piece.words, r"^[A-Za-z]{1,3}[-.]?\d")
    return bool(piece.counts[odd & coded].sum() * 2 > piece.counts[odd].sum())


def _share(piece: Texts, flagged: Callable[[pa.Array], Bools]) -> float:
    """Return the share of rows that hold a flagged word."""
    return float(piece.counts[flagged(piece.words)].sum() / max(piece.counts.sum(), 1))


DOMAIN_HINT = "Correct them, or what the schema declares."


def found(cells: Sequence[Floats]) -> tuple[float, float]:
    """Return the smallest and the largest value of all tables; zeros if there is none."""
    held = [known for each in cells if len(known := each[~np.isnan(each)])] or [np.zeros(1)]
    return min(float(each.min()) for each in held), max(float(each.max()) for each in held)


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
        written.refuse(name, piece, (each < low) | (each > high), _expected(declared), DOMAIN_HINT)
    held = found([*cells, np.array([bound / step for bound in declared.bounds])])
    return (held[0] if declared.low is None else low, held[1] if declared.high is None else high)


def _expected(declared: Declaration) -> str:
    def write(bound: float) -> str:
        if what == "numbers":
            return f"{bound:.15g}"
        moment = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=bound)  # noqa: DTZ001 - as it was written
        return moment.date().isoformat() if bound % STEPS["days"] == 0 else moment.isoformat(" ")

    what = "dates" if declared.type in ("date", "datetime") else "numbers"
    if declared.high is None:
        return f"{what} from {write(declared.low or 0)} on"
    if declared.low is None:
        return f"{what} up to {write(declared.high)}"
    return f"{what} from {write(declared.low)} to {write(declared.high)}"
