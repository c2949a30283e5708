"""What DP-CTGAN may spend, and how much noise that takes.

Two things look at real rows: one noisy count of every column's slots, and the critic's steps, each on rows
drawn independently with the same chance. Their privacy loss distributions are composed by dp-accounting, for
tables that differ by one row more or less. Counts and steps are fixed before training, so the budget cannot
be passed.
"""

import math
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache

from scipy.optimize import brentq

PRECISION = 1e-3
"""How near to the promised ε, relatively."""
LEAST_NOISE = 0.3
"""Where the search starts at least: less noise makes for long distributions."""
WIDER = 0.3
_TINY = 1e-30
INTERVAL = 3e-4
"""How finely losses are counted, relative to ε; coarser only ever means more noise."""


@dataclass(frozen=True, kw_only=True)
class Spending:
    """One count, and so many steps that each row takes part in with the same chance."""

    count_noise: float | None  # in multiples of what one row can change; None without a count
    step_noise: float  # in multiples of the clipping norm
    sampled: float
    steps: int

    def epsilon(self, delta: float, *, interval: float) -> float:
        """Return the ε that this takes at a δ, with losses counted in such intervals."""
        import dp_accounting  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra, and slow to load
        from dp_accounting import pld  # noqa: PLC0415 - likewise

        accountant = pld.PLDAccountant(
            dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE, value_discretization_interval=interval
        )
        if self.count_noise is not None:
            accountant.compose(dp_accounting.GaussianDpEvent(self.count_noise))
        step = dp_accounting.GaussianDpEvent(self.step_noise)
        drawn = step if self.sampled == 1 else dp_accounting.PoissonSampledDpEvent(self.sampled, step)
        accountant.compose(drawn, self.steps)
        return float(accountant.get_epsilon(delta))


@dataclass(frozen=True, kw_only=True)
class NoiseBudget:
    """The promise and how it is spent: ``counting`` is the share of ε that counting would take alone."""

    epsilon: float
    delta: float
    counting: float
    sampled: float
    steps: int

    @cached_property
    def count_noise(self) -> float:
        """The noise of the counts, in multiples of what one row can change."""
        alone = Spending(count_noise=None, step_noise=1.0, sampled=1.0, steps=1)
        return least_noise(alone, self.epsilon * self.counting, self.delta)

    @cached_property
    def step_noise(self) -> float:
        """The noise of each step of the critic, in multiples of the clipping norm."""
        spending = Spending(
            count_noise=self.count_noise, step_noise=1.0, sampled=self.sampled, steps=self.steps
        )
        return least_noise(spending, self.epsilon, self.delta)


@lru_cache(maxsize=256)
def least_noise(spending: Spending, epsilon: float, delta: float) -> float:
    """Return the least noise found for the steps, whatever it was, that keeps the promise."""
    aim = epsilon * (1 - PRECISION)

    @cache
    def excess(log_noise: float) -> float:
        spent = replace(spending, step_noise=math.exp(log_noise)).epsilon(delta, interval=INTERVAL * epsilon)
        return math.log(min(max(spent, _TINY), 1 / _TINY) / aim)

    # As if all steps were one Gaussian mechanism: near enough to start from.
    tail = math.sqrt(2 * math.log(1.25 / delta))
    low = high = math.log(max(LEAST_NOISE, spending.sampled * math.sqrt(spending.steps) * tail / epsilon))
    while excess(high) > 0:
        high += WIDER
    while excess(low) <= 0:
        low -= WIDER
    found = float(brentq(excess, low, high, xtol=PRECISION / 4))
    while excess(found) > math.log(epsilon / aim):  # never on the wrong side
        found += PRECISION / 4
    return math.exp(found)
