"""What a construction is: a release, whom it exposes, and what a verdict should say of it.

Each construction makes a release from training, control and fresh rows, and says how many of the training
people it exposes because it was made so. ``expected`` is what a verdict should say: *above*; *refused*, where
the control itself was given away or shares people with train, so that no risk can be measured against it;
*not above*, where nothing leaks; *escapes*, where no check is known.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import pandas as pd

Expected = Literal["above", "refused", "not above", "escapes"]
SIZES = (3000, 3000, 3000)
SMALL = (300, 300, 300)
LETTERS = (1500, 1500, 1500)
MISSING = ("?",)


@dataclass(frozen=True, kw_only=True)
class Release:
    """What is audited. ``exposure``: the share of training people whose data it holds; None: not known."""

    synthetic: pd.DataFrame
    exposure: float | None = 0.0
    train: pd.DataFrame | None = None  # where it is not as it was drawn
    control: pd.DataFrame | None = None
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Construction:
    """A release by its name, what was done in a sentence, and the tables on which it is tried."""

    name: str
    family: str
    what: str
    make: Callable[..., Release]  # of people, rng
    tables: tuple[str, ...] = ("adult",)
    sizes: tuple[int, int, int] = SIZES
    expected: Expected = "above"
    draws: int | None = None  # fewer than asked for, where one takes long

    @property
    def leaks(self):
        return self.expected != "not above"


def made(family, *listed, **common):
    return tuple(
        Construction(name=name, family=family, what=what, make=make, **{**common, **given})
        for name, what, make, given in listed
    )
