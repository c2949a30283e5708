"""Settings of metrics by their type (those of generators: ``test_synthesize``)."""

from collections.abc import Sequence
from typing import Any

import pytest

from tabveil.core.settings import values
from tabveil.errors import ParameterError

Pairs = tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]


class Thing:
    pass


THING = Thing()


@pytest.mark.parametrize(
    ("given", "hint", "value"),
    [
        ([1, 5], Sequence[int], (1, 5)),
        ("1,5", Sequence[int], (1, 5)),
        ("0.1, 1", tuple[float, ...], (0.1, 1.0)),
        ([[["age", "sex"], ["a,b"]]], Pairs, ((("age", "sex"), ("a,b",)),)),
        ("age,sex|ward", Pairs, ((("age", "sex"), ("ward",)),)),
        ("a|b; c|d", Pairs, ((("a",), ("b",)), (("c",), ("d",)))),
        (None, Pairs | None, None),
        (["a", "b"], tuple[str, str], ("a", "b")),
        (THING, Thing, THING),
        (THING, Any, THING),
        ({"a": 1}, dict[str, int], {"a": 1}),
    ],
)
def test_settings_are_read_by_their_type(given, hint, value):
    assert values.read("m", "key", given, hint) == value


@pytest.mark.parametrize(
    ("given", "hint", "expected"),
    [
        ("few", Sequence[int], "whole numbers such as 1,2"),
        ([0.1, "x"], tuple[float, ...], "numbers such as 0.1,0.5"),
        ([["age", "sex", "ward"]], Pairs, "pairs of groups such as a,b|c,d"),
        (["a"], tuple[str, str], "a list such as a,b"),
        ("x", Thing, "an object, made in Python"),
    ],
)
def test_settings_of_another_type_are_refused(given, hint, expected):
    with pytest.raises(ParameterError) as caught:
        values.read("m", "key", given, hint)
    assert str(caught.value) == f"m: key must be {expected}, got {given!r}."
