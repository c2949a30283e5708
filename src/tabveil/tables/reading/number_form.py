"""Numbers as people write them: 12,345.67 and 1.324,85, € 5 and 5 %.

All numbers of a column are taken to be written in one way. Where several ways fit every number, as both fit
1.324, nobody can tell which is meant by looking at them.
"""

import re
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from tabveil.tables.reading import arrow
from tabveil.tables.reading.arrow import Bools

SPACES = (" ", "\u00a0", "\u202f")
MARKS = (".", ",")
GROUPS = ("", ",", ".", "'", "\u2019", *SPACES)

LONGEST_UNIT = 8
"""Letters of a unit, with the space beside it."""

_CODES = (
    "AED|ARS|AUD|BGN|BRL|CAD|CHF|CLP|CNY|COP|CZK|DKK|EUR|GBP|HKD|HUF|IDR|ILS|INR|ISK|JPY|KRW|MXN|MYR|NOK|NZD|"
    "PHP|PLN|RON|RUB|SAR|SEK|SGD|THB|TRY|TWD|UAH|USD|VND|ZAR"
)
_UNIT = rf"(?:%|\p{{Sc}}|{_CODES})"
_SPACE = f"[{''.join(SPACES)}]"
_MARK = f"[{''.join(GROUPS)}]"
_DIGITS = rf"(?P<digits>\d(?:(?:\d|{_MARK})*\d)?)"
_WORD = rf"^(?P<lead>[+-]?)(?P<before>{_UNIT}{_SPACE}?|)(?P<sign>[+-]?){_DIGITS}(?P<after>{_SPACE}?{_UNIT}|)$"
_LOOKS = (
    rf"^[+-]?(?:{_UNIT}{_SPACE}?)?[+-]?(?:\d{{1,3}}(?:{_MARK}\d{{3}})+|\d+)"
    rf"(?:[.,]\d+)?(?:[eE][+-]?\d+)?(?:{_SPACE}?{_UNIT})?$"
)
_EXAMPLE = re.compile(rf"(?P<lead>-?)(?P<before>\D*?)(?P<sign>-?){_DIGITS}(?P<after>\D*)", re.ASCII)
_NO_UNIT = '+-"' + "".join(GROUPS)
_THREE = 3


@dataclass(frozen=True, kw_only=True)
class NumberForm:
    """One way of writing numbers."""

    mark: str = "."  # before the decimals
    group: str = ""  # between thousands
    before: str = ""  # a unit, with the space that follows it
    after: str = ""  # a unit, with the space before it
    sign_inside: bool = False  # € -5, not -€ 5

    @property
    def is_plain(self) -> bool:
        """Whether this is how programs write numbers."""
        return self == NumberForm()


def looks_like_number(words: pa.Array) -> Bools:
    """Flag the words that are numbers in some way of writing; none where any is a code such as 00123."""
    return arrow.matches(words, _LOOKS) & (not arrow.has_leading_zero(words))


def ways_of_plain(words: pa.Array) -> tuple[NumberForm, ...]:
    """Return the ways that numbers such as programs write them may be meant, the likeliest first.

    >>> [form.mark for form in ways_of_plain(pa.array(["1.324", "12.500"]))]
    ['.', ',']
    >>> [form.mark for form in ways_of_plain(pa.array(["1.324", "0.5"]))]
    ['.']
    """
    plain, thousands = NumberForm(), NumberForm(mark=",", group=".")
    few = words.slice(0, 3)  # most columns show in the first that they are no thousands
    if not _fits(few, thousands) or not arrow.matches(words, r"\.").any() or not _fits(words, thousands):
        return (plain,)
    return (thousands, plain) if _zeros_differ(words) else (plain, thousands)


def ways(words: pa.Array, *, comma: bool) -> tuple[NumberForm, ...]:
    """Return the ways in which all distinct words are numbers, the likeliest first; none if there is no way.

    Numbers as programs write them are no business of this function. The ``comma`` may be free for decimals:
    it separates no cells in the file.

    >>> ways(pa.array(["€ 1.324,85", "€ 12,00"]), comma=False)
    (NumberForm(mark=',', group='.', before='€ ', after='', sign_inside=False),)
    """
    if not arrow.matches(words.slice(0, 3), _WORD).all():
        return ()
    parts = pc.extract_regex(words, _WORD)
    if parts.null_count:
        return ()
    lead, before, sign, digits, after = (
        pc.struct_field(parts, name) for name in ("lead", "before", "sign", "digits", "after")
    )
    units = [pc.unique(part).to_pylist() for part in (before, after)]
    outside, inside = (arrow.matches(part, "-") for part in (lead, sign))
    both_signs = (arrow.matches(lead, ".") & arrow.matches(sign, ".")).any()
    if both_signs or any(len(unit) > 1 for unit in units) or (outside.any() and inside.any()):
        return ()
    form = NumberForm(before=units[0][0], after=units[1][0], sign_inside=bool(inside.any()))
    if not (comma or form.before or form.after) and _may_be_lists(digits):
        return ()
    marks = _marks(digits, comma=comma)
    is_money = any(unit.strip() not in ("", "%") for unit in (form.before, form.after))
    if is_money or _zeros_differ(digits):  # money has thousands rather than three decimals
        marks = sorted(marks, key=lambda pair: not pair[1])
    found = tuple(replace(form, mark=mark, group=group) for mark, group in marks)
    return () if found and found[0].is_plain else found  # whoever has types wrote it as text on purpose


def _marks(digits: pa.Array, *, comma: bool) -> list[tuple[str, str]]:
    """Return the decimal marks and the marks between thousands that fit all, the likeliest first."""
    odd = {mark for mark in GROUPS if mark not in ("", *MARKS) and arrow.matches(digits, mark).any()}
    point, has_comma = (bool(arrow.matches(digits, f"[{mark}]").any()) for mark in MARKS)
    if len(odd) > 1:
        return []
    if odd:
        candidates = [(",", *odd)] if has_comma else [(".", *odd)]
    elif point and has_comma:
        candidates = [(".", ","), (",", ".")]
    elif has_comma:
        candidates = [(",", ""), (".", ",")] if comma else [(".", ","), (",", "")]
    else:
        candidates = [(".", ""), (",", ".")] if point else [(".", "")]
    return [(mark, group) for mark, group in candidates if _fits(digits, NumberForm(mark=mark, group=group))]


def _fits(digits: pa.Array, form: NumberForm) -> bool:
    """Whether all digits are grouped as they must be, and none is written like a code."""
    whole = rf"[1-9]\d{{0,2}}(?:[{form.group}]\d{{3}})*" if form.group else r"[1-9]\d*"
    return bool(arrow.matches(digits, rf"^[+-]?(?:0|{whole})(?:[{form.mark}]\d+)?$").all())


def _zeros_differ(digits: pa.Array) -> bool:
    """Whether 1.250 stands beside 12: whoever wrote the zero of decimals would have written 12.000."""
    return bool(arrow.matches(digits, "[.,].*0$").any() and not arrow.matches(digits, "[.,]").all())


def _may_be_lists(digits: pa.Array) -> bool:
    """Whether these may be lists of answers: 1,3 for the first and the third, and never the larger first."""
    parts = pc.extract_regex(digits, r"^(?P<first>\d+),(?P<second>\d+)$")
    first, second = (pc.struct_field(parts.drop_null(), name) for name in ("first", "second"))
    decimals = arrow.matches(first, "^0") | arrow.matches(second, r"^0|^\d{3}$")
    rising = arrow.numbers(first)[0] < arrow.numbers(second)[0]
    return len(first) > 0 and bool(rising.all()) and not decimals.any()


def to_plain(words: pa.Array, form: NumberForm) -> pa.Array:
    """Write numbers of this form as programs do; null where a word is none.

    Marks between thousands and units may be left out: what a word means follows from the form alone.

    >>> euros = NumberForm(mark=",", group=".", before="€ ")
    >>> to_plain(pa.array(["-€ 1.324,85", "5", "1,5 %"]), euros).to_pylist()
    ['-1324.85', '5', None]
    """
    if form.is_plain:
        return words
    before, after = (
        f"(?:{_SPACE}*{_literal(unit.strip())}{_SPACE}*)?" if unit.strip() else ""
        for unit in (form.before, form.after)
    )
    grouped = rf"\d{{1,3}}(?:[{form.group}]\d{{3}})+|" if form.group else ""
    parts = pc.extract_regex(
        words,
        rf"^(?P<lead>[+-]?){before}(?P<sign>[+-]?)(?P<whole>{grouped}\d+)(?:[{form.mark}](?P<rest>\d*))?{after}$",
    )
    lead, sign, whole, rest = (pc.struct_field(parts, name) for name in ("lead", "sign", "whole", "rest"))
    if form.group:
        whole = pc.replace_substring(whole, form.group, "")
    written = arrow.joined(words.type, lead, sign, whole, pc.if_else(pc.equal(rest, ""), "", "."), rest)
    twice = pa.array(arrow.matches(lead, ".") & arrow.matches(sign, "."))
    written = pc.if_else(twice, pa.scalar(None, written.type), written)
    if form.mark == ".":
        plain = pa.array(arrow.matches(words, arrow.NUMBER))  # also with an exponent
        written = pc.coalesce(written, pc.if_else(plain, words, pa.scalar(None, words.type)))
    return written


def from_plain(numbers: pa.Array, form: NumberForm) -> pa.Array:
    """Write numbers that programs wrote in this form.

    >>> from_plain(pa.array(["-1324.85", "5"]), NumberForm(mark=",", group=".", before="€ ")).to_pylist()
    ['-€ 1.324,85', '€ 5']
    """
    if form.is_plain:
        return numbers
    sign = pc.if_else(pc.starts_with(numbers, "-"), "-", "")
    written = pc.replace_substring_regex(numbers, "^-", "")
    while form.group and arrow.matches(written, r"^\d{4,}(?:[._]|$)").any():
        written = pc.replace_substring_regex(written, r"^(\d+)(\d{3})([._].*)?$", r"\1_\2\3")
    written = pc.replace_substring(pc.replace_substring(written, ".", form.mark), "_", form.group)
    first, second = (form.before, sign) if form.sign_inside else (sign, form.before)
    return arrow.joined(numbers.type, first, second, written, form.after)


def of_example(example: str, *, whole: bool, mark: str = ".") -> NumberForm | None:
    """Return the way of writing that an example shows, or None if it shows none, or more than one.

    ``whole`` numbers have no decimals, so that 1,234 can only be one thing; ``mark`` is what stands before
    decimals where the example has none.

    >>> of_example("1.234,50 EUR", whole=False)
    NumberForm(mark=',', group='.', before='', after=' EUR', sign_inside=False)
    >>> of_example("1.234", whole=False) is None
    True
    """
    found = _EXAMPLE.fullmatch(example)
    if found is None or not all(is_unit(found[side]) for side in ("before", "after")):
        return None
    shown = _marks(pa.array([found["digits"]], pa.large_string()), comma=True)
    if not any(letter in found["digits"] for letter in "".join(GROUPS)):
        shown = [(mark, "")]
    if whole:
        shown = [(before, group) for before, group in shown if before not in found["digits"]]
    if len(shown) != 1:
        return None
    return NumberForm(
        mark=shown[0][0],
        group=shown[0][1],
        before=found["before"],
        after=found["after"],
        sign_inside=bool(found["sign"] and found["before"]),
    )


def example_of(form: NumberForm, digits: int) -> str:
    """Show a way of writing by an example with so many decimals: the inverse of :func:`of_example`.

    >>> example_of(NumberForm(mark=",", group=".", after=" EUR"), 2)
    '1.234,50 EUR'
    """
    thousands = form.group or digits == _THREE  # 12.500 might be read as thousands
    shown = f"{1234.5 if thousands else 12.5:.{digits}f}" if digits else "1234" if thousands else "12"
    return str(from_plain(pa.array([f"-{shown}" if form.sign_inside else shown]), form)[0].as_py())


def is_unit(unit: str) -> bool:
    """Whether a text may stand beside a number without being taken for a part of it."""
    held = unit.strip("".join(SPACES))
    beside = all(letter.isprintable() and letter not in _NO_UNIT and not letter.isdigit() for letter in held)
    return unit == "" or (bool(held) and beside and len(unit) <= LONGEST_UNIT)


def _literal(unit: str) -> str:
    return "".join(rf"\x{{{ord(letter):x}}}" for letter in unit)
