"""The fits of a pool, one after the other or on many processes, each kept the moment it is done.

What is kept of a fit is what its release says about the targets, at an address made of all that decides it.
So whatever ends an attack loses nothing that was done, and the same attack ends with the same numbers.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tabveil.core.storage.files import replacing
from tabveil.core.table import Table
from tabveil.core.workers import tell
from tabveil.errors import ParameterError, TabveilError
from tabveil.metrics.black_box import Game
from tabveil.metrics.black_box.games import Features, Watch
from tabveil.version import __version__
from tabveil.workflows.black_box.command import CommandFailed
from tabveil.workflows.black_box.releases import Releasing
from tabveil.workflows.cells.engine import Shared, Task, engine, reason
from tabveil.workflows.cells.store import GuardedFolder, content, digest

FORMAT = 1
"""Raised when what is kept means something else than before."""


@dataclass(frozen=True)
class FitStore:
    """A folder of fits, which are counts about single people, and of what commands said as they failed."""

    folder: Path

    @property
    def fits(self) -> GuardedFolder:
        """What the release of each fit says."""
        return GuardedFolder(folder=self.folder / "fits")

    def prepare(self) -> None:
        """Make the folders."""
        try:
            for name in ("fits", "failures"):
                GuardedFolder(folder=self.folder / name).prepare()
        except OSError as error:
            raise ParameterError("--store", f"cannot use {self.folder}: {error.strerror}.") from None

    def write_complaint(self, key: str, said: bytes) -> Path:
        """Keep what a command said as it failed: it may be anything, and is shown to nobody else."""
        path = self.folder / "failures" / f"{key}.txt"
        with replacing(path, guarded=True) as temporary:
            temporary.write_bytes(said)
        return path


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
        """Return a fit that is kept; one that cannot be used is made again."""
        kept = None if self.store is None else self.store.fits.read(self.key(fit))
        found = None if kept is None else kept.get("features")
        return (
            found if found is not None and found.shape == self.shape and found.dtype == np.float32 else None
        )

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
            self.store.fits.write(self.key(fit), features=features)
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
    known = {fit: features for fit in range(n_fits) if (features := job.known(fit)) is not None}
    for fit, features in known.items():
        found[fit] = features
    places = {job.key(fit): fit for fit in range(n_fits) if fit not in known}
    shared = Shared(key="job", value=job)
    tasks = (Task(key=key, call=Job.run, arguments=(fit,), needs=shared) for key, fit in places.items())
    n_workers = 1 if workers is None and scheduler is None else workers
    tell(f"{len(known):,} of {n_fits:,} fits", len(known) / n_fits)
    with engine(workers=n_workers, scheduler=scheduler, owner="attack") as on_engine:
        for done, ended in enumerate(on_engine(tasks), len(known) + 1):
            if isinstance(ended.error, (TabveilError, MemoryError)):
                raise ended.error
            if ended.error is not None:
                raise ParameterError(f"attack: {reason(ended.error)}.")
            found[places[ended.key]] = ended.result()
            tell(f"{done:,} of {n_fits:,} fits", done / n_fits)
    return found
