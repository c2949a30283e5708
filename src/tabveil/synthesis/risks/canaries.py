"""People with an invented secret, or all invented: whoever knows of it can only have it from the release."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.table import OFF_GRID, Categorical, Column, Floats, Indices, Numeric, Schema, Split, Table
from tabveil.errors import ParameterError
from tabveil.protocols import People


@dataclass(frozen=True, kw_only=True)
class Canaries:
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
            raise ParameterError(f"Canaries: level must be a whole number of people, got {level!r}.")

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
                f"Canaries: level must be at most the number of training rows, {len(train):,}, got {level!r}."
            )
        column = train.schema[self.secret]
        if not _has_two_values(column):
            raise ParameterError(
                f"Canaries: secret must have two values or more, and {self.secret!r} has one."
            )
        who = rng.choice(len(train), int(level), replace=False)
        learned, never_learned = (_draw(column, len(who), rng=rng) for _ in range(2))
        planted = _with_secrets(train, self.secret, who, learned)
        never = _with_secrets(train, self.secret, who, never_learned)
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
            raise ParameterError("Canaries: some column must have two values or more to invent people.")
        learned, never_learned = (
            invented_rows(schema, n_rows, rng=rng),
            invented_rows(schema, n_rows, rng=rng),
        )
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
            steps = np.minimum(
                np.floor(rng.uniform(first, last + 1, n_rows)), last
            )  # a sum may be rounded up
            return np.clip(np.round(steps * 10.0**-decimals, decimals), column.low, column.high)
