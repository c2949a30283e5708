"""What sections say beyond results themselves: curves, columns, detection power, notes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from tabveil.auditing.detection import Detection, Power
from tabveil.auditing.report import Report
from tabveil.core.estimate import Estimate
from tabveil.core.result import ColumnRisk, Result
from tabveil.core.wording import level, name, plural
from tabveil.metrics.utility import DOWNSTREAM, MEANINGS, RULES
from tabveil.render.audit.evidence import title_of
from tabveil.render.svg import ColumnBar, PowerRow, RocCurve

MOST_CURVES = 3


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
    gain: Estimate | None


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


def curves(report: Report) -> list[RocCurve]:
    """Return the ROC curves of the attacks on membership, as many as can be told apart."""
    return [
        RocCurve(label=result.full_title, points=result.curve.points, readings=result.curve.readings)
        for result in report.results
        if result.curve is not None
    ][:MOST_CURVES]


def rates(report: Report) -> list[Rates]:
    """Return the readings of every ROC curve at low rates of false alarms."""
    return [
        Rates(title=result.full_title, area=result.curve.area, found=result.curve.readings)
        for result in report.results
        if result.curve is not None
    ]


def outliers(report: Report) -> list[Outliers]:
    """Return the attacks that were repeated on outlying people alone."""
    return [
        Outliers(
            title=result.full_title,
            share=result.outliers.share,
            n_train=result.outliers.n_train,
            n_control=result.outliers.n_control,
            gain=result.outliers.gain,
        )
        for result in report.results
        if result.outliers is not None
    ]


def detections(report: Report) -> list[DetectionRow]:
    """Say for every metric which planted leak it sees."""
    if report.power is None:
        return []
    return [
        DetectionRow(
            row=PowerRow(
                label=title_of(report, item.metric),
                smallest=item.smallest,
                trials=[(trial.leak, trial.seen, trial.of) for trial in item.trials],
                reason=item.reason or "",
            ),
            sentence=_seen(item),
        )
        for item in report.power.detections
    ]


def planted(report: Report) -> str:
    """Say how leaks were planted: with how many people, and how often really."""
    power = report.power
    if power is None:
        return ""
    people: dict[int, list[str]] = {}
    for item in power.detections:
        if item.people != power.people and item.trials:
            people.setdefault(item.people, []).append(title_of(report, item.metric))
    fewer = "; ".join(f"{n:,} for {', '.join(titles)}" for n, titles in people.items())
    played = plural(power.people, "control person", "control people") + (f" ({fewer})" if fewer else "")
    return (
        f"{played} played the training people, as many others played control, and copies of the first were "
        f"mixed into {plural(power.release_rows, 'synthetic row')}, {_times(power)}."
    )


def _times(power: Power) -> str:
    """Say how often each leak was planted: less often where the first trials had settled it."""
    counts = {trial.of for item in power.detections for trial in item.trials} or {power.repetitions}
    most, fewest = max(counts), min(counts)
    if most == fewest:
        return f"{plural(most, 'time')} for each size"
    return (
        f"up to {most} times for each size; a size was given up, at the earliest after "
        f"{plural(fewest, 'trial')}, once the misses left no way to see it in 95% of {power.repetitions}"
    )


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
    parts += [(note, result.full_title) for result in report.results for note in result.notes]
    for heading, part in (
        ("Utility", report.utility),
        ("Detection power", report.power),
        ("Pictures", report.portrait),
    ):
        parts += [(note, heading) for note in (part.notes if part else ())]
    if report.utility is not None:
        parts += [(item.reason, f"Utility, {_figure(item.metric)}") for item in report.utility.skipped]
    for note, who in parts:
        listed = about.setdefault(note, [])
        if who and who not in listed:
            listed.append(who)
    return [Note(about="; ".join(map(name, who)), text=note) for note, who in about.items()]


def _figure(key: str) -> str:
    """Name a figure of utility in words."""
    known = {**MEANINGS, "downstream": DOWNSTREAM, "rules": RULES}
    return known[key].title if key in known else name(key)


MOST_DRAWN = 30
LEAST_ALIKE = 3  # columns that one bar may stand for


@dataclass(frozen=True, kw_only=True)
class Secrets:
    """The risk of every column, the clearest leak first, as far as the page shows them."""

    bars: tuple[ColumnBar, ...]
    alike: tuple[str, ...]  # the columns that the first bar stands for
    n_apart: int  # columns that have a bar of their own, drawn or not
    threshold: float
    title: str

    @property
    def n_drawn(self) -> int:
        """How many columns have a bar of their own on the page."""
        return len(self.bars) - bool(self.alike)


def secrets(report: Report) -> list[Secrets]:
    """Return the risk by column of every attack that went through the columns one by one."""
    threshold = report.policy.thresholds.inference
    return [_secrets(result, threshold) for result in report.results if result.columns]


def alike(columns: Iterable[ColumnRisk]) -> list[ColumnRisk]:
    """Return the columns with a leak whose risks cannot be told from one common risk, by name.

    Where the rows of some people stand in the release, every column of theirs can be read off, and as a risk
    is a share of those not guessed anyway, all columns get the same one: the share of these people. That is
    one effect, however many columns show it. An interval that does not hold the middle risk is another one.
    """
    leaking = [(item, item.risk) for item in columns if item.risk is not None and _low(measure(item)) > 0]
    if not leaking:
        return []
    common = median(risk.value for _, risk in leaking)
    found = [item for item, risk in leaking if risk.low <= common <= risk.high]
    return sorted(found, key=lambda item: item.column) if len(found) >= LEAST_ALIKE else []


def measure(item: ColumnRisk) -> Estimate | None:
    """Return what is drawn and judged: the gain, or where there is none the risk."""
    return item.risk if item.gain is None else item.gain


def _secrets(result: Result, threshold: float) -> Secrets:
    levels = {item.name: item.setting.level for item in result.configurations}
    same = alike(result.columns)
    apart = [item for item in result.columns if item not in same]
    by_level: dict[str, list[ColumnRisk]] = {}
    for item in sorted(apart, key=lambda item: (-_low(measure(item)), item.column)):
        by_level.setdefault(_acting(levels, [item]), []).append(item)
    rows = [(words, item) for words, group in by_level.items() for item in group]
    bars = [
        ColumnBar(
            label=item.column,
            risk=measure(item),
            threshold=_judgeable(measure(item), threshold),
            configuration=words,
        )
        for words, item in rows[:MOST_DRAWN]
    ]
    if same:
        middle = measure(sorted(same, key=lambda item: item.risk.value if item.risk else 0.0)[len(same) // 2])
        together = ColumnBar(
            label=f"{len(same)} columns alike",
            risk=middle,
            threshold=_judgeable(middle, threshold),
            configuration=_acting(levels, same),
        )
        bars = [together, *bars]
    return Secrets(
        bars=tuple(bars),
        alike=tuple(item.column for item in same),
        n_apart=len(apart),
        threshold=threshold,
        title=result.full_title,
    )


def _low(risk: Estimate | None) -> float:
    return float("-inf") if risk is None else risk.low


def _judgeable(risk: Estimate | None, threshold: float) -> float | None:
    """Return the threshold, unless the interval reaches from below zero to above it: that shows nothing."""
    wide = risk is not None and risk.low <= 0 and risk.high > threshold
    return None if wide else threshold


def _acting(levels: dict[str, float], items: Sequence[ColumnRisk]) -> str:
    """Say on which guesses the attacker acts, in the configurations of these columns."""
    found = {levels[item.configuration] for item in items if item.configuration in levels}
    if not found:
        return ""
    if found == {1.0}:
        return "guessing for everybody"
    acting = f"acting on the surest {level(min(found))} of guesses"
    return acting if len(found) == 1 else f"{acting} or on more of them"
