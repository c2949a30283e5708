"""Two tables that differ in exactly one row, made so that this row shows as much as it can.

A promise of privacy holds for the worst two neighbors there are, so an audit may invent them: a few equal
rows, and one that differs from them in every column. All labels are declared, so that nothing about them is
read from the rows. Nobody's data are needed. Each private generator has a setup of its own: between which
worlds it is audited, and what its promise rests on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tabveil.core.table import Categorical, Floats, Indices, Numeric, Schema, Table
from tabveil.errors import ParameterError
from tabveil.protocols import Synthesizer
from tabveil.synthesis.generators.pategan.synthesizer import PateGan
from tabveil.workflows.epsilon.bounds import Accounting

N_COLUMNS = 3
MOST_PATTERNS = 6
"""With so many columns at most, rows are counted by the set of columns in which they equal the canary."""

ALIKE = 1 / 40
"""Numbers are equal to the canary's within such a share of the column's range."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Worlds:
    """Rows that are always learned, and the canary: the one row that makes the difference."""

    without: Table
    canary: Floats  # (d,)

    def __post_init__(self) -> None:
        canary = np.asarray(self.canary, dtype=np.float64)
        if canary.shape != (len(self.without.schema),):
            raise ParameterError("Worlds", f"canary must have {len(self.without.schema)} cells.")
        if not len(self.without):
            raise ParameterError("Worlds", "there must be rows beside the canary.")
        object.__setattr__(self, "canary", canary)

    @property
    def with_canary(self) -> Table:
        """The neighbor: one row more."""
        return Table(schema=self.without.schema, values=np.vstack([self.without.values, self.canary]))

    @property
    def n_figures(self) -> int:
        """How many numbers :meth:`observe` returns."""
        d = len(self.canary)
        return 2**d if d <= MOST_PATTERNS else 2 * d + 1

    def observe(self, rows: Table) -> Indices:
        """Count what a release shows of the canary: rows by the columns in which they equal it, (k,).

        With many columns: how many rows equal it in each column, and in how many columns at once.
        """
        alike = np.column_stack(
            [
                _alike(column, rows.column(column.name), cell)
                for column, cell in zip(rows.schema.columns, self.canary, strict=True)
            ]
        )  # (n, d)
        d = alike.shape[1]
        if d <= MOST_PATTERNS:
            return np.bincount(alike @ (1 << np.arange(d)), minlength=2**d)
        return np.concatenate([alike.sum(axis=0), np.bincount(alike.sum(axis=1), minlength=d + 1)])


def _alike(column: Categorical | Numeric, cells: Floats, cell: float) -> Indices:
    reach = column.width * ALIKE if isinstance(column, Numeric) else 0.0
    same = np.isnan(cells) if np.isnan(cell) else np.abs(cells - cell) <= reach
    return same.astype(np.int64)


def equal_rows(n_rows: int, n_columns: int = N_COLUMNS) -> Worlds:
    """Return so many rows of "0" in columns of two declared labels, and a canary of "1"."""
    columns = (Categorical(name=f"column{place + 1}", labels=("0", "1")) for place in range(n_columns))
    zeros = Table(schema=Schema(tuple(columns)), values=np.zeros((n_rows, n_columns)))
    return Worlds(without=zeros, canary=np.ones(n_columns))


@dataclass(frozen=True, kw_only=True, eq=False)
class Setup:
    """How a generator is audited: between which worlds, and with which settings unless others are asked for.

    Settings make a fit quick and let the release show as much as possible of what was learned: an audit
    tests the mechanism and its accounting, which must hold with all settings.
    """

    worlds: Worlds
    settings: Mapping[str, object] = field(default_factory=dict)
    accounting: Accounting = "any"


SETUPS: Mapping[str, Setup] = {
    "aim": Setup(worlds=equal_rows(10), accounting="concentrated"),
    # A teacher says which half of a batch looks more like its rows. Among several equal rows one more does
    # not turn that; beside a single one it does.
    "pategan": Setup(
        worlds=equal_rows(1),
        settings={
            "n_teachers": 1,
            "iterations": 2,
            "batch_size": 64,
            "student_steps": 6,
            "student_learning_rate": 0.1,
            "generator_steps": 4,
            "learning_rate": 0.02,
            "averaging": 0.0,
            "width": 32,
            "latent": 2,
        },
        accounting="gaussian",
    ),
    "dpctgan": Setup(
        worlds=equal_rows(10),
        settings={
            "epochs": 1,
            "sampled": 0.5,
            "counting": 0.9,
            "layers": (16,),
            "critic_layers": (8,),
            "embedding": 4,
            "batch_size": 20,
        },
    ),
}
"""By the generator's name."""

DEFAULT = Setup(worlds=equal_rows(10))
"""For every other: ten rows, and one that is unlike them in all columns."""


def setup_of(synthesizer: Synthesizer) -> Setup:
    """Return how this one is audited."""
    setup = SETUPS.get(synthesizer.name, DEFAULT)
    if isinstance(synthesizer, PateGan) and synthesizer.teachers == "networks":
        return replace(setup, accounting="any")  # the noise on their votes is Laplace's
    return setup
