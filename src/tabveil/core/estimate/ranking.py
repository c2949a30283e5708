"""How well do scores tell members from others, and what would they say if labels were dealt anew?

The area under a score's curve, and a point on it: given the release, the rows' scores are independent of each
other, so the usual variances hold.

Many tests on the same people at once are judged exactly (:class:`Deals`). Where nothing leaks, who was
trained on and who was not is an accident: every way to deal the labels over the people is as likely as the
one at hand. So the smallest p-value of all tests, however they go together, is judged against the smallest
ones of many such deals (max-T; Westfall and Young 1993). That is exact for any number of tests and any sizes
of the tables, and costs less than Šidák's correction where tests agree.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.random import PCG64, Generator
from numpy.typing import NDArray
from scipy.special import gammaln, ndtr

from tabveil.core.estimate.rates import CONFIDENCE, Estimate, probit, sidak, tossed, wilson
from tabveil.core.estimate.relabeling_kernels import count_hits, shuffle_rows, sum_ranks
from tabveil.core.table import Floats, Indices
from tabveil.core.workers import announce_compilation


def mean_ranks(values: Floats | Sequence[float]) -> Floats:
    """Return the rank of each value from 1 up; equals share the mean of theirs.

    What ``scipy.stats.rankdata`` returns; to load that package takes longer than many a metric.

    >>> mean_ranks(np.array([0.5, 0.1, 0.5, 0.9])).tolist()
    [2.5, 1.0, 2.5, 4.0]
    """
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[place])


def outranked(rows: NDArray[Any], others: NDArray[Any]) -> Floats:
    """Return the share of the other rows that each row outranks, ties half.

    >>> outranked(np.array([2, 5]), np.array([1, 2])).tolist()
    [0.75, 1.0]
    """
    ordered = np.sort(others)
    below, upto = (np.searchsorted(ordered, rows, side=side) for side in ("left", "right"))
    return np.asarray((below + upto) / (2 * len(others)))


@dataclass(frozen=True, kw_only=True)
class AreaUnderCurve:
    """The area: does a member score higher than another row (ties half)?

    The variance is DeLong's (1988), that of a row's wins against all rows of the other table, plus what one
    more row at the worst place in each table would add, for the rows there are may all be equal. The bounds
    are Wilson's for as many coin tosses as have this variance, which hold near 0 and 1 too.
    """

    area: float
    n_tosses: float
    n_rows: int

    @classmethod
    def of(cls, train_wins: Floats, control_wins: Floats) -> Self:
        """Take the shares of control rows that each train row outranks (n,), and the reverse (m,)."""
        wins = train_wins, control_wins
        area = float(train_wins.mean())
        variance = sum(_variance_of_mean(side) + 0.25 / len(side) ** 2 for side in wins)
        rows = 4 / sum(1 / len(side) for side in wins)
        near = (area * rows + 2) / (rows + 4)  # never 0 or 1, where a toss would have no variance
        return cls(area=area, n_tosses=max(near * (1 - near) / variance, 1.0), n_rows=len(train_wins))

    def within(self, confidence: float = CONFIDENCE) -> Estimate:
        """Return the area with its bounds."""
        return tossed(self.area, self.n_tosses, self.n_rows, confidence)


def _variance_of_mean(wins: Floats) -> float:
    """Return the variance of the mean, the largest possible where a single row tells nothing about it."""
    return float(np.sort(wins).var(ddof=1)) / len(wins) if len(wins) > 1 else 0.25


def rate_beyond(
    value: float, n: int, *, level: float, n_others: int, slope: float, confidence: float = CONFIDENCE
) -> Estimate:
    """Estimate the share of ``n`` rows beyond a threshold that a share ``level`` of other rows is beyond.

    The interval adds Wilson's, for the rows, and the error of the threshold, which ``n_others`` rows set: its
    own error times the ``slope`` of the curve. Both are independent, so they add in squares.
    """
    bounds = wilson(value * n, n, confidence)
    threshold = slope * probit(confidence) * math.sqrt(level * (1 - level) / n_others)
    below, above = (math.hypot(max(gap, 0.0), threshold) for gap in (value - bounds.low, bounds.high - value))
    return Estimate(value=value, low=max(value - below, 0.0), high=min(value + above, 1.0), n=n)


Bools = NDArray[np.bool_]

ROUNDING = 1 + 1e-9  # chances that differ by less are one chance
CELLS_AT_ONCE = 2_000_000  # labels that are dealt before they are counted
WORD = 2**64


@dataclass(frozen=True, kw_only=True, eq=False)
class Deals:
    """The smallest p-value that each of some deals of the labels gives."""

    smallest: Floats  # (n_deals,) ascending

    def p_value(self, smallest: float, n_tests: int) -> float:
        """Return how likely a p-value so small, or smaller, is the smallest of all where nothing leaks.

        Some deals cannot tell one in a million from one in a thousand. Where none reaches it, the sum of the
        chances of all tests is a bound, too.

        >>> deals = Deals(smallest=np.array([0.01, 0.2, 0.3]))
        >>> deals.p_value(0.05, 10), round(deals.p_value(1e-6, 10), 9)
        (0.5, 1e-05)
        """
        reached = int(np.searchsorted(self.smallest, smallest * ROUNDING, side="right"))
        dealt = (1 + reached) / (1 + len(self.smallest))
        return min(dealt, n_tests * smallest) if reached == 0 else dealt

    def level(self, confidence: float, n_tests: int) -> float:
        """Return the level each interval needs so that all hold together with ``confidence``.

        An interval then lies above zero exactly where its test is passed at this confidence, both tails
        alike. Where the deals are too few to tell, it is Šidák's.
        """
        spare = math.floor((1 - confidence) / 2 * ROUNDING * (1 + len(self.smallest))) - 1
        if spare < 0:
            return sidak(confidence, n_tests)
        tail = min(self.smallest[spare] / ROUNDING**2, (1 - confidence) / 2)
        return float(max(1 - 2 * tail, confidence))


def deal(rankings: Sequence["Scanned"], n_first: int, n_deals: int, *, rng: Generator) -> Deals:
    """Deal labels anew, and note the smallest p-value of all rankings each time."""
    n_people = len(rankings[0].ranks)
    labels = np.arange(n_people) < n_first
    smallest = np.ones(n_deals)
    at_once = max(CELLS_AT_ONCE // n_people, 1)
    for start in range(0, n_deals, at_once):
        dealt = shuffled(np.tile(labels, (min(at_once, n_deals - start), 1)), rng=rng)
        found = [ranking.chances(dealt, n_first).min(axis=1) for ranking in rankings]
        smallest[start : start + at_once] = np.min(found, axis=0)
    return Deals(smallest=np.sort(smallest))


def shuffled(rows: Bools, *, rng: Generator) -> Bools:
    """Return what ``rng.permuted(rows, axis=1)`` does, and leave ``rng`` where that does.

    >>> labels = np.tile(np.arange(100) < 50, (3, 1))
    >>> one, other = np.random.default_rng(0), np.random.default_rng(0)
    >>> bool((shuffled(labels, rng=one) == other.permuted(labels, axis=1)).all())
    True
    >>> one.random() == other.random()
    True
    """
    bits = rng.bit_generator
    if not isinstance(bits, PCG64) or rows.shape[1] >= WORD // 2**32:
        return rng.permuted(rows, axis=1)
    known = bits.state
    inner = known["state"]
    words = [
        *divmod(inner["state"], WORD),
        *divmod(inner["inc"], WORD),
        known["has_uint32"],
        known["uinteger"],
    ]
    state, found = np.array(words, dtype=np.uint64), rows.copy()
    announce_compilation(shuffle_rows)
    shuffle_rows(state, found)
    high, low, _, _, has_half, half = (int(word) for word in state)
    bits.state = {
        **known,
        "state": {**inner, "state": high * WORD + low},
        "has_uint32": has_half,
        "uinteger": half,
    }
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class Scanned:
    """People ranked blind to their labels, and how deep down the ranking is looked.

    The order may leave people out who count at no depth. Where all share a rank, only depths are looked at.
    """

    order: Indices  # (m,) people from the highest rank down
    ranks: Floats  # (n,) of each person; equals share their mean
    depths: Indices  # (k,) how many of the first are looked at

    def chances(self, first: Bools, n_first: int) -> Floats:
        """Return for each deal (n_deals, n) how likely so many of the first label are so high up by chance.

        (n_deals, k + 1): for each depth (Fisher 1935), and for the sum of all ranks (Wilcoxon 1945).
        """
        found = np.empty((len(first), len(self.depths) + 1))
        found[:, -1] = 1.0
        if np.ptp(self.ranks) > 0:
            sums = np.empty(len(first))
            sum_ranks(first, self.ranks, sums)
            found[:, -1] = chance_of_ranks(sums, self.ranks, n_first)
        hits = np.empty((len(first), len(self.depths)), dtype=np.int64)
        count_hits(first, self.order, self.depths, hits)
        for at, depth in enumerate(self.depths):
            found[:, at] = chances_of_hits(int(depth), n_first, len(self.ranks))[hits[:, at]]
        return found


@lru_cache(maxsize=128)  # asked for again by every ranking, and by every handful of deals
def chances_of_hits(depth: int, n_first: int, n_people: int) -> Floats:
    """Return the chance of 0, 1, … or more people of the first label among the first ``depth``.

    >>> chances_of_hits(2, 2, 4).round(3).tolist()
    [1.0, 0.833, 0.167]
    """
    hits = np.arange(depth + 1.0)
    possible = (hits <= n_first) & (depth - hits <= n_people - n_first)
    logs = np.full(depth + 1, -np.inf)
    logs[possible] = (
        log_ways(n_first, hits[possible])
        + log_ways(n_people - n_first, depth - hits[possible])
        - log_ways(n_people, np.array(float(depth)))
    )
    chances = np.minimum(np.exp(logs)[::-1].cumsum()[::-1], 1.0)
    chances.flags.writeable = False
    return np.asarray(chances)


def chance_of_ranks(sums: Floats, ranks: Floats, n_first: int) -> Floats:
    """Return how likely so large a sum of the ranks of the first label is by chance, nearly normal."""
    n_people = len(ranks)
    if n_people < 2 or np.ptp(ranks) == 0:  # noqa: PLR2004 - nobody to deal with, or nobody ahead
        return np.ones(np.shape(sums))
    spread = n_first * (n_people - n_first) / n_people * ranks.var(ddof=1)
    return np.asarray(ndtr(-(sums - n_first * ranks.mean()) / math.sqrt(spread)))


def log_ways(n: int, k: Floats) -> Floats:
    """Return the logarithm of the number of ways to choose k of n."""
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
