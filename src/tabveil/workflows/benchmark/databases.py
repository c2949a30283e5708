"""Linked tables in a benchmark: a person is dealt, planted and asked about with all their rows."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.linked import LinkedSplit, LinkedTables
from tabveil.core.rng import stream
from tabveil.core.table import Split, Table
from tabveil.errors import ParameterError
from tabveil.metrics.attacks.membership_views import relatives
from tabveil.protocols import RiskModel
from tabveil.synthesis.risks import Leaky, LeakyPeople, Noisy, NoisyPeople
from tabveil.tables.linked import load_database, read_database
from tabveil.tables.linked.summaries import people_tables

ROLES = ("data", "train")
"""The databases of a file whose people are drawn from: the first of these that it names."""


@dataclass(frozen=True, kw_only=True)
class LinkedTablesFile:
    """The people of linked tables, with all their rows.

    Parameters
    ----------
    tables
        The file that says how the tables hang together, and where they are (``data``); in a configuration,
        seen from the folder of that file.
    missing
        Texts that mean missing, such as ``"?"``.
    sample
        Draw so many people at random; always the same ones.
    """

    tables: Path
    missing: tuple[str, ...] = ()
    sample: int | None = None

    name: ClassVar[str] = "tables"

    def __post_init__(self) -> None:
        if self.sample is not None:
            check.at_least("tables", "sample", self.sample, 1)

    def load(self) -> Table:
        """Read the tables and return a row for each person, which carries what is linked to them."""
        database = read_database(self.tables)
        place = next((database.given[role] for role in ROLES if role in database.given), None)
        if place is None:
            raise ParameterError(self.tables.name, "data is missing: where are the tables of all people?")
        database = replace(database, given={"train": place, "synthetic": place})
        people = load_database(database, missing=self.missing).split.train
        if self.sample is not None:
            check.at_most(self.tables.name, "sample", self.sample, len(people))
            people = people.take(np.sort(stream(0, "sample").permutation(len(people))[: self.sample]))
        nobody = people.take(np.zeros(0, dtype=np.int64))
        return people_tables(LinkedSplit(train=people, control=nobody, synthetic=people)).split.train


def dealt(
    everybody: LinkedTables, sizes: tuple[int, int, int], *, rng: Generator
) -> tuple[LinkedTables, ...]:
    """Draw people to learn from, to compare with, and to release; those who share rows stand together.

    A family at the end of a part may be parted where it does not fit.
    """
    turns = rng.permutation(len(everybody))
    order = np.argsort(turns[relatives(everybody)], kind="stable")[: sum(sizes)]
    parts = np.split(order, np.cumsum(sizes[:-1]))
    return tuple(everybody.take(part) for part in parts)


def of_people(model: RiskModel) -> LeakyPeople:
    """Return the risk model that plants people with all their rows as one of tables plants rows."""
    match model:
        case Leaky():
            return LeakyPeople()
        case Noisy():
            return NoisyPeople(noise=model)
        case _:
            raise ParameterError(
                model.name, "makes rows of one table; with linked tables ask leaky or noisy."
            )


def planted(parts: tuple[LinkedTables, ...], model: RiskModel, level: float, *, rng: Generator) -> Split:
    """Return people to learn from, to compare with, and a release that betrays some of the first."""
    train, control, fresh = parts
    release = of_people(model)(train, fresh, level, rng=rng)
    return people_tables(LinkedSplit(train=train, control=control, synthetic=release)).split
