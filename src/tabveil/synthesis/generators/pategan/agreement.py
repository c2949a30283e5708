"""Teachers that each know a few rows and compare by agreement; what leaves them are noisy sums of votes.

Everything that PATE-GAN learns from the rows passes through :meth:`AgreementTeachers.vote`. What is computed
from the noisy votes needs no further privacy.

Why the promise holds. Every row belongs to one teacher, drawn for each row by itself before anything is
learned, so a row that is replaced, added or removed changes one teacher and leaves all others as they are. A
teacher's vote on an invented row lies between −1/2 and 1/2, whatever the teacher knows: the sum over all
teachers changes by 1 at most. What so many sums cost is the business of
:class:`tabveil.synthesis.generators.pategan.accounting.GaussianSums`.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tabveil.core.table import Floats, Indices

Marks = NDArray[np.float32]


@dataclass(kw_only=True, eq=False)
class AgreementTeachers:
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
    def of(
        cls,
        levels: Indices,
        teacher: Indices,
        n_levels: int,
        n_teachers: int,
        *,
        noise: float,
        rng: Generator,
    ) -> Self:
        """Give every row to its teacher.

        ``levels`` (n_rows, n_columns) are the levels each row has, out of ``n_levels`` for all columns;
        ``teacher`` (n_rows,) was drawn for each row by itself.
        """
        n_rows, n_columns = levels.shape
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
