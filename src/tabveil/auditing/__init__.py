"""Run metrics over three tables and collect what they answer.

The package is not called ``audit`` because ``tabveil.audit`` is the function users call.
"""

import operator
import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

from tabveil import check, verdict
from tabveil.attackers import read as read_attackers
from tabveil.auditing.choosing import DEFAULT, METRICS, SLOW, Knowledge, by_attackers, choose
from tabveil.auditing.exposing import exposed
from tabveil.auditing.extras import Asked, extras
from tabveil.auditing.running import Step, answer, run
from tabveil.errors import ParameterError
from tabveil.frame import load_split
from tabveil.portrait import Portrait
from tabveil.power import Power
from tabveil.protocols import Metric
from tabveil.report import Report
from tabveil.result import Result, Skipped
from tabveil.utility import Utility
from tabveil.version import __version__
from tabveil.workers import Listener, working

__all__ = ["DEFAULT", "METRICS", "SLOW", "audit"]

NO_CONTROL = (
    "No control table: without real rows the generator never saw there is nothing to compare with, and "
    "little can be concluded. Run 'tabveil split' before training the next generator."
)

Found = TypeVar("Found")


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
    policy: Any = None,  # noqa: ANN401 - a path or plain data
    utility: bool = False,
    target: str | Sequence[str] | None = None,
    power: bool | None = False,
    portrait: bool = False,
    show_values: bool = False,
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
    policy
        A file or mapping that says which risks are accepted, at which confidence, and who receives the
        release; the report's verdict follows it. Defaults are in :class:`tabveil.verdict.Policy`.
    utility, target
        Also measure how useful the release is, with models that predict the target columns (None: those that
        can be predicted best). Needs seconds.
    power
        Also find out which leaks this audit would have seen, by planting some. Needs a minute; None does it
        where it does not need much more.
    portrait
        Also compute what the HTML page draws: distances and a map.
    show_values
        Add the values of the training rows most at risk, and name rare labels. Sensitive.
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
    start = time.perf_counter()
    agreed = verdict.read(policy)
    check.known_names("policy", "required metric", agreed.required, METRICS)
    knowledge = Knowledge.of(secrets, known, auxiliary, confidence=agreed.confidence)
    profiles = read_attackers(attackers)
    chosen = [(metric.name, metric) for metric in choose(metrics, knowledge, quick=quick)]
    tried = [*chosen, *by_attackers(profiles, [name for name, _ in chosen], confidence=agreed.confidence)]
    seed = _whole(seed)
    targets = () if target is None else (target,) if isinstance(target, str) else tuple(target)
    missing = tuple(missing)
    asked = Asked(
        utility=utility or bool(targets), targets=targets, power=power, portrait=portrait, rare=show_values
    )
    settings = {
        "metrics": None if metrics is None else [name for name, _ in chosen],
        "quick": quick,
        "secrets": knowledge.secrets,
        "known": knowledge.known,
        "auxiliary": knowledge.auxiliary,
        "schema": None if schema is None else "given",
        "missing": missing,
        "drop_identifiers": drop_identifiers,
        "target": targets or None,
        "show_values": show_values,
    }
    with working(threads=threads):
        if progress:
            progress("reading the tables", 0.0)
        loaded = load_split(
            train, synthetic, control, schema=schema, missing=missing, drop_identifiers=drop_identifiers
        )
        split = loaded.split
        named = [
            *knowledge.columns(),
            *(name for profile in profiles for name in profile.columns()),
            *targets,
        ]
        check.known_names("audit", "column", named, split.schema.names)
        steps = [
            Step(title=title, work=partial(answer, title, metric, split, seed)) for title, metric in tried
        ]
        steps += extras(loaded, chosen, asked, confidence=agreed.confidence, seed=seed)
        found = run(steps, progress)
    results = tuple(item for item in found if isinstance(item, Result))
    return Report(
        version=__version__,
        seed=seed,
        inputs=loaded.inputs,
        results=results,
        skipped=tuple(item for item in found if isinstance(item, Skipped)),
        notes=(*(() if len(split.control) else (NO_CONTROL,)), *loaded.notes),
        settings=settings,
        attackers=profiles,
        policy=agreed,
        utility=_first(found, Utility),
        power=_first(found, Power),
        portrait=_first(found, Portrait),
        exposed=exposed(results, loaded) if show_values else None,
        seconds=time.perf_counter() - start,
    )


def _first(found: Iterable[Any], kind: type[Found]) -> Found | None:
    return next((item for item in found if isinstance(item, kind)), None)


def _whole(seed: int) -> int:
    try:
        seed = operator.index(seed)
    except TypeError:
        raise ParameterError(f"audit: seed must be a whole number, got {type(seed).__name__}.") from None
    check.at_least("audit", "seed", seed, 0)
    return seed
