"""The real rows behind a ballot: teachers that each know a few rows, and noise on every vote.

Everything that PATE-GAN learns from the rows passes through :meth:`Teachers.vote`. What is computed from the
noisy votes needs no further privacy.

Why the promise holds. Every row belongs to one teacher, drawn for each row by itself before anything is
learned, so a row that is replaced, added or removed changes one teacher and leaves all others as they are. A
teacher's vote on an invented row lies between −1/2 and 1/2, whatever the teacher knows: the sum over all
teachers changes by 1 at most. That is so for every vote, however teachers learn anew between votes and
however later questions follow from earlier answers. With Gaussian noise of standard deviation ``noise`` on
every sum, ``n`` votes together are exactly as private as one Gaussian mechanism whose mean moves by
``mu = sqrt(n) / noise`` standard deviations. Which teacher changes, and how its votes change, plays no part.

References
----------
- Dong, J., Roth, A. and Su, W. J. (2022). Gaussian Differential Privacy. JRSS B 84(1). (Composition of steps
  that follow from earlier answers.)
- Balle, B. and Wang, Y.-X. (2018). Improving the Gaussian Mechanism for Differential Privacy: Analytical
  Calibration and Optimal Denoising. ICML. (From mu to ε and δ, exactly.)
"""

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import log_ndtr

from tabveil.table import Floats, Indices

Marks = NDArray[np.float32]

_STEPS = 200  # halvings: far below the last digit of a double


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
    low, high = 0.0, 1.0
    while delta_of(high, epsilon) <= delta:
        low, high = high, 2 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle, epsilon) <= delta else (low, middle)
    return low


def epsilon_of(mu: float, delta: float) -> float:
    """Return the smallest ε found that ``mu`` keeps at this δ.

    >>> round(epsilon_of(mu_of(3.0, 1e-6), 1e-6), 9)
    3.0
    """
    low, high = 0.0, 1.0
    while delta_of(mu, high) > delta:
        low, high = high, 2 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_of(mu, middle) <= delta else (middle, high)
    return high


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How many votes are held, and the noise on each: fixed before the first, whatever the rows are."""

    iterations: int
    batch_size: int  # votes in each iteration
    noise: float

    @classmethod
    def within(
        cls, epsilon: float, delta: float, *, iterations: int, batch_size: int, noise: float | None
    ) -> Self:
        """Plan as many iterations as the budget allows, ``iterations`` at most.

        Without a ``noise`` it is chosen so that all iterations together use the budget up. There may be none.
        """
        mu = mu_of(epsilon, delta)
        if noise is None:
            noise = math.sqrt(iterations * batch_size) / mu
            while math.sqrt(iterations * batch_size) / noise > mu:
                noise = math.nextafter(noise, math.inf)
            return cls(iterations=iterations, batch_size=batch_size, noise=noise)
        affordable = min(iterations, int((mu * noise) ** 2 / batch_size) + 1)
        while math.sqrt(affordable * batch_size) / noise > mu:
            affordable -= 1
        return cls(iterations=affordable, batch_size=batch_size, noise=noise)

    @property
    def mu(self) -> float:
        """What all votes cost together."""
        return math.sqrt(self.iterations * self.batch_size) / self.noise


@dataclass(kw_only=True, eq=False)
class Teachers:
    """Teachers that each know their own rows; ``held`` counts the votes that were held.

    A teacher finds a row real if it agrees more with the teacher's own rows than with invented ones: the
    score is the mean square of the number of columns in which they agree, less the same for invented rows.
    (The square makes it count whether columns agree together: it is the sum over all columns and all pairs.)
    Given a batch of invented rows, a teacher finds the half with the higher scores, for +1/2, and the other
    half, for −1/2; a tie, or having no rows, is a vote of 0.
    """

    n_teachers: int
    noise: float
    rng: Generator
    rows: Any  # csr (n_rows, n_levels): 1 for the levels that a row has; teacher after teacher
    first: Indices  # (teachers with rows,) the first row of each
    held: int = 0

    @classmethod
    def of(cls, levels: Indices, n_levels: int, n_teachers: int, *, noise: float, rng: Generator) -> Self:
        """Give every row to a teacher, each by itself.

        ``levels`` (n_rows, n_columns) are the levels each row has, out of ``n_levels`` for all columns.
        """
        n_rows, n_columns = levels.shape
        teacher = rng.integers(n_teachers, size=(n_rows,))
        order = np.argsort(teacher, kind="stable")
        ends = np.arange(0, n_rows * n_columns + 1, n_columns)
        ones = np.ones(n_rows * n_columns, dtype=np.float32)
        return cls(
            n_teachers=n_teachers,
            noise=noise,
            rng=rng,
            rows=csr_array((ones, levels[order].reshape(-1), ends), shape=(n_rows, n_levels)),
            first=np.unique(teacher[order], return_index=True)[1],
        )

    def vote(self, asked: Marks, usual: Marks) -> Floats:
        """Which of the invented rows ``asked`` look real? Returns noisy sums of votes, as shares of all.

        ``asked`` (n_asked, n_levels) holds 1 for the levels that a row has, ``usual`` (n_asked,) the mean
        square of the number of columns in which each agrees with other invented rows.
        """
        self.held += len(asked)
        agreeing = self.rows @ asked.T  # (n_rows, n_asked) columns in which they agree
        agreeing *= agreeing
        own = np.add.reduceat(agreeing, self.first, axis=0)  # (teachers, n_asked)
        n_own = np.diff(self.first, append=self.rows.shape[0])
        votes = ballot(own / n_own[:, None] - usual).sum(axis=0)
        return add_noise(votes, self.noise, rng=self.rng) / self.n_teachers


def ballot(scores: Floats) -> Floats:
    """Return each teacher's votes (teachers, rows): +1/2 for the half of the rows that it scores higher.

    >>> ballot(np.array([[3.0, 1.0, 2.0, 9.0], [5.0, 5.0, 5.0, 5.0]]))
    array([[ 0.5, -0.5, -0.5,  0.5],
           [ 0. ,  0. ,  0. ,  0. ]])
    """
    votes: Floats = np.sign(scores - np.median(scores, axis=1, keepdims=True)) / 2
    return votes


def add_noise(votes: Floats, noise: float, *, rng: Generator) -> Floats:
    """Add Gaussian noise to sums of votes, in halves: the last digits of a float could betray the sum."""
    return np.rint(2 * (votes + rng.normal(0.0, noise, votes.shape))) / 2
