"""What a search makes small: the largest risk over metrics, and what is lost of usefulness; what it found.

Privacy is judged by the upper end of each metric's interval, as a policy judges it, or by its value if that
is asked for; of several metrics the largest counts. A number of several repeats is their mean. What was found
is stored as JSON: table, figure and page need nothing else.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal, Self, get_args

from tabveil.auditing.policy import REQUIRED, Policy, Risk, risk_of
from tabveil.core import check
from tabveil.core.estimate import Estimate
from tabveil.core.storage.plain import PlainData
from tabveil.errors import ParameterError, told
from tabveil.metrics.registry import Knowledge, MetricChoice
from tabveil.metrics.utility import NAMES, loss
from tabveil.protocols import Metric
from tabveil.workflows.benchmark.trials import MetricAnswer

OWNER = "objectives"
Judged = Literal["upper", "value"]
_KEYS = ("privacy", "by", "utility")
_DEFAULT_UTILITY = "discriminator"


@dataclass(frozen=True, kw_only=True)
class UtilityChoice:
    """A figure of usefulness, and for ``downstream`` the columns to predict; none: those predicted best."""

    name: str
    target: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Objectives:
    """The metrics of privacy by their labels, by which end of their intervals, and the figure of utility."""

    metrics: Mapping[str, Metric]
    by: Judged
    utility: UtilityChoice

    @classmethod
    def read(cls, given: object, policy: Policy) -> Self:
        """Read names and settings; intervals are as sure as the policy wants them."""
        if not isinstance(given, Mapping):
            raise ParameterError(OWNER, "name them, such as 'privacy: [linkability]'.")
        check.known_names(OWNER, "setting", map(str, given), _KEYS)
        by = given.get("by", "upper")
        check.one_of(OWNER, "by", by, get_args(Judged))
        metrics = _metrics(given.get("privacy", REQUIRED), policy)
        if not any(risk_of(metric.labels) for metric in metrics.values()):
            names = ", ".join(metrics)
            raise ParameterError(OWNER, f"privacy: a policy judges attacks, and none is among {names}.")
        return cls(metrics=metrics, by=by, utility=_utility(given.get("utility", _DEFAULT_UTILITY)))

    @property
    def risks(self) -> dict[str, Risk]:
        """What each attack is evidence for; indicators are left out, as no policy judges them."""
        found = {label: risk_of(metric.labels) for label, metric in self.metrics.items()}
        return {label: risk for label, risk in found.items() if risk is not None}

    def score(self, answers: Mapping[str, Sequence[MetricAnswer]], figures: Sequence[float]) -> "SearchScore":
        """Sum up what metrics said in each repeat, and the figure of utility in each."""
        risks = {label: _mean(label, found) for label, found in answers.items()}
        judged = {label: item.high if self.by == "upper" else item.value for label, item in risks.items()}
        figure = fmean(figures)
        return SearchScore(
            risks=risks,
            informative={
                label: all(item.informative is not False for item in found)
                for label, found in answers.items()
            },
            largest=max(judged, key=judged.__getitem__),
            privacy=max(judged.values()),
            figure=figure,
            loss=loss(self.utility.name, figure),
        )


@dataclass(frozen=True, kw_only=True)
class SearchScore(PlainData):
    """What a configuration came to: means over repeats. ``largest`` is the metric that ``privacy`` is of."""

    risks: Mapping[str, Estimate]
    informative: Mapping[str, bool]
    largest: str
    privacy: float
    figure: float
    loss: float


class NoNumber(Exception):  # noqa: N818 - an answer, not a fault
    """A metric gave no number, so that a configuration cannot be placed; the reason is the message."""


def _mean(label: str, answers: Sequence[MetricAnswer]) -> Estimate:
    found = []
    for answer in answers:
        measure = answer.measure
        if answer.skipped is not None:
            raise NoNumber(answer.skipped)
        if measure is None or not math.isfinite(measure.high + measure.value + measure.low):
            raise NoNumber(f"{label}: no risk could be derived.")
        found.append(measure)
    return Estimate(
        value=fmean(item.value for item in found),
        low=fmean(item.low for item in found),
        high=fmean(item.high for item in found),
        n=sum(item.n for item in found),
    )


def _metrics(given: object, policy: Policy) -> dict[str, Metric]:
    items = [given] if isinstance(given, (str, Mapping)) else given
    if not isinstance(items, Sequence) or not items:
        raise ParameterError(OWNER, "privacy must be a metric, or a list of metrics.")
    found: dict[str, Metric] = {}
    for item in items:
        if not isinstance(item, (str, Mapping)):
            raise ParameterError(OWNER, f"privacy: a metric has a name, got {told(item)}.")
        choice = MetricChoice.read(OWNER, item)
        if choice.name in found:
            raise ParameterError(OWNER, f"privacy: {choice.name!r} stands there twice.")
        found[choice.name] = Knowledge(confidence=policy.confidence).make(choice)
    return found


def _utility(given: object) -> UtilityChoice:
    said: dict[str, Any] = {"name": given} if isinstance(given, str) else {}
    if isinstance(given, Mapping):
        said = {str(key): value for key, value in given.items()}
    check.known_names(f"{OWNER}: utility", "setting", said, ("name", "target"))
    name, target = said.get("name"), said.get("target", ())
    if not isinstance(name, str):
        raise ParameterError(OWNER, f"utility must be the name of a figure, such as {_DEFAULT_UTILITY}.")
    check.known_names(f"{OWNER}: utility", "figure", [name], NAMES)
    columns = (target,) if isinstance(target, str) else target
    if not isinstance(columns, (list, tuple)) or not all(isinstance(item, str) for item in columns):
        raise ParameterError(OWNER, "utility: target must be a column, or a list of columns.")
    if columns and name != "downstream":
        raise ParameterError(OWNER, f"utility: {name} has no target; downstream has.")
    return UtilityChoice(name=name, target=tuple(columns))


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One configuration: what was changed, all its settings, and what it came to, or why to nothing."""

    number: int
    point: Mapping[str, Any]
    settings: Mapping[str, Any]
    score: SearchScore | None = None
    within: bool = False  # every attack's upper end is within the policy's threshold
    why: str | None = None


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The configuration to take under the policy; if none is ``within`` it, the one that comes nearest."""

    number: int
    within: bool


@dataclass(frozen=True, kw_only=True)
class Check:
    """The chosen configuration on rows that the search never used.

    The search chose the best of many, and part of what made it best was chance: so much more risk and so much
    more loss there is on other people (``optimism_*``: the check's number minus the search's).
    """

    score: SearchScore | None = None
    within: bool = False
    optimism_privacy: float | None = None
    optimism_loss: float | None = None
    why: str | None = None


@dataclass(frozen=True, kw_only=True)
class SearchRows:
    """How many rows there are, on either side, and in a trial."""

    dataset: str
    all: int
    columns: int
    searched: int
    held_out: int
    train: int
    control: int


@dataclass(frozen=True, kw_only=True)
class SearchTerms:
    """What was asked for, as the report tells it; ``metrics`` are the titles of metrics by their names."""

    version: str
    title: str
    seed: int
    repeats: int
    searcher: str
    space_size: int | None
    trials: int
    generator: str
    settings: Mapping[str, Any]
    search: Mapping[str, Any]
    metrics: Mapping[str, str]
    by: Judged
    utility: str
    target: tuple[str, ...]
    thresholds: Mapping[str, float]  # of each attack, by its name
    risks: Mapping[str, Risk]
    confidence: float
    not_searched: tuple[str, ...]  # attacks that the policy requires and the search did not ask
    cautions: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SearchFindings(PlainData):
    """Everything a search found; ``front`` are the numbers of configurations that no other beats in both."""

    asked: SearchTerms
    rows: SearchRows
    tried: tuple[Attempt, ...]
    front: tuple[int, ...]
    choice: Choice | None
    check: Check | None

    def of(self, number: int) -> Attempt:
        """Return a configuration by its number."""
        return self.tried[number - 1]

    @property
    def failed(self) -> tuple[Attempt, ...]:
        """Those that came to nothing."""
        return tuple(item for item in self.tried if item.score is None)

    def json_text(self) -> str:
        """Return the text of a file."""
        return json.dumps(self.to_json(), ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def front(tried: Sequence[Attempt]) -> tuple[int, ...]:
    """Return the numbers of those that no other beats: as good in both, and better in one.

    They come in the order of their risk, the least first.
    """
    known = [(item.score.privacy, item.score.loss, item.number) for item in tried if item.score is not None]
    kept = [
        item
        for item in known
        if not any(other[0] <= item[0] and other[1] <= item[1] and other[:2] != item[:2] for other in known)
    ]
    return tuple(number for *_, number in sorted(kept))


def is_within(score: SearchScore, risks: Mapping[str, Risk], policy: Policy) -> bool:
    """Tell whether no attack's upper end lies above its threshold.

    An attack that is no better than its baseline cannot object, so each risk needs one that is.
    """
    below = all(score.risks[label].high <= policy.thresholds.of(risk) for label, risk in risks.items())
    tested = {risk for label, risk in risks.items() if score.informative[label]}
    return below and tested == set(risks.values())


def choose(tried: Sequence[Attempt], risks: Mapping[str, Risk], policy: Policy) -> Choice | None:
    """Return what to take: of those within the policy, the one that loses least.

    If none is, it is the one whose largest upper end is the smallest part of its threshold. Of equals the one
    with less risk, or less loss, is taken, then the first. None where no configuration has numbers.
    """
    known = [(item, item.score) for item in tried if item.score is not None]
    within = [(score.loss, score.privacy, item.number) for item, score in known if item.within]
    if within:
        return Choice(number=min(within)[-1], within=True)

    def largest_share(score: SearchScore) -> float:
        return max(score.risks[label].high / policy.thresholds.of(risk) for label, risk in risks.items())

    nearest = [(largest_share(score), score.loss, item.number) for item, score in known]
    return Choice(number=min(nearest)[-1], within=False) if nearest else None
