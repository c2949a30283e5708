"""One headline for the many configurations of an attack (SPEC 1).

The headline is the configuration with the largest lower bound among intervals that hold together; every
configuration stands in the details. What a configuration compares may be counts of right guesses, or
attributed probabilities, weighted votes and regression errors that bring their own intervals.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

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
