"""Presets: what is given beside one comes first, and nothing of it is left in the object."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import pytest

from tabveil.core.settings.presets import DEFAULT, Presets, takes_presets
from tabveil.core.settings.registry import Registry, describe, make, settings_of, values_of
from tabveil.errors import ParameterError


@takes_presets
@dataclass(frozen=True, kw_only=True)
class Search:
    radius: float = 1.0
    depth: int = 2

    presets: ClassVar[Presets] = {"wide": {"radius": 9.0}, "deep": {"depth": 8, "radius": 3.0}}
    name: ClassVar[str] = "search"


@takes_presets
@dataclass(frozen=True, kw_only=True)
class Longer(Search):
    depth: int = 4
    steps: int = 1

    presets: ClassVar[Presets] = {"wide": {**Search.presets["wide"], "steps": 7}}
    name: ClassVar[str] = "longer"


def test_a_preset_is_the_values_that_it_names():
    assert Search(preset="deep") == Search(depth=8, radius=3.0)
    assert Search(preset=DEFAULT) == Search()
    assert Longer(preset="wide") == Longer(radius=9.0, steps=7)
    assert values_of(Search(preset="wide")) == {"radius": 9.0, "depth": 2}
    assert describe(Search(preset="wide")) == describe(Search(radius=9.0))


def test_what_is_given_comes_first_also_where_it_is_the_default():
    assert Search(preset="deep", depth=2) == Search(depth=2, radius=3.0)
    assert replace(Search(preset="deep"), depth=5) == Search(depth=5, radius=3.0)


def test_settings_are_read_with_the_name_of_a_preset_among_them():
    assert settings_of(Search)["preset"] == (Literal["default", "wide", "deep"], "default")
    assert make(Search, {"preset": "wide", "depth": "3"}) == Search(radius=9.0, depth=3)
    with pytest.raises(ParameterError, match="search: preset must be one of default, wide, deep, got 'far'"):
        make(Search, {"preset": "far"})


def test_an_unknown_preset_is_named_with_those_there_are():
    with pytest.raises(ParameterError, match="longer: preset must be one of 'default', 'wide'; got 'deep'"):
        Longer(preset="deep")


def test_a_preset_must_name_settings_that_there_are():
    with pytest.raises(ParameterError, match=r"Lost, far: no setting 'radios'\. Did you mean 'radius'\?"):

        @takes_presets
        @dataclass(frozen=True, kw_only=True)
        class Lost:
            radius: float = 1.0
            presets: ClassVar[Presets] = {"far": {"radios": 2.0}}


def test_a_class_of_ones_own_joins_with_its_presets():
    known: Registry[Search] = Registry("search", (Search, Longer))
    assert make(known.find("user", "longer"), {"preset": "wide"}).steps == 7


def test_a_class_may_keep_the_name_in_a_field():
    @takes_presets
    @dataclass(frozen=True, kw_only=True)
    class Keeping:
        preset: str = DEFAULT
        depth: int = 2
        presets: ClassVar[Presets] = {"deep": {"depth": 8}}

    made = Keeping(preset="deep")
    assert (made.preset, made.depth, values_of(made)) == ("deep", 8, {"preset": "deep", "depth": 8})
