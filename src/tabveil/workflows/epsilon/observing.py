"""Many fits of one generator in two worlds, what each release shows, and where that is kept.

Every fit has a seed of its own, which nobody knew before: were seeds used in both worlds, the noise would be
the same there and cancel. As many rows are drawn in both: a release that has as many rows as were learned
would tell the worlds apart by itself, which no promise covers.
"""

import hashlib
import json
import multiprocessing
import signal
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tabveil.core.rng import stream
from tabveil.core.storage.files import write_text
from tabveil.core.table import Indices, Table
from tabveil.core.workers import tell, unheard, working
from tabveil.engines.networks import INTERRUPTED
from tabveil.errors import ParameterError, TabveilError
from tabveil.protocols import Synthesizer
from tabveil.synthesis.generators import Account
from tabveil.synthesis.generators.models import require_model
from tabveil.version import __version__
from tabveil.workflows.cells.own_code import import_files
from tabveil.workflows.epsilon.worlds import Worlds


@dataclass(frozen=True, kw_only=True)
class FitStore:
    """A folder of what releases showed: counts of invented rows, nobody's data."""

    folder: Path

    @classmethod
    def at(cls, folder: Path, description: Mapping[str, Any]) -> "FitStore":
        """Return the place for fits of this description, by its digest."""
        text = json.dumps({"version": __version__, **description}, sort_keys=True, default=repr)
        place = folder / hashlib.sha256(text.encode()).hexdigest()[:16]
        place.mkdir(parents=True, exist_ok=True)
        return cls(folder=place)

    def read(self, n_chunks: int, shape: tuple[int, int, int]) -> dict[int, Indices]:
        """Return the chunks that are there, of the first so many."""
        found = {}
        for index in range(n_chunks):
            path = self._path(index)
            try:
                observed = np.array(json.loads(path.read_text(encoding="utf-8")), dtype=np.int64)
            except FileNotFoundError:
                continue
            except (OSError, ValueError, TypeError, OverflowError):
                raise _unreadable(path) from None
            if observed.shape != shape:
                raise _unreadable(path)
            found[index] = observed
        return found

    def write(self, index: int, observed: Indices) -> None:
        """Keep a chunk, at one stroke."""
        write_text(self._path(index), json.dumps(observed.tolist()) + "\n")

    def _path(self, index: int) -> Path:
        return self.folder / f"fits-{index:06}.json"


def _unreadable(path: Path) -> ParameterError:
    return ParameterError(path, "is not what an audit of ε wrote; delete it, and run the audit again.")


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
        with working(listener=unheard):
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
    store: FitStore | None = None,
    code: Sequence[str | Path] = (),
) -> tuple[Indices, Indices]:
    """Return what ``n_fits`` fits with the canary and as many without it show, (n, k) each.

    What the store has is not done again; what is done is kept at once.
    """
    n_chunks = -(-n_fits // CHUNK)
    shape = (2, CHUNK, fits.worlds.n_figures)
    done = {} if store is None else store.read(n_chunks, shape)
    missing = [index for index in range(n_chunks) if index not in done]
    _tell(done, n_chunks)
    with _chunks(fits, missing, seed, workers, code) as found:
        for index, observed in found:
            if store is not None:
                store.write(index, observed)
            done[index] = observed
            _tell(done, n_chunks)
    together = np.concatenate([done[index] for index in range(n_chunks)], axis=1)  # (2, n, k)
    return together[0, :n_fits], together[1, :n_fits]


def _tell(done: Mapping[int, Indices], n_chunks: int) -> None:
    tell(f"{2 * CHUNK * len(done):,} of {2 * CHUNK * n_chunks:,} fits", len(done) / n_chunks)


@contextmanager
def _chunks(
    fits: Fits, indices: Sequence[int], seed: int, workers: int, code: Sequence[str | Path]
) -> Iterator[Iterator[tuple[int, Indices]]]:
    """Hand out chunks as they are done, here or by other processes, which end with the block."""
    if workers == 1 or len(indices) < 2:  # noqa: PLR2004 - nothing to share
        yield ((index, fits.chunk(index, seed)) for index in indices)
        return
    pool = ProcessPoolExecutor(
        min(workers, len(indices)),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start,
        initargs=(tuple(code),),
    )
    try:
        waiting = {pool.submit(fits.chunk, index, seed): index for index in indices}
        yield ((waiting[future], future.result()) for future in as_completed(waiting))
    except BrokenExecutor:
        raise ParameterError(
            fits.synthesizer.name, "a process ended before its fits were done; try with fewer workers."
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _start(code: Sequence[str | Path]) -> None:
    """Get a process ready: it leaves Ctrl-C to the one that started it, and knows the user's generators."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import_files(code)
