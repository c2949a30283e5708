"""One headline for the many configurations of an attack (SPEC 1).

The headline is the configuration with the largest lower bound among intervals that hold together; every
configuration stands in the details. What a configuration compares may be counts of right guesses, or
attributed probabilities, weighted votes and regression errors that bring their own intervals.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

from scipy.special import ndtri

from tabveil.attacks.guessing import NO_CONTROL, NOT_INFORMATIVE, Tally
from tabveil.estimate import Estimate, excess, risk_between, sidak, strongest, wilson
from tabveil.protocols import Metric
from tabveil.result import (
    ColumnRisk,
    Configuration,
    Curve,
    OutlierRisk,
    Result,
    Scores,
    Setting,
    params_of,
)

NO_ROOM = "Control does as well as can be, or nearly so: there is no room for a risk."

FEW = 5  # fewer losses than this say little about how large they are
NOTHING_VARIES = 1e-12  # relative: what rounding leaves of a variance of zero


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What one configuration found, with intervals at the level it was asked for."""

    attack: Estimate
    control: Estimate | None
    baseline: Estimate | None
    risk: Estimate | None
    facts: Mapping[str, Any] = field(default_factory=dict)  # counts, sizes: what the rates rest on

    def of(self, setting: Setting) -> Configuration:
        """Say which configuration it was."""
        return Configuration(
            setting=setting, **{item.name: getattr(self, item.name) for item in fields(self)}
        )


Comparator = Callable[[float], Comparison]
"""Give the comparison with intervals at this level of confidence."""


@dataclass(frozen=True, kw_only=True)
class Headline:
    """The configuration that leads, and all of them."""

    setting: Setting
    leading: Comparison
    configurations: tuple[Configuration, ...]
    informative: bool
    details: Mapping[str, Any]
    notes: tuple[str, ...]

    @property
    def risk(self) -> Estimate | None:
        """The risk in the configuration that leads."""
        return self.leading.risk

    def configuration(self, setting: Setting) -> Configuration:
        """Return what was found in one configuration."""
        return next(item for item in self.configurations if item.setting == setting)

    def answer(
        self,
        metric: Metric,
        *,
        configurations: tuple[Configuration, ...] | None = None,
        curve: Curve | None = None,
        outliers: OutlierRisk | None = None,
        columns: tuple[ColumnRisk, ...] = (),
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
            attack=self.leading.attack,
            control=self.leading.control,
            baseline=self.leading.baseline,
            beats_baseline=self.informative,
            leading=self.setting,
            configurations=self.configurations if configurations is None else configurations,
            curve=curve,
            outliers=outliers,
            columns=columns,
            details={**self.details, **(details or {})},
            notes=(*self.notes, *notes),
            scores=scores,
        )


def headline(counted: Mapping[Setting, Tally], confidence: float) -> Headline:
    """Choose among configurations whose right guesses were counted."""
    return choose({setting: partial(compare_counts, tally) for setting, tally in counted.items()}, confidence)


def choose(comparators: Mapping[Setting, Comparator], confidence: float) -> Headline:
    """Choose the configuration with the largest lower bound of its risk.

    The intervals of all configurations hold together with this ``confidence``. Without control there is no
    risk; then the one that gains most on the naive guesser is shown. The largest point estimate, which the
    papers report, stands in the details: it is biased upward by the choice.

    The attack is informative if the headline does better than its naive baseline, or any configuration does
    so beyond chance: where nothing leaks, the headline is often one in which nobody guesses anything.
    """
    level = sidak(confidence, len(comparators))
    found = {setting: compare(level) for setting, compare in comparators.items()}
    risks = {setting: item.risk for setting, item in found.items() if item.risk is not None}
    best = strongest(risks or {setting: _gain(item) for setting, item in found.items()})
    leading = found[best]
    largest = max(risks, key=lambda setting: risks[setting].value) if risks else None
    informative = _gains(leading) or any(_gains(item, surely=True) for item in found.values())
    return Headline(
        setting=best,
        leading=leading,
        configurations=tuple(item.of(setting) for setting, item in found.items()),
        informative=informative,
        details={
            "confidence_of_each": level,
            "largest_point_estimate": largest
            and {"configuration": largest.name, "risk": risks[largest].value},
        },
        notes=_notes(leading, informative=informative),
    )


def _gain(item: Comparison) -> Estimate:
    return (excess(item.attack, item.baseline) if item.baseline else None) or item.attack


def _gains(item: Comparison, *, surely: bool = False) -> bool:
    """Tell whether an attack does better than its naive baseline; ``surely``: beyond what chance explains.

    Where control is the naive guesser's rate (membership), the risk itself is that comparison.
    """
    if item.baseline is None or item.baseline == item.control:
        return True
    return (item.attack.low if surely else item.attack.value) > item.baseline.value


def _notes(leading: Comparison, *, informative: bool) -> tuple[str, ...]:
    notes = []
    if leading.control is None:
        notes.append(NO_CONTROL)
    elif leading.risk is None:
        notes.append(NO_ROOM)
    if not informative:
        notes.append(NOT_INFORMATIVE)
    return tuple(notes)


def compare_counts(tally: Tally, confidence: float) -> Comparison:
    """Compare counts of right guesses."""
    attack = wilson(tally.train, tally.n_train, confidence)
    control = wilson(tally.control, tally.n_control, confidence) if tally.n_control else None
    return Comparison(
        attack=attack,
        control=control,
        baseline=wilson(tally.naive, tally.n_naive, confidence) if tally.n_naive else None,
        risk=risk_between(attack, control) if control else None,
        facts={
            "successes_train": tally.train,
            "n_train": tally.n_train,
            "successes_control": tally.control,
            "n_control": tally.n_control,
            "naive": tally.naive / tally.n_naive if tally.n_naive else None,
        },
    )


def risk_toward(attack: Estimate, control: Estimate, worst: float = 1.0) -> Estimate | None:
    """How far does the attack go from the control's score to the worst one? None where that is no way at all.

    Errors are those at no risk, where both sides weigh alike. Propagated at the value itself, the control's
    would vanish as the attack nears the worst case, and a handful of guesses that happen to be right in train
    would pass for proof.
    """
    room = worst - control.value
    if room <= 0:
        return None
    value = (attack.value - control.value) / room
    below = math.hypot(attack.value - attack.low, control.high - control.value) / room
    above = math.hypot(attack.high - attack.value, control.value - control.low) / room
    return Estimate(value=value, low=value - below, high=value + above, n=attack.n)


def mean_share(value: float, variance: float, n: int, confidence: float, *, independent: float) -> Estimate:
    """Put bounds around a mean of ``n`` scores between 0 and 1 whose variance is known.

    Wilson's, for as many observations as the variance makes it worth: they hold where few scores are not
    zero. Where nothing varies, it is worth the ``independent`` observations. A mean near 1 can vary more than
    any share does (each of its few losses may be large); there the bounds are at least the normal ones.
    """
    spread = max(value * (1 - value), 0.0)  # rounding can carry a mean past 1
    worth = spread / variance if variance > spread * NOTHING_VARIES else independent
    if 2 * value <= 1 or worth * (1 - value) >= FEW:
        worth = max(worth, 1.0)
        bounds = wilson(value * worth, worth, confidence)
        return Estimate(value=value, low=min(bounds.low, value), high=max(bounds.high, value), n=n)
    bounds = wilson(min(value, 1.0) * independent, independent, confidence)
    half = float(ndtri((1 + confidence) / 2)) * variance**0.5
    return Estimate(value=value, low=min(value - half, bounds.low), high=max(value + half, bounds.high), n=n)
