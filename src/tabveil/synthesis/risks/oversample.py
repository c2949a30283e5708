"""Releases larger than the table they were learned from: does a metric mistake size for risk?"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.sampling import count_share
from tabveil.core.table import Split, Table
from tabveil.protocols import People


@dataclass(frozen=True, kw_only=True)
class Oversample:
    """Release several times as many rows.

    The level is how many times as many as there would be.

    Notes
    -----
    A generator is fitted once and asked for more rows, all of them new. Where rows are planted instead, there
    are no more people to release: those of ``release`` come again and again in turn, and so do the training
    people among them as soon as all have come, so that the planted share stays what it is.

    Examples
    --------
    >>> from tabveil.core.table import Numeric, Schema
    >>> ages = Schema((Numeric(name="age", low=0, high=99, decimals=0),))
    >>> train, control, release = (Table(schema=ages, values=np.array([[20.0 + i]])) for i in range(3))
    >>> people = People(train=train, control=control, release=release)
    >>> learn = lambda train, release: release
    >>> Oversample()(people, 4, learn, rng=np.random.default_rng(0)).synthetic.column("age").tolist()
    [22.0, 22.0, 22.0, 22.0]
    """

    name: ClassVar[str] = "oversample"
    levels: ClassVar[tuple[float, ...]] = (1, 2, 4, 8, 16, 32)

    @staticmethod
    def check_level(level: float) -> None:
        """Require a multiple."""
        check.at_least("Oversample", "level", level, 1)
        check.between("Oversample", "level", level, 0, math.inf)

    def __call__(
        self,
        people: People,
        level: float,
        make: Callable[[Table, Table], Table],
        *,
        rng: Generator,  # noqa: ARG002 - nothing is drawn
    ) -> Split:
        """Ask for ``level`` times as many rows as ``release`` has."""
        self.check_level(level)
        n_rows = len(people.release)
        again = people.release.take(np.resize(np.arange(n_rows), count_share(level, n_rows)))
        return Split(train=people.train, control=people.control, synthetic=make(people.train, again))
