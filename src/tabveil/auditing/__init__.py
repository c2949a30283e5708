"""Run metrics over three tables and collect what they answer.

The package is not called ``audit`` because ``tabveil.audit`` is the function users call.
"""

import operator
import time
from collections.abc import Iterable, Sequence
from typing import Any

from tabveil import check, verdict
from tabveil.attackers import read as read_attackers
from tabveil.auditing.choice import DEFAULT, METRICS, SLOW, Knowledge, choose
from tabveil.auditing.extras import Extras
from tabveil.auditing.plan import Plan
from tabveil.auditing.steps import run
from tabveil.errors import ParameterError
from tabveil.frame import load_split
from tabveil.protocols import Metric
from tabveil.report import Report
from tabveil.workers import Listener, working

__all__ = ["DEFAULT", "METRICS", "SLOW", "audit"]


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
    chosen = [(metric.name, metric) for metric in choose(metrics, knowledge, quick=quick)]
    targets = () if target is None else (target,) if isinstance(target, str) else tuple(target)
    missing = tuple(missing)
    plan = Plan(
        policy=agreed,
        knowledge=knowledge,
        attackers=read_attackers(attackers),
        metrics=chosen,
        extras=Extras(
            utility=utility or bool(targets),
            targets=targets,
            power=power,
            portrait=portrait,
            rare=show_values,
        ),
        seed=_whole(seed),
        settings={
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
        },
    )
    with working(threads=threads):
        if progress:
            progress("reading the tables", 0.0)
        loaded = load_split(
            train, synthetic, control, schema=schema, missing=missing, drop_identifiers=drop_identifiers
        )
        check.known_names("audit", "column", plan.columns(), loaded.split.schema.names)
        found = run(plan.steps(loaded), progress)
    return plan.report(loaded, found, time.perf_counter() - start)


def _whole(seed: int) -> int:
    try:
        seed = operator.index(seed)
    except TypeError:
        raise ParameterError(f"audit: seed must be a whole number, got {type(seed).__name__}.") from None
    check.at_least("audit", "seed", seed, 0)
    return seed
