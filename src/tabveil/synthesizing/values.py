"""Settings by their type: what a text such as ``0.1``, ``none`` or ``age,sex`` stands for."""

import math
import operator
from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from tabveil.errors import ParameterError

_TRUTH = {"true": True, "yes": True, "false": False, "no": False}


def read(owner: str, key: str, value: object, hint: Any) -> Any:  # noqa: ANN401 - whatever type a setting has
    """Read one setting, given as a text or as the value itself.

    >>> read("copy", "noise", "0.1", float)
    0.1
    >>> read("aim", "workload", "age,sex|sex,job", tuple[tuple[str, ...], ...])
    (('age', 'sex'), ('sex', 'job'))
    >>> read("copy", "noise", "much", float)
    Traceback (most recent call last):
    ...
    tabveil.errors.ParameterError: copy: noise must be a number, got 'much'.
    """
    try:
        return _value(value, hint)
    except (ValueError, TypeError, OverflowError):
        raise ParameterError(f"{owner}: {key} must be {expected(hint)}, got {value!r}.") from None


def expected(hint: Any) -> str:  # noqa: ANN401 - see above
    """Say what a setting of this type may be.

    >>> expected(int | None)
    'a whole number or none'
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(expected(part) for part in inner)
    if origin is Literal:
        return "one of " + ", ".join(str(option) for option in inner)
    if origin is tuple and get_origin(inner[0]) is tuple:
        return "groups such as a,b|c,d"
    if origin is tuple:
        return "whole numbers such as 1,2" if inner[0] is int else "a list such as a,b"
    words = {bool: "true or false", int: "a whole number", float: "a number", NoneType: "none", str: "text"}
    return words.get(hint, "an object, made in Python")


def _value(value: object, hint: Any) -> Any:  # noqa: ANN401 - see above
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _first_that_fits(value, inner)
    if origin is Literal:
        options = {str(option): option for option in inner}
        return options[_known(str(value), options)]
    if origin is tuple:
        separator = "|" if get_origin(inner[0]) is tuple else ","
        return tuple(_value(part, inner[0]) for part in _parts(value, separator))
    if hint in _SCALARS:
        return _SCALARS[hint](value)
    return value if hint is Any or not isinstance(value, str) else _refuse()


def _first_that_fits(value: object, hints: tuple[Any, ...]) -> Any:  # noqa: ANN401 - see above
    """Try the types in turn, None first: as a text, it would fit others too."""
    for hint in sorted(hints, key=lambda hint: hint is not NoneType):
        try:
            return _value(value, hint)
        except (ValueError, TypeError, OverflowError):
            continue
    return _refuse()


def _parts(value: object, separator: str) -> list[object]:
    if isinstance(value, str):
        return [part.strip() for part in value.split(separator) if part.strip()]
    return list(value) if isinstance(value, (list, tuple)) else _refuse()


def _nothing(value: object) -> None:
    if value is not None and str(value).strip().lower() not in ("none", "null"):
        _refuse()


def _truth(value: object) -> bool:
    return value if isinstance(value, bool) else _TRUTH[_known(str(value).strip().lower(), _TRUTH)]


def _whole(value: object) -> int:
    if isinstance(value, bool):
        raise TypeError
    return int(value) if isinstance(value, str) else operator.index(value)  # type: ignore[arg-type]


def _number(value: object) -> float:
    if isinstance(value, bool) or not math.isfinite(number := float(value)):  # type: ignore[arg-type]
        raise ValueError
    return number


def _text(value: object) -> str:
    return value if isinstance(value, str) else _refuse()


def _known(word: str, words: Mapping[str, Any]) -> str:
    return word if word in words else _refuse()


def _refuse() -> Any:  # noqa: ANN401 - never returns, and stands where any value may
    raise ValueError


_SCALARS: Mapping[Any, Callable[[object], Any]] = {
    NoneType: _nothing,
    bool: _truth,
    int: _whole,
    float: _number,
    str: _text,
}
