"""Points of a space by chance, none of them twice."""

from collections.abc import Iterator
from typing import Any

from numpy.random import Generator

from tabveil.workflows.tuning.space import Choices, Dimension, Point, Space, key_of

_MOST_DRAWS = 10_000
"""In a row, without a new point: then there are hardly any left."""


def new_points(space: Space, seen: set[str], *, rng: Generator) -> Iterator[Point]:
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
