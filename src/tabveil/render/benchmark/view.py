"""What a benchmark found, in sentences: as strong as the repeats behind them, and no stronger."""

from collections.abc import Callable, Sequence

from tabveil.core.wording import joined, level, name, percent, plural
from tabveil.render.svg.canvas import percent_tick, tick
from tabveil.workflows.benchmark.curves import Share, repeats_to_show, share, varied
from tabveil.workflows.benchmark.findings import Findings
from tabveil.workflows.benchmark.plan import AskedMetric, Series
from tabveil.workflows.benchmark.scorecards import POWER, UNKNOWN, Choice, inserted

AXES = {
    "leaky": "share of rows that are training rows",
    "noisy": "share of training rows, behind noise",
    "overfit": "held-out loss, as a multiple of its least",
    "private": "ε: the less noise, the further right",
    "outlier_removal": "share of people removed",
    "oversample": "times as many rows",
    "canaries": "people with an invented secret",
    "generated": "no risk was inserted",
}
"""What the levels of our own risk models and modifiers count."""

_LEAKS = {"leaky", "noisy"}
_IN_ORDER = {"overfit", "private"}
_SHARES = {"leaky", "noisy", "outlier_removal"}
PURPOSES = {
    "singling out": "Singling out",
    "linkability": "Linkability",
    "inference": "Inference",
    "membership": "Membership",
    "diagnosis": "Indicators (diagnostics, not evidence of anonymity)",
}
"""What metrics are asked for, in the order of a report."""

_FEW = 8  # names in a sentence


def shown(metric: AskedMetric) -> str:
    """Return what a metric is called: by its title, or as the study labels it."""
    return name(metric.title if metric.label == metric.name else metric.label)


def axis(series: Series, varied: str) -> str:
    """Say what the levels of a curve are."""
    kind = series.modifier if varied == "modifier" and series.modifier is not None else series.model
    return AXES.get(kind, f"level of {name(kind)}")


def writer(series: Series, varied: str) -> Callable[[float], str]:
    """Return how levels are written: shares as percentages, all else as numbers."""
    kind = series.modifier if varied == "modifier" else series.model
    return percent_tick if kind in _SHARES else tick


def seconds(value: float | None) -> str:
    """Write CPU seconds, the short ones with two digits.

    >>> seconds(0.0018), seconds(0.25), seconds(12.34), seconds(1234.5), seconds(None)
    ('0.0018', '0.25', '12', '1,234', 'not known')
    """
    if value is None:
        return "not known"
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}" if value >= 0.001 else "<0.001"  # noqa: PLR2004


def counted(found: Share | None) -> str:
    """Write a share as what was counted.

    >>> counted(share(4, 5)), counted(None)
    ('4 of 5', 'not known')
    """
    return "not known" if found is None else f"{found.count:,} of {found.n:,}"


def is_leak(series: Series) -> bool:
    """Tell whether a level says how much risk was inserted: the share of rows that leak."""
    return series.model in _LEAKS


def purpose(choice: Choice) -> str:
    """Return the heading of a choice."""
    return PURPOSES[choice.purpose]


def caution(findings: Findings) -> str | None:
    """Say what the number of repeats cannot show; None if it shows enough."""
    n = findings.plan.repeats
    all_seen = share(n, n)
    if all_seen is None or all_seen.low >= POWER:
        return None
    return (
        f"Every level was tried {plural(n, 'time')}. If a risk is seen each time, the chance to see it is at "
        f"least {percent(all_seen.low)} (exact 95% interval); to show {level(POWER)} takes "
        f"{repeats_to_show(POWER)} repeats. So “sees” means here: saw it in these repeats. Likewise, no "
        f"false alarm in {n} leaves room for a rate of up to {percent(1 - all_seen.low)}."
    )


def what_is_known(findings: Findings, risk: str) -> str | None:
    """Say where less is known of the risk than how much of it there is."""
    series = findings.series(risk)
    if series.model in UNKNOWN:
        return "No risk was inserted here, and what the generator betrays is not known: nothing is judged."
    if series.model in _IN_ORDER:
        return (
            "How much risk a level of this model inserts is known in order only, not in amount: a metric "
            "that sees nothing may be right."
        )
    return None


def nothing_chosen(findings: Findings, risk: str) -> str:
    """Say why no metric is recommended, where :func:`what_is_known` does not say it."""
    series = findings.series(risk)
    if series.model in UNKNOWN:
        return ""
    if varied(series) == "modifier":
        return f"The circumstances vary ({axis(series, 'modifier')}), not the risk: no metric is recommended."
    if not inserted(series):
        return "Nothing was inserted: only bias and false alarms can be judged, and no metric is recommended."
    return "No metric was asked about privacy."


def best(findings: Findings, choice: Choice) -> tuple[str, str]:
    """Return the metric to take for a purpose, and why; the name is empty if there is none."""
    if choice.metric is None or choice.level is None or choice.seen is None:
        who = f"{_listed(findings, choice.blind)} see" if len(choice.blind) > 1 else "No metric sees"
        none = "no level" if len(choice.blind) > 1 else "any level"
        return "", f"{who} {none} in 95% of repeats."
    series = findings.series(choice.risk)
    write = writer(series, "risk")
    already = ", the smallest level tried," if choice.level == inserted(series)[0] else ""
    alarms = "false alarms were not measured"
    if choice.false_alarms is not None:
        alarms = f"false alarms {counted(choice.false_alarms)} (at most {percent(choice.false_alarms.high)})"
    return _shown(findings, choice.metric), (
        f"sees the risk from {write(choice.level)}{already} on: {counted(choice.seen)} repeats (chance at "
        f"least {percent(choice.seen.low)}), {alarms}, {seconds(choice.cpu_seconds)} CPU seconds an answer."
    )


def others(findings: Findings, choice: Choice) -> list[str]:
    """Say what else could be taken for a purpose, and what should not."""
    said = []
    if choice.as_good:
        said.append(f"As good, but slower: {_listed(findings, choice.as_good)}.")
    if choice.dominated:
        pairs = [
            f"{_shown(findings, item.metric)} (by {_shown(findings, item.by)})" for item in choice.dominated
        ]
        said.append(f"Outdone in what they see and in time: {_some(pairs)}.")
    if choice.blind and choice.metric is not None:
        said.append(f"See no level in 95% of repeats: {_listed(findings, choice.blind)}.")
    if choice.alarming:
        said.append(f"Too many false alarms to be believed: {_listed(findings, choice.alarming)}.")
    if choice.unanswered:
        said.append(f"No answers: {_listed(findings, choice.unanswered)}.")
    return said


def _shown(findings: Findings, metric: str) -> str:
    return shown(findings.metric(metric))


def _listed(findings: Findings, metrics: Sequence[str]) -> str:
    return _some([_shown(findings, item) for item in metrics])


def _some(texts: Sequence[str]) -> str:
    return joined(texts) if len(texts) <= _FEW else f"{', '.join(texts[:_FEW])} and {len(texts) - _FEW} more"
