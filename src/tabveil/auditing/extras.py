"""What an audit measures beside risks, when asked for: utility, properties, detection power, pictures."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from tabveil.auditing import power
from tabveil.auditing.detection import Power
from tabveil.auditing.request import AuditRequest
from tabveil.auditing.steps import AuditStep
from tabveil.core.rng import stream
from tabveil.errors import NotApplicable
from tabveil.metrics import portrait, properties, utility
from tabveil.metrics.utility import Bar, PairTable, Utility
from tabveil.protocols import Metric, Representation
from tabveil.tables.reading import LoadedTables, edges_in_words

MOST_COLUMNS = 100  # with more, planting leaks takes minutes


def extra_steps(loaded: LoadedTables, metrics: Sequence[Metric], request: AuditRequest) -> list[AuditStep]:
    """Return the steps to take."""
    split = loaded.shown("people")
    steps = []
    if request.utility or request.target:
        steps.append(AuditStep(title="utility", work=partial(_useful, loaded, request), weight=30))
    if request.quasi_identifiers:
        measure = partial(
            properties.measure_split,
            loaded.given,
            quasi_identifiers=request.quasi_identifiers,
            sensitive=request.sensitive_columns,
        )
        steps.append(AuditStep(title="properties", work=measure))
    if request.portrait:  # before power, whose many embeddings would take the place of the one to draw
        draw = partial(
            portrait.draw,
            split,
            rng=stream(request.seed, "portrait"),
            representation=_learned(metrics),
        )
        steps.append(AuditStep(title="portrait", work=draw))
    if request.power:
        steps.append(AuditStep(title="power", work=partial(_detected, metrics, loaded, request), weight=40))
    return steps


def _learned(metrics: Sequence[Metric]) -> Representation | None:
    """Return the first representation that learns through which an attack looks at rows."""
    found = (metric.representation for metric in metrics)
    return next((item for item in found if item is not None and item.learns), None)


def _detected(metrics: Sequence[Metric], loaded: LoadedTables, request: AuditRequest) -> Power:
    """Plant leaks; what takes minutes only where somebody asked for it.

    Networks would take hours and are left out.
    """
    split = loaded.shown("people")
    asked_for = request.power != "affordable"
    if not asked_for and len(split.schema) > MOST_COLUMNS:
        raise NotApplicable(
            "power", f"left out for {len(split.schema)} columns, as it takes minutes; {power.ASK_FOR_IT}."
        )
    affordable = [(metric.name, metric) for metric in metrics if metric.cost != "training"]
    return power.measure(
        affordable,
        split,
        written=None if loaded.written is None else loaded.shown("people", loaded.written),
        rng=stream(request.seed, "power"),
        learners=asked_for,
    )


def _useful(loaded: LoadedTables, request: AuditRequest) -> Utility:
    found = utility.measure(
        loaded.given,
        target=request.target or None,
        confidence=request.judged_by.confidence,
        rare=request.show_values,
        clocks=loaded.layout.clocks,
        left_out=loaded.hardly_shared,
        rng=stream(request.seed, "utility"),
    )

    def dated_table(pair: PairTable) -> PairTable:
        down, across = pair.columns
        return replace(pair, down=_dated(down, pair.down, loaded), across=_dated(across, pair.across, loaded))

    return replace(
        found,
        columns=tuple(replace(item, bars=_dated(item.name, item.bars, loaded)) for item in found.columns),
        pairs=tuple(map(dated_table, found.pairs)),
    )


def _dated(name: str, bars: tuple[Bar, ...], loaded: LoadedTables) -> tuple[Bar, ...]:
    """Write the ends of ranges as dates or times, where the column holds such."""
    ends = sorted({end for bar in bars for end in (bar.low, bar.high) if end is not None})
    words = edges_in_words(np.array(ends), loaded.given.schema[name], loaded.layout) if ends else None
    if words is None:
        return bars
    texts = dict(zip(ends, words, strict=True))
    return tuple(
        replace(
            bar,
            low_text=None if bar.low is None else texts[bar.low],
            high_text=None if bar.high is None else texts[bar.high],
        )
        for bar in bars
    )
