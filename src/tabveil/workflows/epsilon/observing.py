"""Many fits of one generator in two worlds, what each release shows, and where that is kept.

Every fit has a seed of its own, which nobody knew before: were seeds used in both worlds, the noise would be
the same there and cancel. As many rows are drawn in both: a release that has as many rows as were learned
would tell the worlds apart by itself, which no promise covers.
"""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tabveil.core.rng import stream
from tabveil.core.table import Indices, Table
from tabveil.core.workers import tell
from tabveil.engines.networks import INTERRUPTED
from tabveil.errors import ParameterError, TabveilError
from tabveil.protocols import Synthesizer
from tabveil.synthesis.generators import Account
from tabveil.synthesis.generators.models import require_model
from tabveil.workflows.cells.engine import Task, engine
from tabveil.workflows.cells.store import JsonFolder
from tabveil.workflows.epsilon.worlds import Worlds

CHUNK = 10
"""So many fits of each world are done, and kept, at a time."""

_UNREADABLE = "is not what an audit of ε wrote; delete it, and run the audit again."


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
    kept = None if store is None else JsonFolder(folder=store, complaint=_UNREADABLE)
    if kept is not None:
        kept.folder.mkdir(parents=True, exist_ok=True)
    done = {} if kept is None else _known(kept, chunks, (2, CHUNK, fits.worlds.n_figures))
    missing = [
        Task(key=key, call=fits.chunk, arguments=(index, seed))
        for key, index in chunks.items()
        if key not in done
    ]
    _tell(done, len(chunks))
    n_workers = 1 if len(missing) == 1 else workers
    with engine(workers=n_workers, code=code, owner=fits.synthesizer.name, means="processes") as on_engine:
        for ended in on_engine(missing):
            if isinstance(ended.error, BrokenExecutor):
                raise ParameterError(
                    f"{fits.synthesizer.name}: a process ended before its fits were done; try with fewer "
                    "workers."
                )
            if ended.error is not None:
                raise ended.error
            done[ended.key] = ended.result()
            if kept is not None:
                kept.write(ended.key, done[ended.key].tolist())
            _tell(done, len(chunks))
    together = np.concatenate([done[key] for key in chunks], axis=1)  # (2, n, k)
    return together[0, :n_fits], together[1, :n_fits]


def _known(kept: JsonFolder, keys: Iterable[str], shape: tuple[int, int, int]) -> dict[str, Indices]:
    """Return the chunks that are kept."""
    found = {}
    for key in keys:
        told = kept.read(key)
        if told is not None:
            try:
                found[key] = np.array(told, dtype=np.int64)
            except (ValueError, TypeError, OverflowError):
                raise kept.unreadable(key) from None
            if found[key].shape != shape:
                raise kept.unreadable(key)
    return found


def _tell(done: Mapping[str, Indices], n_chunks: int) -> None:
    tell(f"{2 * CHUNK * len(done):,} of {2 * CHUNK * n_chunks:,} fits", len(done) / n_chunks)
