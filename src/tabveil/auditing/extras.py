"""What an audit measures beside risks, when asked for: utility, detection power, pictures."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tabveil import portrait, utility
from tabveil.auditing import power
from tabveil.auditing.steps import Step
from tabveil.detection import Power
from tabveil.errors import NotApplicable
from tabveil.frame import LoadedTables, as_written
from tabveil.protocols import Metric
from tabveil.rng import stream
from tabveil.table import Numeric, Split
from tabveil.utility import ColumnUtility, Utility

MOST_COLUMNS = 100  # with more, planting leaks takes minutes


@dataclass(frozen=True, kw_only=True)
class Extras:
    """What to measure beside risks; ``rare`` names labels that few people share."""

    utility: bool
    targets: tuple[str, ...]
    power: bool | None  # None: where it is affordable
    portrait: bool
    rare: bool


def extra_steps(
    loaded: LoadedTables,
    metrics: Sequence[tuple[str, Metric]],
    extras: Extras,
    *,
    confidence: float,
    seed: int,
) -> list[Step]:
    """Return the steps to take."""
    split = loaded.split
    steps = []
    if extras.utility:
        measure = partial(_useful, loaded, extras, confidence=confidence, seed=seed)
        steps.append(Step(title="utility", work=measure, weight=4))
    if extras.power is not False:
        plant = partial(_detected, metrics, split, asked=extras.power is True, seed=seed)
        steps.append(Step(title="power", work=plant, weight=15))
    if extras.portrait:
        draw = partial(portrait.draw, split, rng=stream(seed, "portrait"))
        steps.append(Step(title="portrait", work=draw))
    return steps


def _detected(metrics: Sequence[tuple[str, Metric]], split: Split, *, asked: bool, seed: int) -> Power:
    """Plant leaks, unless that takes minutes and nobody asked; networks would take hours and are left out."""
    if not asked and len(split.schema) > MOST_COLUMNS:
        raise NotApplicable(
            f"power: left out for {len(split.schema)} columns, as it takes minutes; ask for it with --power."
        )
    affordable = [
        (title, metric) for title, metric in metrics if getattr(metric, "cost", "quick") != "training"
    ]
    return power.measure(affordable, split, rng=stream(seed, "power"))


def _useful(loaded: LoadedTables, extras: Extras, *, confidence: float, seed: int) -> Utility:
    found = utility.measure(
        loaded.split,
        target=extras.targets or None,
        confidence=confidence,
        rare=extras.rare,
        rng=stream(seed, "utility"),
    )
    return replace(found, columns=tuple(_dated(column, loaded) for column in found.columns))


def _dated(column: ColumnUtility, loaded: LoadedTables) -> ColumnUtility:
    """Write the ends of ranges as dates, where the column holds dates."""
    typed = loaded.split.schema[column.name]
    if not (isinstance(typed, Numeric) and typed.arbitrary_zero):
        return column
    ends = sorted({end for bar in column.bars for end in (bar.low, bar.high) if end is not None})
    texts = dict(zip(ends, as_written(np.array(ends), typed, loaded.layout), strict=True))
    bars = tuple(
        replace(
            bar,
            low_text=None if bar.low is None else texts[bar.low],
            high_text=None if bar.high is None else texts[bar.high],
        )
        for bar in column.bars
    )
    return replace(column, bars=bars)
