"""One headline for the many configurations of an attack (docs/definitions.md, Headline).

The headline is the configuration with the largest lower bound of its gain, among those that do better than
a naive guesser, in intervals that hold together; every configuration stands in the details. What one compares
may be counts of right guesses, or attributed probabilities, weighted votes and regression errors that bring
their own intervals.

An upper bound of the headline's gain is none of the others'. The largest upper bound over all configurations
is one of the largest gain, and needs no correction for their number: it could only be too low where the one
configuration with the largest gain has too low a bound (an intersection-union test; Berger 1982).
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from tabveil.core.estimate import (
    Deals,
    Estimate,
    chance_of_difference,
    difference,
    excess,
    rate,
    risk_between,
    sidak,
    strongest,
)
from tabveil.core.findings import ColumnRisk, Combination, Configuration, Curve, OutlierRisk, Setting
from tabveil.core.result import Result, Scores, params_of
from tabveil.metrics.attacks.guessing import NO_CONTROL, NOT_INFORMATIVE, Tally
from tabveil.metrics.worth_guessing import LEAST_ROOM
from tabveil.protocols import Metric

NO_ROOM = "Control does as well as can be, or nearly so: there is no room for a risk."


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What one configuration found, with intervals at the level it was asked for."""

    attack: Estimate
    control: Estimate | None
    baseline: Estimate | None
    risk: Estimate | None
    gain: Estimate | None  # how many more of the people, of all there are
    p_value: float | None  # the chance of such a gain where nothing leaks
    beats_baseline: bool  # where it acts, and beyond chance
    facts: Mapping[str, Any] = field(default_factory=dict)  # counts, sizes: what the rates rest on


Comparator = Callable[[float], Comparison]
"""Give the comparison with intervals at this level of confidence."""


@dataclass(frozen=True, kw_only=True)
class Headline:
    """The configuration that leads, and all of them."""

    setting: Setting
    leading: Comparison
    gain: Estimate | None
    p_value: float | None
    configurations: tuple[Configuration, ...]
    informative: bool
    details: Mapping[str, Any]
    notes: tuple[str, ...]
    curve: Curve | None = None  # of the scores of an attack that ranks people

    def answer(
        self,
        metric: Metric,
        *,
        configurations: tuple[Configuration, ...] | None = None,
        outliers: OutlierRisk | None = None,
        columns: tuple[ColumnRisk, ...] = (),
        combinations: tuple[Combination, ...] = (),
        details: Mapping[str, Any] | None = None,
        notes: tuple[str, ...] = (),
        scores: tuple[Scores, ...] = (),
    ) -> Result:
        """Make the metric's result: the headline, and what else the metric has to say."""
        return Result(
            metric=metric.name,
            labels=metric.labels,
            params=params_of(metric),
            risk=self.leading.risk,
            gain=self.gain,
            p_value=self.p_value,
            attack=self.leading.attack,
            control=self.leading.control,
            baseline=self.leading.baseline,
            beats_baseline=self.informative,
            leading=self.setting,
            configurations=self.configurations if configurations is None else configurations,
            curve=self.curve,
            outliers=outliers,
            columns=columns,
            combinations=combinations,
            details={**self.details, **(details or {})},
            notes=(*self.notes, *notes, *(metric.representation.notes if metric.representation else ())),
            sensitive_scores=scores,
        )


def headline(counted: Mapping[Setting, Tally], confidence: float, *, deals: Deals | None = None) -> Headline:
    """Choose among configurations whose right guesses were counted."""
    comparators = {setting: partial(compare_counts, tally) for setting, tally in counted.items()}
    return choose(comparators, confidence, deals=deals)


def choose(
    comparators: Mapping[Setting, Comparator], confidence: float, *, deals: Deals | None = None
) -> Headline:
    """Choose the configuration with the largest lower bound of its gain.

    Only configurations that do better than the naive guesser can lead or bound anything; the attack is
    informative if there is one. The intervals of all configurations hold together with this ``confidence``:
    by Šidák's correction, or by the ``deals`` of labels over the same people where there are some.
    Without control there is no gain; then the one that is farthest ahead of the naive guesser is shown. The
    largest point estimate, which the papers report, stands in the details: it is biased upward by the choice.
    """
    n_tried = len(comparators)
    level = deals.level(confidence, n_tried) if deals else sidak(confidence, n_tried)
    found = {setting: compare(level) for setting, compare in comparators.items()}
    telling = {setting: item for setting, item in found.items() if item.beats_baseline}
    counted = telling or found
    gains = {setting: item.gain for setting, item in counted.items() if item.gain is not None}
    best = _leading(found, counted)
    risks = {setting: item.risk.value for setting, item in found.items() if item.risk is not None}
    largest = max(risks, key=lambda setting: risks[setting]) if risks else None
    missing = NO_CONTROL if found[best].control is None else "" if found[best].risk else NO_ROOM
    return Headline(
        setting=best,
        leading=found[best],
        gain=replace(gain, high=_highest(gains, comparators, confidence))
        if gains and (gain := found[best].gain)
        else None,
        p_value=_smallest([item.p_value for item in counted.values()], n_tried, deals),
        configurations=tuple(Configuration(setting=key, **vars(item)) for key, item in found.items()),
        informative=bool(telling),
        details={
            "confidence_of_each": level,
            "largest_point_estimate": largest and {"configuration": largest.name, "risk": risks[largest]},
        },
        notes=tuple(note for note in (missing, "" if telling else NOT_INFORMATIVE) if note),
    )


def _leading(found: Mapping[Setting, Comparison], counted: Mapping[Setting, Comparison]) -> Setting:
    """Return the configuration with the largest lower bound, of those that count.

    Where control does as well as can be, or nearly so, and nothing is seen, nothing can be: such a
    configuration leads only where there is no other. It bounds the gain all the same.
    """
    roomy = [
        {setting: item for setting, item in some.items() if _has_room(item)} for some in (counted, found)
    ]
    some = next((each for each in roomy if each), counted)
    gains = {setting: item.gain for setting, item in some.items() if item.gain is not None}
    return strongest(
        gains
        or {
            setting: (excess(item.attack, item.baseline) if item.baseline else None) or item.attack
            for setting, item in some.items()
        }
    )


def _has_room(item: Comparison) -> bool:
    """Whether an attack could succeed on more training people than control people, or does."""
    if item.risk is None or item.control is None:
        return False
    return item.control.value <= 1 - LEAST_ROOM or (item.gain is not None and item.gain.low > 0)


def _highest(
    together: Mapping[Setting, Estimate], comparators: Mapping[Setting, Comparator], confidence: float
) -> float:
    """Return the largest upper bound that any configuration has by itself.

    Intervals that hold together reach farther: what they do not carry beyond the largest bound so far need
    not be asked for again.
    """
    highest = -math.inf
    for setting in sorted(together, key=lambda setting: together[setting].high, reverse=True):
        if together[setting].high <= highest:
            break
        alone = comparators[setting](confidence).gain
        highest = max(highest, alone.high if alone else -math.inf)
    return highest


def _smallest(p_values: Iterable[float | None], n_tried: int, deals: Deals | None) -> float | None:
    """Return the chance that the smallest of so many p-values would be so small by itself."""
    known = [p_value for p_value in p_values if p_value is not None]
    if deals and known:
        return deals.p_value(min(known), n_tried)
    return -math.expm1(n_tried * math.log1p(-min(*known, 0.5))) if known else None


def compare_counts(tally: Tally, confidence: float) -> Comparison:
    """Compare counts of right guesses: rates are shares of all people, so that they give the gain.

    The risk is that of the people who can be attacked.
    """
    exposed = tally.people
    control = rate(exposed[2], exposed[3], confidence) if tally.n_control else None
    counts = tally.train, tally.n_train, tally.control, tally.n_control
    n_naive = tally.n_naive + tally.without_train
    return Comparison(
        attack=rate(exposed[0], exposed[1], confidence),
        control=control,
        baseline=rate(tally.naive, n_naive, confidence) if tally.n_naive else None,
        risk=risk_between(*counts, confidence) if control else None,
        gain=difference(*exposed, confidence) if control else None,
        p_value=chance_of_difference(*exposed) if control else None,
        beats_baseline=beats(tally),
        facts={
            "successes_train": tally.train,
            "n_train": tally.n_train,
            "successes_control": tally.control,
            "n_control": tally.n_control,
            "naive": tally.naive / tally.n_naive if tally.n_naive else None,
        },
    )


def beats(tally: Tally) -> bool:
    """Tell whether the attack succeeds more often than a naive guesser would, beyond what chance explains."""
    return not tally.n_naive or rate(tally.train, tally.n_train).low > tally.naive / tally.n_naive
