"""Transitions: how a generalized value becomes a concrete one again, one kind in a file."""

from collections.abc import Mapping
from typing import Any

from tabveil import values
from tabveil.hybrid.entries import read_named
from tabveil.hybrid.transitions.conditional import Conditional
from tabveil.hybrid.transitions.noisy_conditional import NoisyConditional
from tabveil.hybrid.transitions.single import Single
from tabveil.hybrid.transitions.smoothed_conditional import SmoothedConditional
from tabveil.hybrid.transitions.uniform import Uniform
from tabveil.hybrid.transitions.way_back import GeneralizedRows, Stored, Transition, WayBack
from tabveil.naming import make
from tabveil.registry import Registry

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
    return make(TRANSITIONS.find("transition", name), settings, values.read)
