"""Which way of writing is each table's column read by? Tables help each other where one alone cannot tell.

Where even all of them cannot, the likeliest is taken, and a note says so and how to say what was meant.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import pyarrow as pa

from tabveil.core.check import quoted
from tabveil.tables.reading import arrow, moments, number_form
from tabveil.tables.reading.arrow import Bools
from tabveil.tables.reading.moments import COMPACT, MomentForm, template_of
from tabveil.tables.reading.number_form import NumberForm, example_of
from tabveil.tables.reading.raw_column import Form, Kind, RawColumn, Texts, has_values

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


@dataclass(frozen=True, kw_only=True, eq=False)
class AgreedPieces:
    """The pieces of a column with the ways they are read by, and what the user should know about them."""

    pieces: Mapping[str, RawColumn]
    notes: tuple[str, ...] = ()


def agree(
    name: str, pieces: Mapping[str, RawColumn], kind: Kind | None = None, *, whole: bool = False
) -> AgreedPieces:
    """Give every piece the way it is read by: its own, and where it has several, the one of another table.

    With a ``kind`` that was declared, other ways do not count; ``whole`` numbers have no decimals.
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
        known = [form for form in forms if any(_alike(form, other) for other in sure)]
        way = next(iter(known or forms), None) or _borrowed(sure, kind)
        if way is not None and way != piece.way:
            chosen[role] = replace(piece, form=way)
        if len(forms) > 1 and not known:
            notes = (_doubt(name, *forms),)
            sure.append(forms[0])  # the tables after this one are read alike
    return AgreedPieces(pieces=chosen, notes=notes)


def given(pieces: Mapping[str, RawColumn], form: Form) -> Mapping[str, RawColumn]:
    """Read every text in the way that a schema says."""
    return {
        role: replace(piece, form=form) if isinstance(piece, Texts) else piece
        for role, piece in pieces.items()
    }


def fixed(pieces: Mapping[str, RawColumn], kind: Kind) -> Mapping[str, RawColumn]:
    """Read every text in a way in which no row decides what another one says."""
    chosen: dict[str, RawColumn] = dict(pieces)
    for role, piece in pieces.items():
        if isinstance(piece, Texts):
            comma = NumberForm(mark=",")
            has_comma = kind is Kind.NUMBER and piece.comma and comma in piece.ways
            chosen[role] = replace(piece, form=comma if has_comma else _USUAL[kind])
    return chosen


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


def _borrowed(sure: Sequence[Form], kind: Kind | None) -> Form | None:
    """Return how a text that fits no way should be read, so that the rows that do not fit can be named."""
    other = next((form for form in sure if kind is None or _kind_of(form) is kind), None)
    return other if other is not None or kind is None else _USUAL[kind]


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


def _alike(one: Form, other: Form) -> bool:
    """Whether two ways read a word alike, whatever units and times stand beside it."""
    match one, other:
        case NumberForm(), NumberForm():
            return (one.mark, one.group) == (other.mark, other.group)
        case MomentForm(), MomentForm():
            return _order(one) == _order(other)
        case _:
            return False


def _order(form: MomentForm) -> str:
    return form.date.replace("DD", "D").replace("MM", "M")


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


def unread(name: str, pieces: Sequence[RawColumn]) -> tuple[str, ...]:
    """Say that a column was taken for labels although most of its rows look like numbers, dates or times."""
    leader = next((piece for piece in pieces if isinstance(piece, Texts)), None)
    listed = any(isinstance(piece, Texts) and piece.levels for piece in pieces)  # somebody meant labels
    if leader is None or listed or _share(leader, lambda words: arrow.matches(words, r"\d")) <= _MOST:
        return ()
    alike = (what for what, looks_like in _KINDS.items() if _share(leader, looks_like) > _MOST)
    return tuple(_UNREAD.format(name=quoted(name), what=what) for what in islice(alike, 1))


_KINDS: Mapping[str, Callable[[pa.Array], Bools]] = {
    "numbers": number_form.looks_like_number,
    "dates": moments.looks_like_date,
    "times of day": moments.looks_like_time,
}


def _share(piece: Texts, flagged: Callable[[pa.Array], Bools]) -> float:
    """Return the share of rows that hold a flagged word."""
    return float(piece.counts[flagged(piece.words)].sum() / max(piece.counts.sum(), 1))
