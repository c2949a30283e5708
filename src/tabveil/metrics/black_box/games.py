"""The two questions asked of one pool: was somebody in, and what was their secret?

A game says what each fit learns, and judges what the releases of all fits say.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from tabveil.core.rng import stream
from tabveil.core.table import Categorical, Floats, Indices, Schema, Table
from tabveil.errors import ParameterError
from tabveil.metrics.black_box.features import Watch
from tabveil.metrics.black_box.pool import Pool
from tabveil.metrics.black_box.questions import MOST_QUESTIONS, Questions

Features = NDArray[np.float32]

MOST_SECRETS = 20
"""A secret with more values would need more fits than anybody runs to see each of them learned."""
LEAST_QUESTIONS = 200


class Game(Protocol):
    """What each fit of a pool learns, and what is asked of its release."""

    name: ClassVar[str]

    @property
    def pool(self) -> Pool:
        """Who is in which fit."""
        ...

    def train(self, fit: int) -> Table:
        """Return the rows that a fit learns from."""
        ...

    def watch(self, real: Table) -> Watch:
        """Return who is looked for in releases of this schema; ``real`` are all real rows, in their order."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class MembershipGame:
    """Was the target among the rows that the generator learned from?"""

    real: Table
    pool: Pool

    name: ClassVar[str] = "shadow_membership"

    def train(self, fit: int) -> Table:
        """Return the rows of a fit, mixed."""
        rows = self.pool.rows(fit, self.pool.members(fit))
        return self.real.take(rows[self.pool.order(fit)])

    def watch(self, real: Table) -> Watch:
        """Look for the targets."""
        return Watch.of(real, real.values[self.pool.targets], self._questions)

    def labels(self, n_fits: int) -> NDArray[np.bool_]:
        """Tell who was in which fit, (m, t)."""
        return np.stack([self.pool.members(fit) for fit in range(n_fits)])

    @cached_property
    def _questions(self) -> Questions:
        return Questions.draw(len(self.real.schema), rng=stream(self.pool.seed, "questions"))


@dataclass(frozen=True, kw_only=True, eq=False)
class InferenceGame:
    """Which value of a column did the target have? Everybody is in, with a secret drawn anew for each fit.

    A drawn secret follows from nothing else, so whoever guesses it more often than one in all its values
    knows it from the release.
    """

    real: Table
    pool: Pool
    secret: str

    name: ClassVar[str] = "shadow_inference"

    def __post_init__(self) -> None:
        n_values = len(self.examples)
        if not 2 <= n_values <= MOST_SECRETS:  # noqa: PLR2004 - something to guess
            raise ParameterError(
                f"attack: secret must be a column with 2 to {MOST_SECRETS} values, and {self.secret!r} has "
                f"{n_values:,}."
            )

    @cached_property
    def examples(self) -> Indices:
        """For each value of the secret the first real row that has it, (v,)."""
        cells = self.real.column(self.secret)
        known = np.flatnonzero(~np.isnan(cells))
        return known[np.unique(cells[known], return_index=True)[1]]

    def secrets(self, fit: int) -> Indices:
        """Return which value each target has in a fit, (t,)."""
        return self.pool.rng(fit, "secrets").integers(len(self.examples), size=len(self.pool.targets))

    def train(self, fit: int) -> Table:
        """Return the rows of a fit, all targets among them with their drawn secrets, mixed."""
        n_targets, place = len(self.pool.targets), self.real.schema.position(self.secret)
        values = self.real.values[self.pool.rows(fit, np.ones(n_targets, dtype=bool))]
        values[:n_targets, place] = self.real.values[self.examples[self.secrets(fit)], place]
        return Table(schema=self.real.schema, values=values[self.pool.order(fit)])

    def watch(self, real: Table) -> Watch:
        """Look for every target with every value that the secret may have: (t * v, d), value by value."""
        place, n_values = real.schema.position(self.secret), len(self.examples)
        targets = np.repeat(real.values[self.pool.targets], n_values, axis=0)
        targets[:, place] = np.tile(real.values[self.examples, place], len(self.pool.targets))
        return Watch.of(real, targets, self._questions)

    def labels(self, n_fits: int) -> Indices:
        """Return who had which value in which fit, (m, t)."""
        return np.stack([self.secrets(fit) for fit in range(n_fits)])

    @cached_property
    def _questions(self) -> Questions:
        most = max(MOST_QUESTIONS // len(self.examples), LEAST_QUESTIONS)
        return Questions.draw(len(self.real.schema), rng=stream(self.pool.seed, "questions"), most=most)


def other_kind(one: Schema, other: Schema) -> str | None:
    """Return the first column that is of numbers in one schema and of labels in the other, if any."""
    for left, right in zip(one.columns, other.columns, strict=True):
        if isinstance(left, Categorical) != isinstance(right, Categorical):
            return left.name
    return None


def learned_half(n_fits: int) -> NDArray[np.bool_]:
    """Tell the fits that the attacker learns from, (m,); the others are for judging."""
    return np.asarray(np.arange(n_fits) % 2 == 0)


def readable(features: Features) -> Floats:
    """Return features as the attacker's model takes them: counts by their logarithm."""
    return np.log1p(features.astype(np.float64))
