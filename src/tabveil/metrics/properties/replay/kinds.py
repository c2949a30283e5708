"""Kinds of values that identify people, how much each gives away, and which columns are called after them."""

import re
from collections.abc import Mapping
from typing import Literal

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
    parted = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return [token.lower() for token in re.split(r"[\W_\d]+", parted) if token]
