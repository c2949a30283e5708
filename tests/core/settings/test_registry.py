"""Name and settings say everything about an object: in JSON, and back."""

import json
from dataclasses import MISSING, dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import pytest

from tabveil.core.result import Labels, Result, params_of
from tabveil.core.settings.registry import Registry, describe, is_named, settings_of, values_of
from tabveil.core.storage.plain import rebuild, restore, to_plain
from tabveil.errors import ParameterError
from tabveil.synthesis.generators import GENERATORS
from tabveil.synthesis.generators.trees.synthesizer import Trees


class Thing(Protocol):
    name: ClassVar[str]


@dataclass(frozen=True, kw_only=True)
class Fold:
    """A dataclass with settings of many types."""

    depth: int
    share: float = 0.5
    names: tuple[str, ...] | None = None
    side: Literal["left", "right"] = "left"
    groups: tuple[tuple[int, ...], ...] = ()
    of: Thing | None = None
    several: tuple[Thing, ...] = ()
    weights: dict[str, float] = field(default_factory=dict)
    _made: int = field(default=0, init=False)

    name: ClassVar[str] = "fold"

    def __post_init__(self):
        if self.depth < 0:
            raise ParameterError("fold: depth must be >= 0.")


class Knot:
    """Neither a dataclass nor annotated."""

    name = "knot"

    def __init__(self, tight, *, loops=3, **_):
        self.tight, self.loops = tight, loops

    def __eq__(self, other):
        return vars(self) == vars(other)

    __hash__ = None


class Bare:
    name = "bare"


class Forgetful:
    name = "forgetful"

    def __init__(self, noise=0.1):
        pass


KNOWN = Registry("thing", (Fold, Knot, Bare, Forgetful))


def test_settings_are_what_the_constructor_takes_by_name():
    found = settings_of(Fold)
    assert list(found) == ["depth", "share", "names", "side", "groups", "of", "several", "weights"]
    assert found["depth"] == (int, MISSING)
    assert found["weights"] == (dict[str, float], {})
    assert settings_of(Knot) == {"tight": (Any, MISSING), "loops": (Any, 3)}
    assert settings_of(Bare) == {}


FULL = Fold(
    depth=2,
    share=1.0,
    names=("a", "none"),
    side="right",
    groups=((1, 2), (3,)),
    of=Knot(tight=True),
    several=(Fold(depth=0), Knot("x", loops=1)),
    weights={"a": 0.5},
)


@pytest.mark.parametrize("thing", [FULL, Fold(depth=1), Knot(tight=None), Knot("very", loops=2)])
def test_an_object_survives_json(thing):
    description = json.loads(json.dumps(to_plain(thing), allow_nan=False))
    assert restore("test", description, KNOWN) == thing
    assert set(description) == {"name", "settings"}


def test_an_object_without_settings_survives_json():
    assert to_plain(Bare()) == {"name": "bare", "settings": {}}
    assert isinstance(restore("test", to_plain(Bare()), KNOWN), Bare)


@pytest.mark.parametrize("name", sorted(GENERATORS))
def test_every_generator_survives_json(name):
    made = GENERATORS[name]()
    assert restore("test", json.loads(json.dumps(to_plain(made))), GENERATORS) == made


@pytest.mark.parametrize(
    ("description", "words"),
    [
        ({"name": "fol", "settings": {}}, "test: no thing 'fol'. Did you mean 'fold'?"),
        ({"name": "fold", "settings": {"dept": 1}}, "fold: no setting 'dept'. Did you mean 'depth'?"),
        ({"name": "fold", "settings": {"depth": "deep"}}, "fold: depth cannot be 'deep'."),
        ({"name": "fold", "settings": {"depth": 1, "side": "up"}}, "fold: side cannot be 'up'."),
        ({"name": "fold", "settings": {"depth": -1}}, "fold: depth must be >= 0."),
        ({"name": "fold", "settings": {}}, "fold: depth must be given."),
        ({"name": "bare", "settings": {"x": 1}}, "bare: there are no settings, got 'x'."),
        ({"name": "fold"}, "test: expected a name and settings, got {'name': 'fold'}."),
        ({"name": "bare", "settings": {}, "x": 1}, "test: expected a name and settings, got "),
        ("fold", "test: expected a name and settings, got 'fold'."),
        (
            {"name": "fold", "settings": {"depth": 1, "of": {"name": "knott", "settings": {}}}},
            "fold: no thing 'knott'. Did you mean 'knot'?",
        ),
    ],
)
def test_what_cannot_be_made_again_is_said_in_a_line(description, words):
    with pytest.raises(ParameterError) as caught:
        restore("test", description, KNOWN)
    assert str(caught.value).startswith(words)
    assert "\n" not in str(caught.value)


def test_a_setting_must_be_kept_under_its_name():
    with pytest.raises(ParameterError, match="Forgetful: must keep its setting 'noise' under that name"):
        values_of(Forgetful())


def test_what_has_a_name_of_another_kind_is_plain_data():
    class Color(Enum):
        RED = 1

    for value in (Color.RED, Path("a/b"), Fold, 3, "text", None, np.zeros(2), Labels):
        assert not is_named(value)


def test_a_class_that_is_not_registered_is_made_again_by_itself():
    assert rebuild(Fold, {"depth": 3}, Registry("thing", ())) == Fold(depth=3)


@dataclass(frozen=True, kw_only=True)
class Shadow:
    """A metric that takes generators."""

    generator: Thing
    others: tuple[Thing, ...] = ()
    repeats: int = 2

    name: ClassVar[str] = "shadow"
    labels: ClassVar[Labels] = Labels(pillar="attack", wp29="propensity", mechanism="ML")


def test_a_generator_among_a_metrics_parameters_is_stored_by_name_and_settings():
    settings = {
        "preset": "careful",
        "caution": 1.5,
        "order": None,
        "min_leaf": 7,
        "smoothing": True,
        "overfit": None,
    }
    trees = {"name": "trees", "settings": settings}
    shadow = Shadow(generator=Trees(min_leaf=np.int64(7)), others=(Knot(1),))
    params = params_of(shadow)
    assert params["generator"] == to_plain(params)["generator"] == trees  # before and after it was stored
    result = Result(metric="shadow", labels=Shadow.labels, params=params)
    stored = json.loads(json.dumps(result.to_json()))
    assert stored["params"] == {
        "generator": trees,
        "others": [{"name": "knot", "settings": {"tight": 1, "loops": 3}}],
        "repeats": 2,
    }
    assert Result.from_json(stored).params["generator"] == trees
    assert restore("audit", stored["params"]["generator"], GENERATORS) == Trees(min_leaf=7)
    assert describe(shadow)["settings"]["generator"] == Trees(min_leaf=7)
