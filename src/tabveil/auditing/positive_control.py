"""Could the audit have seen it? Training people are planted into the very release that would be within.

Twice as many people as the policy accepts, drawn at random with all of their rows, take the places of as many
random rows of the release; then the attacks on the risk run again with their own seeds. Each must see the
leak, with an upper bound above the threshold. Of 3,000 people each of Adult, census, diabetes, loans and
NHANES, 300 planted into fresh rows and into independent columns were measured as 9.6 to 10.4 of 100 by all
four required attacks, and none of the 40 upper bounds lay below 10.8.

Is it stable? The attack with the highest upper bound on each risk is asked again, with another seed.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.random import Generator

from tabveil.auditing.detection import PositiveControl, PositiveControls, Spread, Spreads
from tabveil.auditing.judging import level_of
from tabveil.auditing.report import Report
from tabveil.auditing.steps import AuditedMetric, answer, lengths, together
from tabveil.auditing.verdict import WITHIN, RiskVerdict
from tabveil.core import workers
from tabveil.core.people import numbered
from tabveil.core.result import Result
from tabveil.core.rng import stream
from tabveil.core.sampling import exchanged, rows_of_people
from tabveil.core.settings.registry import values_of
from tabveil.core.storage import spool
from tabveil.core.table import Floats, Indices, Split, Table
from tabveil.errors import NotApplicable
from tabveil.protocols import Metric

TIMES = 2.0
"""So many times the threshold is planted."""


def positive_controls(
    report: Report, split: Split, metrics: Mapping[str, AuditedMetric]
) -> PositiveControls | None:
    """Try the attacks on every risk that would be within; None where there is none.

    ``metrics`` are those that ran, by the keys of their results.
    """
    turns = [
        (risk, key)
        for risk in report.verdict.risks
        if risk.state == WITHIN and risk.threshold < 1  # who accepts everything needs no eyes
        for key in deciding([item.metric for item in risk.metrics], report.policy.required, metrics)
    ]
    if not turns:
        return None
    tried = workers.side_by_side(
        [partial(_try, report, split, risk, metrics[key]) for risk, key in turns],
        titles=[key for _, key in turns],
        order=sorted(range(len(turns)), key=lambda number: -lengths(turns[number][1])),
        at_once=together(split),
        portable=True,
    )
    return PositiveControls(tried=tuple(one for each in tried for one in each))


def deciding(keys: Sequence[str], required: Sequence[str], metrics: Mapping[str, AuditedMetric]) -> list[str]:
    """Choose the attacks to try: those that the policy requires, or the quickest of the others."""
    known = [key for key in keys if key in metrics]
    if chosen := [key for key in known if key in required]:
        return chosen
    least = min((metrics[key].weight for key in known), default=0.0)
    return [key for key in known if metrics[key].weight == least]


def _try(report: Report, split: Split, risk: RiskVerdict, ran: AuditedMetric) -> list[PositiveControl]:
    """Plant whole rows, and where the attack uses some of the columns, then these alone."""
    share = min(TIMES * risk.threshold, 1.0)
    n_planted = min(math.ceil(share * split.train.n_people - 1e-9), split.train.n_people)
    found = []
    for columns in ((), *_some_columns(ran.metric, split.schema.names)):
        planted, appended = plant(
            split, n_planted, columns, rng=stream(report.seed, "positive", risk.risk, *columns)
        )
        judged = PositiveControl(
            risk=risk.risk,
            metric=ran.key,
            title=report[ran.key].full_title,
            threshold=risk.threshold,
            share=n_planted / split.train.n_people,
            n_planted=n_planted,
            columns=columns,
            appended=appended,
        )
        try:
            with workers.working(listener=workers.unheard):
                result = answer(ran.metric.judged_part(), planted, report.seed, ran.attacker)
        except NotApplicable as reason:
            found.append(replace(judged, reason=str(reason)))
        else:
            gain, p_value = result.measure, result.p_value
            seen = _sees(result, risk.threshold, level_of(report.grounds, report.policy))
            found.append(replace(judged, gain=gain, p_value=p_value, seen=seen))
    return found


def _sees(result: Result, threshold: float, level: float) -> bool:
    gain = result.measure
    if gain is None or not math.isfinite(gain.high - gain.low):
        return False
    leak = gain.low > 0 if result.p_value is None else result.p_value <= level
    return leak and gain.high > threshold


def _some_columns(metric: Metric, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the columns that an attack was told to use, where they are not all."""
    told = values_of(metric)
    used: set[str] = set()
    if told.get("auxiliary") is not None:
        used = {name for pair in told["auxiliary"] for side in pair for name in side}
    elif told.get("known") is not None and told.get("secrets") is not None:
        used = {*told["known"], *told["secrets"]}
    return [tuple(name for name in names if name in used)] if 0 < len(used) < len(names) else []


def plant(split: Split, n_people: int, columns: Sequence[str] = (), *, rng: Generator) -> tuple[Split, bool]:
    """Put people of train into the release, and say whether their rows had to be appended.

    Who, and in the place of whose rows, depends on what the rows hold and not on where they stand. Only
    these ``columns`` of them, where some are named; what else stands in a row stays. Whole people come
    with all that is linked to them.
    """
    rows = rows_of_people(split.train, n_people, rng=rng)
    release, theirs = split.synthetic, split.train.values[rows]
    linked = release.linked is not None and split.train.linked is not None
    appended = len(rows) > len(release)
    if appended:
        places = release.content_order[rng.integers(0, len(release), len(rows))]
    else:
        places = release.content_order[rng.permutation(len(release))[: len(rows)]]
    if linked and not columns:
        people = split.train.take(rows)
        whole = release.joined(people) if appended else exchanged(release, places, people)
        return replace(split, synthetic=whole), appended
    if columns:
        planted = np.array([name in columns for name in split.schema.names])
        theirs = np.where(planted, theirs, release.values[places])
    whose = numbered(split.train)[rows]
    return replace(split, synthetic=_put(release, theirs, whose, None if appended else places)), appended


def _put(release: Table, rows: Floats, whose: Indices, places: Indices | None) -> Table:
    """Return the release with the rows in these places, or at its end; nobody of it has them as theirs."""
    if places is None:
        places = np.arange(len(release), len(release) + len(rows))
    size = max(len(release), int(places.max()) + 1)
    values = spool.room((size, len(release.schema)))
    values[: len(release)] = release.values
    values[places] = rows
    people = None
    if release.people is not None:
        people = np.empty(size, dtype=release.people.dtype)
        people[: len(release)] = release.people
        people[places] = release.people.max() + 1 + whose
    return Table(
        schema=release.schema,
        values=values,
        people=people,
        linked=release.linked if size == len(release) else None,
    )


def spreads(report: Report, split: Split, metrics: Mapping[str, AuditedMetric]) -> Spreads | None:
    """Ask again; None where nothing is judged, or nothing could be asked.

    ``metrics`` are those that ran, by the keys of their results. What trains or fits a model takes too long.
    """
    if report.verdict.control or not report.has_control:
        return None
    asked = [partial(_spread, report, split, risk, metrics) for risk in report.verdict.risks]
    again = workers.side_by_side(asked, at_once=together(split), portable=True)
    found = tuple(spread for spread in again if spread is not None)
    return Spreads(found=found) if found else None


def _spread(
    report: Report, split: Split, risk: RiskVerdict, metrics: Mapping[str, AuditedMetric]
) -> Spread | None:
    judged = risk.leading
    if judged is None or judged.gain is None or judged.metric not in metrics:
        return None
    ran = metrics[judged.metric]
    if not ran.quick:
        return None
    seed = int(stream(report.seed, ran.key, "again").integers(2**31))
    try:
        with workers.working(listener=workers.unheard):
            again = answer(ran.metric.judged_part(), split, seed, ran.attacker).gain
    except NotApplicable:
        return None
    if again is None:
        return None
    title = judged.title or judged.metric
    return Spread(risk=risk.risk, metric=ran.key, title=title, high=judged.gain.high, again=again.high)
