"""Values that identify people: their kinds, and how they are found in any text, by form and check digits."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from tabveil.metrics.properties.replay import numbers

Kind = Literal[
    "full name",
    "part of a name",
    "e-mail address",
    "postal address",
    "phone number",
    "account number",
    "national identifier",
    "identifier",
]

PLURALS: Mapping[Kind, str] = {
    "full name": "full names",
    "part of a name": "first names or surnames",
    "e-mail address": "e-mail addresses",
    "postal address": "postal addresses",
    "phone number": "phone numbers",
    "account number": "account and card numbers",
    "national identifier": "national identifiers",
    "identifier": "identifiers declared in the schema",
}

PART_OF_A_NAME = 0.1
"""What a first name or a surname alone counts; all else is a person's or a household's, and counts 1."""

NamePart = Literal["first", "last", "full"]

_FIRST = frozenset({"firstname", "forename", "givenname", "vorname", "prenom", "voornaam"})
_LAST = frozenset({"lastname", "surname", "familyname", "nachname", "familienname", "achternaam"})
_FULL = frozenset({"name", "names", "fullname"})
_WHOSE = frozenset(
    {"patient", "person", "participant", "subject", "respondent", "customer", "client", "member", "user"}
    | {"employee", "student", "contact", "holder", "full", "legal", "display", "birth", "maiden", "doctor"}
    | {"physician", "nurse", "mother", "father", "parent", "spouse", "guardian", "author"}
)
_CALLED: Mapping[Kind, frozenset[str]] = {
    "e-mail address": frozenset({"email", "mail", "emailaddress", "mailaddress"}),
    "phone number": frozenset(
        {"phone", "telephone", "tel", "mobile", "cell", "cellphone", "fax", "telefon", "handy", "phonenumber"}
        | {"telephonenumber", "mobilenumber", "faxnumber"}
    ),
    "account number": frozenset(
        {"iban", "account", "acct", "accountnumber", "accountno", "konto", "kontonummer", "cardnumber"}
        | {"creditcard", "creditcardnumber"}
    ),
    "national identifier": frozenset(
        {"ssn", "socialsecuritynumber", "nationalid", "nationalinsurancenumber", "nino", "nhsnumber", "nir"}
        | {"dni", "nie", "pesel", "bsn", "cpf", "aadhaar", "personnummer", "codicefiscale", "taxid"}
        | {"steuerid", "passport", "passportnumber", "mrn", "sozialversicherungsnummer"}
    ),
    "postal address": frozenset(
        {"address", "streetaddress", "postaladdress", "homeaddress", "street", "adresse", "anschrift"}
        | {"strasse", "straße"}
    ),
}
_NO_PLACE = frozenset({"ip", "mac", "web", "url", "bitcoin", "wallet"})
"""Addresses of something else than people."""
_FEWEST_DIGITS = 6  # of a number that belongs to one person
_PHONE_DIGITS = range(6, 16)
_TITLE_WORDS = frozenset(
    {"mr", "mrs", "ms", "miss", "dr", "prof", "herr", "herrn", "frau", "mme", "mlle", "sr", "sra", "jr"}
    | {"signor", "signora", "md", "phd"}
)
NAME_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")


def kind_called(name: str) -> Kind | None:
    """Return the kind of values, other than names, that a column is called after.

    >>> [kind_called(name) for name in ("Home_Phone", "emailAddress", "ip_address", "cost")]
    ['phone number', 'e-mail address', None, None]
    """
    tokens = _tokens(name)
    if not tokens or _NO_PLACE & set(tokens):
        return None
    endings = {"".join(tokens[start:]) for start in range(len(tokens))}
    return next((kind for kind, words in _CALLED.items() if endings & words), None)


def name_part(name: str) -> NamePart | None:
    """Say which part of people's names a column is called after.

    >>> [name_part(name) for name in ("patient_name", "First Name", "surname", "drug_name", "Name")]
    ['full', 'first', 'last', None, 'full']
    """
    tokens = _tokens(name)
    endings = {"".join(tokens[start:]) for start in range(len(tokens))}
    if endings & _FIRST:
        return "first"
    if endings & _LAST:
        return "last"
    whose = set(tokens[:-1]) <= _WHOSE
    return "full" if tokens and tokens[-1] in _FULL and whose else None


def _tokens(name: str) -> list[str]:
    name = name.rpartition(": ")[2]  # of a linked table, which stands before
    parted = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return [token.lower() for token in re.split(r"[\W_\d]+", parted) if token]


@dataclass(frozen=True, kw_only=True)
class RecognizedValue:
    """A value as it is compared: without spaces, marks and differences of case."""

    kind: Kind
    key: str


def compact(text: str) -> str:
    """Return the letters and digits of a text."""
    return _MARKS.sub("", text)


_MARKS = re.compile(r"[\W_]")


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

    form: re.Pattern[str]
    kind: Kind = "national identifier"
    around: _Anchor = _NUMBER_PLACES
    valid: Callable[[str], bool] = lambda _: True  # asked about the key
    key: Callable[[str], str] = lambda text: compact(text).upper()


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
        form=_form(r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?"),
        valid=numbers.is_iban,
    ),
    _Pattern(
        form=_form(r"[1278] ?\d{2} ?\d{2} ?(?:\d{2}|2[AB]) ?\d{3} ?\d{3} ?\d{2}"), valid=numbers.is_french
    ),
    _Pattern(
        kind="account number",
        form=_form(
            r"(?<!\d[ -])(?:\d{13,19}|\d{4}([ -])\d{4}\1\d{4}\1\d{1,7}|\d{4}([ -])\d{6}\2\d{5})(?![ -]\d)"
        ),
        valid=numbers.is_card,
    ),
    _Pattern(
        kind="phone number",
        form=re.compile(r"(?<![\w+])\+\d(?:[ ()./-]{0,3}\d){7,14}(?!\w)"),
        around=_PLUS,
        key=lambda text: numbers.phone_key(text) if numbers.is_phone(text) else "",
    ),
    _Pattern(form=_form(r"\d{3}-\d{2}-\d{4}"), valid=numbers.is_us_social_security),
    _Pattern(form=_form(r"\d{3} \d{3} \d{4}"), valid=numbers.is_nhs),
    _Pattern(form=_form(r"\d{4} \d{4} \d{4}"), valid=numbers.is_aadhaar),
    _Pattern(form=_form(r"\d{3}\.\d{3}\.\d{3}-\d{2}"), valid=numbers.is_cpf),
    _Pattern(form=_form(r"\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}"), valid=numbers.is_belgian),
    _Pattern(form=_form(r"\d{6}[-+]\d{4}"), valid=numbers.luhn),
    _Pattern(form=_form(r"(?:\d{8}|[XYZ]-?\d{7})-?[A-Z]"), valid=numbers.is_spanish),
    _Pattern(form=_form(r"[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]"), valid=numbers.is_italian),
    _Pattern(form=_form(r"(?![DFIQUV])[A-Z](?![DFIQUVO])[A-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]")),  # British
    _Pattern(form=_form(r"\d{17}[\dX]"), valid=numbers.is_chinese),
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


def values_in(text: str) -> Iterator[RecognizedValue]:
    """Find what identifies people, names left out.

    >>> [(found.kind, found.key) for found in values_in("To Jo@X.org: DE89 3704 0044 0532 0130 00.")]
    [('e-mail address', 'jo@x.org'), ('account number', 'DE89370400440532013000')]
    """
    return (found for _, _, found in places_in(text))


def places_in(text: str) -> Iterator[tuple[int, int, RecognizedValue]]:
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
                    yield start, end, RecognizedValue(kind=pattern.kind, key=key)


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


def values_of(column: str, label: str) -> Iterator[RecognizedValue]:
    """Find the values of a label: by its column's name, and by their forms."""
    kind = kind_called(column)
    key = _key_of(kind, label)
    if kind is not None and key:
        yield RecognizedValue(kind=kind, key=key)
    if kind is None or not key or kind == "postal address":
        yield from values_in(label)


def _key_of(kind: Kind | None, label: str) -> str:
    """Return what a label of a column that is called so is compared by; empty if it is none."""
    digits = sum(letter.isdigit() for letter in label)
    match kind:
        case "phone number" if digits in _PHONE_DIGITS:
            return numbers.phone_key(label)
        case "account number" | "national identifier" if digits >= _FEWEST_DIGITS:
            return compact(label).upper()
        case "postal address" if digits and len(NAME_WORD.findall(label)) > 1:
            return compact(label).casefold()
        case _:
            return ""


def without_title(label: str) -> str:
    """Return a name without titles, in the order of first name and surname.

    >>> without_title("Schmidt, Dr. Anna")
    'Anna Schmidt'
    """
    before, comma, after = label.partition(",")
    words = NAME_WORD.findall(f"{after} {before}" if comma else label)
    return " ".join(word for word in words if word.casefold() not in _TITLE_WORDS)
