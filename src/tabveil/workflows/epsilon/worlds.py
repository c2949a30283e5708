"""Two tables that differ in exactly one row, and what many fits to each show of it.

A promise of privacy holds for the worst two neighbors there are, so an audit may invent them: a few equal
rows, and one that differs from them in every column, so that it shows as much as it can. All labels are
declared, so that nothing about them is read from the rows. Nobody's data are needed. Each private generator
has a setup of its own: between which worlds it is audited, and what its promise rests on.

Every fit has a seed of its own, which nobody knew before: were seeds used in both worlds, the noise would be
the same there and cancel. As many rows are drawn in both: a release that has as many rows as were learned
would tell the worlds apart by itself, which no promise covers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tabveil.core.rng import stream
from tabveil.core.storage.arrays import require
from tabveil.core.storage.plain import require_plain
from tabveil.core.table import Categorical, Floats, Indices, Numeric, Schema, Table
from tabveil.core.workers import tell
from tabveil.engines.networks import INTERRUPTED
from tabveil.errors import ParameterError, TabveilError
from tabveil.protocols import Synthesizer
from tabveil.synthesis.generators import Account
from tabveil.synthesis.generators.models import require_model
from tabveil.synthesis.generators.pategan.synthesizer import PateGan
from tabveil.workflows.cells.engine import engine
from tabveil.workflows.cells.store import MADE_AGAIN, JsonFolder, Losses
from tabveil.workflows.cells.tasks import ProcessLost, Task
from tabveil.workflows.epsilon.bounds import Accounting

N_COLUMNS = 3
MOST_PATTERNS = 6
"""With so many columns at most, rows are counted by the set of columns in which they equal the canary."""

ALIKE = 1 / 40
"""Numbers are equal to the canary's within such a share of the column's range."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Worlds:
    """Rows that are always learned, and the canary: the one row that makes the difference.

    It is one row more, or ``replaces`` the last one, where a promise takes the number of rows as given.
    """

    without: Table
    canary: Floats  # (d,)
    replaces: bool = False

    def __post_init__(self) -> None:
        canary = np.asarray(self.canary, dtype=np.float64)
        if canary.shape != (len(self.without.schema),):
            raise ParameterError("Worlds", f"canary must have {len(self.without.schema)} cells.")
        if not len(self.without):
            raise ParameterError("Worlds", "there must be rows beside the canary.")
        object.__setattr__(self, "canary", canary)

    @property
    def with_canary(self) -> Table:
        """The neighbor: one row more, or another one."""
        others = self.without.values[:-1] if self.replaces else self.without.values
        return Table(schema=self.without.schema, values=np.vstack([others, self.canary]))

    @property
    def n_figures(self) -> int:
        """How many numbers :meth:`observe` returns."""
        d = len(self.canary)
        return 2**d if d <= MOST_PATTERNS else 2 * d + 1

    @property
    def each_row_once(self) -> slice:
        """Those of these numbers that count every row of a release once."""
        d = len(self.canary)
        return slice(0 if d <= MOST_PATTERNS else d, None)

    def observe(self, rows: Table) -> Indices:
        """Count what a release shows of the canary: rows by the columns in which they equal it, (k,).

        With many columns: how many rows equal it in each column, and in how many columns at once.
        """
        both = zip(rows.schema.columns, self.canary, strict=True)
        alike = np.column_stack([_alike(column, rows.column(column.name), cell) for column, cell in both])
        d = alike.shape[1]  # of (n, d)
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


_COUNTS = "counts"

CHUNK = 10
"""So many fits of each world are done, and kept, at a time."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Fits:
    """What is fitted again and again, and how many rows are drawn each time."""

    synthesizer: Synthesizer
    worlds: Worlds
    n_rows: int

    def observe(self, table: Table, name: str, seed: int) -> Indices:
        """Fit once, draw once, and return what the release shows (k,)."""
        owner = self.synthesizer.name
        try:
            model = require_model(owner, self.synthesizer.fit(table, rng=stream(seed, "fit", name)))
            rows = model.sample(self.n_rows, rng=stream(seed, "sample", name))
        except TabveilError:
            raise
        except Exception as error:
            raise ParameterError(owner, f"a fit failed with {type(error).__name__}.") from error
        if INTERRUPTED in Account.of(model).notes:  # generators keep what they have at Ctrl-C; an audit ends
            raise KeyboardInterrupt
        if rows.schema != table.schema or len(rows) != self.n_rows:
            raise ParameterError(
                owner,
                f"asked for {self.n_rows} rows of the columns learned, got {len(rows)}; an audit "
                "needs as many rows whatever was learned.",
            )
        return self.worlds.observe(rows)

    def chunk(self, index: int, seed: int) -> Indices:
        """Return what the fits of one chunk show, with the canary and without, (2, CHUNK, k)."""
        sides = {"with": self.worlds.with_canary, "without": self.worlds.without}
        places = range(index * CHUNK, (index + 1) * CHUNK)
        return np.array(
            [
                [self.observe(table, f"{name} {place}", seed) for place in places]
                for name, table in sides.items()
            ]
        )

    def opened(self, told: Mapping[str, Any]) -> Indices:
        """Return what was kept of a chunk; it must be what :meth:`chunk` can return."""
        require(set(told) == {_COUNTS}, "it holds something else than counts")
        counts = np.array(require_plain(list[list[list[int]]], told[_COUNTS], _COUNTS), dtype=np.int64)
        require(counts.shape == (2, CHUNK, self.worlds.n_figures), "it holds counts of other fits")
        require(bool(((counts >= 0) & (counts <= self.n_rows)).all()), "it counts rows that there are not")
        every_row = counts[..., self.worlds.each_row_once]
        require(bool((every_row.sum(axis=-1) == self.n_rows).all()), "it does not count every row once")
        return counts


def observe_all(
    fits: Fits,
    n_fits: int,
    *,
    seed: int,
    workers: int = 1,
    store: Path | None = None,
    code: Sequence[str | Path] = (),
) -> tuple[Indices, Indices]:
    """Return what ``n_fits`` fits with the canary and as many without it show, (n, k) each.

    What the store has is not done again; what is done is kept at once, in a file for every chunk.
    """
    chunks = {f"fits-{index:06}": index for index in range(-(-n_fits // CHUNK))}
    kept, done = None, dict[str, Indices]()
    if store is not None:
        store.mkdir(parents=True, exist_ok=True)
        kept = JsonFolder(folder=store)
        losses = Losses()
        for key in chunks:
            if (found := losses.read(partial(kept.read, key, fits.opened))) is not None:
                done[key] = found
        losses.tell(MADE_AGAIN)
    missing = [
        Task(key=key, call=fits.chunk, arguments=(index, seed))
        for key, index in chunks.items()
        if key not in done
    ]
    _tell(done, len(chunks))
    n_workers = 1 if len(missing) == 1 else workers
    with engine(workers=n_workers, code=code, owner=fits.synthesizer.name) as on_engine:
        for ended in on_engine(missing):
            if isinstance(ended.error, ProcessLost):
                lost = "a process ended before its fits were done; try with fewer workers."
                raise ParameterError(fits.synthesizer.name, lost)
            if ended.error is not None:
                raise ended.error
            done[ended.key] = ended.result()
            if kept is not None:
                kept.write(ended.key, {_COUNTS: done[ended.key].tolist()})
            _tell(done, len(chunks))
    together = np.concatenate([done[key] for key in chunks], axis=1)  # (2, n, k)
    return together[0, :n_fits], together[1, :n_fits]


def _tell(done: Mapping[str, Indices], n_chunks: int) -> None:
    tell(f"{2 * CHUNK * len(done):,} of {2 * CHUNK * n_chunks:,} fits", len(done) / n_chunks)
