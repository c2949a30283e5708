"""Run metrics over three tables and collect what they answer.

The module is not called ``audit`` because ``tabveil.audit`` is the function users call.
"""

import operator
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from tabveil import check
from tabveil.errors import NotApplicable, ParameterError
from tabveil.frame import load_split
from tabveil.indicators import INDICATORS
from tabveil.protocols import Metric
from tabveil.result import Report, Result, Skipped
from tabveil.rng import stream
from tabveil.table import Split
from tabveil.version import __version__
from tabveil.workers import Listener, current, working

METRICS: Mapping[str, type[Metric]] = {metric.name: metric for metric in INDICATORS}
"""Every registered metric by its name, in the order of the report."""

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
        Names or metric objects; None runs all that are registered.
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
    chosen = _chosen(metrics)
    seed = _whole(seed)
    with working(threads=threads):
        if progress:
            progress("reading the tables", 0.0)
        loaded = load_split(
            train, synthetic, control, schema=schema, missing=missing, drop_identifiers=drop_identifiers
        )
        answers = _answers(chosen, loaded.split, seed=seed, progress=progress)
    return Report(
        version=__version__,
        seed=seed,
        inputs=loaded.inputs,
        results=tuple(answer for answer in answers if isinstance(answer, Result)),
        skipped=tuple(answer for answer in answers if isinstance(answer, Skipped)),
        notes=(*(() if len(loaded.split.control) else (NO_CONTROL,)), *loaded.notes),
    )


def _chosen(metrics: str | Metric | Iterable[str | Metric | type[Metric]] | None) -> tuple[Metric, ...]:
    """Turn names, classes and objects into metric objects; a name given twice counts once."""
    if metrics is None:
        return tuple(metric() for metric in METRICS.values())
    asked = [metrics] if isinstance(metrics, str) or callable(metrics) else list(metrics)
    if not asked:
        raise ParameterError("audit: metrics is empty; leave it out to run all of them.")
    check.known_names("audit", "metric", [item for item in asked if isinstance(item, str)], METRICS)
    return tuple(_made(item) for item in dict.fromkeys(asked))


def _made(item: str | Metric | type[Metric]) -> Metric:
    if isinstance(item, str):
        return METRICS[item]()
    metric: Metric = item() if isinstance(item, type) else item
    if not (callable(metric) and hasattr(metric, "name") and hasattr(metric, "labels")):
        raise ParameterError(f"audit: metrics must be names or metric objects, got {type(item).__name__}.")
    return metric


def _whole(seed: int) -> int:
    try:
        seed = operator.index(seed)
    except TypeError:
        raise ParameterError(f"audit: seed must be a whole number, got {type(seed).__name__}.") from None
    check.at_least("audit", "seed", seed, 0)
    return seed


def _answers(
    metrics: tuple[Metric, ...], split: Split, *, seed: int, progress: Listener | None
) -> list[Result | Skipped]:
    """Ask every metric; progress counts the metrics done, and the text says how far the present one is."""
    listener = progress or current().listener
    answers = []
    for position, metric in enumerate(metrics):
        share = position / len(metrics)
        if listener:
            listener(metric.name, share)
        with working(listener=_about(metric.name, share, listener) if listener else None):
            answers.append(_answer(metric, split, seed))
    if listener:
        listener("done", 1.0)
    return answers


def _about(name: str, done: float, listener: Listener) -> Listener:
    def tell(doing: str, share: float) -> None:
        listener(f"{name}: {doing} {share:.0%}", done)

    return tell


def _answer(metric: Metric, split: Split, seed: int) -> Result | Skipped:
    start = time.perf_counter()
    try:
        result = metric(split, rng=stream(seed, metric.name))
    except NotApplicable as reason:
        return Skipped(metric=metric.name, reason=str(reason))
    return replace(result, seconds=time.perf_counter() - start)
