"""Values that identify people, found in any text by their form and their check digits.

Every pattern is bounded, so that the time is linear in the text whatever stands in it. Most text is far from
any digit, and patterns are tried only around those places where one of them could fit.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tabveil.metrics.properties.replay import checksums
from tabveil.metrics.properties.replay.kinds import Kind
from tabveil.metrics.properties.replay.phones import is_phone, phone_key


@dataclass(frozen=True, kw_only=True)
class Found:
    """A value as it is compared: without spaces, marks and differences of case."""

    kind: Kind
    key: str


def compact(text: str) -> str:
    """Return the letters and digits of a text."""
    return _MARKS.sub("", text)


_MARKS = re.compile(r"[\W_]")


def _capitals(text: str) -> str:
    return compact(text).upper()


@dataclass(frozen=True, kw_only=True)
class _Anchor:
    """What every value of some patterns holds, and how many characters of it may stand on either side."""

    form: re.Pattern[str]
    before: int
    after: int

    def places(self, text: str) -> list[tuple[int, int]]:
        """Return the parts of a text where values can be; none overlaps another."""
        found: list[tuple[int, int]] = []
        for match in self.form.finditer(text):
            start, end = max(match.start() - self.before, 0), match.end() + self.after
            if found and start <= found[-1][1]:
                found[-1] = (found[-1][0], end)
            else:
                found.append((start, end))
        return found


_AT = _Anchor(form=re.compile("@"), before=70, after=620)
_PLUS = _Anchor(form=re.compile(r"\+"), before=1, after=70)
_NUMBER_PLACES = _Anchor(form=re.compile(r"\d(?:\D{0,2}\d){5,}"), before=40, after=40)
_DIGITS = _Anchor(form=re.compile(r"\d+"), before=50, after=140)


@dataclass(frozen=True, kw_only=True)
class _Pattern:
    """A form, and what tells real ones from others of this form."""

    kind: Kind
    form: re.Pattern[str]
    around: "_Anchor"
    valid: Callable[[str], bool] = lambda _: True  # asked about the key
    key: Callable[[str], str] = _capitals


def _form(pattern: str, flags: int = 0) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w+])(?:{pattern})(?!\w)", flags)


_WORD = r"[^\W\d_][\w'\u2019-]{0,30}"
_NUMBER = r"\d{1,5} ?[a-zA-Z]?"
_STREET = (
    r"street|st\.?|road|rd\.?|avenue|ave\.?|lane|ln\.?|drive|boulevard|blvd\.?|court|place|square|terrace"
    r"|close"
)

_PATTERNS = (
    _Pattern(
        kind="e-mail address",
        form=re.compile(r"(?<![\w.%+-])[\w.%+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?![\w-])"),
        around=_AT,
        key=str.casefold,
    ),
    _Pattern(
        kind="account number",
        around=_NUMBER_PLACES,
        form=_form(r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?"),
        valid=checksums.is_iban,
    ),
    _Pattern(
        kind="national identifier",
        around=_NUMBER_PLACES,
        form=_form(r"[1278] ?\d{2} ?\d{2} ?(?:\d{2}|2[AB]) ?\d{3} ?\d{3} ?\d{2}"),
        valid=checksums.is_french,
    ),
    _Pattern(
        kind="account number",
        around=_NUMBER_PLACES,
        form=_form(
            r"(?<!\d[ -])(?:\d{13,19}|\d{4}([ -])\d{4}\1\d{4}\1\d{1,7}|\d{4}([ -])\d{6}\2\d{5})(?![ -]\d)"
        ),
        valid=checksums.is_card,
    ),
    _Pattern(
        kind="phone number",
        form=re.compile(r"(?<![\w+])\+\d(?:[ ()./-]{0,3}\d){7,14}(?!\w)"),
        around=_PLUS,
        key=lambda text: phone_key(text) if is_phone(text) else "",
    ),
    _Pattern(
        kind="national identifier",
        form=_form(r"\d{3}-\d{2}-\d{4}"),
        around=_NUMBER_PLACES,
        valid=checksums.is_us_social_security,
    ),
    _Pattern(
        kind="national identifier",
        around=_NUMBER_PLACES,
        form=_form(r"\d{3} \d{3} \d{4}"),
        valid=checksums.is_nhs,
    ),
    _Pattern(
        kind="national identifier",
        around=_NUMBER_PLACES,
        form=_form(r"\d{4} \d{4} \d{4}"),
        valid=checksums.is_aadhaar,
    ),
    _Pattern(
        kind="national identifier",
        form=_form(r"\d{3}\.\d{3}\.\d{3}-\d{2}"),
        around=_NUMBER_PLACES,
        valid=checksums.is_cpf,
    ),
    _Pattern(
        kind="national identifier",
        form=_form(r"\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}"),
        around=_NUMBER_PLACES,
        valid=checksums.is_belgian,
    ),
    _Pattern(
        kind="national identifier", around=_NUMBER_PLACES, form=_form(r"\d{6}[-+]\d{4}"), valid=checksums.luhn
    ),
    _Pattern(
        kind="national identifier",
        around=_NUMBER_PLACES,
        form=_form(r"(?:\d{8}|[XYZ]-?\d{7})-?[A-Z]"),
        valid=checksums.is_spanish,
    ),
    _Pattern(
        kind="national identifier",
        around=_NUMBER_PLACES,
        form=_form(r"[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]"),
        valid=checksums.is_italian,
    ),
    _Pattern(
        kind="national identifier",
        around=_NUMBER_PLACES,
        form=_form(r"(?![DFIQUV])[A-Z](?![DFIQUVO])[A-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]"),  # British, no check
    ),
    _Pattern(
        kind="national identifier",
        around=_NUMBER_PLACES,
        form=_form(r"\d{17}[\dX]"),
        valid=checksums.is_chinese,
    ),
    _Pattern(
        kind="postal address",
        around=_DIGITS,
        form=_form(
            rf"{_NUMBER},? (?:{_WORD} ){{1,3}}(?:{_STREET})"
            rf"|[^\W\d_]{{2,30}}(?:stra(?:ß|ss)e|str\.|weg|platz|allee|gasse) {_NUMBER}"
            rf"|{_NUMBER},? (?:rue|avenue|boulevard|chemin|calle|via) (?:{_WORD} ?){{1,4}}",
            re.IGNORECASE,
        ),
        key=lambda text: compact(text).casefold(),
    ),
)
"""In this order: what one of them takes is not looked at again."""

_TITLES = ("Mr", "Ms", "Miss", "Dr", "Prof", "Herr", "Frau", "Mme", "Mlle", "Sr", "Signor")
_TITLE = r"Mrs?|Ms|Miss|Dr|Prof|Herrn?|Frau|Mme|Mlle|Sr|Sra|Signora?"
_CAPITAL = r"[^\W\d_a-z]"
_NAME = rf"{_CAPITAL}[\w'\u2019-]{{0,30}}(?: |(?!\w))"
_TITLED_IN_FULL = re.compile(rf"(?<!\w)(?:{_TITLE})\.?,? ((?:{_NAME}){{2,3}})")
_TITLED = re.compile(  # also Prof. Dr. med. J. Schmidt
    rf"(?<!\w)(?:(?:{_TITLE})\.?,? ){{1,3}}(?:[a-z]{{2,4}}\. ){{0,2}}"
    rf"((?:{_CAPITAL}\. ?){{0,3}}(?:{_NAME}){{1,3}})"
)


def values_in(text: str) -> Iterator[Found]:
    """Find what identifies people, names left out.

    >>> [(found.kind, found.key) for found in values_in("To Jo@X.org: DE89 3704 0044 0532 0130 00.")]
    [('e-mail address', 'jo@x.org'), ('account number', 'DE89370400440532013000')]
    """
    return (found for _, _, found in places_in(text))


def places_in(text: str) -> Iterator[tuple[int, int, Found]]:
    """Find what identifies people, names left out, and where it begins and ends; no two places overlap."""
    taken = bytearray(len(text))
    places = {anchor: anchor.places(text) for anchor in (_AT, _PLUS, _NUMBER_PLACES, _DIGITS)}
    for pattern in _PATTERNS:
        for first, last in places[pattern.around]:
            for match in pattern.form.finditer(text, first, last):
                key = pattern.key(match[0])
                start, end = match.span()
                if key and not any(taken[start:end]) and pattern.valid(key):
                    taken[start:end] = b"\1" * (end - start)
                    yield start, end, Found(kind=pattern.kind, key=key)


def titled_names(text: str) -> Iterator[str]:
    """Find full names that follow a title, such as Ms. Anna Schmidt."""
    if any(title in text for title in _TITLES):
        for match in _TITLED_IN_FULL.finditer(text):
            yield match[1].strip()


def titled_places(text: str) -> Iterator[tuple[int, int]]:
    """Find where a name follows a title, of one word or more: Schmidt in Ms. Schmidt.

    >>> [slice(*place) for place in titled_places("for Ms. Schmidt, by Dr Eva Li.")]
    [slice(8, 15, None), slice(23, 29, None)]
    """
    if any(title in text for title in _TITLES):
        for match in _TITLED.finditer(text):
            yield match.start(1), match.start(1) + len(match[1].rstrip())
