"""What a search makes small: the largest risk over metrics, and what is lost of usefulness.

Privacy is judged by the upper end of each metric's interval, as a policy judges it, or by its value if that
is asked for; of several metrics the largest counts. A number of several repeats is their mean.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal, Self, get_args

from tabveil.auditing.verdict.policy import REQUIRED, Policy, Risk, risk_of
from tabveil.core import check
from tabveil.core.estimate import Estimate
from tabveil.core.settings.plain import PlainData
from tabveil.errors import ParameterError
from tabveil.metrics.registry import Knowledge, MetricChoice
from tabveil.metrics.utility.one_figure import NAMES, loss
from tabveil.protocols import Metric
from tabveil.workflows.benchmark.answers import Answer

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
            raise ParameterError(f"{OWNER}: name them, such as 'privacy: [linkability]'.")
        check.known_names(OWNER, "setting", map(str, given), _KEYS)
        by = given.get("by", "upper")
        check.one_of(OWNER, "by", by, get_args(Judged))
        metrics = _metrics(given.get("privacy", REQUIRED), policy)
        if not any(risk_of(metric.labels) for metric in metrics.values()):
            raise ParameterError(
                f"{OWNER}: privacy: a policy judges attacks, and none is among {', '.join(metrics)}."
            )
        return cls(metrics=metrics, by=by, utility=_utility(given.get("utility", _DEFAULT_UTILITY)))

    @property
    def risks(self) -> dict[str, Risk]:
        """What each attack is evidence for; indicators are left out, as no policy judges them."""
        found = {label: risk_of(metric.labels) for label, metric in self.metrics.items()}
        return {label: risk for label, risk in found.items() if risk is not None}

    def score(self, answers: Mapping[str, Sequence[Answer]], figures: Sequence[float]) -> "Score":
        """Sum up what metrics said in each repeat, and the figure of utility in each."""
        risks = {label: _mean(label, found) for label, found in answers.items()}
        judged = {label: item.high if self.by == "upper" else item.value for label, item in risks.items()}
        figure = fmean(figures)
        return Score(
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
class Score(PlainData):
    """What a configuration came to: means over repeats. ``largest`` is the metric that ``privacy`` is of."""

    risks: Mapping[str, Estimate]
    informative: Mapping[str, bool]
    largest: str
    privacy: float
    figure: float
    loss: float


class NoNumber(Exception):  # noqa: N818 - an answer, not a fault
    """A metric gave no number, so that a configuration cannot be placed; the reason is the message."""


def _mean(label: str, answers: Sequence[Answer]) -> Estimate:
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
        raise ParameterError(f"{OWNER}: privacy must be a metric, or a list of metrics.")
    found: dict[str, Metric] = {}
    for item in items:
        if not isinstance(item, (str, Mapping)):
            raise ParameterError(f"{OWNER}: privacy: a metric has a name, got {item!r}.")
        choice = MetricChoice.read(OWNER, item)
        if choice.name in found:
            raise ParameterError(f"{OWNER}: privacy: {choice.name!r} stands there twice.")
        found[choice.name] = Knowledge(confidence=policy.confidence).make(choice)
    return found


def _utility(given: object) -> UtilityChoice:
    said: dict[str, Any] = {"name": given} if isinstance(given, str) else {}
    if isinstance(given, Mapping):
        said = {str(key): value for key, value in given.items()}
    check.known_names(f"{OWNER}: utility", "setting", said, ("name", "target"))
    name, target = said.get("name"), said.get("target", ())
    if not isinstance(name, str):
        raise ParameterError(f"{OWNER}: utility must be the name of a figure, such as {_DEFAULT_UTILITY}.")
    check.known_names(f"{OWNER}: utility", "figure", [name], NAMES)
    columns = (target,) if isinstance(target, str) else target
    if not isinstance(columns, (list, tuple)) or not all(isinstance(item, str) for item in columns):
        raise ParameterError(f"{OWNER}: utility: target must be a column, or a list of columns.")
    if columns and name != "downstream":
        raise ParameterError(f"{OWNER}: utility: {name} has no target; downstream has.")
    return UtilityChoice(name=name, target=tuple(columns))
