"""The fits of a pool, one after the other or on many processes, each kept the moment it is done.

What is kept of a fit is what its release says about the targets, at an address made of all that decides it.
So whatever ends an attack loses nothing that was done, and the same attack ends with the same numbers.
"""

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tabveil.core.storage.files import OWNER_FOLDER, replacing
from tabveil.core.table import Table
from tabveil.core.workers import tell, unheard, working
from tabveil.errors import ParameterError, TabveilError
from tabveil.metrics.black_box import Game
from tabveil.metrics.black_box.games import Features, Watch
from tabveil.version import __version__
from tabveil.workflows.benchmark.plan import content
from tabveil.workflows.benchmark.trials import digest
from tabveil.workflows.black_box.command import CommandFailed
from tabveil.workflows.black_box.releases import Releasing
from tabveil.workflows.cells.cluster import cluster, finished_tasks, reason, threads_of_a_task

FORMAT = 1
"""Raised when what is kept means something else than before."""


@dataclass(frozen=True)
class FitStore:
    """A folder of fits; several processes, on several machines, may write into it at once.

    It holds counts about single people, and only its owner can read it.
    """

    folder: Path

    def prepare(self) -> None:
        """Make the folders."""
        try:
            for place in (self._fits, self._failures):
                place.mkdir(parents=True, exist_ok=True)
                place.chmod(OWNER_FOLDER)
        except OSError as error:
            raise ParameterError("--store", f"cannot use {self.folder}: {error.strerror}.") from None

    def write(self, key: str, features: Features) -> None:
        """Keep a fit."""
        with replacing(self._fits / f"{key}.npz", guarded=True) as temporary:
            np.savez_compressed(temporary, features=features)

    def read(self, key: str, shape: tuple[int, int]) -> Features | None:
        """Return a fit that was kept; one that cannot be read is made again."""
        try:
            with (self._fits / f"{key}.npz").open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                found: Features = arrays["features"]
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        return found if found.shape == shape and found.dtype == np.float32 else None

    def write_complaint(self, key: str, said: bytes) -> Path:
        """Keep what a command said as it failed: it may be anything, and is shown to nobody else."""
        path = self._failures / f"{key}.txt"
        with replacing(path, guarded=True) as temporary:
            temporary.write_bytes(said)
        return path

    @property
    def _fits(self) -> Path:
        return self.folder / "fits"

    @property
    def _failures(self) -> Path:
        return self.folder / "failures"


@dataclass(frozen=True, kw_only=True, eq=False)
class Job:
    """All that a fit needs: who is in it, how releases are made, what is looked for."""

    game: Game
    real: Table
    releasing: Releasing
    n_drawn: int
    store: FitStore | None

    @property
    def shape(self) -> tuple[int, int]:
        """How many numbers a release comes to: people looked for, by numbers about each."""
        return len(self._watch.targets), self._watch.n_features

    @cached_property
    def _watch(self) -> Watch:
        return self.game.watch(self.real)

    @cached_property
    def _address(self) -> dict[str, Any]:
        pool = self.game.pool
        return {
            "format": FORMAT,
            "version": __version__,
            "people": content(self.real),
            "generator": dict(self.releasing.identity),
            "attack": self.game.name,
            "secret": getattr(self.game, "secret", None),
            "game": pool.game,
            "targets": pool.targets.tolist(),
            "others": digest({"rows": pool.others.tolist(), "auxiliary": pool.auxiliary.tolist()}),
            "rows": pool.n_rows,
            "drawn": self.n_drawn,
            "seed": pool.seed,
        }

    def key(self, fit: int) -> str:
        """Return the address of a fit."""
        return digest({"attack": digest(self._address), "fit": fit})

    def known(self, fit: int) -> Features | None:
        """Return a fit that is kept, if it is."""
        return None if self.store is None else self.store.read(self.key(fit), self.shape)

    def run(self, fit: int) -> Features:
        """Make the release of a fit, look at it, and keep what is seen."""
        rng = self.game.pool.rng(fit, self.game.name, "generator")
        try:
            made = self.releasing(self.game.train(fit), self.real, self.n_drawn, rng=rng)
        except CommandFailed as error:
            raise ParameterError(
                f"fit {fit + 1}", error, hint=self._where_it_complained(error, fit)
            ) from None
        except (TabveilError, MemoryError):
            raise
        except Exception as error:
            raise ParameterError(self.releasing.name, f"fit {fit + 1} failed: {reason(error)}.") from error
        watch = self._watch if made.real is self.real else self.game.watch(made.real)
        features = watch.look(made.rows)
        if self.store is not None:
            self.store.write(self.key(fit), features)
        return features

    def _where_it_complained(self, error: CommandFailed, fit: int) -> str:
        if not error.complaint:
            return ""
        if self.store is None:
            return "With --store, what it says is kept there."
        return f"What it said is in {self.store.write_complaint(self.key(fit), error.complaint)}."


def play(job: Job, n_fits: int, *, workers: int | None, scheduler: str | None) -> Features:
    """Return what the releases of all fits say, (m, t, p); what is kept is not made again."""
    found = np.empty((n_fits, *job.shape), dtype=np.float32)
    todo = []
    for fit in range(n_fits):
        known = job.known(fit)
        if known is None:
            todo.append(fit)
        else:
            found[fit] = known
    done = n_fits - len(todo)
    tell(_told(done, n_fits), done / n_fits)
    for fit, features in _made(job, todo, workers=workers, scheduler=scheduler):
        found[fit] = features
        done += 1
        tell(_told(done, n_fits), done / n_fits)
    return found


def _told(done: int, n_fits: int) -> str:
    return f"{done:,} of {n_fits:,} fits"


def _made(
    job: Job, todo: list[int], *, workers: int | None, scheduler: str | None
) -> Iterator[tuple[int, Features]]:
    """Make fits: here, or on several processes where that is asked for."""
    if scheduler is None and (workers or 1) == 1:
        for fit in todo:
            with working(listener=unheard):
                features = job.run(fit)
            yield fit, features
        return
    if not todo:
        return
    with cluster(workers, scheduler, owner="attack") as client:
        shared = client.scatter(job, broadcast=True, hash=False)
        threads = threads_of_a_task(client)
        tasks = ((str(fit), client.submit(run_fit, shared, fit, threads, pure=False)) for fit in todo)
        for key, future in finished_tasks(client, tasks):
            if future.status != "finished":
                error = future.exception()
                raise (
                    ParameterError(error)
                    if isinstance(error, TabveilError)
                    else ParameterError("attack", f"{reason(error)}.")
                )
            yield int(key), future.result()


def run_fit(job: Job, fit: int, threads: int) -> Features:
    """Make one fit in a process of a cluster."""
    with working(threads=threads, listener=unheard):
        return job.run(fit)
