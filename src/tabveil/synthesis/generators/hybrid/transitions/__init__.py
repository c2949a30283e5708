"""Transitions: how a generalized value becomes a concrete one again."""

from collections.abc import Mapping
from typing import Any

from tabveil.core.settings.registry import Registry, make
from tabveil.synthesis.generators.hybrid.plain_settings import read_named
from tabveil.synthesis.generators.hybrid.transitions.conditional import (
    Conditional,
    NoisyConditional,
    SmoothedConditional,
)
from tabveil.synthesis.generators.hybrid.transitions.way_back import (
    GeneralizedRows,
    Single,
    Stored,
    Transition,
    Uniform,
    WayBack,
)

TRANSITIONS: Registry[Transition] = Registry(
    "transition", (Single, Uniform, Conditional, SmoothedConditional, NoisyConditional)
)
"""Every transition by its name; your own joins by ``TRANSITIONS.add``."""

__all__ = ["TRANSITIONS", "GeneralizedRows", "Stored", "Transition", "WayBack", "read_transition"]


def read_transition(given: str | Mapping[str, Any]) -> Transition:
    """Read a name, or a name with settings.

    >>> read_transition({"name": "conditional", "joint": True})
    Conditional(smoothed=False, joint=True)
    """
    name, settings = read_named("transition", given)
    return make(TRANSITIONS.find("transition", name), settings)
