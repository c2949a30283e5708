"""Settings by their type: what a text such as ``0.1``, ``none`` or ``age,sex`` stands for.

Generators and metrics are dataclasses whose fields are their settings. A command line gives texts, a file
numbers and lists, Python the values themselves: all are read here, by the type of the field.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from tabveil.errors import ParameterError, told

_TRUTH = {"true": True, "yes": True, "false": False, "no": False}
_LISTS = (tuple, Sequence)
_SEPARATORS = {1: ",", 2: "|", 3: ";"}
_LISTED = {1: "a list such as a,b", 2: "groups such as a,b|c,d", 3: "pairs of groups such as a,b|c,d"}
_LISTED_ITEMS = {int: "whole numbers such as 1,2", float: "numbers such as 0.1,0.5"}
_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text", NoneType: "none"}


def read(owner: str, key: str, value: object, hint: Any) -> Any:  # noqa: ANN401 - whatever type a setting has
    """Read one setting, given as a text or as the value itself.

    >>> read("copy", "noise", "0.1", float)
    0.1
    >>> read("aim", "workload", "age,sex|sex,job", tuple[tuple[str, ...], ...])
    (('age', 'sex'), ('sex', 'job'))
    >>> read("linkability", "n_neighbors", [1, 5], tuple[int, ...])
    (1, 5)
    >>> read("copy", "noise", "much", float)
    Traceback (most recent call last):
    ...
    tabveil.errors.ParameterError: copy: noise must be a number, got 'much'.
    """
    try:
        return _value(value, hint)
    except (ValueError, TypeError, OverflowError):
        raise ParameterError(owner, f"{key} must be {expected(hint)}, got {told(value)}.") from None


_UNITS = {unit: 1024**power for power, unit in enumerate(("B", "KiB", "MiB", "GiB", "TiB"))}
_UNITS |= {f"{unit[0]}B": 1000**power for power, unit in enumerate(("", "KiB", "MiB", "GiB", "TiB")) if unit}
LEAST_SIZE = 256 * 2**20
"""The program alone takes about half of that."""


def read_size(owner: str, key: str, value: object) -> int:
    """Read how much memory is meant, in bytes or with a unit.

    >>> read_size("audit", "memory", "2GiB") == 2 * 1024**3, read_size("audit", "memory", "1.5 GB")
    (True, 1500000000)
    >>> read_size("audit", "memory", "much")
    Traceback (most recent call last):
    ...
    tabveil.errors.ParameterError: audit: memory must be a size such as 2GiB or 800MiB, got 'much'.
    """
    size = None
    if isinstance(value, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", value)
        by_name = {unit.lower(): unit for unit in _UNITS}
        if found and (found[2].lower() in by_name or not found[2]):
            size = float(found[1]) * _UNITS[by_name[found[2].lower()] if found[2] else "B"]
    elif not isinstance(value, bool):
        with suppress(TypeError):
            size = float(operator.index(value))  # type: ignore[arg-type] # refused where it is no number
    if size is None:
        raise ParameterError(owner, f"{key} must be a size such as 2GiB or 800MiB, got {told(value)}.")
    if size < LEAST_SIZE:
        raise ParameterError(
            owner,
            f"{key} must be at least {LEAST_SIZE // 2**20}MiB, of which the program takes half, got "
            f"{told(value)}.",
        )
    return int(size)


def expected(hint: Any) -> str:  # noqa: ANN401 - see above
    """Say what a setting of this type may be.

    >>> expected(int | None)
    'a whole number or none'
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(expected(part) for part in inner)
    if origin is Literal:
        return ("one of " if len(inner) > 1 else "") + ", ".join(str(option) for option in inner)
    if origin is Mapping:
        return "names and values"
    if origin in _LISTS and get_origin(inner[0]) is Mapping:
        return "a list of names and values"
    if origin in _LISTS:
        return _LISTED[_depth(hint)] if _depth(hint) > 1 else _LISTED_ITEMS.get(inner[0], _LISTED[1])
    return _WORDS.get(hint, "an object, made in Python")


def _value(value: object, hint: Any) -> Any:  # noqa: ANN401 - see above
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _first_that_fits(value, inner)
    if origin is Literal:
        options = {str(option): option for option in inner}
        return options[_known(str(value), options)]
    if origin in _LISTS:
        parts = _parts(value, _SEPARATORS[_depth(hint)])
        any_length = origin is not tuple or inner[-1] is Ellipsis
        hints = inner[:1] * len(parts) if any_length else inner
        return tuple(_value(part, of) for part, of in zip(parts, hints, strict=True))
    if origin is Mapping:
        return value if isinstance(value, Mapping) else _refuse()
    if hint in _SCALARS:
        return _SCALARS[hint](value)
    return value if hint is Any or not isinstance(value, str) else _refuse()


def _depth(hint: Any) -> int:  # noqa: ANN401 - see above
    """Count how deep lists stand in lists."""
    return 1 + _depth(get_args(hint)[0]) if get_origin(hint) in _LISTS else 0


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
