"""People planted among released ones with all that is theirs: leaks of linked tables."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.linked import LinkedRows, LinkedTables
from tabveil.core.sampling import count_share
from tabveil.core.table import Indices, Table
from tabveil.errors import ParameterError, SchemaError
from tabveil.synthesis.risks.planted import LEVELS, Noisy

Part = Literal["all", "own", "linked"]
"""What of a person leaks: everything, their own row, or their rows of linked tables."""


@dataclass(frozen=True, kw_only=True)
class LeakyPeople:
    """Plant training people in a release of linked tables, with all their rows.

    A share ``level`` of the release's people, drawn at random, is replaced by training people. Where the
    release holds real people whom nobody learned from, the risk is the level.

    Parameters
    ----------
    part
        ``"all"`` plants people with all their rows. ``"own"`` plants their own rows among the linked rows of
        others, ``"linked"`` their linked rows behind the own rows of others.

    Notes
    -----
    A row that two planted people share stands once, as in train. People are drawn without replacement; only
    where the level asks for more than train has do all of them come again. For one state of ``rng`` a higher
    level plants the people of a lower one, and more. The order of people means nothing: the planted ones
    stand first.

    Examples
    --------
    >>> from tabveil.datasets import clinic
    >>> from tabveil.tables.linked import load_database
    >>> hangs = {"person": {"table": "patients", "key": "patient"}, "linked": {"visits": {"key": "patient"}}}
    >>> people = load_database(hangs, train=clinic(40, seed=1), synthetic=clinic(40, seed=2)).split
    >>> leak = LeakyPeople()(people.train, people.synthetic, 0.25, rng=np.random.default_rng(0))
    >>> len(leak), int(np.isin(leak.person_hash(), people.train.person_hash()).sum())
    (40, 10)
    """

    part: Part = "all"

    name: ClassVar[str] = "leaky_people"
    levels: ClassVar[tuple[float, ...]] = LEVELS

    def __post_init__(self) -> None:
        check.one_of(type(self).__name__, "part", self.part, get_args(Part))

    def __call__(
        self, train: LinkedTables, release: LinkedTables, level: float, *, rng: Generator
    ) -> LinkedTables:
        """Return a release with training people in a share ``level`` of its people."""
        owner = type(self).__name__
        check.share(owner, "level", level)
        if train.linkage != release.linkage or train.schemas != release.schemas:
            raise SchemaError(owner, "train and release must have the same tables and schemas.")
        n_planted = count_share(level, len(release))
        if n_planted and not len(train):
            raise ParameterError(owner, "train must have a person to plant, got none.")
        for_places, for_people, for_copies = rng.spawn(3)
        places = for_places.permutation(len(release))
        people = np.resize(for_people.permutation(len(train)), n_planted)
        planted = self._copies(train, people, rng=for_copies)
        replaced = release.take(places[:n_planted])
        if self.part == "own":
            planted = replace(replaced, own=planted.own, keys={})
        if self.part == "linked":
            planted = replace(planted, own=replaced.own, keys={})
        return planted.joined(release.take(np.sort(places[n_planted:])))

    def _copies(self, train: LinkedTables, people: Indices, *, rng: Generator) -> LinkedTables:
        """Return what is planted of these people."""
        del rng
        return train.take(people)


@dataclass(frozen=True, kw_only=True)
class NoisyPeople(LeakyPeople):
    """Plant training people with all their rows, whose values were moved a little: a leak behind noise.

    The same people in the same places as the leaky model for one state of ``rng``. A row that several of them
    share is moved once, and events are put in their order again.

    Parameters
    ----------
    noise
        How values are moved; see :class:`Noisy`.
    """

    noise: Noisy = field(default_factory=Noisy)

    name: ClassVar[str] = "noisy_people"

    def _copies(self, train: LinkedTables, people: Indices, *, rng: Generator) -> LinkedTables:
        planted = train.take(people)
        for_own, *for_linked = rng.spawn(1 + len(planted.linked))
        linked = {
            name: self._moved_rows(rows, train.linked[name].table, train.linkage[name].order, rng=own)
            for (name, rows), own in zip(planted.linked.items(), for_linked, strict=True)
        }
        return replace(planted, own=self._moved(planted.own, train.own, rng=for_own), linked=linked)

    def _moved(self, rows: Table, known: Table, *, rng: Generator) -> Table:
        return Table(schema=rows.schema, values=self.noise.moved(rows.values, known, rng=rng))

    def _moved_rows(self, rows: LinkedRows, known: Table, order: str | None, *, rng: Generator) -> LinkedRows:
        """Move the rows of one linked table."""
        moved = self._moved(rows.table, known, rng=rng)
        return LinkedRows.of(moved, rows.whose, rows.rows, rows.n_people, order=order, keys=rows.keys)
