"""The whole attack: who is attacked, how releases are made, what they tell.

The fits of a pool are done one after the other or on many processes. What is kept of a fit is what its
release says about the targets, at an address made of all that decides it, the moment it is done. So whatever
ends an attack loses nothing that was done, and the same attack ends with the same numbers.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, get_args

import numpy as np

from tabveil.core import check
from tabveil.core.estimate import CONFIDENCE
from tabveil.core.rng import stream
from tabveil.core.storage.arrays import Expected
from tabveil.core.storage.files import replacing
from tabveil.core.table import Table
from tabveil.core.workers import Listener, part, tell, unheard, working
from tabveil.errors import ParameterError, TabveilError
from tabveil.metrics.black_box import (
    Game,
    InferenceGame,
    MembershipGame,
    Pool,
    ShadowResult,
    Targets,
    judge_inference,
    judge_membership,
)
from tabveil.metrics.black_box.games import Features, Rules, Watch
from tabveil.protocols import Synthesizer
from tabveil.synthesis.generators.privacy import SEED_IS_TOLD
from tabveil.tables.reading import declare
from tabveil.version import __version__
from tabveil.workflows.black_box.releases import (
    SIZE_LIMIT,
    TIME_LIMIT,
    CommandFailed,
    CommandReleases,
    GeneratorReleases,
    RealPeople,
    RealSources,
    Releasing,
)
from tabveil.workflows.cells.engine import engine
from tabveil.workflows.cells.store import MADE_AGAIN, GuardedFolder, Losses, content, digest
from tabveil.workflows.cells.tasks import Shared, Task, reason
from tabveil.workflows.synthesizing import choose, configuration
from tabveil.workflows.synthesizing.configuration import SynthesisFile
from tabveil.workflows.synthesizing.learning import RareLabels, is_private, wants_secret_seed
from tabveil.workflows.synthesizing.table_model import whole

N_TARGETS, N_FITS = 40, 400
LEAST_FITS = 40


def attack(
    data: Any,  # noqa: ANN401 - a path or a table of any dataframe library
    *,
    generator: str | Synthesizer | None = None,
    settings: Mapping[str, object] | None = None,
    config: str | Path | None = None,
    command: str | None = None,
    control: Any = None,  # noqa: ANN401 - as data
    secret: str | None = None,
    targets: int = N_TARGETS,
    fits: int = N_FITS,
    rows: int | None = None,
    draw: int | None = None,
    game: Rules = "fixed",
    seed: int = 0,
    schema: Any = None,  # noqa: ANN401 - a path or plain data
    drop: str | Iterable[str] = (),
    missing: Iterable[str] = (),
    rare_labels: RareLabels | None = None,
    store: str | Path | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    threads: int | None = None,
    time_limit: float = TIME_LIMIT,
    size_limit: float = SIZE_LIMIT,
    progress: Listener | None = None,
) -> ShadowResult:
    """How much does a generator reveal about single people to somebody who owns it?

    The generator is fitted again and again, each time with some of the targets and without the others. An
    attacker learns from half of the releases what shows that a target was in, and tells it for the other
    half.

    Parameters
    ----------
    data
        The real rows that a release would be learned from: a path or a pandas, polars or Arrow table.
    generator, settings
        The name of a generator, ``"trees"`` if left out, with its settings, or a synthesizer object.
    config
        A file as ``tabveil synthesize --config`` takes it, instead: its generator and settings, schema,
        missing texts, rare labels, rows to draw, and whether identifiers are learned. Its seed does not
        count.
    command
        A command of your own, instead: ``"python make.py {train} {out}"``. It is started without a shell, in
        a folder of its own; ``{rows}`` is how many rows to write, ``{seed}`` a number to draw them by. Files
        are of the kind of the data, or CSV.
    control
        Real rows beside those of the release. They stand in for targets that are out. Without them a fifth of
        the data is held back for it.
    secret
        Also guess this column, which gets a value at random for each fit; that takes as many fits again.
    targets
        How many people are attacked: half of them the most vulnerable, half at random.
    fits
        How many times the generator is fitted. The error of an area shrinks with its root.
    rows
        From how many rows each fit learns; None: all that there are. From fewer each person weighs more.
    draw
        How many rows are drawn from each fit; None: as many as it learns from. Who owns the generator may
        draw more.
    game
        ``"fixed"``: all fits learn from one table, but for the targets, so that a target's own neighbors are
        always there. ``"redrawn"``: every fit learns from other people, as an attacker would who does not
        know the table; people who are at risk only beside the others in the table are overlooked.
    seed
        The same seed gives the same numbers, on however many processes, and however often interrupted.
    schema, drop, missing
        As in :func:`tabveil.synthesize`.
    rare_labels
        As in :func:`tabveil.synthesize`, pooled if left out; what a command does is its own business.
    store
        A folder that keeps every fit; the same attack with the same store goes on where it was.
    workers, scheduler
        Processes to use on this machine, or the address of a Dask scheduler; one process if left out.
    threads, progress
        As in :func:`tabveil.audit`.
    time_limit, size_limit
        Seconds that a command may take for a fit, and megabytes that it may write.

    Examples
    --------
    >>> from tabveil.datasets import hospital
    >>> found = attack(hospital(200, seed=1), generator="copy", targets=4, fits=40, draw=1000)
    >>> found["shadow_membership"].groups[0].found.value > 0.9
    True
    """
    _check(targets=targets, fits=fits, seed=seed, workers=workers, draw=draw)
    check.one_of("attack", "game", game, get_args(Rules))
    said = SynthesisFile() if config is None else configuration.read(config)
    configuration.refuse_steps("attack", said)
    pooled = rare_labels or said.rare_labels or "pool"
    check.one_of("attack", "rare_labels", pooled, get_args(RareLabels))
    ways = {"generator": generator, "config": config, "command": command}
    named = [name for name, way in ways.items() if way is not None]
    if len(named) > 1:
        several = " and ".join(named)
        raise ParameterError("attack", f"give one of generator, config and command, not {several}.")
    synthesizer = None
    if command is None:
        synthesizer = choose(generator or said.generator or "trees", {**said.settings, **(settings or {})})
    elif settings:
        raise ParameterError("attack", "settings belong to a generator; a command has its own.")
    sources = RealSources(
        data=data,
        control=control,
        schema=declare.read(said.schema if schema is None else schema, drop=drop),
        missing=((missing,) if isinstance(missing, str) else tuple(missing)) or said.missing,
    )
    place = None if store is None else Path(store).absolute()
    if place is not None:
        _prepare(place)
    with working(threads=threads, listener=progress):
        tell("reading the table", 0.0)
        people = RealPeople.read(sources)
        if synthesizer is None:
            releasing: Releasing = CommandReleases.of(
                command or "", sources, people.layout, time_limit=time_limit, size_limit=size_limit
            )
        else:
            naming = people.declared_identifiers if is_private(synthesizer) else people.identifiers
            people = people.without(() if said.identifiers == "learn" else naming)
            releasing = GeneratorReleases(synthesizer=synthesizer, rare_labels=pooled, people=people)
        if targets >= people.n_data:
            raise ParameterError(
                "attack",
                f"targets must be fewer than the {people.n_data:,} rows of the data, got {targets:,}.",
            )
        with working(listener=unheard):
            chosen = Targets.choose(
                people.real.take(np.arange(people.n_data)), targets, rng=stream(seed, "targets")
            )
        n_control = len(people.real) - people.n_data
        pool = Pool.draw(
            chosen.rows, n_data=people.n_data, n_control=n_control, n_rows=rows, game=game, seed=seed
        )
        n_drawn = draw or said.rows or pool.n_rows
        attacked = []
        games: list[MembershipGame | InferenceGame] = [MembershipGame(real=people.real, pool=pool)]
        if secret is not None:
            games.append(InferenceGame(real=people.real, pool=pool, secret=secret))
        for turn, each in enumerate(games):
            job = Job(game=each, real=people.real, releasing=releasing, n_drawn=n_drawn, store=place)
            with part(turn / len(games), (turn + 1) / len(games)):
                seen = play(job, fits, workers=workers, scheduler=scheduler)
            if isinstance(each, InferenceGame):
                attacked.append(judge_inference(each, seen, chosen))
            else:
                attacked.append(judge_membership(each, seen, chosen))
        tell("done", 1.0)
    return ShadowResult(
        version=__version__,
        seed=seed,
        data=people.input,
        generator=releasing.name,
        settings=dict(releasing.settings),
        game=game,
        n_fits=fits,
        n_rows=pool.n_rows,
        n_drawn=n_drawn,
        confidence=CONFIDENCE,
        attacks=tuple(attacked),
        notes=(
            *people.notes,
            *_notes(people, pool),
            *((SEED_IS_TOLD,) if synthesizer is not None and wants_secret_seed(synthesizer) else ()),
        ),
    )


def _check(*, targets: int, fits: int, seed: int, workers: int | None, draw: int | None) -> None:
    least = {"targets": (targets, 1), "fits": (fits, LEAST_FITS), "seed": (seed, 0)}
    least |= {name: (given, 1) for name, given in (("workers", workers), ("draw", draw)) if given is not None}
    for name, (value, minimum) in least.items():
        whole("attack", name, value, minimum)


def _prepare(store: Path) -> None:
    try:
        fits_of(store).prepare()
        GuardedFolder(folder=store / "failures").prepare()
    except OSError as error:
        raise ParameterError("--store", f"cannot use {store}: {error.strerror}.") from None


def _notes(people: RealPeople, pool: Pool) -> tuple[str, ...]:
    """Say what differs from the release that would be made of all the data."""
    if pool.n_rows >= people.n_data:
        return ()
    note = (
        f"Every fit learned from {pool.n_rows:,} of the {people.n_data:,} rows: from fewer rows each person "
        "weighs more than in a release of all of them."
    )
    return (note,)


FORMAT = 1
"""Raised when what is kept means something else than before."""


def fits_of(store: Path) -> GuardedFolder:
    """Return the folder of what the release of each fit says, which are counts about single people."""
    return GuardedFolder(folder=store / "fits")


@dataclass(frozen=True, kw_only=True, eq=False)
class Job:
    """All that a fit needs: who is in it, how releases are made, what is looked for."""

    game: Game
    real: Table
    releasing: Releasing
    n_drawn: int
    store: Path | None  # of fits, and of what commands said as they failed

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
        if self.store is None:
            return None
        expected = Expected(dtype=np.float32, shape=self.shape, low=0.0)
        kept = fits_of(self.store).read(self.key(fit), {"features": expected})
        return None if kept is None else kept["features"]

    def run(self, fit: int) -> Features:
        """Make the release of a fit, look at it, and keep what is seen."""
        rng = self.game.pool.rng(fit, self.game.name, "generator")
        try:
            real, rows = self.releasing(self.game.train(fit), self.real, self.n_drawn, rng=rng)
        except CommandFailed as error:
            where = self._where_it_complained(error, fit)
            raise ParameterError(f"fit {fit + 1}", error, hint=where) from None
        except (TabveilError, MemoryError):
            raise
        except Exception as error:
            raise ParameterError(self.releasing.name, f"fit {fit + 1} failed: {reason(error)}.") from error
        watch = self._watch if real is self.real else self.game.watch(real)
        features = watch.look(rows)
        if self.store is not None:
            fits_of(self.store).write(self.key(fit), features=features)
        return features

    def _where_it_complained(self, error: CommandFailed, fit: int) -> str:
        if not error.complaint:
            return ""
        if self.store is None:
            return "With --store, what it says is kept there."
        path = self.store / "failures" / f"{self.key(fit)}.txt"
        with replacing(path, guarded=True) as temporary:  # it may be anything, and is shown to nobody else
            temporary.write_bytes(error.complaint)
        return f"What it said is in {path}."


def play(job: Job, n_fits: int, *, workers: int | None, scheduler: str | None) -> Features:
    """Return what the releases of all fits say, (m, t, p); what is kept is not made again."""
    found = np.empty((n_fits, *job.shape), dtype=np.float32)
    losses = Losses()
    kept = ((fit, losses.read(partial(job.known, fit))) for fit in range(n_fits))
    known = {fit: features for fit, features in kept if features is not None}
    losses.tell(MADE_AGAIN)
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
