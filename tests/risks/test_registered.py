"""Every risk model and modifier is registered under its name, and says what its parameters are."""

from dataclasses import fields

import pytest

from tabveil.risks import MODIFIERS, RISKS

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
