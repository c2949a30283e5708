"""Phone numbers: told by the plans of all countries with the extra ``pii``, else by their form alone."""

import re
from functools import cache
from typing import Any

_LEAST, _MOST = 8, 15
"""Digits of a number with its country's code (ITU-T E.164)."""
COMPARED = 9
"""Numbers are compared by so many last digits: 0171 2345678 and +49 171 2345678 are one."""

WITHOUT_PLANS = (
    "Phone numbers inside texts are told by their form alone (+ and 8 to 15 digits); with the extra pii "
    "(phonenumbers) also by the numbering plan of their country."
)


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
    if not text.lstrip(" (").startswith("+") or not _LEAST <= len(digits) <= _MOST:
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
