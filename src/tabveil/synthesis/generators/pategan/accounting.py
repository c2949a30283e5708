"""What votes cost, and the noise that keeps them within a budget: fixed before the first vote.

Nothing here looks at a vote. A row changes one teacher at most, and that teacher's votes may then be
anything; what all votes together cost is bounded for the worst of it, however later questions follow from
earlier answers. (The paper's own bound is smaller where teachers agree. But whether they agree is read from
the rows: such an ε is itself a secret and changes with the data, so it is no promise, and is not offered.)

**Sums** of votes between −1/2 and 1/2, each with Gaussian noise: one teacher moves each sum by 1 at most, and
``n`` of them are exactly as private as one Gaussian mechanism whose mean moves by ``mu = sqrt(n) / noise``
standard deviations.

**Majorities** are one bit each: which of two counts is larger, after Laplace noise on both. One teacher who
changes sides moves their difference by 2. How far apart that drives the chances of the bit depends on the
difference itself, so for each order the Rényi divergence is taken at the worst of all differences that so
many teachers can have; those of ``n`` bits add up. To release the noisy counts themselves would cost more:
nearly twice as much, for the many votes held here.

References
----------
- Dong, J., Roth, A. and Su, W. J. (2022). Gaussian Differential Privacy. JRSS B 84(1). (Composition of steps
  that follow from earlier answers.)
- Balle, B. and Wang, Y.-X. (2018). Improving the Gaussian Mechanism for Differential Privacy: Analytical
  Calibration and Optimal Denoising. ICML. (From mu to ε and δ, exactly.)
- Mironov, I. (2017). Rényi Differential Privacy. CSF. (Divergences add up.)
- Canonne, C., Kamath, G. and Steinke, T. (2020). The Discrete Gaussian for Differential Privacy. NeurIPS.
  (Proposition 12: from divergences to ε and δ.)
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr

from tabveil.core.table import Floats

_STEPS = 200  # halvings: far below the last digit of a double
_CLOSE = 1e-9  # relatively: how far above the least noise a search ends
_EXACT = 1e-12  # how well it knows that least: two machines that differ by this state one promise
_TINY = 1e-30
_FAR = 1e290  # in scales of noise; further is as certain, and would overflow
_ORDERS = 1 + np.geomspace(0.01, 1e7, 200)  # each of them gives a bound that holds; the best is near one


def delta_of(mu: float, epsilon: float) -> float:
    """Return the δ of a Gaussian mechanism whose mean moves by ``mu`` standard deviations.

    >>> round(delta_of(1.0, 1.0), 6)
    0.126937
    """
    if mu <= 0:
        return 0.0
    above = float(log_ndtr(mu / 2 - epsilon / mu))
    below = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    return max(0.0, -math.expm1(below - above)) * math.exp(above)


def mu_of(epsilon: float, delta: float) -> float:
    """Return the largest ``mu`` found that keeps (ε, δ).

    >>> round(mu_of(1.0, 1e-5), 4)
    0.2681
    """
    return _last(lambda mu: delta_of(mu, epsilon) <= delta)[0]


def epsilon_of(mu: float, delta: float) -> float:
    """Return the smallest ε found that ``mu`` keeps at this δ.

    >>> round(epsilon_of(mu_of(3.0, 1e-6), 1e-6), 9)
    3.0
    """
    return _last(lambda epsilon: delta_of(mu, epsilon) > delta)[1]


def _last(fits: Callable[[float], bool]) -> tuple[float, float]:
    """Return the last number from 0 on that fits, and the first that does not."""
    low, high = 0.0, 1.0
    while fits(high):
        low, high = high, 2 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low, high


@dataclass(frozen=True, kw_only=True)
class GaussianSums:
    """Sums that one teacher moves by 1 at most; ``noise`` is the standard deviation of the noise on each."""

    def epsilon(self, n_votes: int, noise: float, delta: float) -> float:
        """Return the ε that so many votes with this noise take at a δ."""
        return epsilon_of(math.sqrt(n_votes) / noise, delta)

    def least_noise(self, n_votes: int, epsilon: float, delta: float) -> float:
        """Return the noise with which so many votes keep the promise."""
        mu = mu_of(epsilon, delta)
        noise = math.sqrt(n_votes) / mu
        while math.sqrt(n_votes) / noise > mu:
            noise = math.nextafter(noise, math.inf)
        return noise

    def most_votes(self, noise: float, epsilon: float, delta: float) -> int:
        """Return how many votes with this noise keep the promise."""
        mu = mu_of(epsilon, delta)
        votes = int((mu * noise) ** 2) + 1
        while math.sqrt(votes) / noise > mu:
            votes -= 1
        return votes

    def describe(self, n_votes: int, noise: float) -> str:
        """Say in words what was accounted for."""
        return (
            f"Gaussian differential privacy, mu = {math.sqrt(n_votes) / noise:.6g}: {n_votes} votes, "
            f"noise {noise:.6g}, whatever the votes were"
        )


@dataclass(frozen=True, kw_only=True)
class NoisyMajorities:
    """Which of two counts is larger, with Laplace noise of scale ``noise`` (the paper's 1/λ) on both."""

    n_teachers: int

    def epsilon(self, n_votes: int, noise: float, delta: float) -> float:
        """Return the ε that so many votes with this noise take at a δ."""
        return max(0.0, float((n_votes * self._divergences(noise) + _converting(delta)).min()))

    @lru_cache(maxsize=256)  # noqa: B019 - it keeps no more than a number alive
    def least_noise(self, n_votes: int, epsilon: float, delta: float) -> float:
        """Return the noise with which so many votes keep the promise, and hardly more."""

        def excess(log_noise: float) -> float:
            return math.log(max(self.epsilon(n_votes, math.exp(log_noise), delta), _TINY) / epsilon)

        # As if the noise were Gaussian: near enough to start from.
        low = high = math.log(math.sqrt(n_votes) / mu_of(epsilon, delta))
        step = 1.0
        while excess(high) > 0:
            high, step = high + step, 2 * step
        while excess(low) <= 0:
            low, step = low - step, 2 * step
        noise = math.exp(float(brentq(excess, low, high, xtol=_EXACT))) * (1 + _CLOSE)
        while self.epsilon(n_votes, noise, delta) > epsilon:  # never on the wrong side
            noise *= 1 + _CLOSE
        return noise

    def most_votes(self, noise: float, epsilon: float, delta: float) -> int:
        """Return how many votes with this noise keep the promise."""
        votes = int(((epsilon - _converting(delta)) / self._divergences(noise)).max())
        while votes > 0 and self.epsilon(votes, noise, delta) > epsilon:  # the last digits of the division
            votes -= 1
        return max(0, votes)

    def describe(self, n_votes: int, noise: float) -> str:
        """Say in words what was accounted for."""
        return (
            f"Rényi differential privacy of noisy majorities: {n_votes} votes, Laplace noise of scale "
            f"{noise:.6g} on both counts, whatever the votes were"
        )

    def _divergences(self, noise: float) -> Floats:
        """Return what one vote costs at each order: at the worst difference, in the worse direction."""
        before = np.arange(-1.0, max(0, self.n_teachers - 1))  # the rest is the same with the sides exchanged
        first, second = log_chances(before, noise), log_chances(before + 2, noise)
        return np.array(
            [max(_renyi(order, first, second).max(), _renyi(order, second, first).max()) for order in _ORDERS]
        )


def log_chances(difference: Floats, noise: float) -> tuple[Floats, Floats]:
    """Return the logarithms of the chances of "yes" and of "no", given how many more teachers say yes.

    The difference of two Laplace draws of scale b exceeds t ≥ 0 with the chance (2 + t/b) exp(-t/b) / 4.

    >>> yes, no = log_chances(np.array([0.0, 3.0]), 1.0)
    >>> np.exp(no).round(4).tolist()
    [0.5, 0.0622]
    """
    distance = np.minimum(np.abs(difference), noise * _FAR) / noise
    less_likely = np.log((2 + distance) / 4) - distance
    likelier = np.log1p(-np.exp(less_likely))
    return np.where(difference > 0, likelier, less_likely), np.where(difference > 0, less_likely, likelier)


def _renyi(order: float, first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> Floats:
    """Return the Rényi divergences of one bit from another, each given by the logarithms of its chances."""
    parts = [order * one + (1 - order) * other for one, other in zip(first, second, strict=True)]
    divergences: Floats = np.logaddexp(*parts) / (order - 1)
    return np.maximum(divergences, 0.0)


def _converting(delta: float) -> Floats:
    """Return what to add at each order to a divergence to get ε at a δ."""
    return np.log1p(-1 / _ORDERS) - (math.log(delta) + np.log(_ORDERS)) / (_ORDERS - 1)


@dataclass(frozen=True, kw_only=True)
class VotingPlan:
    """How many votes are held, and the noise on each: fixed before the first, whatever the rows are."""

    iterations: int
    votes: int  # in each iteration
    noise: float

    @classmethod
    def within(
        cls,
        accountant: GaussianSums | NoisyMajorities,
        epsilon: float,
        delta: float,
        *,
        iterations: int,
        votes: int,
        noise: float | None,
    ) -> Self:
        """Plan as many iterations as the budget allows, ``iterations`` at most.

        Without a ``noise`` it is chosen so that all iterations together use the budget up. There may be none.
        """
        if noise is None:
            noise = accountant.least_noise(iterations * votes, epsilon, delta)
        elif accountant.epsilon(iterations * votes, noise, delta) > epsilon:
            iterations = accountant.most_votes(noise, epsilon, delta) // votes
        return cls(iterations=iterations, votes=votes, noise=noise)

    @property
    def n_votes(self) -> int:
        """All votes together."""
        return self.iterations * self.votes
