"""What a pipeline promises, with numbers: how large classes are, and what sampling adds where it is proven.

Records that are sampled at random, then generalized in a way that no record has a say in, and then released
only in classes of at least k, are differentially private: Li, Qardaji and Su, *On sampling, anonymization,
and differential privacy* (2012), theorem 5. It speaks of everything that is released of a record. So every
column must be generalized by levels that somebody chose, and nothing else may be read from the rows.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.special import bdtrc

from tabveil.core.sampling import group_equal_rows
from tabveil.core.storage.plain import FORBID_OTHERS
from tabveil.core.table import Table

TARGETS = (1e-6, 1e-5, 1e-4, 1e-3)
"""Chances of a failure: the least ε is stated for the first of them that any ε reaches."""
LARGEST_EPSILON = 10.0
"""Beyond this a promise is none."""
_EPSILONS = (0.5, 1.0, 2.0, 5.0)
_CLOSE = 1e-3
_AT_ONCE = 1024
_LEAST_BETA = 1e-3
_SAME = 1e-6  # relative difference of two machines that compute one number


@dataclass(frozen=True, kw_only=True)
class SampledPrivacy:
    """(β, ε, δ)-differential privacy under sampling: whoever takes part by the chance β is protected so.

    The same promise holds with every ε from ``-ln(1 - β)`` on, and its own δ; ``others`` are some of them.
    """

    __pydantic_config__ = FORBID_OTHERS

    beta: float
    k: int
    epsilon: float
    delta: float
    others: tuple[tuple[float, float], ...] = ()

    @classmethod
    def of(cls, beta: float, k: int) -> "SampledPrivacy | None":
        """Return the promise that sampling and classes of k give; None if it would be worth nothing.

        Who is sampled by a smaller chance is protected no less, so very small ones count as a larger one.
        """
        counted = max(beta, _LEAST_BETA)
        others = [(each, delta(k, counted, each)) for each in _EPSILONS if each >= -math.log1p(-counted)]
        for target in TARGETS:
            epsilon = least_epsilon(k, counted, target)
            if epsilon is not None:
                failure = delta(k, counted, epsilon)
                return cls(beta=beta, k=k, epsilon=epsilon, delta=failure, others=tuple(others))
        return None

    def says_the_same(self, other: "SampledPrivacy | None") -> bool:
        """Whether two promises are one, up to the last digits of their numbers."""
        if other is None or (self.beta, self.k) != (other.beta, other.k):
            return False
        one, two = (np.ravel([(each.epsilon, each.delta), *each.others]) for each in (self, other))
        return len(one) == len(two) and np.allclose(one, two, rtol=_SAME, atol=0)


@dataclass(frozen=True, kw_only=True)
class Promises:
    """What holds of the rows that a generator learned from, as it was measured, and what is proven.

    ``k`` and ``diversity`` are those of the anonymized table, ``k_learned`` and ``diversity_learned`` those
    of the rows of it that take part: sampling makes classes smaller. ``voided`` says why differential privacy
    is not promised.
    """

    __pydantic_config__ = FORBID_OTHERS

    k: int | None = None
    k_learned: int | None = None
    diversity: Mapping[str, int] = field(default_factory=dict)
    diversity_learned: Mapping[str, int] = field(default_factory=dict)
    sampled: SampledPrivacy | None = None
    voided: tuple[str, ...] = ()

    def sentences(self) -> tuple[str, ...]:
        """Say what is promised and what is not."""
        return (*self._classes(), *self._privacy())

    def _classes(self) -> tuple[str, ...]:
        if self.k is None:
            return ("Nothing was anonymized: no class of a certain size is promised.",)
        least = [f"k = {self.k}", *(f"l = {value} of {name}" for name, value in self.diversity.items())]
        text = f"Before the generator, the anonymized rows have {', '.join(least)}."
        if self.k_learned is not None and self.k_learned < self.k:
            text += f" After sampling the smallest class that takes part has {_rows(self.k_learned)}."
        return (text,)

    def _privacy(self) -> tuple[str, ...]:
        if self.sampled is not None:
            own = self.sampled
            text = (
                f"Differential privacy under sampling (β = {own.beta:g}, ε = {own.epsilon:.3g}, "
                f"δ = {own.delta:.1e}): records are sampled, generalized by levels that no record has a say "
                f"in, and released in classes of at least {own.k}. It holds while the seed is secret and the "
                "labels and ranges of the schema are public knowledge, and does not cover how many rows are "
                "drawn."
            )
            return (text,)
        more = len(self.voided) - 1
        others = f" (and {more} more {'reason' if more == 1 else 'reasons'})" if more > 0 else ""
        return (f"Differential privacy is not promised: {self.voided[0]}{others}.",) if self.voided else ()


def _rows(n: int) -> str:
    return f"{n} row" if n == 1 else f"{n} rows"


def measure_classes(
    table: Table, quasi_identifiers: tuple[str, ...], sensitive: tuple[str, ...]
) -> tuple[int, dict[str, int]]:
    """Return the rows of the smallest class, and the fewest different values of each sensitive column."""
    (classes,) = group_equal_rows(table.select(quasi_identifiers))
    found = {}
    for name in sensitive:
        (values,) = group_equal_rows(table.select([name]))
        pairs = np.unique(np.stack((classes, values), axis=1), axis=0)
        found[name] = int(np.unique(pairs[:, 0], return_counts=True)[1].min())
    return int(np.unique(classes, return_counts=True)[1].min()), found


def delta(k: int, beta: float, epsilon: float) -> float:
    """Return the δ that belongs to an ε: how likely a class tells more of one record than ε allows, at most.

    The largest chance, over all sizes n of a class before sampling, that more than the share
    g = (e^ε - 1 + β) / e^ε of its records are in the sample; only n from k/g - 1 on can be released.

    >>> round(delta(2, 0.5, math.log(2)), 4)  # g = 3/4; of two records, both: 1/4; of five, four: 6/32
    0.25
    """
    share = -math.expm1(math.log1p(-beta) - epsilon)
    # The chance falls with n no slower than this (Chernoff), so the largest is found after finitely many.
    decay = share * math.log(share / beta) + (1 - share) * (math.log1p(-share) - math.log1p(-beta))
    n = max(math.ceil(k / share - 1), 1)
    largest = 0.0
    while math.exp(-n * decay) > largest:
        sizes = np.arange(n, n + _AT_ONCE)
        largest = max(largest, float(bdtrc(np.floor(share * sizes), sizes, beta).max()))
        n += _AT_ONCE
    return largest


def least_epsilon(k: int, beta: float, target: float) -> float | None:
    """Return the least ε whose δ is at most the target, to the third decimal place; None if none is in sight.

    δ falls as ε grows, but never below the chance that all records of a class of k are in the sample.
    """
    low, high = -math.log1p(-beta), LARGEST_EPSILON
    if low > high or delta(k, beta, high) > target:
        return None
    if delta(k, beta, low) <= target:
        return low
    while high - low > _CLOSE:
        middle = (low + high) / 2
        low, high = (middle, high) if delta(k, beta, middle) > target else (low, middle)
    return high
