"""Rows of a release that match training rows: how many of them chance explains, whatever the sizes.

Some rows are equal by chance, the more so the fewer columns and values there are. What chance explains is
told by control rows, which are as real and which the generator never saw. As large as train they would be
counted in its place; else as many rows as there can be are exchanged between the two in thought, and what
the release loses by it is scaled up to all of train:

    excess = (matches in train - matches after exchanging k of its rows) * n_train / k

with k the size of the smaller table and the average over all ways of exchanging (in closed form, nothing is
drawn). A fresh row is matched as often before as after, whatever the sizes. A row copied from one person
loses its match when that person is exchanged, which happens k times in n_train, so that it counts as one; but
not where an equal row of another person, or a control row, explains it as well.

How many of the matches in train are chance is predicted from those in control: given the sum of both, a
binomial law, as for two counts of rare events.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc, betaincc

from tabveil.core.estimate import Estimate
from tabveil.core.sampling import held_chance
from tabveil.core.table import Floats, Indices

_ROUNDING = 1e-9  # of a row: what is left of a chance of zero
_MOST_EVENTS = 1e12


@dataclass(frozen=True, kw_only=True)
class Excess:
    """How many matches chance does not explain, and how often chance alone gives as many."""

    rows: float
    share: Estimate  # of all synthetic rows
    p_value: float
    event_size: float  # rows that match together, on average


@dataclass(frozen=True, kw_only=True)
class Matching:
    """The sizes of the two tables of real rows between which rows are exchanged."""

    n_train: int
    n_control: int

    @property
    def exchanged(self) -> int:
        """How many rows are exchanged: as many as there can be."""
        return min(self.n_train, self.n_control)

    @property
    def scale(self) -> float:
        """What one lost match stands for."""
        return self.n_train / self.exchanged

    def changes(self, train: Indices, control: Indices) -> tuple[Floats, Floats]:
        """Return what a row with so many matches in train and in control gains from train, or loses to it.

        A gain is scaled to all of train (a match that one person alone explains is 1); a loss, a match that
        only control rows bring, is not.
        """
        kept = held_chance(train, self.n_train, self.n_train - self.exchanged)
        brought = held_chance(control, self.n_control, self.exchanged)
        gained = self.scale * (1 - kept) * (1 - brought)
        explained = (train == 0) | (gained < _ROUNDING)
        return np.where(explained, 0.0, gained), np.where(train > 0, 0.0, brought)

    def excess(self, gained: Floats, lost: Floats, n_synthetic: int, confidence: float) -> Excess:
        """Compare the two. Synthetic rows that match together are one event, (n_events,) rows on each side.

        Events differ in size; the sums vary as those of so many events of the size that a row meets on
        average (Kish 1965).
        """
        size = _mean_size(gained + lost * self.n_control / self.exchanged)
        size_gained = _mean_size(gained) or size or 1.0
        size_lost = max(_mean_size(lost), (size or 1.0) * self.exchanged / self.n_control)
        chance = _Chance(
            events=float(lost.sum()) / size_lost,
            odds=self.scale * size_lost / size_gained,
        )
        total = min(float(gained.sum()), float(n_synthetic))  # rounding can carry a sum past all rows
        rows = total - self.scale * float(lost.sum())
        beyond = (1 - confidence) / 2
        share = Estimate(
            value=rows / n_synthetic,
            low=min(total - size_gained * chance.most(beyond), rows) / n_synthetic,
            high=max(total - size_gained * chance.fewest(beyond), rows) / n_synthetic,
            n=n_synthetic,
        )
        p_value = chance.of_at_least(total / size_gained)
        return Excess(rows=rows, share=share, p_value=p_value, event_size=size_gained)


def _mean_size(events: Floats) -> float:
    total = float(events.sum())
    return float((events**2).sum()) / total if total > 0 else 0.0


@dataclass(frozen=True, kw_only=True)
class _Chance:
    """How many events chance brings to train, given how many it brought to control.

    Of all events that chance brings to either, each falls to train with the same odds: a binomial law, here
    through the incomplete beta function, so that weighted events need not be whole numbers.
    """

    events: float  # in control
    odds: float  # of train against control

    @property
    def to_train(self) -> float:
        return self.odds / (1 + self.odds)

    def of_at_least(self, events: float) -> float:
        """Return how often so many or more of all events fall to train."""
        return float(betainc(events, self.events + 1, self.to_train)) if events > 0 else 1.0

    def of_at_most(self, events: float) -> float:
        return float(betaincc(events + 1, self.events, self.to_train)) if self.events > 0 else 1.0

    def most(self, level: float) -> float:
        """Return the number of events that chance exceeds at this level only."""
        return _root(lambda events: self.of_at_least(events) - level)

    def fewest(self, level: float) -> float:
        """Return the number of events that chance falls short of at this level only."""
        return 0.0 if self.of_at_most(0.0) >= level else _root(lambda events: level - self.of_at_most(events))


def _root(falling: Callable[[float], float]) -> float:
    high = 1.0
    while falling(high) > 0 and high < _MOST_EVENTS:
        high *= 2
    return float(brentq(falling, 0.0, high)) if falling(high) < 0 else high
