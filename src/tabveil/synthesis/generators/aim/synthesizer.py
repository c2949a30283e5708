"""AIM: differentially private rows from a graphical model of noisy counts."""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # comes with scikit-learn

from tabveil.core import check
from tabveil.core.storage.arrays import Arrays, Expected, require, require_arrays
from tabveil.core.storage.plain import require_plain
from tabveil.core.table import LARGEST, Floats, Schema, Table
from tabveil.engines.networks import INTERRUPTED
from tabveil.errors import ParameterError
from tabveil.synthesis.generators.aim import zcdp
from tabveil.synthesis.generators.aim.graphical import Beliefs, Columns, believe, junction_tree
from tabveil.synthesis.generators.aim.rounds import PrivateRows, RoundBudget, Rounds, candidates_of
from tabveil.synthesis.generators.models import FittedModel, Maker, PlainState, require_rows
from tabveil.synthesis.generators.privacy import Privacy, conditions, levels_to_count
from tabveil.tables.matrices.bins import MOST_BINS, Levels, flags_of, levels_from_flags

ROUNDS_PER_COLUMN = 16
MOST_MEGABYTES = 4096
_CELL = 8  # bytes

ADJACENCY = (
    "Two tables are neighbors if one has one row more. The number of rows is not taken as public: "
    "it is estimated from noisy counts."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class AimModel(FittedModel):
    """A graphical model of the columns' levels.

    ``weights`` are those of the measured sets of columns, ``n_rows`` is an estimate of how many rows there
    were. All of it was computed from noisy answers.
    """

    levels: tuple[Levels, ...]
    weights: Mapping[Columns, Floats]
    n_rows: float

    @cached_property
    def beliefs(self) -> Beliefs:
        """The distribution of the levels."""
        return believe(tuple(map(len, self.levels)), self.weights)

    def draw(self, n_rows: int, *, rng: Generator) -> Table:
        """Draw levels from the tree, then values within them."""
        rows = self.beliefs.sample(n_rows, rng=rng)
        cells = [levels.decode(codes, rng=rng) for levels, codes in zip(self.levels, rows.T, strict=True)]
        return Table(schema=self.schema, values=np.column_stack(cells))

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Return levels and weights."""
        state = {
            "levels": flags_of(self.levels),
            "sets": [list(columns) for columns in self.weights],
            "n_rows": self.n_rows,
        }
        arrays = {f"weights{i}": table for i, table in enumerate(self.weights.values())}
        shares = {f"share{i}": item.share for i, item in enumerate(self.levels) if item.share is not None}
        return state, {**arrays, **shares}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], arrays: Arrays, **shared: Any) -> Self:  # noqa: ANN401
        """Rebuild the model."""
        known = require_plain(_AimState, state, "state")
        levels = levels_from_flags(shared["schema"], shared["made_by"].n_bins, known.levels)
        sizes = tuple(map(len, levels))
        for columns in known.sets:
            ascending = list(columns) == [column for column in range(len(sizes)) if column in columns]
            require(ascending and len(columns) > 0, "sets must be of columns, in ascending order")
        require(len(set(known.sets)) == len(known.sets), "sets must differ")
        cells = junction_tree(sizes, known.sets).n_cells
        require(cells <= max(shared["made_by"].max_cells, sum(sizes)), "sets must make a model of its size")
        expected = {}
        for i, columns in enumerate(known.sets):
            # Logarithms of weights are no larger than cells may be: as many as there are columns can be
            # added up.
            shape = tuple(sizes[column] for column in columns)
            expected[f"weights{i}"] = Expected(dtype=np.float64, shape=shape, low=-LARGEST, high=LARGEST)
        with_parts = {f"share{i}": item for i, item in enumerate(levels) if item.n_parts}
        for name, item in with_parts.items():
            expected[name] = Expected(dtype=np.float64, shape=(item.n_parts,), low=0, high=1)
        require_arrays(arrays, expected)
        for name, item in with_parts.items():
            require(item.can_share(arrays[name]), f"array {name!r} must leave a part of each bin")
        return cls(
            levels=tuple(replace(item, share=arrays.get(f"share{i}")) for i, item in enumerate(levels)),
            weights={columns: arrays[f"weights{i}"] for i, columns in enumerate(known.sets)},
            n_rows=known.n_rows,
            **shared,
        )


@dataclass(frozen=True, kw_only=True)
class _AimState(PlainState):
    levels: list[Any]
    sets: tuple[Columns, ...]
    n_rows: float


@dataclass(frozen=True, kw_only=True)
class Aim(Maker):
    """Count the columns and pairs that matter most, with noise, and draw rows that fit the noisy counts.

    No single person changes the outcome much: that is differential privacy, and ε says how much at most. AIM
    first counts every column by itself. Then, round after round, it looks for the set of columns that its
    model describes worst (a look that is noisy, too), counts that set, and fits the model again. Where a
    round brings little news, the next ones add less noise, until the budget is used up.

    Numbers are counted in bins; a value is drawn from its bin as the values in that bin are spread overall.
    Missing values are a level of their own; where a declared column has so few that they cannot be told from
    noise, none are drawn.

    Parameters
    ----------
    workload
        The sets of columns whose joint distribution should be right, each as the names joined by "+", such as
        ("age+income", "age+sex+ward"); None means all pairs.
    max_model_mb
        How large the model may grow, in megabytes.
    rounds
        For how many rounds the budget is laid out at first; None means 16 for each column. Fewer rounds
        measure less with less noise.
    iterations
        How many steps the fit may take in each round.
    epsilon, delta, public, n_bins
        See :class:`~tabveil.synthesis.generators.models.Maker`.

    Notes
    -----
    Costs are added up as zero-concentrated differential privacy (rho): ``1 / (2 sigma²)`` for counts with
    Gaussian noise of standard deviation sigma, ``ε² / 8`` for a choice by the exponential mechanism; the sum
    is turned into (ε, δ) at the end. Neighbors differ by one row more or less.

    The paper fits by mirror descent; here the same fit, with a slight preference for large entropy, is found
    through its smooth dual. How numbers are spread within bins is counted once for each column, beyond the
    paper, and paid for like every other count. Tables with thousands of pairs look at a random 2,000 of them
    in each round.

    References
    ----------
    - McKenna, R., Mullins, B., Sheldon, D. and Miklau, G. (2022). AIM: An Adaptive and Iterative Mechanism
      for Differentially Private Synthetic Data. PVLDB 15(11).
    """

    epsilon: float = 1.0
    delta: float = 1e-9
    workload: tuple[str, ...] | None = None
    public: tuple[str, ...] = ()
    partly: tuple[tuple[str, ...], ...] = ()
    max_model_mb: float = 4.0
    rounds: int | None = None
    iterations: int = 100
    n_bins: int = 20

    name: ClassVar[str] = "aim"
    model: ClassVar[type[FittedModel]] = AimModel

    def __post_init__(self) -> None:
        check.between("aim", "epsilon", self.epsilon, 0, math.inf)
        check.between("aim", "delta", self.delta, 0, 1)
        check.between("aim", "max_model_mb", self.max_model_mb, 0, math.inf)
        check.at_most("aim", "max_model_mb", self.max_model_mb, MOST_MEGABYTES)
        check.settings_at_least(self, 1, "iterations", "n_bins")
        check.at_most("aim", "n_bins", self.n_bins, MOST_BINS)
        if self.workload is not None:
            check.at_least("aim", "the number of sets in workload", len(self.workload), 1)
        if self.rounds is not None:
            check.at_least("aim", "rounds", self.rounds, 1)

    @property
    def max_cells(self) -> float:
        """How many cells the tables of the model may have together."""
        return self.max_model_mb * 2**20 / _CELL

    def fit(self, table: Table, *, rng: Generator) -> AimModel:
        """Learn from these rows, within the budget."""
        require_rows(self.name, table)
        check.known_names("aim", "column", self.public, table.schema.names)
        levels = levels_to_count(table, self.public, self.n_bins)
        rounds = self._rounds(table, levels, rng=rng)
        with threadpool_limits(1, user_api="blas"):  # its threads cost more than they gain on small tables
            interrupted = rounds.run()
        privacy = self.promise(table.schema)
        return AimModel(
            made_by=self,
            schema=table.schema,
            levels=rounds.levels,
            weights=rounds.closed_to_missing(map(table.schema.position, self.public)),
            n_rows=rounds.total,
            privacy=privacy,
            notes=(*conditions(privacy), *((INTERRUPTED,) if interrupted else ())),
        )

    def _rounds(self, table: Table, levels: tuple[Levels, ...], *, rng: Generator) -> Rounds:
        return Rounds(
            rows=PrivateRows(table=table, levels=levels, rng=rng),
            budget=self._budget(levels),
            candidates=candidates_of(self._sets(table), levels),
            iterations=self.iterations,
            max_cells=self.max_cells,
        )

    def _sets(self, table: Table) -> list[Columns]:
        """Return the workload: the user's sets of columns, or all pairs."""
        if self.workload is None:
            return list(itertools.combinations(range(len(table.schema)), 2))
        sets = []
        for joined in self.workload:
            names = [name.strip() for name in joined.split("+")]
            check.known_names("aim", "column in workload", names, table.schema.names)
            sets.append(tuple(sorted({table.schema.position(name) for name in names})))
        return sets

    def _budget(self, levels: tuple[Levels, ...]) -> RoundBudget:
        """Lay out the budget over the rounds, of which the first counts of all columns take their share."""
        at_first = len(levels) + sum(item.n_parts > 0 for item in levels)
        rounds = self.rounds or ROUNDS_PER_COLUMN * len(levels)
        if rounds <= at_first:
            raise ParameterError(
                "aim",
                f"rounds must be >= {at_first + 1} for this table, whose columns take {at_first} counts "
                f"before the first round; got {rounds}.",
            )
        return RoundBudget.over(zcdp.rho_of(self.epsilon, self.delta), rounds)

    def promise(self, schema: Schema) -> Privacy:
        """Say what is promised; it follows from the settings alone."""
        rho = zcdp.rho_of(self.epsilon, self.delta)
        return Privacy.over(
            schema,
            self.public,
            self.partly,
            mechanism="AIM: Gaussian noise on counts, exponential mechanism for what to count",
            epsilon=self.epsilon,
            delta=self.delta,
            accountant=f"zero-concentrated differential privacy, rho = {rho:.6g}",
            adjacency=ADJACENCY,
        )
