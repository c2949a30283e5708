"""What is said about one metric: its question, its numbers in words, its attacker, how it is judged.

Of metrics that ask column by column, columns are drawn apart only where they differ, each with the
configuration that was used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tabveil.auditing.findings import alike, judged_by
from tabveil.auditing.report import Report
from tabveil.auditing.verdict import Judgment
from tabveil.core import wording
from tabveil.core.estimate import Estimate
from tabveil.core.findings import ColumnRisk, Combination, Configuration
from tabveil.core.result import Omission, Result
from tabveil.core.wording import joined, name
from tabveil.render.svg import ColumnBar, RiskBar, State, state_key

MOST_DRAWN = 30
MOST_CONFIGURATIONS = 8
MOST_COMBINATIONS = 5
MOST_REAPPEARING = 40
"""Rows of a table on the page; all are in the JSON report."""

REAPPEARING = "What of real people reappears"
ANYBODY = "anybody (worst case)"
SCALE = "0 = like fresh data, 1 = the worst case"
PARTS = {
    "power": "Detection power",
    "utility": "Utility",
    "portrait": "Distances and map",
    "properties": "Properties of the tables",
}
"""What an audit measures beside metrics, in words."""


@dataclass(frozen=True, kw_only=True)
class ThreatRow:
    """One attack's attacker."""

    title: str
    who: str
    holds: str
    knows: str
    wants: str


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One result in words, as it is judged; an indicator is not."""

    report: Report
    result: Result
    judged: Judgment | None = None
    threshold: float | None = None

    @property
    def title(self) -> str:
        """Its name in words."""
        return self.result.full_title

    @property
    def state(self) -> State:
        """How it is judged."""
        return "diagnostic" if self.judged is None else state_key(self.judged.state)

    @property
    def reason(self) -> str:
        """Why it is inconclusive, where it is."""
        return "" if self.judged is None else self.judged.reason

    @property
    def leak_seen(self) -> bool:
        """Whether a leak is seen, at the level that the verdict asks for."""
        return self.judged is not None and self.judged.leak_seen

    @property
    def explained_above(self) -> bool:
        """Whether it is a further run of a metric, for one attacker: the first one explains it."""
        first = self.result.metric
        return self.result.attacker is not None and any(item.key == first for item in self.report.results)

    @property
    def tried(self) -> Sequence[Configuration]:
        """The configurations with the largest lower bounds, which is how the headline is chosen."""
        lowest = float("-inf")
        found = self.result.configurations
        return sorted(found, key=lambda item: item.gain.low if item.gain else lowest, reverse=True)[
            :MOST_CONFIGURATIONS
        ]

    @property
    def combinations(self) -> tuple[Combination, ...]:
        """The columns that single people out together, where a leak is seen."""
        return self.result.combinations[:MOST_COMBINATIONS] if self.leak_seen else ()

    @property
    def beside(self) -> tuple[str, ...]:
        """What it found beside its answer, on which no verdict rests."""
        details = self.result.details
        told = [] if details.get("simulation") is None else [_graded(details["simulation"])]
        within = {title: details.get(key) for title, key in _WITHIN.items()}
        if within["the release"] is not None and within["train"] is not None:
            told.append(_apart({title: found for title, found in within.items() if found is not None}))
        return tuple(told)

    @property
    def bar(self) -> RiskBar:
        """Its row in the chart of risks."""
        return RiskBar(
            label=self.title,
            risk=self.result.measure,
            control=self.result.control,
            attack=self.result.attack,
            threshold=self.threshold,
            state=self.state,
            note=self.reason,
        )

    @property
    def threat(self) -> ThreatRow | None:
        """The attacker behind it, if it is an attack."""
        result, threat = self.result, self.result.threat
        if threat is None:
            return None
        black_box = result.labels.threat_model == "black-box"
        return ThreatRow(
            title=name(result.title or result.metric),
            who=ANYBODY if result.attacker is None else f"“{name(result.attacker)}”",
            holds="the release and access to the generator" if black_box else "the release only",
            knows=threat.knows,
            wants=threat.wants,
        )

    @property
    def reappearances(self) -> list[tuple[str, str, str, str]]:
        """What of real people reappears, by kind and place: of how many in train and control, the risk."""
        return [
            (
                name(found.name),
                _counted(found.facts, "train_people", found.attack),
                _counted(found.facts, "control_people", found.control),
                f"{wording.number(found.risk.value)} ({wording.interval(found.risk)})"
                if found.risk
                else wording.NOT_COMPUTED,
            )
            for found in self.result.configurations[:MOST_REAPPEARING]
        ]


def _counted(facts: Mapping[str, Any], key: str, share: Estimate | None) -> str:
    """Write a count with its share; a report of somebody else may lack either."""
    if share is None:
        return wording.NOT_COMPUTED
    count = facts.get(key)
    return f"{count:,} ({wording.share_of(share)})" if isinstance(count, int) else wording.share_of(share)


_WITHIN = {"the release": "within_synthetic", "train": "within_train", "control": "within_control"}


def _graded(simulation: Mapping[str, Any]) -> str:
    """Say how the attack with fixed thresholds is graded, and how little that says."""
    return (
        "The same attack with fixed thresholds, as the literature grades it: precision "
        f"{wording.number(simulation['precision'])}, accuracy {wording.number(simulation['accuracy'])}, "
        f"graded “{simulation['grade']}”. A release that leaks nothing is graded Excellent or Very Good, and "
        "so may be one that betrays a few people: no verdict rests on the grade."
    )


def _apart(within: Mapping[str, Mapping[str, float]]) -> str:
    """Say how far rows of one table are apart: whether the release repeats itself."""
    halves, few = (
        joined([f"{wording.number(found[key])} in {title}" for title, found in within.items()])
        for key in ("median", "percentile_5")
    )
    return (
        "Does the release repeat itself? To the nearest other row of its own table, half of the rows have at "
        f"most {halves}; one in twenty has at most {few}. Rows of a release that lie much nearer to each "
        "other than real rows do mean that the generator makes less variety than there is (collapse). Rows "
        "of a larger table lie nearer to each other, too."
    )


def title_of(report: Report, metric: str) -> str:
    """Name a metric, or another part of an audit, in words."""
    explained = report.explanations.get(metric)
    return PARTS.get(metric, name(metric)) if explained is None else explained.title


def skipped_title(report: Report, item: Omission) -> str:
    """Name in words what gave no answer, with its attacker if there is one."""
    words = title_of(report, item.metric)
    return words if item.attacker is None else f"{words} (attacker “{name(item.attacker)}”)"


def question_of(report: Report, metric: str) -> str:
    """Return the question a metric answers."""
    explained = report.explanations.get(metric)
    return title_of(report, metric) if explained is None else explained.question


def risk_sentence(result: Result, confidence: float) -> str:
    """Say how many more of a hundred people are exposed, and the risk with its interval and its scale."""
    if result.risk is not None:
        bounds = f"{wording.level(confidence)} interval {wording.interval(result.risk)}"
        told = f"Risk {wording.number(result.risk.value)} ({SCALE}; {bounds})."
    elif result.control is None:
        told = f"Risk: {wording.NOT_COMPUTED}; nothing tells how the attack does on {wording.UNSEEN}."
    else:
        why = f"{wording.UNSEEN} fare as badly as could be, so there is no room for a risk"
        told = f"Risk: {wording.NOT_COMPUTED}; {why}."
    gain = result.gain
    if gain is None:
        return told
    ends = f"between {wording.least_people(gain.low)} and {wording.most_people(gain.high)}"
    return (
        f"Of 100 people {wording.people(gain.value)} more are exposed because their data were trained on (at "
        f"{wording.level(confidence)} {ends}). {told}"
    )


@dataclass(frozen=True, kw_only=True)
class SpacePair:
    """One question, answered in a learned space and by the mixed distance."""

    title: str
    mixed_title: str
    mixed: Estimate | None
    contrastive: Estimate | None


def spaces(report: Report) -> list[SpacePair]:
    """Set every answer from the learned space beside one to the same question, where there is one."""
    pairs = []
    for result in report.results:
        explained = report.explanations.get(result.metric)
        beside = () if explained is None else explained.beside  # the most alike first
        asked = [(metric, result.attacker) for metric in beside]
        found = [each for pair in asked for each in report.results if (each.metric, each.attacker) == pair]
        if found:
            pairs.append(
                SpacePair(
                    title=result.full_title,
                    mixed_title=found[0].full_title,
                    mixed=found[0].measure,
                    contrastive=result.measure,
                )
            )
    return pairs


@dataclass(frozen=True, kw_only=True)
class InferredColumns:
    """The risk of every column, the clearest leak first, as far as the page shows them."""

    bars: tuple[ColumnBar, ...]
    alike: tuple[str, ...]  # the columns that the first bar stands for
    n_apart: int  # columns that have a bar of their own
    threshold: float
    title: str
    n_drawn: int  # those of them that the page has room for


def inferred(report: Report) -> list[InferredColumns]:
    """Return the risk by column of every attack that went through the columns one by one."""
    threshold = report.policy.thresholds.inference
    return [_columns(result, threshold) for result in report.results if result.columns]


def _columns(result: Result, threshold: float) -> InferredColumns:
    levels = {item.name: item.setting.level for item in result.configurations}

    def bar(label: str, item: ColumnRisk, words: str) -> ColumnBar:
        limit = judged_by(item.measure, threshold)
        return ColumnBar(label=label, risk=item.measure, threshold=limit, configuration=words)

    same = alike(result.columns)
    apart = [item for item in result.columns if item not in same]
    by_level: dict[str, list[ColumnRisk]] = {}
    lowest = float("-inf")
    for item in sorted(
        apart, key=lambda item: (-(item.measure.low if item.measure else lowest), item.column)
    ):
        by_level.setdefault(_acting(levels, [item]), []).append(item)
    rows = [(words, item) for words, group in by_level.items() for item in group]
    bars = [bar(item.column, item, words) for words, item in rows[:MOST_DRAWN]]
    n_drawn = len(bars)
    if same:
        middle = sorted(same, key=lambda item: item.risk.value if item.risk else 0.0)[len(same) // 2]
        bars = [bar(f"{len(same)} columns alike", middle, _acting(levels, same)), *bars]
    return InferredColumns(
        bars=tuple(bars),
        alike=tuple(item.column for item in same),
        n_apart=len(apart),
        threshold=threshold,
        title=result.full_title,
        n_drawn=n_drawn,
    )


def _acting(levels: dict[str, float], items: Sequence[ColumnRisk]) -> str:
    """Say on which guesses the attacker acts, in the configurations of these columns."""
    found = {levels[item.configuration] for item in items if item.configuration in levels}
    if not found:
        return ""
    if found == {1.0}:
        return "guessing for everybody"
    acting = f"acting on the surest {wording.level(min(found))} of guesses"
    return acting if len(found) == 1 else f"{acting} or on more of them"
