"""Numbers that belong to people: accounts, cards and national identifiers by their check digits, and phones.

The rules of check digits are public: ISO 13616 and 7064 (accounts), ISO/IEC 7812 (cards), and those that the
offices of each country publish. A number that was typed or drawn at random fails one of ten to one of
ninety-seven of them at best, so they tell such numbers from others, and never whether somebody really has
one. Phone numbers are told by the plans of all countries with the extra ``pii``, else by their form alone.
"""

import re
import string
from functools import cache
from typing import Any

_IBAN_COUNTRIES = {
    15: "NO",
    16: "BE",
    18: "DK FI FO GL NL",
    19: "MK SI",
    20: "AT BA EE KZ LT LU XK",
    21: "CH HR LI LV",
    22: "BG BH CR DE GB GE IE ME RS VA",
    23: "AE GI IL",
    24: "AD CZ ES MD PK RO SA SE SK TN",
    25: "PT",
    26: "IS TR",
    27: "FR GR IT MC SM",
    28: "AL AZ CY DO GT HU LB PL",
    29: "BR EG PS QA UA",
    30: "JO KW MU",
    31: "MT",
}
"""The countries by how many letters and digits their account numbers have."""
_CARD_LENGTHS = range(13, 20)
_VERHOEFF_DIHEDRAL = (
    *((0, 1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 3, 4, 0, 6, 7, 8, 9, 5), (2, 3, 4, 0, 1, 7, 8, 9, 5, 6)),
    *((3, 4, 0, 1, 2, 8, 9, 5, 6, 7), (4, 0, 1, 2, 3, 9, 5, 6, 7, 8), (5, 9, 8, 7, 6, 0, 4, 3, 2, 1)),
    *((6, 5, 9, 8, 7, 1, 0, 4, 3, 2), (7, 6, 5, 9, 8, 2, 1, 0, 4, 3), (8, 7, 6, 5, 9, 3, 2, 1, 0, 4)),
    (9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
)
_VERHOEFF_STEP = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)
_SPANISH = "TRWAGMYFPDXBNJZSQVHLCKE"
_CHINESE = "10X98765432"
_ITALIAN_ODD = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
_LEAST_DIGITS, _MOST_DIGITS = 8, 15
"""Digits of a number with its country's code (ITU-T E.164)."""
COMPARED = 9
"""Numbers are compared by so many last digits: 0171 2345678 and +49 171 2345678 are one."""

WITHOUT_PLANS = (
    "Phone numbers inside texts are told by their form alone (+ and 8 to 15 digits); with the extra pii "
    "(phonenumbers) also by the numbering plan of their country."
)


def luhn(digits: str) -> bool:
    """Check by doubling every second digit from the right (ISO/IEC 7812, annex B).

    >>> luhn("4111111111111111"), luhn("4111111111111112")
    (True, False)
    """
    doubled = (2 * int(digit) for digit in digits[-2::-2])
    return (sum(map(int, digits[::-2])) + sum(twice - 9 * (twice > 9) for twice in doubled)) % 10 == 0  # noqa: PLR2004 - two digits


def is_card(digits: str) -> bool:
    """Tell the number of a payment card."""
    return len(digits) in _CARD_LENGTHS and digits[0] in "23456" and len(set(digits)) > 1 and luhn(digits)


def is_iban(text: str) -> bool:
    """Tell an international account number, written without spaces.

    >>> is_iban("DE89370400440532013000"), is_iban("DE89370400440532013001")
    (True, False)
    """
    if text[:2] not in _IBAN_COUNTRIES.get(len(text), "").split():
        return False
    return int("".join(str(int(letter, 36)) for letter in text[4:] + text[:4])) % 97 == 1


def is_us_social_security(digits: str) -> bool:
    """Tell a number that the United States may have given: nine digits; it has no check digit."""
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    return area not in ("000", "666") and area[0] != "9" and group != "00" and serial != "0000"


def _weighted(digits: str, heaviest: int) -> int:
    return sum(int(digit) * weight for digit, weight in zip(digits, range(heaviest, 1, -1), strict=False))


def is_nhs(digits: str) -> bool:
    """Tell a number of England's health service: ten digits, by eleven."""
    return (11 - _weighted(digits, 10) % 11) % 11 == int(digits[9])


def is_aadhaar(digits: str) -> bool:
    """Tell an Indian Aadhaar number: twelve digits (Verhoeff 1969).

    >>> is_aadhaar("234123412346"), is_aadhaar("234123412347")
    (True, False)
    """
    check = 0
    for place, digit in enumerate(reversed(digits)):
        number = int(digit)
        for _ in range(place % 8):
            number = _VERHOEFF_STEP[number]
        check = _VERHOEFF_DIHEDRAL[check][number]
    return check == 0 and digits[0] not in "01"


def is_cpf(digits: str) -> bool:
    """Tell a Brazilian taxpayer's number: eleven digits, of which two check the others."""
    fits = (_weighted(digits, known + 1) * 10 % 11 % 10 == int(digits[known]) for known in (9, 10))
    return len(set(digits)) > 1 and all(fits)


def is_belgian(digits: str) -> bool:
    """Tell a Belgian national number: eleven digits, by 97; those born since 2000 have a 2 before it."""
    body, check = digits[:9], int(digits[9:])
    return check in (97 - int(body) % 97, 97 - int("2" + body) % 97)


def is_french(text: str) -> bool:
    """Tell a French social security number: fifteen digits, by 97 (2A and 2B are Corsica's departments)."""
    body = text[:13].replace("2A", "19").replace("2B", "18")
    return body.isdigit() and text[0] in "1278" and 97 - int(body) % 97 == int(text[13:])


def is_spanish(text: str) -> bool:
    """Tell a Spanish DNI or NIE: eight digits, or a letter and seven, and a letter that checks them.

    >>> is_spanish("12345678Z"), is_spanish("X1234567L"), is_spanish("12345678A")
    (True, True, False)
    """
    digits = text[:-1].translate(str.maketrans("XYZ", "012"))
    return _SPANISH[int(digits) % 23] == text[-1]


def is_italian(text: str) -> bool:
    """Tell an Italian codice fiscale: sixteen letters and digits, the last of which checks the others.

    >>> is_italian("RSSMRA85T10A562S"), is_italian("RSSMRA85T10A562T")
    (True, False)
    """
    values = [
        string.ascii_uppercase.index(letter) if letter.isalpha() else int(letter) for letter in text[:15]
    ]
    total = sum(_ITALIAN_ODD[value] for value in values[::2]) + sum(values[1::2])
    return string.ascii_uppercase[total % 26] == text[15]


def is_chinese(text: str) -> bool:
    """Tell a Chinese resident's number: seventeen digits and a check by eleven (ISO 7064)."""
    total = sum(int(digit) * (2 ** (17 - place) % 11) for place, digit in enumerate(text[:17]))
    return _CHINESE[total % 11] == text[17]


@cache
def numbering_plans() -> Any | None:  # noqa: ANN401 - an optional library
    """Return the library that knows which numbers there are, if it is installed."""
    try:
        import phonenumbers  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    return phonenumbers


def is_phone(text: str) -> bool:
    """Tell a number that is written with its country's code, such as +49 30 901820.

    >>> is_phone("+49 30 901820"), is_phone("030 901820")
    (True, False)
    """
    digits = re.sub(r"\D", "", text)
    if not text.lstrip(" (").startswith("+") or not _LEAST_DIGITS <= len(digits) <= _MOST_DIGITS:
        return False
    plans = numbering_plans()
    if plans is None:
        return True
    try:
        return bool(plans.is_valid_number(plans.parse(text, None)))
    except plans.NumberParseException:
        return False


def phone_key(text: str) -> str:
    """Return what two ways of writing one number have in common."""
    return re.sub(r"\D", "", text)[-COMPARED:]
