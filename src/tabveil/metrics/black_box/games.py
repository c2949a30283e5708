"""The two questions asked of one pool, and what a release says to them: counts of rows that agree."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.core.rng import stream
from tabveil.core.table import Categorical, Column, Floats, Indices, Schema, Table
from tabveil.core.workers import announce_compilation
from tabveil.errors import ParameterError
from tabveil.metrics.black_box.counting_kernels import count_matches
from tabveil.metrics.black_box.pool import Pool

MOST_QUESTIONS = 1500
WIDEST = 18
"""Up to so many columns all sets of them are counted; of more, several sets of ``NARROW`` are drawn."""
NARROW, GROUPS = 12, 10


@dataclass(frozen=True, kw_only=True, eq=False)
class Questions:
    """Groups of columns, and the sets of columns of each that are asked about, as bits.

    Each column by itself, and all of them together, are asked about besides.
    """

    groups: Indices  # (g, w) columns of each group, -1 where there is none
    masks: Indices  # (g, q)

    @classmethod
    def draw(cls, n_columns: int, *, rng: Generator, most: int = MOST_QUESTIONS) -> Self:
        """Draw them: sets of all sizes are as likely, for those of half the columns are by far the most."""
        if n_columns <= WIDEST:
            groups = np.arange(n_columns)[None, :]
        else:
            drawn = [rng.choice(n_columns, NARROW, replace=False) for _ in range(GROUPS)]
            groups = np.sort(np.stack(drawn), axis=1)
        asked = max((most - n_columns - 1) // len(groups), 1)
        masks = np.stack([_masks(groups.shape[1], asked, rng) for _ in groups])
        return cls(groups=groups, masks=masks)

    def __len__(self) -> int:
        return int(self.masks.size)


def _masks(width: int, n_asked: int, rng: Generator) -> NDArray[np.int64]:
    """Draw different sets of two columns and more; all of them where there are no more than asked for."""
    sizes = np.array([int(mask).bit_count() for mask in range(1 << width)])
    some = np.flatnonzero(sizes >= 2)  # noqa: PLR2004 - single columns are asked about besides
    if len(some) <= n_asked:
        return some if len(some) else np.zeros(1, dtype=np.int64)
    chance = 1 / np.bincount(sizes)[sizes[some]]
    return np.sort(rng.choice(some, n_asked, replace=False, p=chance / chance.sum()))


NEAR_RANKS = 0.02


@dataclass(frozen=True, kw_only=True, eq=False)
class Watch:
    """Targets, and what is asked of every release about them."""

    real: Table  # rows that ranks and scales are taken from
    targets: Floats  # (t, d) cells of the same columns
    questions: Questions

    @classmethod
    def of(cls, real: Table, targets: Floats, questions: Questions) -> Self:
        """Watch these targets."""
        return cls(real=real, targets=np.ascontiguousarray(targets), questions=questions)

    @property
    def n_features(self) -> int:
        """How many numbers a release comes to, for each target."""
        return 1 + len(self.real.schema) + len(self.questions) + 1

    def look(self, release: Table) -> NDArray[np.float32]:
        """Return what a release says about each target, (t, n_features): counts, then a distance."""
        n_targets, n_columns = self.targets.shape
        counts = np.zeros((n_targets, self.n_features - 1), dtype=np.int64)
        nearest = np.full(n_targets, float(n_columns))
        announce_compilation(count_matches)
        low, high = self._windows
        count_matches(
            np.ascontiguousarray(release.values), low, high, np.isnan(self.targets), self.targets,
            self._weights, self.questions.groups, self.questions.masks, counts, nearest,
        )  # fmt: skip
        return np.column_stack([counts, nearest / n_columns]).astype(np.float32)

    @cached_property
    def _windows(self) -> tuple[Floats, Floats]:
        """The least and the largest number that agrees with each target, (t, d) each."""
        windows = [
            _near(column, self.real.values[:, place], self.targets[:, place])
            for place, column in enumerate(self.real.schema.columns)
        ]
        return np.column_stack([low for low, _ in windows]), np.column_stack([high for _, high in windows])

    @cached_property
    def _weights(self) -> Floats:
        """What a difference is multiplied by in each column, (d,); -1 marks categories."""
        return np.array(
            [_weight(*item) for item in zip(self.real.schema.columns, self.real.values.T, strict=True)]
        )


def _weight(column: Column, cells: Floats) -> float:
    if isinstance(column, Categorical):
        return -1.0
    known = cells[~np.isnan(cells)]
    width = float(known.max() - known.min()) if len(known) else 0.0
    return 1 / width if width > 0 else 0.0


def _near(column: Column, cells: Floats, targets: Floats) -> tuple[Floats, Floats]:
    """Return the numbers whose middle rank is within reach of each target's; categories are no numbers."""
    known = np.sort(cells[~np.isnan(cells)])
    if isinstance(column, Categorical) or not len(known):
        return targets, targets
    values, counts = np.unique(known, return_counts=True)
    ranks = (np.cumsum(counts) - counts / 2) / len(known)  # of each value, equals in the middle
    own = np.interp(targets, values, ranks)
    low = np.interp(own - NEAR_RANKS, ranks, values, left=-np.inf)
    high = np.interp(own + NEAR_RANKS, ranks, values, right=np.inf)
    return np.minimum(low, targets), np.maximum(high, targets)


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
                "attack",
                f"secret must be a column with 2 to {MOST_SECRETS} values, and {self.secret!r} has "
                f"{n_values:,}.",
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
