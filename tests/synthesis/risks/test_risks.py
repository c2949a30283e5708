"""Every risk model and modifier is registered under its name, and says what its parameters are."""

from dataclasses import fields

import numpy as np
import pytest
from supplies.populations import SCHEMAS, rows

from tabveil.core.table import Split, Table
from tabveil.errors import ParameterError
from tabveil.protocols import People
from tabveil.synthesis.risks import MODIFIERS, RISKS

KINDS = {**RISKS, **MODIFIERS}


def test_all_are_registered():
    assert list(RISKS) == ["leaky", "noisy", "overfit", "private", "generated"]
    assert list(MODIFIERS) == ["outlier_removal", "oversample", "canaries"]


@pytest.mark.parametrize(("name", "kind"), KINDS.items(), ids=KINDS)
def test_each_is_described_and_has_levels_that_rise(name, kind):
    assert kind.name == name
    assert list(kind.levels) == sorted(set(kind.levels))
    assert len(kind.levels) > 0
    for item in fields(kind):
        lines = kind.__doc__.splitlines()
        assert any(item.name in line.strip().split(", ") for line in lines), f"{item.name} is not explained"


class Swapped:
    """Learn from control, and ask about both as if nothing had happened."""

    name = "swapped"
    levels = (1.0,)

    def __call__(self, people, level, make, *, rng):
        synthetic = make(people.control, people.release)
        return Split(train=people.train, control=people.control, synthetic=synthetic)


def test_a_modifier_of_your_own_joins():
    values = rows("mixed", 30, np.random.default_rng(0)).reshape(3, 10, -1)
    train, control, release = (Table(schema=SCHEMAS["mixed"], values=part) for part in values)
    people = People(train=train, control=control, release=release)
    with MODIFIERS.adding(Swapped):
        modifier = MODIFIERS.find("benchmark", "swapped")()
        split = modifier(people, 1.0, lambda train, _: train, rng=np.random.default_rng(0))
    assert split.synthetic is control
    with pytest.raises(ParameterError, match="benchmark: no modifier 'swapped'"):
        MODIFIERS.find("benchmark", "swapped")
