"""What sections of the page need beyond the results themselves: curves, columns, detection power, notes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tabveil.estimate import Estimate
from tabveil.power import Detection
from tabveil.render.svg import ColumnBar, PowerRow
from tabveil.render.wording import base, estimate_of, level, name, title
from tabveil.report import Report
from tabveil.result import Result

MOST_CURVES = 3
MOST_SECRETS = 30

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class Rates:
    """How many members one attack on membership finds where it mistakes few other people for members."""

    title: str
    area: Estimate | None
    found: tuple[tuple[float, Estimate | None], ...]  # false positive rate, true positive rate


@dataclass(frozen=True, kw_only=True)
class Outliers:
    """What one attack on membership finds out about outlying people alone."""

    title: str
    share: float
    n_train: int
    n_control: int
    risk: Estimate | None


@dataclass(frozen=True, kw_only=True)
class Secrets:
    """The risk of every column, worst first, as far as the page shows them."""

    bars: tuple[ColumnBar, ...]
    configurations: tuple[str, ...]
    n_columns: int
    threshold: float
    title: str


@dataclass(frozen=True, kw_only=True)
class DetectionRow:
    """What one metric could have seen."""

    row: PowerRow
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Note:
    """Something the reader should know, and whom it is about."""

    about: str
    text: str


def curves(report: Report) -> dict[str, Points]:
    """Return the ROC curves of the attacks on membership."""
    found = {}
    for result in report.results:
        points = result.details.get("roc")
        if isinstance(points, (list, tuple)) and points:
            found[title(result.metric)] = [(float(x), float(y)) for x, y in points]
    return dict(list(found.items())[:MOST_CURVES])


def rates(report: Report) -> list[Rates]:
    """Return the readings of every ROC curve at low rates of false alarms."""
    found = []
    for result in report.results:
        read = result.details.get("tpr_at_fpr")
        if isinstance(read, Mapping):
            pairs = tuple((float(rate), estimate_of(item)) for rate, item in read.items())
            area = estimate_of(result.details.get("auc"))
            found.append(Rates(title=title(result.metric), area=area, found=pairs))
    return found


def outliers(report: Report) -> list[Outliers]:
    """Return the attacks that were repeated on outlying people alone."""
    return [
        Outliers(
            title=title(result.metric),
            share=float(found["share"]),
            n_train=int(found["n_train"]),
            n_control=int(found["n_control"]),
            risk=estimate_of(found["risk"]),
        )
        for result in report.results
        if isinstance(found := result.details.get("outliers"), Mapping)
    ]


def secrets(report: Report) -> list[Secrets]:
    """Return the risk by column of every inference attack that attacked columns one by one."""
    threshold = report.policy.thresholds.inference
    return [
        found
        for result in report.results
        if base(result.metric) == "inference" and (found := _secrets(result, threshold)) is not None
    ]


def _secrets(result: Result, threshold: float) -> Secrets | None:
    by_column = result.details.get("secrets")
    if not isinstance(by_column, Mapping) or not by_column:
        return None
    rows = [
        (str(secret), estimate_of(item.get("risk")), str(item.get("configuration") or ""))
        for secret, item in by_column.items()
        if isinstance(item, Mapping)
    ]
    rows.sort(key=lambda row: (-(row[1].low if row[1] else float("-inf")), row[0]))
    shown = rows[:MOST_SECRETS]
    return Secrets(
        bars=tuple(
            ColumnBar(label=secret, risk=risk, threshold=_judgeable(risk, threshold))
            for secret, risk, _ in shown
        ),
        configurations=tuple(configuration for _, _, configuration in shown),
        n_columns=len(rows),
        threshold=threshold,
        title=title(result.metric),
    )


def _judgeable(risk: Estimate | None, threshold: float) -> float | None:
    """Return the threshold, unless the interval reaches from below zero to above it: that shows nothing."""
    wide = risk is not None and risk.low <= 0 and risk.high > threshold
    return None if wide else threshold


def detections(report: Report) -> list[DetectionRow]:
    """Say for every metric which planted leak it sees."""
    if report.power is None:
        return []
    return [
        DetectionRow(
            row=PowerRow(
                label=title(item.metric),
                smallest=item.smallest,
                trials=[(trial.leak, trial.seen, trial.of) for trial in item.trials],
                reason=item.reason or "",
            ),
            sentence=_seen(item),
        )
        for item in report.power.detections
    ]


def _seen(item: Detection) -> str:
    if item.reason is not None and not item.trials:
        return f"No answer: {item.reason}"
    if item.smallest is not None:
        at = next((trial for trial in item.trials if trial.leak == item.smallest), None)
        times = "" if at is None else f" (seen in {at.seen} of {at.of} trials)"
        return f"Would have seen a leak of {level(item.smallest)} of the release rows{times}."
    largest = max((trial.leak for trial in item.trials), default=None)
    if largest is None:
        return item.reason or "Not measured."
    return f"Did not reliably see even a leak of {level(largest)}: its silence says little here."


def notes(report: Report) -> list[Note]:
    """Collect all notes, each once, with the metrics it is about."""
    about: dict[str, list[str]] = {}
    parts = [(note, "") for note in report.notes]
    parts += [(note, title(result.metric)) for result in report.results for note in result.notes]
    for heading, part in (
        ("Utility", report.utility),
        ("Detection power", report.power),
        ("Pictures", report.portrait),
    ):
        parts += [(note, heading) for note in (part.notes if part else ())]
    if report.utility is not None:
        parts += [(item.reason, f"Utility, {title(item.metric)}") for item in report.utility.skipped]
    for note, who in parts:
        listed = about.setdefault(note, [])
        if who and who not in listed:
            listed.append(who)
    return [Note(about="; ".join(map(name, who)), text=note) for note, who in about.items()]
