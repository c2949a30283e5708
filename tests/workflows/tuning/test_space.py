"""What a search may change: paths, lists, ranges, and settings put in their places."""

import pytest

from tabveil.errors import ParameterError
from tabveil.workflows.tuning.space import SearchSpace, key_of


def points(given):
    space = SearchSpace.read(given)
    found = list(space.points())
    assert len(found) == space.size
    return found


def test_every_combination_has_a_place_and_the_last_path_changes_fastest():
    assert points({"a": [1, 2], "b": ["x", "y", "z"]}) == [
        {"a": a, "b": b} for a in (1, 2) for b in ("x", "y", "z")
    ]


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ({"low": 1, "high": 4}, [1, 2, 3, 4]),
        ({"low": 1, "high": 8, "step": 3}, [1, 4, 7]),
        ({"low": 0.1, "high": 0.4, "step": 0.1}, [0.1, 0.2, 0.3, 0.4]),
        ({"low": 0, "high": 1, "step": 0.25}, [0.0, 0.25, 0.5, 0.75, 1.0]),
        ({"low": 1, "high": 3, "log": True}, [1, 2, 3]),
    ],
)
def test_ranges_are_counted(given, values):
    assert [point["a"] for point in points({"a": given})] == values


@pytest.mark.parametrize("given", [{"low": 0.0, "high": 1.0}, {"low": 0.1, "high": 10, "log": True}])
def test_a_range_without_steps_cannot_be_counted(given):
    space = SearchSpace.read({"b": [1], "a": given})
    assert (space.size, space.uncounted) == (None, "a")


def test_a_number_from_anywhere_stays_within_its_range_and_is_short():
    (item,) = SearchSpace.read({"a": {"low": 0.123449, "high": 12.3449, "log": True}}).dimensions
    assert (item.at(0.0), item.at(1.0)) == (0.123449, 12.34)
    assert item.at(0.5) == 1.234  # the geometric mean, 1.23449, in four figures


@pytest.mark.parametrize(
    ("fixed", "point", "settings"),
    [
        ({}, {"sampling.beta": 0.5}, {"sampling": {"beta": 0.5}}),
        ({"sampling": {"by": "class"}}, {"sampling.beta": 0.5}, {"sampling": {"by": "class", "beta": 0.5}}),
        ({}, {"models.0.k": 5}, {"models": [{"k": 5}]}),
        ({"models": ({"k": 2},)}, {"models.1.l": 3}, {"models": [{"k": 2}, {"l": 3}]}),
        ({"levels": [1, 2]}, {"levels.2": 3}, {"levels": [1, 2, 3]}),
        ({"a": 1}, {"a": {"b": [2]}}, {"a": {"b": [2]}}),
    ],
)
def test_values_are_put_in_their_places(fixed, point, settings):
    space = SearchSpace.read({path: [value] for path, value in point.items()})
    before = repr(fixed)
    assert space.settings(fixed, point) == settings
    assert repr(fixed) == before, "what is fixed is left as it is"


@pytest.mark.parametrize(
    ("fixed", "path", "message"),
    [
        ({"sampling": 0.5}, "sampling.beta", "single value"),
        ({"models": [{"k": 2}]}, "models.2.k", "no place in a list of 1"),
        ({"models": [{"k": 2}]}, "models.first", "no place in a list of 1"),
    ],
)
def test_a_path_that_leads_nowhere_is_one_line(fixed, path, message):
    with pytest.raises(ParameterError, match=message):
        SearchSpace.read({path: [1]}).settings(fixed, {path: 1})


def test_equal_points_share_a_key_and_others_do_not():
    assert key_of({"a": 1, "b": [2]}) == key_of({"b": [2], "a": 1})
    assert key_of({"a": 1}) != key_of({"a": 1.5})
