"""From guesses about many rows of one fit to what ε is at least.

Each of many rows is learned or not by a coin of its own. Afterwards somebody guesses about some of them,
those they are surest about, and is told how many guesses are right. At a privacy of (ε, δ) each guess is
right with a chance of ``exp(ε) / (1 + exp(ε))`` at most, given all the others: so more right guesses than the
binomial distribution allows prove an ε. One fit is enough; the price is that rows which the generator mixes
up with each other prove far less than the truth.

References
----------
- Steinke, T., Nasr, M. and Jagielski, M. (2023). Privacy Auditing with One (1) Training Run. NeurIPS.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import bdtrc

from tabveil.core import check
from tabveil.core.estimate.rates import Estimate, exact_rate

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_MOST_HALVINGS = 100  # below the last digit of a double
_NEVER_PROVEN = 60.0  # an ε that no number of guesses proves


@dataclass(frozen=True, kw_only=True)
class CanaryGuesses:
    """How many of ``n_canaries`` rows were guessed about, and how many of these guesses are right."""

    n_canaries: int
    n_guesses: int
    n_right: int

    def __post_init__(self) -> None:
        check.at_least("CanaryGuesses", "n_right", self.n_right, 0)
        check.at_most("CanaryGuesses", "n_right", self.n_right, self.n_guesses)
        check.at_most("CanaryGuesses", "n_guesses", self.n_guesses, self.n_canaries)

    def rate(self, confidence: float) -> Estimate | None:
        """Return the share of right guesses between exact bounds; None where nobody guessed.

        Where nothing is remembered each guess is a coin's. So a lower bound above one half is memorization.
        """
        return exact_rate(self.n_right, self.n_guesses, confidence) if self.n_guesses else None

    def chance(self, epsilon: float, *, delta: float) -> float:
        """Return an upper bound of the chance of so many right guesses at a privacy of (ε, δ)."""
        if not self.n_right:
            return 1.0
        rate = 1 / (1 + math.exp(-epsilon))
        counts = np.arange(self.n_right + 1)
        at_least = bdtrc(counts - 1.0, self.n_guesses, rate)  # (v + 1,) so many right guesses or more
        fewer = counts[1:]  # by how many fewer
        just_below = (at_least[self.n_right - fewer] - at_least[self.n_right]) / fewer
        return min(float(at_least[-1] + 2 * self.n_canaries * delta * just_below.max()), 1.0)

    def least_epsilon(self, *, delta: float, alpha: float) -> float:
        """Return the largest ε at which so many right guesses have a chance below ``alpha``, or 0.

        >>> found = CanaryGuesses(n_canaries=1000, n_guesses=100, n_right=75)
        >>> round(found.least_epsilon(delta=1e-4, alpha=0.05), 3)
        0.673
        """
        low, high = 0.0, _NEVER_PROVEN
        if self.chance(0.0, delta=delta) >= alpha:
            return 0.0
        for _ in range(_MOST_HALVINGS):
            middle = (low + high) / 2
            if middle in (low, high):
                break
            low, high = (middle, high) if self.chance(middle, delta=delta) < alpha else (low, middle)
        return low


def guess_members(scores: Floats, learned: Indices, *, n_guesses: int, rng: Generator) -> CanaryGuesses:
    """Guess that the rows with the highest scores were learned and those with the lowest were not.

    ``learned`` (m,) says of each row whether it was, 1 or 0: the toss of its coin. Half of the guesses are of
    either kind. Ties are broken by lot, so that no order of the rows has a part.
    """
    n_each = min(n_guesses, len(scores)) // 2
    order = np.lexsort((rng.random(len(scores)), scores))
    lowest, highest = order[:n_each], order[len(order) - n_each :]
    right = int((learned[lowest] == 0).sum() + (learned[highest] == 1).sum())
    return CanaryGuesses(n_canaries=len(scores), n_guesses=2 * n_each, n_right=right)


def guess_pairs(learned: Floats, other: Floats, *, n_guesses: int, rng: Generator) -> CanaryGuesses:
    """Guess in pairs of rows, of which one was learned by lot, that it is the one with the higher score.

    The surest guesses are made: those of the pairs whose scores differ most. Pairs whose scores are equal are
    not guessed about: that would be tossing coins.
    """
    gap = learned - other  # (m,)
    surest = np.lexsort((rng.random(len(gap)), -np.abs(gap)))[:n_guesses]
    telling = gap[surest][gap[surest] != 0]
    return CanaryGuesses(n_canaries=len(gap), n_guesses=len(telling), n_right=int((telling > 0).sum()))
