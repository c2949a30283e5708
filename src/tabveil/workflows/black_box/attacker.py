"""The whole attack: who is attacked, how releases are made, what they tell."""

import operator
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

from tabveil.core import check
from tabveil.core.estimate import CONFIDENCE
from tabveil.core.rng import stream
from tabveil.core.workers import Listener, part, tell, unheard, working
from tabveil.errors import ParameterError
from tabveil.metrics.black_box import (
    InferenceGame,
    MembershipGame,
    Pool,
    ShadowResult,
    Targets,
    judge_inference,
    judge_membership,
)
from tabveil.metrics.black_box.games import Rules
from tabveil.protocols import Synthesizer
from tabveil.version import __version__
from tabveil.workflows.black_box.command import SIZE_LIMIT, TIME_LIMIT, CommandReleases
from tabveil.workflows.black_box.fits import FitStore, Job, play
from tabveil.workflows.black_box.releases import (
    GeneratorReleases,
    RareLabels,
    RealPeople,
    RealSources,
    Releasing,
)
from tabveil.workflows.synthesizing import choose, configuration
from tabveil.workflows.synthesizing.configuration import SynthesisFile
from tabveil.workflows.synthesizing.learning import is_private

N_TARGETS, N_FITS = 40, 400
LEAST_FITS = 40
DEFAULT_GENERATOR = "trees"


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
    """How much does a generator betray about single people to somebody who owns it?

    The generator is fitted again and again, each time with some of the targets and without the others. An
    attacker learns from half of the releases what betrays that a target was in, and tells it for the other
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
    schema, missing
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
        raise ParameterError(
            "attack", f"give one of generator, config and command, not {' and '.join(named)}."
        )
    synthesizer = None
    if command is None:
        chosen_settings = {**said.settings, **(settings or {})}
        synthesizer = choose(generator or said.generator or DEFAULT_GENERATOR, chosen_settings)
    if synthesizer is None and settings:
        raise ParameterError("attack", "settings belong to a generator; a command has its own.")
    given = (missing,) if isinstance(missing, str) else tuple(missing)
    sources = RealSources(
        data=data,
        control=control,
        schema=said.schema if schema is None else schema,
        missing=given or said.missing,
    )
    place = None if store is None else FitStore(Path(store).absolute())
    if place is not None:
        place.prepare()
    with working(threads=threads, listener=progress):
        tell("reading the table", 0.0)
        people = RealPeople.read(sources)
        releasing: Releasing
        if synthesizer is None:
            releasing = CommandReleases.of(
                command or "", sources, people.layout, time_limit=time_limit, size_limit=size_limit
            )
        else:
            people, releasing = _generating(synthesizer, people, pooled, learned=said.identifiers == "learn")
        if targets >= people.n_data:
            raise ParameterError(
                "attack",
                f"targets must be fewer than the {people.n_data:,} rows of the data, got {targets:,}.",
            )
        with working(listener=unheard):
            chosen = Targets.choose(people.data, targets, rng=stream(seed, "targets"))
        pool = Pool.draw(
            chosen.rows, n_data=people.n_data, n_control=people.n_control, n_rows=rows, game=game, seed=seed
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
        notes=(*people.notes, *_notes(people, pool)),
    )


def _generating(
    synthesizer: Synthesizer, people: RealPeople, rare_labels: RareLabels, *, learned: bool
) -> tuple[RealPeople, GeneratorReleases]:
    """Return the people as a generator is shown them, and how it makes releases; ``learned``: identifiers."""
    named = people.declared_identifiers if is_private(synthesizer) else people.identifiers
    people = people.without(() if learned else named)
    return people, GeneratorReleases(
        synthesizer=synthesizer,
        rare_labels=rare_labels,
        kept_labels=people.kept_labels,
        layout=people.layout,
        declared=people.declared,
    )


def _check(*, targets: int, fits: int, seed: int, workers: int | None, draw: int | None) -> None:
    least = {"targets": (targets, 1), "fits": (fits, LEAST_FITS), "seed": (seed, 0)}
    least |= {name: (given, 1) for name, given in (("workers", workers), ("draw", draw)) if given is not None}
    for name, (value, minimum) in least.items():
        try:
            check.at_least("attack", name, operator.index(value), minimum)
        except TypeError:
            kind = type(value).__name__
            raise ParameterError("attack", f"{name} must be a whole number, got {kind}.") from None


def _notes(people: RealPeople, pool: Pool) -> tuple[str, ...]:
    """Say what differs from the release that would be made of all the data."""
    if pool.n_rows >= people.n_data:
        return ()
    note = (
        f"Every fit learned from {pool.n_rows:,} of the {people.n_data:,} rows: from fewer rows each person "
        "weighs more than in a release of all of them."
    )
    return (note,)
