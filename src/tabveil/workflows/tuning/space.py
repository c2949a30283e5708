"""What a search may change: settings by their path, with the values each may take; points by chance.

A path leads into settings as they are written down: ``sampling.beta``, ``models.0.k``, ``transition``. What
stands there beside it stays, and what is not there yet is made.

>>> space = SearchSpace.read({"models.0.k": [5, 10], "sampling.beta": {"low": 0.2, "high": 1, "step": 0.4}})
>>> space.size, space.settings({"models": [{"k": 2}]}, {"models.0.k": 10, "sampling.beta": 0.2})
(6, {'models': [{'k': 10}], 'sampling': {'beta': 0.2}})
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Self

from numpy.random import Generator

from tabveil.core import check
from tabveil.errors import ParameterError
from tabveil.synthesis.generators.hybrid.plain_settings import as_plain

Point = Mapping[str, Any]
"""A value for every path."""

OWNER = "search"
_KEYS = ("low", "high", "step", "log")
_MOST_VALUES = 100_000
_DIGITS = 12  # of a step's multiples: 0.1 + 0.2 is 0.3
_FIGURES = 4  # of a number from anywhere in a range
_SLACK = 1e-9  # a range ends with its last step, whatever rounding says


@dataclass(frozen=True, kw_only=True)
class Choices:
    """One of several values of any kind."""

    path: str
    points: tuple[Any, ...]

    @property
    def ordered(self) -> bool:
        """Whether the values are ascending numbers, so that neighbors are alike."""
        return all(map(_is_number, self.points)) and list(self.points) == sorted(self.points)

    @property
    def ends(self) -> tuple[Any, ...]:
        """The values to check before a search begins."""
        return self.points

    @property
    def told(self) -> Any:  # noqa: ANN401 - JSON types
        """What was asked for, in JSON types."""
        return list(self.points)


@dataclass(frozen=True, kw_only=True)
class Range:
    """A number from ``low`` to ``high``: in steps, or any; with ``log``, small ones are tried as often."""

    path: str
    low: float
    high: float
    step: float | None
    log: bool

    @property
    def whole(self) -> bool:
        """Whether only whole numbers are meant."""
        return all(isinstance(end, int) for end in (self.low, self.high))

    @property
    def points(self) -> tuple[Any, ...] | None:
        """All values, if they can be counted."""
        step = 1 if self.step is None and self.whole else self.step
        if step is None or (self.log and not self.whole):
            return None
        n = math.floor((self.high - self.low) / step + _SLACK) + 1
        found = (self.low + step * place for place in range(n))
        return tuple(found) if self.whole else tuple(round(value, _DIGITS) for value in found)

    @property
    def ends(self) -> tuple[Any, ...]:
        """The values to check before a search begins."""
        return (self.low, self.high)

    def at(self, share: float) -> float:
        """Return the number at a share of the way from low to high, as people write it."""
        if self.log:
            found = self.low * (self.high / self.low) ** share
        else:
            found = self.low + (self.high - self.low) * share
        return self.written(found)

    def written(self, value: float) -> float:
        """Round a number to what people write, within the range."""
        return min(max(float(f"{value:.{_FIGURES}g}"), self.low), self.high)

    @property
    def told(self) -> Any:  # noqa: ANN401 - JSON types
        """What was asked for, in JSON types."""
        found = {"low": self.low, "high": self.high, "step": self.step, "log": self.log or None}
        return {key: value for key, value in found.items() if value is not None}


Dimension = Choices | Range


@dataclass(frozen=True, kw_only=True)
class SearchSpace:
    """All that may be changed."""

    dimensions: tuple[Dimension, ...]

    @classmethod
    def read(cls, given: object) -> Self:
        """Read paths and what each may be, or say in a line what is wrong with one."""
        if not isinstance(given, Mapping) or not given:
            raise ParameterError(OWNER, "name settings and their values, such as 'sampling: [0.5, 1]'.")
        paths = [str(path) for path in given]
        for path in paths:
            if not all(path.split(".")):
                raise ParameterError(OWNER, f"{path!r} is not a path such as sampling.beta.")
            for other in paths:
                if other.startswith(f"{path}."):
                    raise ParameterError(OWNER, f"{other!r} is a part of {path!r}; search over one of them.")
        return cls(dimensions=tuple(_dimension(str(path), said) for path, said in given.items()))

    @property
    def size(self) -> int | None:
        """How many points there are; None where a number may be anything in between."""
        values = [item.points for item in self.dimensions]
        return None if None in values else math.prod(len(each or ()) for each in values)

    @property
    def uncounted(self) -> str | None:
        """The first path whose values cannot be counted."""
        return next((item.path for item in self.dimensions if item.points is None), None)

    def points(self) -> Iterator[Point]:
        """Return all points, where they can be counted; values of the last path change fastest."""
        for values in product(*(item.points or () for item in self.dimensions)):
            yield {item.path: value for item, value in zip(self.dimensions, values, strict=True)}

    def settings(self, fixed: Mapping[str, Any], point: Point) -> dict[str, Any]:
        """Return the settings of a point: what is fixed, with its values in their places."""
        found: dict[str, Any] = deepcopy(as_plain(fixed))
        for path, value in point.items():
            _put(found, path.split("."), deepcopy(value), path)
        return found

    def around(self, path: str, value: Any) -> Iterator[Point]:  # noqa: ANN401 - JSON types
        """Return points that have this value, among all values of the other paths; of ranges their ends."""
        others = [item for item in self.dimensions if item.path != path]
        for values in product(*(item.ends for item in others)):
            yield {path: value, **{item.path: found for item, found in zip(others, values, strict=True)}}


def key_of(point: Point) -> str:
    """Return a text that only equal points share.

    >>> key_of({"b": 1, "a": [2]}) == key_of({"a": [2], "b": 1})
    True
    """
    return json.dumps(point, sort_keys=True)


def _dimension(path: str, said: object) -> Dimension:
    owner = f"{OWNER}: {path}"
    match said:
        case list() | tuple():
            return _choices(owner, path, as_plain(said))
        case Mapping():
            return _range(owner, path, {str(key): value for key, value in said.items()})
    raise ParameterError(f"{owner} must be a list of values, or low and high of a range.")


def _choices(owner: str, path: str, values: Sequence[Any]) -> Choices:
    if not values:
        raise ParameterError(owner, "the list is empty.")
    written = []
    for value in values:
        try:
            written.append(json.dumps(value, sort_keys=True, allow_nan=False))
        except (TypeError, ValueError):
            raise ParameterError(owner, "a value must be a number, a text, a list or a mapping.") from None
    for text in written:
        if written.count(text) > 1:
            raise ParameterError(owner, f"{text} stands there twice.")
    return Choices(path=path, points=tuple(values))


def _range(owner: str, path: str, said: Mapping[str, Any]) -> Range:
    check.known_names(owner, "setting of a range", said, _KEYS)
    for key in ("low", "high"):
        if key not in said:
            raise ParameterError(owner, f"{key} must be given.")
    for key in ("low", "high", "step"):
        if key in said and not _is_number(said[key]):
            raise ParameterError(owner, f"{key} must be a number, got {said[key]!r}.")
    log = said.get("log", False)
    if not isinstance(log, bool):
        raise ParameterError(owner, f"log must be true or false, got {log!r}.")
    found = Range(path=path, low=said["low"], high=said["high"], step=said.get("step"), log=log)
    _require_values(owner, found)
    if found.whole and isinstance(found.step, float):
        return replace(found, low=float(found.low), high=float(found.high))
    return found


def _require_values(owner: str, found: Range) -> None:
    low, high, step = found.low, found.high, found.step
    if low >= high:
        raise ParameterError(owner, f"low must be less than high, got {low!r} and {high!r}.")
    if step is not None and not 0 < step <= high - low:
        raise ParameterError(owner, f"step must be positive and fit between low and high, got {step!r}.")
    if found.log and (low <= 0 or step is not None):
        raise ParameterError(owner, "with log, low must be positive and there is no step.")
    if (found.whole or step is not None) and (high - low) / (step or 1) > _MOST_VALUES:
        raise ParameterError(owner, f"there are more than {_MOST_VALUES:,} values; give a larger step.")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _put(here: Any, way: Sequence[str], value: Any, path: str) -> None:  # noqa: ANN401 - JSON types
    """Put a value at the end of a way, making what is missing on it."""
    step, *rest = way
    place = _place(here, step, path)
    if isinstance(here, list) and place == len(here):
        here.append(None)
    if not rest:
        here[place] = value
        return
    inner = here[place] if isinstance(here, list) else here.get(place)
    if inner is None:
        inner = here[place] = [] if rest[0].isdigit() else {}
    _put(inner, rest, value, path)


def _place(here: object, step: str, path: str) -> Any:  # noqa: ANN401 - a key of a mapping, or a place in a list
    match here:
        case dict():
            return step
        case list() if step.isdigit() and int(step) <= len(here):
            return int(step)
        case list():
            raise ParameterError(OWNER, f"{path}: {step!r} is no place in a list of {len(here)}.")
    raise ParameterError(OWNER, f"{path}: what stands before {step!r} is a single value in settings.")


_MOST_DRAWS = 10_000
"""In a row, without a new point: then there are hardly any left."""


def new_points(space: SearchSpace, seen: set[str], *, rng: Generator) -> Iterator[Point]:
    """Draw points at random that nobody has seen; ends where none are found any more."""
    known = set(seen)
    while True:
        for _ in range(_MOST_DRAWS):
            point = {item.path: _drawn(item, rng) for item in space.dimensions}
            if key_of(point) not in known:
                break
        else:
            return
        known.add(key_of(point))
        yield point


def _drawn(item: Dimension, rng: Generator) -> Any:  # noqa: ANN401 - JSON types
    points = item.points
    if points is not None:
        return points[int(rng.integers(len(points)))]
    assert not isinstance(item, Choices), "choices can be counted"
    return item.at(float(rng.random()))
