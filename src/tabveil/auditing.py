"""Run metrics over three tables and collect what they answer.

The module is not called ``audit`` because ``tabveil.audit`` is the function users call.
"""

import operator
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Self

from tabveil import check
from tabveil.attackers import Attacker
from tabveil.attackers import read as read_attackers
from tabveil.attacks import ATTACKS, DEEP_ATTACKS
from tabveil.errors import NotApplicable, ParameterError
from tabveil.frame import load_split
from tabveil.indicators import INDICATORS
from tabveil.protocols import Metric
from tabveil.result import Report, Result, Skipped
from tabveil.rng import stream
from tabveil.table import Split
from tabveil.version import __version__
from tabveil.workers import Listener, current, working

METRICS: Mapping[str, type[Metric]] = {
    metric.name: metric for metric in (*ATTACKS, *DEEP_ATTACKS, *INDICATORS)
}
"""Every registered metric by its name, in the order of the report."""

DEFAULT = tuple(metric.name for metric in (*ATTACKS, *INDICATORS))
"""What runs unless something else is asked for: all that needs no extra."""

SLOW = frozenset({"ml_inference", "domias_kde", "neighbor_vote"})
"""What a quick audit leaves out."""

NO_CONTROL = (
    "No control table: without real rows the generator never saw there is nothing to compare with, and "
    "little can be concluded. Run 'tabveil split' before training the next generator."
)


def audit(
    train: Any,  # noqa: ANN401 - a path or a table of any dataframe library
    synthetic: Any,  # noqa: ANN401 - likewise
    control: Any = None,  # noqa: ANN401 - likewise
    *,
    metrics: str | Metric | Iterable[str | Metric | type[Metric]] | None = None,
    quick: bool = False,
    secrets: Iterable[str] | None = None,
    known: Iterable[str] | None = None,
    auxiliary: Iterable[tuple[Iterable[str], Iterable[str]]] | None = None,
    attackers: Any = None,  # noqa: ANN401 - a path or plain data
    seed: int = 0,
    schema: Any = None,  # noqa: ANN401 - a path or plain data
    missing: Iterable[str] = (),
    drop_identifiers: bool = False,
    threads: int | None = None,
    progress: Listener | None = None,
) -> Report:
    """How much does a synthetic table betray about the people it was learned from?

    Parameters
    ----------
    train
        The real rows the generator learned from: a path (CSV, Parquet, Feather) or a pandas, polars or Arrow
        table. The same holds for the other two.
    synthetic
        The rows to be released.
    control
        Real rows the generator never saw. Without them little can be concluded, and the report says so.
    metrics
        Names or metric objects; None runs all that need no extra.
    quick
        Leave out what takes longer than seconds.
    secrets, known
        The columns attackers want to learn, and those they know of a person. Where they are not given, the
        attacks choose and say what they tried.
    auxiliary
        Pairs of disjoint sets of columns that an attacker wants to link.
    attackers
        A file or mapping of attacker profiles (who knows and wants what); each is tried as well.
    seed
        The same seed gives the same numbers, whatever else runs and on however many threads.
    schema
        A file or mapping that overrides the types found (``tabveil schema FILE`` writes one to edit).
    missing
        Texts that stand for a missing value, such as ``"?"``.
    drop_identifiers
        Leave out columns that look like identifiers; they are named in the report's notes either way.
    threads
        How many threads to use; None takes all cores.
    progress
        Told what is being done and which share of the whole audit is complete.

    Examples
    --------
    >>> from tabveil.datasets import hospital
    >>> train, fresh = hospital(200, seed=1), hospital(200, seed=2)
    >>> audit(train, train, fresh, metrics="identical_match_share")["identical_match_share"].risk.low > 0.9
    True
    """
    knowledge = _Knowledge.of(secrets, known, auxiliary)
    profiles = read_attackers(attackers)
    chosen = [(metric.name, metric) for metric in _chosen(metrics, knowledge, quick=quick)]
    chosen += _profiled(profiles, [name for name, _ in chosen])
    seed = _whole(seed)
    with working(threads=threads):
        if progress:
            progress("reading the tables", 0.0)
        loaded = load_split(
            train, synthetic, control, schema=schema, missing=missing, drop_identifiers=drop_identifiers
        )
        named = [*knowledge.columns(), *(name for profile in profiles for name in profile.columns())]
        check.known_names("audit", "column", named, loaded.split.schema.names)
        answers = _answers(chosen, loaded.split, seed=seed, progress=progress)
    return Report(
        version=__version__,
        seed=seed,
        inputs=loaded.inputs,
        results=tuple(answer for answer in answers if isinstance(answer, Result)),
        skipped=tuple(answer for answer in answers if isinstance(answer, Skipped)),
        notes=(*(() if len(loaded.split.control) else (NO_CONTROL,)), *loaded.notes),
    )


@dataclass(frozen=True, kw_only=True)
class _Knowledge:
    """What the user says attackers know and want; a metric takes what it has a parameter for."""

    secrets: tuple[str, ...] | None = None
    known: tuple[str, ...] | None = None
    auxiliary: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] | None = None

    @classmethod
    def of(
        cls,
        secrets: Iterable[str] | None,
        known: Iterable[str] | None,
        auxiliary: Iterable[tuple[Iterable[str], Iterable[str]]] | None,
    ) -> Self:
        return cls(
            secrets=_columns("secrets", secrets),
            known=_columns("known", known),
            auxiliary=None if auxiliary is None else tuple((tuple(a), tuple(b)) for a, b in auxiliary),
        )

    def columns(self) -> tuple[str, ...]:
        linked = [name for pair in self.auxiliary or () for side in pair for name in side]
        return (*(self.secrets or ()), *(self.known or ()), *linked)

    def make(self, metric: type[Metric]) -> Metric:
        given = {
            name: value for name in _parameters(metric) if (value := getattr(self, name, None)) is not None
        }
        return metric(**given)


def _columns(name: str, given: Iterable[str] | None) -> tuple[str, ...] | None:
    if isinstance(given, str):
        raise ParameterError(f"audit: {name} must be a list of columns, got the text {given!r}.")
    return None if given is None else tuple(given)


def _parameters(metric: type[Metric]) -> set[str]:
    return {item.name for item in fields(metric)} if is_dataclass(metric) else set()


def _chosen(
    metrics: str | Metric | Iterable[str | Metric | type[Metric]] | None,
    knowledge: _Knowledge,
    *,
    quick: bool,
) -> tuple[Metric, ...]:
    """Turn names, classes and objects into metric objects; a name given twice counts once."""
    if metrics is None:
        names = [name for name in DEFAULT if not (quick and name in SLOW)]
        return tuple(knowledge.make(METRICS[name]) for name in names)
    asked = [metrics] if isinstance(metrics, str) or callable(metrics) else list(metrics)
    if not asked:
        raise ParameterError("audit: metrics is empty; leave it out to run all of them.")
    check.known_names("audit", "metric", [item for item in asked if isinstance(item, str)], METRICS)
    return tuple(_made(item, knowledge) for item in dict.fromkeys(asked))


def _made(item: str | Metric | type[Metric], knowledge: _Knowledge) -> Metric:
    if isinstance(item, str):
        return knowledge.make(METRICS[item])
    metric: Metric = item() if isinstance(item, type) else item
    if not (callable(metric) and hasattr(metric, "name") and hasattr(metric, "labels")):
        raise ParameterError(f"audit: metrics must be names or metric objects, got {type(item).__name__}.")
    return metric


def _profiled(profiles: Iterable[Attacker], names: Iterable[str]) -> list[tuple[str, Metric]]:
    """Let each attacker try every chosen attack they have the knowledge for; the title says who it was."""
    made = []
    for profile in profiles:
        links = None if profile.links is None else (profile.links,)
        knowledge = _Knowledge(secrets=profile.wants, known=profile.knows, auxiliary=links)
        for name in names:
            parameters = _parameters(METRICS[name]) if name in METRICS else set()
            if ("secrets" in parameters and profile.wants) or ("auxiliary" in parameters and links):
                made.append((f"{name}: {profile.name}", knowledge.make(METRICS[name])))
    return made


def _whole(seed: int) -> int:
    try:
        seed = operator.index(seed)
    except TypeError:
        raise ParameterError(f"audit: seed must be a whole number, got {type(seed).__name__}.") from None
    check.at_least("audit", "seed", seed, 0)
    return seed


def _answers(
    metrics: Sequence[tuple[str, Metric]], split: Split, *, seed: int, progress: Listener | None
) -> list[Result | Skipped]:
    """Ask every metric; progress counts the metrics done, and the text says how far the present one is."""
    listener = progress or current().listener
    answers = []
    for position, (title, metric) in enumerate(metrics):
        share = position / len(metrics)
        if listener:
            listener(title, share)
        with working(listener=_about(title, share, listener) if listener else None):
            answers.append(_answer(title, metric, split, seed))
    if listener:
        listener("done", 1.0)
    return answers


def _about(name: str, done: float, listener: Listener) -> Listener:
    def tell(doing: str, share: float) -> None:
        listener(f"{name}: {doing} {share:.0%}", done)

    return tell


def _answer(title: str, metric: Metric, split: Split, seed: int) -> Result | Skipped:
    start = time.perf_counter()
    try:
        result = metric(split, rng=stream(seed, title))
    except NotApplicable as reason:
        return Skipped(metric=title, reason=str(reason))
    return replace(result, metric=title, seconds=time.perf_counter() - start)
