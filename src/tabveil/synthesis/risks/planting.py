"""Whose rows are planted in a release, and where: the draw that leaks of every kind share."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.people import numbered
from tabveil.core.sampling import count_share
from tabveil.core.table import Floats, Indices, Table
from tabveil.errors import ParameterError, SchemaError

LEVELS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
"""The shares of a release that the papers plant."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Planting:
    """Places in the release, and the training person who takes each."""

    places: Indices  # (n_planted,)
    people: Indices  # (n_planted,)

    @classmethod
    def draw(cls, owner: str, train: Table, release: Table, level: float, *, rng: Generator) -> Self:
        """Draw places and people at random, nobody twice as long as there are others.

        Where people have several rows, all rows of one are planted before those of the next; of the last only
        as many as there are places left.
        For one state of ``rng`` a higher level has the places and people of a lower one, and more.
        """
        check.share(owner, "level", level)
        if train.schema != release.schema:
            raise SchemaError(f"{owner}: train and release must have the same schema.")
        n_planted = count_share(level, len(release))
        if n_planted and not len(train):
            raise ParameterError(f"{owner}: train must have a row to plant, got none.")
        places = rng.permutation(len(release))[:n_planted]
        return cls(places=places, people=np.resize(_one_by_one(train, rng=rng), n_planted))

    def fill(self, release: Table, rows: Floats) -> Table:
        """Return the release with these rows in the places."""
        values = np.array(release.values)
        values[self.places] = rows
        return Table(schema=release.schema, values=values)


def _one_by_one(table: Table, *, rng: Generator) -> Indices:
    """Return all rows in a random order of people (n,), those of each together."""
    if table.people is None:
        return rng.permutation(len(table))
    turn = rng.permutation(table.n_people)
    return np.argsort(turn[numbered(table)], kind="stable")
