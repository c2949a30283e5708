"""From guesses about many rows of a single fit to what ε is at least.

Each of many rows is learned or not by a coin of its own. After one fit somebody guesses about some of them,
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
from scipy.special import bdtrc

from tabveil.core import check
from tabveil.core.estimate import Estimate, exact_rate
from tabveil.core.sampling import count_share
from tabveil.core.table import Floats, Indices, Split, Table
from tabveil.engines.neighbors import Neighbors, Space
from tabveil.errors import ParameterError
from tabveil.protocols import Synthesizer
from tabveil.synthesis.risks.modifiers import invented_rows

_STEPS = 100  # halvings at most: below the last digit of a double
_MOST = 60.0  # an ε that no number of guesses proves


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
        low, high = 0.0, _MOST
        if self.chance(0.0, delta=delta) >= alpha:
            return 0.0
        for _ in range(_STEPS):
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


def tell_canaries(canaries: Split, *, share: float = 1.0, rng: Generator) -> CanaryGuesses:
    """Guess from a release which of two rows was learned, for every pair of a train and a control row.

    For splits in which train and control differ by lot alone: canaries (the modifier
    :class:`tabveil.synthesis.risks.Canaries`, with an invented secret or of invented rows), or a release
    whose train and control rows were divided at random, in equal parts (:func:`tell_split`). The learned one
    is guessed to be nearer to the release, and where that is equal nothing is guessed. So every guess is a
    coin's where nothing was memorized: ``rate`` has exact bounds around one half, whatever the table.
    ``least_epsilon`` is of a privacy in which neighbors *replace* one row; adding or removing one costs no
    less than half of it.

    Parameters
    ----------
    canaries
        Train and control rows, of which each pair has its own toss, and the release.
    share
        Of the pairs, the surest share is guessed about.
    """
    check.positive_share("tell_canaries", "share", share)
    if len(canaries.train) != len(canaries.control):
        raise ParameterError(
            "tell_canaries",
            f"train and control must have as many rows, got {len(canaries.train):,} and "
            f"{len(canaries.control):,}.",
        )
    release = Neighbors(Space.gower(canaries.schema), canaries.synthetic)
    learned, other = (-release.nearest(side).distance[:, 0] for side in (canaries.train, canaries.control))
    n_guesses = max(count_share(share, len(learned)), 1)
    return guess_pairs(learned, other, n_guesses=n_guesses, rng=rng)


def tell_split(split: Split, *, share: float = 0.1, rng: Generator) -> CanaryGuesses:
    """Guess which of two real rows was learned, where train and control were divided by lot in equal parts.

    It costs nothing beyond the release, and says little: rows are not made to be noticed. It proves nothing
    where the division was not random, for then what tells train from control may have another reason.
    """
    split.require_control("tell_split")
    n_pairs = min(len(split.train), len(split.control))
    train, control = (
        side.take(rng.permutation(side.sample(n_pairs, rng=rng))) for side in (split.train, split.control)
    )
    return tell_canaries(Split(train=train, control=control, synthetic=split.synthetic), share=share, rng=rng)


def audit_in_one_run(
    synthesizer: Synthesizer, table: Table, *, n_canaries: int = 1000, share: float = 0.1, rng: Generator
) -> CanaryGuesses:
    """Fit once, with each of many invented rows in or out by a coin, and guess which were in.

    Neighbors have one row more or less, as in the promises of our generators. The scores are the distances to
    the nearest row of a release of as many rows as the table has. Invented rows that share values blur each
    other: expect far less than the truth.
    """
    check.at_least("audit_in_one_run", "n_canaries", n_canaries, 2)
    check.positive_share("audit_in_one_run", "share", share)
    canaries = invented_rows(table.schema, n_canaries, rng=rng)
    learned = rng.integers(0, 2, n_canaries)
    inside = canaries.take(np.flatnonzero(learned))
    planted = Table(schema=table.schema, values=np.concatenate([table.values, inside.values]))
    release = synthesizer.fit(planted, rng=rng).sample(len(table), rng=rng)
    near = Neighbors(Space.gower(table.schema), release).nearest(canaries).distance[:, 0]
    return guess_members(-near, learned, n_guesses=max(count_share(share, n_canaries), 2), rng=rng)
