"""From how often guesses are right to what ε is at least: about one row of many fits, or many rows of one.

Somebody guesses from a release whether one row was learned. Counted over many fits, hits (of fits with the
row) and false alarms (of fits without it) have exact bounds; hits are taken as rare and false alarms as
frequent as these allow, at half of the error ``alpha`` each. All that is said here follows from these two
rates alone, so all of it holds together, with a chance of ``1 - alpha`` or more.

What rates prove depends on what the promise rests on (``Accounting``):

- ``"any"``: for every mechanism that keeps (ε, δ), hits are at most ``exp(ε)`` times the false alarms, plus
  δ. This needs no assumption, and is far below the truth where noise is Gaussian: that leaks a little in
  every case and much in few.
- ``"concentrated"``: a promise derived from zero-concentrated privacy says more, that Rényi's divergence
  of order a between the two worlds is at most ``rho * a``; looking at a guess alone only makes it smaller.
- ``"gaussian"``: a promise derived from Gaussian noise alone says most: the worlds are at most two normal
  curves, μ apart.

A bound of a stronger kind than the promise's own describes, and proves nothing: the mechanism may keep
(ε, δ) in another way.

In one fit, each of many rows is learned or not by a coin of its own (:mod:`tabveil.core.estimate.one_run`).

References
----------
- Nasr, M. et al. (2021). Adversary Instantiation: Lower Bounds for Differentially Private Machine Learning.
  IEEE S&P. (Exact bounds.)
- Nasr, M. et al. (2023). Tight Auditing of Differentially Private Machine Learning. USENIX Security. (By μ.)
- Bun, M. and Steinke, T. (2016). Concentrated Differential Privacy: Simplifications, Extensions, and Lower
  Bounds. TCC.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, betaincinv, ndtri

from tabveil.core import check
from tabveil.core.estimate import AreaUnderCurve, Estimate, largest_rate, least_rate
from tabveil.core.estimate.one_run import CanaryGuesses, guess_members, guess_pairs
from tabveil.core.sampling import count_share
from tabveil.core.table import Floats, Indices, Split, Table
from tabveil.engines.neighbors import Neighbors, Space
from tabveil.errors import ParameterError
from tabveil.protocols import Synthesizer
from tabveil.synthesis.generators.aim import zcdp
from tabveil.synthesis.generators.pategan import accounting as gaussian
from tabveil.synthesis.risks.modifiers import invented_rows

Accounting = Literal["any", "concentrated", "gaussian"]
"""What a promise rests on; each says more than the one before."""

_ORDERS = 1 + np.geomspace(1e-3, 60, 40)  # of Rényi's divergence: each gives a bound that holds
MOST_EPSILON = 100.0
"""Promises beyond are none."""

_STEPS = 30  # halvings


@dataclass(frozen=True, kw_only=True)
class GuessCounts:
    """How often a guess said "with the row", of fits that had learned it and of fits that had not."""

    hits: int
    n_with: int
    false_alarms: int
    n_without: int

    def __post_init__(self) -> None:
        for name, most in (("hits", self.n_with), ("false_alarms", self.n_without)):
            check.at_least("GuessCounts", name, getattr(self, name), 0)
            check.at_most("GuessCounts", name, getattr(self, name), most)
        check.at_least("GuessCounts", "fits", min(self.n_with, self.n_without), 1)


def least_epsilon(counts: GuessCounts, accounting: Accounting, *, delta: float, alpha: float) -> float:
    """Return an ε at this δ that the truth is not below; 0 where nothing is proven.

    >>> perfect = GuessCounts(hits=1000, n_with=1000, false_alarms=0, n_without=1000)
    >>> round(least_epsilon(perfect, "any", delta=0, alpha=0.05), 1)
    5.6
    """
    hits = least_rate(counts.hits, counts.n_with, alpha / 2)  # as rare as they may be
    alarms = largest_rate(counts.false_alarms, counts.n_without, alpha / 2)  # as frequent
    if hits <= alarms:
        return 0.0
    match accounting:
        case "any":
            return max(math.log((hits - delta) / alarms), 0.0) if hits > delta else 0.0
        case "concentrated":
            return zcdp.epsilon_of(float(least_rho(hits, alarms)), delta)
        case "gaussian":
            return gaussian.epsilon_of(float(ndtri(hits) - ndtri(alarms)), delta)


def least_rho(hits: Floats | float, alarms: Floats | float) -> Floats:
    """Return the least rho of concentrated privacy that allows such rates, hits being the larger.

    Rényi's divergence of two coins, over its order: for every order rho is at least that.

    >>> round(float(least_rho(0.9, 0.1)), 2)
    1.76
    """
    p, q = np.asarray(hits, dtype=np.float64)[..., None], np.asarray(alarms, dtype=np.float64)[..., None]
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        both = (
            _ORDERS * np.log(a) + (1 - _ORDERS) * np.log(b) for a, b in ((p, q), (1 - p, 1 - q))
        )  # (..., orders) each, minus infinity where a side cannot happen
        divergence = np.logaddexp(*both) / (_ORDERS - 1)
    return np.asarray(np.maximum(np.nanmax(divergence / _ORDERS, axis=-1), 0.0))


def epsilon_of_area(area: float, delta: float) -> float:
    """Return the ε of two normal curves whose scores rank right with this chance."""
    return gaussian.epsilon_of(math.sqrt(2) * float(ndtri(area)), delta) if area > 0.5 else 0.0  # noqa: PLR2004 - a coin


def ceiling(n_fits: int, accounting: Accounting = "any", *, delta: float, alpha: float) -> float:
    """Return the largest ε that so many tested fits a world can prove, where every guess is right.

    >>> [round(ceiling(n, delta=0, alpha=0.05), 1) for n in (100, 400, 1000, 5000)]
    [3.3, 4.7, 5.6, 7.2]
    """
    perfect = GuessCounts(hits=n_fits, n_with=n_fits, false_alarms=0, n_without=n_fits)
    return least_epsilon(perfect, accounting, delta=delta, alpha=alpha)


Excess = Callable[[Floats, Floats], NDArray[np.bool_]]
"""Whether rates of hits and of false alarms are more than a promise allows."""


def excess_of(promised: float, accounting: Accounting, *, delta: float) -> Excess:
    """Return what tells whether rates break a promise."""
    rho, mu = zcdp.rho_of(promised, delta) if delta else math.inf, gaussian.mu_of(promised, delta)

    def breaks(hits: Floats, alarms: Floats) -> NDArray[np.bool_]:
        match accounting:
            case "any":
                return np.asarray(hits - delta > math.exp(promised) * alarms)
            case "concentrated":
                return (hits > alarms) & (least_rho(hits, alarms) > rho)
            case "gaussian":
                return np.asarray(ndtri(hits) - ndtri(alarms) > mu)

    return breaks


def hits_needed(n_fits: int, breaks: Excess, *, alpha: float) -> Indices:
    """Return for 0, 1, … false alarms the least number of hits that proves a promise broken, (n + 1,).

    It is one more than there are fits where no number is enough.
    """
    counts = np.arange(n_fits + 1)
    hits_low = _least_rates(counts, n_fits, alpha / 2)  # by hits, ascending
    false_high = 1.0 - _least_rates(n_fits - counts, n_fits, alpha / 2)  # by false alarms
    too_few, enough = np.full(n_fits + 1, -1), np.full(n_fits + 1, n_fits + 1)
    while (enough - too_few).max() > 1:
        middle = (too_few + enough) // 2
        proven = (middle >= 0) & breaks(hits_low[np.maximum(middle, 0)], false_high)
        too_few, enough = np.where(proven, too_few, middle), np.where(proven, middle, enough)
    return enough


def power(rate: float, needed: Indices) -> float:
    """Return the chance of as many hits as are needed where guesses are right at this rate.

    They are as often right with the row as without it: the best threshold of a symmetric mechanism.
    """
    n_fits = len(needed) - 1
    alarms = np.diff(bdtr(np.arange(n_fits + 1), n_fits, 1 - rate), prepend=0.0)  # the chance of so many
    return float((alarms * bdtrc(needed - 1.0, n_fits, rate)).sum())


def rate_found(needed: Indices, *, chance: float) -> float | None:
    """Return the least rate of right guesses that proves a promise broken with such a chance.

    None where even guesses that are always right do not.
    """
    low, high = 0.5, 1.0
    if power(high, needed) < chance:
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle, needed) >= chance else (middle, high)
    return high


def _least_rates(successes: Indices, trials: int, tail: float) -> Floats:
    """Return the exact lower bounds of many counts."""
    rates: NDArray[Any] = betaincinv(np.maximum(successes, 1), trials - successes + 1, tail)
    return np.where(successes == 0, 0.0, rates)


RIDGE = 0.01
"""Added to the variances, relative to their mean: figures that never vary must not decide."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Guess:
    """A weighted sum of what is observed, and from where on it says "with the canary"."""

    weights: Floats  # (k,)
    threshold: float

    @classmethod
    def learn(cls, with_canary: Indices, without: Indices) -> Self:
        """Learn from observations (n, k) of both worlds: Fisher's discriminant, cut where it tells best.

        That is where the share of hits exceeds that of false alarms most. To maximize a bound instead would
        run into the ends of the curve, where a bound is nothing but luck.
        """
        sides = [side.astype(np.float64) for side in (with_canary, without)]
        centered = np.vstack([side - side.mean(axis=0) for side in sides])
        spread = centered.T @ centered / len(centered)  # (k, k)
        spread += RIDGE * (np.trace(spread) / len(spread) or 1.0) * np.eye(len(spread))
        weights = np.linalg.solve(spread, sides[0].mean(axis=0) - sides[1].mean(axis=0))
        return cls(weights=weights, threshold=_best_threshold(*(side @ weights for side in sides)))

    def scores(self, observed: Indices) -> Floats:
        """Return the score of each observation, (n,)."""
        return np.asarray(observed @ self.weights)

    def count(self, with_canary: Indices, without: Indices) -> GuessCounts:
        """Count hits and false alarms of observations that had no part in the learning."""
        hits, alarms = (self.scores(side) >= self.threshold for side in (with_canary, without))
        return GuessCounts(
            hits=int(hits.sum()), n_with=len(hits), false_alarms=int(alarms.sum()), n_without=len(alarms)
        )

    def area(self, with_canary: Indices, without: Indices, confidence: float) -> Estimate:
        """Return the chance that a release with the canary scores higher than one without (ties half)."""
        high, low = self.scores(with_canary), self.scores(without)
        return AreaUnderCurve.of(_wins(high, low), _wins(low, high)).within(confidence)


def _best_threshold(high: Floats, low: Floats) -> float:
    """Return the middle of the gap between scores at which hits exceed false alarms most."""
    scores = np.unique(np.concatenate([high, low]))
    cuts = np.append((scores[:-1] + scores[1:]) / 2, np.inf)  # infinity: never say so
    hits, alarms = (1 - np.searchsorted(np.sort(side), cuts) / len(side) for side in (high, low))
    return float(cuts[int(np.argmax(hits - alarms))])


def _wins(scores: Floats, others: Floats) -> Floats:
    """Return the share of the others that each score is above, ties half, (n,)."""
    ordered = np.sort(others)
    below, not_above = (np.searchsorted(ordered, scores, side=side) for side in ("left", "right"))
    return np.asarray((below + not_above) / 2 / len(others))


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
