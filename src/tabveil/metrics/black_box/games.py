"""One pool of fits serves all targets: who is attacked, who joins which fit, which rows it learns.

The two questions asked of the pool, and what a release says to them: counts of rows that agree.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.core.rng import stream
from tabveil.core.table import Categorical, Column, Floats, Indices, Schema, Table
from tabveil.core.workers import announce_compilation
from tabveil.engines.neighbors import N_OTHERS, Space, to_others
from tabveil.errors import ParameterError
from tabveil.metrics.black_box.counting_kernels import count_matches

Group = Literal["vulnerable", "random"]


def vulnerability(table: Table) -> Floats:
    """Return the mean distance of each row to the five nearest other rows, (n,): the more, the lonelier."""
    return to_others(Space.gower(table.schema), table, N_OTHERS)[:, 1]


@dataclass(frozen=True, kw_only=True, eq=False)
class Targets:
    """People to attack, by their positions in the table; how vulnerable each is, 1 the most of all rows."""

    rows: Indices  # (t,)
    ranks: Indices  # (t,)
    groups: tuple[Group, ...]

    @classmethod
    def choose(cls, table: Table, n_targets: int, *, rng: Generator) -> Self:
        """Take the most vulnerable half, and the others at random among all that are left.

        Of those equally lonely the content decides, not the order of the rows.
        """
        order = np.lexsort((table.row_hash(), -vulnerability(table)))
        n_vulnerable = (n_targets + 1) // 2
        left = n_vulnerable + rng.choice(len(table) - n_vulnerable, n_targets - n_vulnerable, replace=False)
        ranks = np.concatenate([np.arange(n_vulnerable), np.sort(left)])
        groups: list[Group] = ["vulnerable"] * n_vulnerable
        groups += ["random"] * (n_targets - n_vulnerable)
        return cls(rows=order[ranks], ranks=ranks + 1, groups=tuple(groups))

    def __len__(self) -> int:
        return len(self.rows)


Rules = Literal["fixed", "redrawn"]
"""Whether all fits learn from one table but for the targets, or each from other people."""

HELD_BACK = 5
"""Without other real rows, one in so many is held back, to stand in for targets."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Pool:
    """The rows of every fit, as positions among the real rows."""

    game: Rules
    targets: Indices  # (t,)
    others: Indices  # (n - t,) that all fits learn from; none where they are redrawn
    auxiliary: Indices  # (a,) who stands in for targets, and for all others where they are redrawn
    n_rows: int  # of a fit
    seed: int

    @classmethod
    def draw(
        cls, targets: Indices, *, n_data: int, n_control: int, n_rows: int | None, game: Rules, seed: int
    ) -> Self:
        """Part the real rows: the first ``n_data`` are those of the release, the others its control.

        ``n_rows`` of None is all that there are, less those held back where there is no control.
        """
        rng, n_targets = stream(seed, "pool"), len(targets)
        rest = rng.permutation(np.setdiff1d(np.arange(n_data), targets))
        control = np.arange(n_data, n_data + n_control)
        size = _size(n_rows, n_data, n_control, n_targets, game)
        if game == "redrawn":
            others, auxiliary = rest[:0], control if n_control else rest
            needed = size
        else:
            others = rest[: size - n_targets]
            auxiliary = control if n_control else rest[size - n_targets :]
            needed = n_targets
        if len(auxiliary) < needed:
            where = "control rows" if n_control else "rows beside those of a fit"
            raise ParameterError(
                "attack",
                f"{n_targets} targets in fits of {size:,} rows need at least {needed:,} {where}, "
                f"there are {len(auxiliary):,}; take fewer targets or fewer rows.",
            )
        return cls(
            game=game, targets=targets, others=others, auxiliary=np.sort(auxiliary), n_rows=size, seed=seed
        )

    def rng(self, fit: int, *names: str) -> Generator:
        """Return the random numbers of a fit for one purpose."""
        return stream(self.seed, self.game, f"fit {fit}", *names)

    def members(self, fit: int) -> NDArray[np.bool_]:
        """Tell which targets join a fit, (t,)."""
        return np.asarray(self.rng(fit, "members").random(len(self.targets)) < 0.5)  # noqa: PLR2004 - a coin

    def rows(self, fit: int, members: NDArray[np.bool_]) -> Indices:
        """Return the rows of a fit, (n,): each target in its place, or who stands there instead.

        Who that is does not depend on who joins. Places are the first, the rows of a table are to be mixed.
        """
        n_drawn = len(self.targets) if self.game == "fixed" else self.n_rows
        drawn = self.rng(fit, "rows").choice(self.auxiliary, n_drawn, replace=False)
        stand_in, redrawn = drawn[: len(self.targets)], drawn[len(self.targets) :]
        return np.concatenate([np.where(members, self.targets, stand_in), self.others, redrawn])

    def order(self, fit: int) -> Indices:
        """Return the order in which the rows of a fit stand: places must tell nothing."""
        return self.rng(fit, "order").permutation(self.n_rows)


def _size(n_rows: int | None, n_data: int, n_control: int, n_targets: int, game: Rules) -> int:
    if n_rows is not None:
        if not n_targets < n_rows <= n_data:
            raise ParameterError(
                "attack",
                f"rows must be more than the {n_targets} targets and at most the {n_data:,} rows of "
                f"the data, got {n_rows:,}.",
            )
        return n_rows
    if game == "redrawn":
        return min(n_data, max((n_control or n_data - n_targets) // 2, n_targets + 1))
    return n_data if n_control else n_data - max(n_targets, n_data // HELD_BACK)


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

    @property
    def n_features(self) -> int:
        """How many numbers a release comes to, for each target."""
        return 1 + len(self.real.schema) + len(self.questions) + 1

    def look(self, release: Table) -> NDArray[np.float32]:
        """Return what a release says about each target, (t, n_features): counts, then a distance."""
        targets = np.ascontiguousarray(self.targets)
        n_targets, n_columns = targets.shape
        counts = np.zeros((n_targets, self.n_features - 1), dtype=np.int64)
        nearest = np.full(n_targets, float(n_columns))
        announce_compilation(count_matches)
        low, high = self._windows
        count_matches(
            np.ascontiguousarray(release.values), low, high, np.isnan(targets), targets,
            self._weights, self.questions.groups, self.questions.masks, counts, nearest,
        )  # fmt: skip
        return np.column_stack([counts, nearest / n_columns]).astype(np.float32)

    @cached_property
    def _windows(self) -> tuple[Floats, Floats]:
        """The least and the largest number that agrees with each target, (t, d) each."""
        columns = zip(self.real.schema.columns, self.real.values.T, self.targets.T, strict=True)
        low, high = zip(*(_near(*column) for column in columns), strict=True)
        return np.column_stack(low), np.column_stack(high)

    @cached_property
    def _weights(self) -> Floats:
        """What a difference is multiplied by in each column, (d,); -1 marks categories."""
        weights = np.full(len(self.real.schema), -1.0)
        for place, column in enumerate(self.real.schema.columns):
            if not isinstance(column, Categorical):
                known = self.real.values[~np.isnan(self.real.values[:, place]), place]
                width = float(known.max() - known.min()) if len(known) else 0.0
                weights[place] = 1 / width if width > 0 else 0.0
        return weights


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


@dataclass(frozen=True, kw_only=True, eq=False)
class Game(ABC):
    """What each fit of a pool learns, and what is asked of its release."""

    real: Table
    pool: Pool  # who is in which fit

    name: ClassVar[str]

    @abstractmethod
    def train(self, fit: int) -> Table:
        """Return the rows that a fit learns from."""

    @abstractmethod
    def watch(self, real: Table) -> Watch:
        """Return who is looked for in releases of this schema; ``real`` are all real rows, in their order."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MembershipGame(Game):
    """Was the target among the rows that the generator learned from?"""

    name: ClassVar[str] = "shadow_membership"

    def train(self, fit: int) -> Table:
        """Return the rows of a fit, mixed."""
        rows = self.pool.rows(fit, self.pool.members(fit))
        return self.real.take(rows[self.pool.order(fit)])

    def watch(self, real: Table) -> Watch:
        """Look for the targets."""
        return Watch(real=real, targets=real.values[self.pool.targets], questions=self._questions)

    def labels(self, n_fits: int) -> NDArray[np.bool_]:
        """Tell who was in which fit, (m, t)."""
        return np.stack([self.pool.members(fit) for fit in range(n_fits)])

    @cached_property
    def _questions(self) -> Questions:
        return Questions.draw(len(self.real.schema), rng=stream(self.pool.seed, "questions"))


@dataclass(frozen=True, kw_only=True, eq=False)
class InferenceGame(Game):
    """Which value of a column did the target have? Everybody is in, with a secret drawn anew for each fit.

    A drawn secret follows from nothing else, so whoever guesses it more often than one in all its values
    knows it from the release.
    """

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
        return Watch(real=real, targets=targets, questions=self._questions)

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
