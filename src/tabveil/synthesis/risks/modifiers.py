"""Circumstances to try a risk model in: without outliers, with larger releases, with invented secrets."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.sampling import count_share
from tabveil.core.table import OFF_GRID, Categorical, Column, Floats, Indices, Numeric, Schema, Split, Table
from tabveil.engines.representation import Mixed, outlier_factors, require_representation
from tabveil.errors import ParameterError, SchemaError
from tabveil.protocols import Modifier, People, Representation


@dataclass(frozen=True, kw_only=True)
class OutlierRemoval(Modifier):
    """Remove the people who stand apart most, before anything is learned.

    The level is the share of all real rows that is removed: those with the largest local outlier factor.

    Parameters
    ----------
    n_neighbors
        How many distinct rows around a person it is compared with.
    representation
        What is called near: Gower's distance (``Mixed``), the Euclidean one, or the distance in an embedding,
        as in the papers.

    Notes
    -----
    Rows are judged among the rows of train, control and release together, and the same rule removes them from
    all three. Were they removed from train alone, control would have outliers far from everything while train
    has none, and metrics would take that for a leak. Each table loses about the level, not exactly. Of equal
    factors the rows to go are drawn at random. Never more rows are removed than the level says.

    References
    ----------
    - Plasencia Palacios, M. N. et al. (2025). Empirical Evaluation of Structured Synthetic Data Privacy
      Metrics: Novel Experimental Framework. arXiv:2512.16284. (Appendix C.)

    Examples
    --------
    >>> from tabveil.core.table import Numeric, Schema
    >>> ages = Schema((Numeric(name="age", low=0, high=99, decimals=0),))
    >>> train, control, release = (
    ...     Table(schema=ages, values=np.array([[30.0], [31.0], [other]])) for other in (99.0, 32.0, 33.0)
    ... )
    >>> people = People(train=train, control=control, release=release)
    >>> near = OutlierRemoval(n_neighbors=2)
    >>> split = near(people, 0.12, lambda train, release: release, rng=np.random.default_rng(0))
    >>> split.train.column("age").tolist()
    [30.0, 31.0]
    """

    n_neighbors: int = 20
    representation: Representation = field(default_factory=Mixed)

    name: ClassVar[str] = "outlier_removal"
    levels: ClassVar[tuple[float, ...]] = (0.01, 0.02, 0.05, 0.10)

    def __post_init__(self) -> None:
        check.at_least("OutlierRemoval", "n_neighbors", self.n_neighbors, 1)
        require_representation("OutlierRemoval", self.representation)

    @staticmethod
    def check_level(level: float) -> None:
        """Require a share of which somebody is left."""
        check.below_one("OutlierRemoval", "level", level)

    def __call__(
        self, people: People, level: float, make: Callable[[Table, Table], Table], *, rng: Generator
    ) -> Split:
        """Remove a share ``level`` of the people, and learn from those who are left in train."""
        self.check_level(level)
        tables = (people.train, people.control, people.release)
        if any(table.schema != people.train.schema for table in tables):
            raise SchemaError("OutlierRemoval", "train, control and release must have the same schema.")
        ends = np.cumsum([len(table) for table in tables])
        together = Table(
            schema=people.train.schema, values=np.concatenate([table.values for table in tables])
        )
        factors = outlier_factors(together, self.representation, n_neighbors=self.n_neighbors, rng=rng)
        order = rng.permutation(len(factors))
        order = order[np.argsort(-factors[order], kind="stable")]  # the most outlying first, equals by lot
        stays = np.ones(len(factors), dtype=np.bool_)
        stays[order[: count_share(level, len(factors))]] = False
        train, control, release = (
            table.take(np.flatnonzero(rows))
            for table, rows in zip(tables, np.split(stays, ends[:-1]), strict=True)
        )
        for role, table in (("train", train), ("release", release)):
            if not len(table):
                raise ParameterError("OutlierRemoval", f"level must leave a row of {role}, got {level!r}.")
        return Split(train=train, control=control, synthetic=make(train, release))


@dataclass(frozen=True, kw_only=True)
class Oversample(Modifier):
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
        self, people: People, level: float, make: Callable[[Table, Table], Table], *, rng: Generator
    ) -> Split:
        """Ask for ``level`` times as many rows as ``release`` has."""
        del rng  # nothing is drawn
        self.check_level(level)
        n_rows = len(people.release)
        again = people.release.take(np.resize(np.arange(n_rows), count_share(level, n_rows)))
        return Split(train=people.train, control=people.control, synthetic=make(people.train, again))


@dataclass(frozen=True, kw_only=True)
class Canaries(Modifier):
    """Give random training people an invented secret before anything is learned, and ask about them alone.

    Or put people among them who are invented altogether. The level is how many. A secret that follows from
    the rest of a person's data is guessed right about anybody, learned from or not. An invented one follows
    from nothing: whoever guesses it more often than chance allows has it from a generator that memorized
    these people.

    Parameters
    ----------
    secret
        The column whose values are invented; None invents whole rows, to ask about membership.

    Notes
    -----
    Values are drawn evenly from the column's domain as the schema has it: its labels, or the numbers of its
    range with its decimals. Somebody whose secret was missing gets one, too.

    Metrics are asked about a train of the canaries alone, with the secrets that were learned, and a control
    of the same people with secrets drawn anew, which nobody learned. So control meets the chance level of
    every guess exactly, and the difference is memorization. Ask metrics that guess the secret, such as
    inference with ``secrets`` set to it. The others compare people who differ in nothing else, and have
    little to say.

    Without a secret twice as many rows are invented, every cell by itself, and a random half of them is
    learned beside all training people. Train is that half, control the other. They differ by lot alone, so
    whoever tells them apart better than a coin has it from a generator that memorized. Ask metrics of
    membership.

    References
    ----------
    - Plasencia Palacios, M. N. et al. (2025). Empirical Evaluation of Structured Synthetic Data Privacy
      Metrics: Novel Experimental Framework. arXiv:2512.16284. (Section 5.3.3, appendix D.)

    Examples
    --------
    >>> from tabveil.core.table import Schema
    >>> schema = Schema((Numeric(name="age", low=0, high=99, decimals=0),))
    >>> rows = Table(schema=schema, values=np.full((50, 1), 30.0))
    >>> people = People(train=rows, control=rows, release=rows)
    >>> split = Canaries(secret="age")(people, 10, lambda train, release: train, rng=np.random.default_rng(0))
    >>> len(split.train), len(split.control), len(split.synthetic)
    (10, 10, 50)
    >>> bool(np.isin(split.train.column("age"), split.synthetic.column("age")).all())
    True
    """

    secret: str | None = None

    name: ClassVar[str] = "canaries"
    levels: ClassVar[tuple[float, ...]] = (100,)

    @staticmethod
    def check_level(level: float) -> None:
        """Require a number of people."""
        check.at_least("Canaries", "level", level, 1)
        if not float(level).is_integer():
            raise ParameterError("Canaries", f"level must be a whole number of people, got {level!r}.")

    def __call__(
        self, people: People, level: float, make: Callable[[Table, Table], Table], *, rng: Generator
    ) -> Split:
        """Learn from people of whom ``level`` are canaries; the split is about these."""
        self.check_level(level)
        if self.secret is None:
            return self._with_invented_people(people, int(level), make, rng=rng)
        train = people.train
        check.known_names("Canaries", "column", [self.secret], train.schema.names)
        if level > len(train):
            raise ParameterError(
                "Canaries",
                f"level must be at most the number of training rows, {len(train):,}, got {level!r}.",
            )
        column = train.schema[self.secret]
        if not _has_two_values(column):
            raise ParameterError(
                "Canaries", f"secret must have two values or more, and {self.secret!r} has one."
            )
        who = rng.choice(len(train), int(level), replace=False)
        secrets = (_draw(column, len(who), rng=rng) for _ in range(2))
        planted, never = (_with_secrets(train, self.secret, who, each) for each in secrets)
        return Split(
            train=planted.take(who), control=never.take(who), synthetic=make(planted, people.release)
        )

    @staticmethod
    def _with_invented_people(
        people: People, n_rows: int, make: Callable[[Table, Table], Table], *, rng: Generator
    ) -> Split:
        """Learn from one half of invented rows beside all training people; the split is of both halves."""
        schema = people.train.schema
        if not any(map(_has_two_values, schema.columns)):
            raise ParameterError("Canaries", "some column must have two values or more to invent people.")
        learned, never_learned = (invented_rows(schema, n_rows, rng=rng) for _ in range(2))
        planted = Table(schema=schema, values=np.concatenate([people.train.values, learned.values]))
        return Split(train=learned, control=never_learned, synthetic=make(planted, people.release))


def invented_rows(schema: Schema, n_rows: int, *, rng: Generator) -> Table:
    """Draw rows of nobody: every cell by itself, from the column's domain, each value as likely."""
    cells = [_draw(column, n_rows, rng=rng) for column in schema.columns]
    return Table(schema=schema, values=np.column_stack(cells))


def _with_secrets(table: Table, secret: str, who: Indices, secrets: Floats) -> Table:
    values = np.array(table.values)
    values[who, table.schema.position(secret)] = secrets
    return Table(schema=table.schema, values=values)


def _grid(column: Numeric, decimals: int) -> tuple[int, int]:
    """Return the first and the last number of a range, in units of its last decimal place."""
    low, high = (end * 10.0**decimals for end in (column.low, column.high))
    return math.ceil(low - OFF_GRID), math.floor(high + OFF_GRID)


def _has_two_values(column: Column) -> bool:
    match column:
        case Categorical(labels=labels):
            return len(labels) > 1
        case Numeric(decimals=decimals):
            first, last = (column.low, column.high) if decimals is None else _grid(column, decimals)
            return first < last


def _draw(column: Column, n_rows: int, *, rng: Generator) -> Floats:
    """Draw values from a column's domain, each as likely."""
    match column:
        case Categorical(labels=labels):
            return rng.integers(0, len(labels), n_rows).astype(np.float64)
        case Numeric(decimals=decimals):
            if decimals is None:
                return rng.uniform(column.low, column.high, n_rows)
            first, last = _grid(column, decimals)
            steps = np.floor(rng.uniform(first, last + 1, n_rows))
            steps = np.minimum(steps, last)  # a sum may be rounded up
            return np.clip(np.round(steps * 10.0**-decimals, decimals), column.low, column.high)
