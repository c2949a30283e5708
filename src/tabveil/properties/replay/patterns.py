"""Values that identify people, found in any text by their form and their check digits.

Every pattern is bounded, so that the time is linear in the text whatever stands in it.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tabveil.properties.replay import checksums
from tabveil.properties.replay.kinds import Kind
from tabveil.properties.replay.phones import is_phone, phone_key


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
class _Pattern:
    """A form, and what tells real ones from others of this form."""

    kind: Kind
    form: re.Pattern[str]
    sign: str = ""  # a character that every value has, if there is one: most texts lack it
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
        sign="@",
        key=str.casefold,
    ),
    _Pattern(
        kind="account number",
        form=_form(r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?"),
        valid=checksums.is_iban,
    ),
    _Pattern(
        kind="national identifier",
        form=_form(r"[1278] ?\d{2} ?\d{2} ?(?:\d{2}|2[AB]) ?\d{3} ?\d{3} ?\d{2}"),
        valid=checksums.is_french,
    ),
    _Pattern(
        kind="account number",
        form=_form(
            r"(?<!\d[ -])(?:\d{13,19}|\d{4}([ -])\d{4}\1\d{4}\1\d{1,7}|\d{4}([ -])\d{6}\2\d{5})(?![ -]\d)"
        ),
        valid=checksums.is_card,
    ),
    _Pattern(
        kind="phone number",
        form=re.compile(r"(?<![\w+])\+\d(?:[ ()./-]{0,3}\d){7,14}(?!\w)"),
        sign="+",
        key=lambda text: phone_key(text) if is_phone(text) else "",
    ),
    _Pattern(
        kind="national identifier",
        form=_form(r"\d{3}-\d{2}-\d{4}"),
        sign="-",
        valid=checksums.is_us_social_security,
    ),
    _Pattern(kind="national identifier", form=_form(r"\d{3} \d{3} \d{4}"), valid=checksums.is_nhs),
    _Pattern(kind="national identifier", form=_form(r"\d{4} \d{4} \d{4}"), valid=checksums.is_aadhaar),
    _Pattern(
        kind="national identifier",
        form=_form(r"\d{3}\.\d{3}\.\d{3}-\d{2}"),
        sign="-",
        valid=checksums.is_cpf,
    ),
    _Pattern(
        kind="national identifier",
        form=_form(r"\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}"),
        sign="-",
        valid=checksums.is_belgian,
    ),
    _Pattern(kind="national identifier", form=_form(r"\d{6}[-+]\d{4}"), valid=checksums.luhn),
    _Pattern(
        kind="national identifier", form=_form(r"(?:\d{8}|[XYZ]-?\d{7})-?[A-Z]"), valid=checksums.is_spanish
    ),
    _Pattern(
        kind="national identifier",
        form=_form(r"[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]"),
        valid=checksums.is_italian,
    ),
    _Pattern(
        kind="national identifier",
        form=_form(r"(?![DFIQUV])[A-Z](?![DFIQUVO])[A-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]"),  # British, no check
    ),
    _Pattern(kind="national identifier", form=_form(r"\d{17}[\dX]"), valid=checksums.is_chinese),
    _Pattern(
        kind="postal address",
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

_TITLE = r"Mrs?|Ms|Miss|Dr|Prof|Herrn?|Frau|Mme|Mlle|Sr|Sra|Signora?"
_TITLED = re.compile(rf"(?<!\w)(?:{_TITLE})\.?,? ((?:[^\W\d_a-z][\w'\u2019-]{{0,30}}(?: |(?!\w))){{2,3}})")
_DIGIT = re.compile(r"\d")


def values_in(text: str) -> Iterator[Found]:
    """Find what identifies people, names left out.

    >>> [(found.kind, found.key) for found in values_in("To Jo@X.org: DE89 3704 0044 0532 0130 00.")]
    [('e-mail address', 'jo@x.org'), ('account number', 'DE89370400440532013000')]
    """
    has_digits = _DIGIT.search(text) is not None
    taken = bytearray(len(text))
    for pattern in _PATTERNS:
        if pattern.sign not in text or (pattern.kind != "e-mail address" and not has_digits):
            continue
        for match in pattern.form.finditer(text):
            key = pattern.key(match[0])
            start, end = match.span()
            if key and not any(taken[start:end]) and pattern.valid(key):
                taken[start:end] = b"\1" * (end - start)
                yield Found(kind=pattern.kind, key=key)


def titled_names(text: str) -> Iterator[str]:
    """Find full names that follow a title, such as Ms. Anna Schmidt."""
    for match in _TITLED.finditer(text):
        yield match[1].strip()
