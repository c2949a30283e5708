"""What a benchmark found, as Markdown tables: what pages of the documentation are made of."""

from collections.abc import Callable, Iterable, Sequence

from tabveil.core.wording import NOT_COMPUTED, clean, name, number, percent
from tabveil.render.benchmark import view as words
from tabveil.workflows.benchmark.curves import Mean, Point, Statistic
from tabveil.workflows.benchmark.findings import Findings

_SPECIAL = str.maketrans({**{letter: f"\\{letter}" for letter in "\\`*_{}[]>#|"}, "<": "&lt;", "&": "&amp;"})
_IN_CODE = str.maketrans({"`": "'", "|": "¦", "<": "«"})  # what would end the code, the cell, or the text


def seen(point: Point) -> str:
    """Write a mean and, in parentheses, the share of repeats in which the risk is seen."""
    if point.mean is None:
        return NOT_COMPUTED
    return number(point.mean.value) + ("" if point.seen is None else f" ({point.seen.value:.2f})")


def spread(point: Point) -> str:
    """Write a mean and the standard deviation between repeats."""
    return _spread(point.mean)


def largest(point: Point) -> str:
    """Write the mean of the largest risk over all configurations, as papers count; else of the value."""
    return _spread(point.largest or point.mean)


def risk(point: Point) -> str:
    """Write the mean of the risk, where that of a gain is what is judged."""
    return _spread(point.risk)


def attack(point: Point) -> str:
    """Write the mean of the score on train alone."""
    return _spread(point.attack)


def _spread(found: Mean | None) -> str:
    if found is None:
        return NOT_COMPUTED
    return number(found.value) + ("" if found.deviation is None else f" ± {number(found.deviation)}")


def curve_table(
    findings: Findings,
    dataset: str,
    risk: str,
    *,
    write: Callable[[Point], str] = seen,
    figures: bool = False,
    held: float | None = None,
) -> str:
    """Return the curves of one risk on one dataset: a row for each metric, a column for each level.

    ``write`` says what stands in a cell: :func:`seen`, one of the functions above; ``figures`` asks
    for further figures instead of the measure, and ``held`` for one level of a risk whose circumstances vary.
    """
    chosen = [
        curve
        for curve in findings.curves
        if (curve.dataset, curve.risk) == (dataset, risk)
        and (curve.figure is not None) == figures
        and held in (None, curve.held)
    ]
    if not chosen:
        return "No answers."
    levels = sorted({point.level for curve in chosen for point in curve.points})
    written = words.writer(findings.series(risk), chosen[0].varied)
    rows = []
    for curve in chosen:
        points = {point.level: point for point in curve.points}
        cells = [write(points[level]) if level in points else "" for level in levels]
        called = [code(curve.metric), *([] if curve.figure is None else [plain(curve.figure)])]
        if curve.held is not None and held is None:
            called.append(f"at {words.writer(findings.series(risk), 'risk')(curve.held)}")
        rows.append([", ".join(called), *cells])
    return table(["metric", *map(written, levels)], rows)


def card_table(findings: Findings, dataset: str, risk: str) -> str:
    """Return the score cards of one risk on one dataset."""
    cards = [card for card in findings.cards if (card.dataset, card.risk) == (dataset, risk)]
    if not cards:
        return "No answers."
    numbers = ("bias", "false alarms", "rank correlation", "R²", "deviation", "sees from", "CPU seconds")
    write, rows = words.writer(findings.series(risk), "risk"), []
    for card in cards:
        alarms, level = card.false_alarms, card.smallest.level
        row = [
            code(card.metric) + ("" if card.held is None else f", at {write(card.held)}"),
            "" if card.bias is None else _with_interval(card.bias),
            "" if alarms is None else f"{words.counted(alarms)} (≤ {percent(alarms.high)})",
            *map(_reading, (card.rank_correlation, card.linearity, card.deviation)),
            "none" if level is None else f"{write(level)} ({words.counted(card.smallest.seen)})",
            words.seconds(card.cpu_seconds.value),
        ]
        rows.append(row)
    return table(["metric", *numbers], rows)


def _with_interval(found: Mean) -> str:
    if found.low is None or found.high is None:
        return number(found.value)
    return f"{number(found.value)} ({number(found.low)} to {number(found.high)})"


def _reading(item: Statistic) -> str:
    return plain(item.why or "") if item.value is None else number(item.value)


def correlation_table(findings: Findings, dataset: str, risk: str) -> str:
    """Return the rank correlations between metrics over all trials of one risk on one dataset."""
    found = next(
        (item for item in findings.correlations if (item.dataset, item.risk) == (dataset, risk)), None
    )
    if found is None:
        return "No answers."
    rows = [
        [code(metric), *("" if value is None else f"{value:.2f}".replace("-", "−") for value in values)]
        for metric, values in zip(found.metrics, found.values, strict=True)
    ]
    return table(["", *map(code, found.metrics)], rows)


def time_table(findings: Findings) -> str:
    """Return the CPU seconds of one answer, by metric and dataset."""
    times = {(item.metric, item.dataset): words.seconds(item.mean) for item in findings.times}
    labels = [people.label for people in findings.plan.datasets]
    rows = [
        [code(metric.label), *(times.get((metric.label, label), "") for label in labels)]
        for metric in findings.plan.metrics
    ]
    return table(["metric", *map(plain, labels)], rows)


def choices(findings: Findings, dataset: str, risk: str) -> str:
    """Return which metric to take for which purpose, as a list; or why there is nothing to choose."""
    lines = []
    for choice in findings.choices:
        if (choice.dataset, choice.risk) == (dataset, risk):
            metric, why = words.best(findings, choice)
            taken = f"**{plain(metric)}** " if metric else ""
            said = " ".join(map(plain, (why, *words.others(findings, choice))))
            lines.append(f"- {plain(words.PURPOSES[choice.purpose])}: {taken}{said}")
    known = words.what_is_known(findings, risk) or ""
    why = "" if lines else words.nothing_chosen(findings, risk)
    return "\n\n".join(part for part in (plain(known), plain(why), "\n".join(lines)) if part)


def report(findings: Findings) -> str:
    """Return everything as one page without a title: caution, and for each risk choices, cards, curves."""
    caution = words.caution(findings)
    parts = [plain(caution)] if caution else []
    for people in findings.plan.datasets:
        for series in findings.plan.risks:
            parts += [
                f"## {plain(name(people.label))}: {plain(name(series.label))}",
                choices(findings, people.label, series.label),
                card_table(findings, people.label, series.label),
                curve_table(findings, people.label, series.label),
            ]
    parts += ["## CPU seconds", time_table(findings)]
    return "\n\n".join(part for part in parts if part) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out cells that are Markdown already."""
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *rows))


def plain(text: str) -> str:
    """Write a text from outside so that nothing in it is taken for markup."""
    return clean(text).translate(_SPECIAL)


def code(text: str) -> str:
    """Write a label as code, which it cannot end."""
    return f"`{name(text).translate(_IN_CODE)}`"
