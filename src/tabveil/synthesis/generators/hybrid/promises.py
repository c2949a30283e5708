"""What a pipeline promises, with numbers; under which conditions that is proven, and which are broken.

Some promises rest on beta-sampling: each record takes part by chance only, so that nobody can be sure that
somebody did. Simple sampling keeps every record by itself. Stratified sampling rounds the number of rows of
each stratum up or down at random, so that every record still has exactly the chance ``beta``, and each
stratum its share to within one row: none is lost or favored systematically.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.random import Generator
from scipy.special import bdtrc

from tabveil.core import check, wording
from tabveil.core.sampling import group_equal_rows
from tabveil.core.settings import values
from tabveil.core.storage.plain import FORBID_OTHERS
from tabveil.core.table import Column, Indices, Numeric, Schema, Table
from tabveil.errors import NotApplicable, ParameterError
from tabveil.synthesis.generators.hybrid.way_back import GeneralizedRows, Transition
from tabveil.synthesis.generators.privacy import WARNING

if TYPE_CHECKING:
    from tabveil.synthesis.anonymize.configuration import AnonymizationSettings


When = Literal["after", "before"]
KEYS = {"beta": float, "by": Literal["class"], "column": str, "when": When}
OWNER = "sampling"


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Which records take part.

    ``beta`` is the chance of each. ``by`` equivalence class, or by the values of a ``column``, the sample is
    stratified. It is drawn ``after`` the table was anonymized, or ``before``: then the generalization and the
    suppression see the sample alone, as theorems about sampling want it.
    """

    beta: float = 1.0
    by: Literal["class"] | None = None
    column: str | None = None
    when: When = "after"

    def __post_init__(self) -> None:
        check.positive_share(OWNER, "beta", self.beta)
        check.one_of(OWNER, "when", self.when, ("after", "before"))
        if self.by is not None:
            check.one_of(OWNER, "by", self.by, ("class",))
        if self.by is not None and self.column is not None:
            raise ParameterError(OWNER, "strata are classes or the values of a column; give one of them.")
        if self.by is not None and self.when == "before":
            raise ParameterError(OWNER, "there are no classes before anything is anonymized.")

    @classmethod
    def read(cls, given: float | Mapping[str, Any]) -> Self:
        """Read a chance, or settings by name.

        >>> Sampling.read(0.5).beta, Sampling.read({"beta": 0.2, "by": "class"}).stratified
        (0.5, True)
        """
        if not isinstance(given, Mapping):
            return cls(beta=values.read(OWNER, "beta", given, float))
        check.known_names(OWNER, "setting", map(str, given), KEYS)
        return cls(**{key: values.read(OWNER, key, value, KEYS[key]) for key, value in given.items()})

    @property
    def stratified(self) -> bool:
        """Whether strata are sampled one by one."""
        return self.by is not None or self.column is not None

    def draw(self, table: Table, classes: Indices | None, *, rng: Generator) -> Indices:
        """Return the rows that take part, ascending; ``classes`` (n,) are those of the rows, if there are."""
        if self.beta == 1:
            kept = np.arange(len(table))
        elif self.stratified:
            kept = _stratified(self._strata(table, classes), self.beta, rng=rng)
        else:
            kept = np.flatnonzero(rng.random(len(table)) < self.beta)
        if len(kept) == 0:
            raise NotApplicable(OWNER, f"with beta = {self.beta:g}, no row was left; raise it.")
        return kept

    def _strata(self, table: Table, classes: Indices | None) -> Indices:
        if self.column is not None:
            check.known_names(OWNER, "column", [self.column], table.schema.names)
            return group_equal_rows(table.select([self.column]))[0]
        if classes is None:
            raise ParameterError(OWNER, "by: class needs hierarchies, by which there are classes.")
        return classes


def _stratified(strata: Indices, beta: float, *, rng: Generator) -> Indices:
    """Keep ``beta`` of each stratum, its fraction of a row by chance."""
    order = rng.permutation(len(strata))
    order = order[np.argsort(strata[order], kind="stable")]  # stratum by stratum, at random within each
    _, starts, sizes = np.unique(strata[order], return_index=True, return_counts=True)
    wanted = beta * sizes
    n_kept = np.floor(wanted) + (rng.random(len(sizes)) < wanted - np.floor(wanted))  # (n_strata,)
    ranks = np.arange(len(order)) - np.repeat(starts, sizes)
    kept: Indices = np.sort(order[ranks < np.repeat(n_kept, sizes)])
    return kept


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
    is not promised. ``noise`` is the ε of the transition's noise, and ``covers`` what that says and does not.
    """

    __pydantic_config__ = FORBID_OTHERS

    k: int | None = None
    k_learned: int | None = None
    diversity: Mapping[str, int] = field(default_factory=dict)
    diversity_learned: Mapping[str, int] = field(default_factory=dict)
    sampled: SampledPrivacy | None = None
    voided: tuple[str, ...] = ()
    noise: float | None = None
    covers: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, asked: "AnonymizationSettings", rows: GeneralizedRows, *, beta: float, voided: tuple[str, ...]
    ) -> Self:
        """Measure what holds of rows that were sampled by the chance ``beta``."""
        own, sensitive = tuple(asked.hierarchies), asked.sensitive
        k, diversity = measure_classes(rows.found.table, own, sensitive)
        k_learned, diversity_learned = measure_classes(rows.table, own, sensitive)
        return cls(
            k=k,
            k_learned=k_learned,
            diversity=diversity,
            diversity_learned=diversity_learned,
            sampled=None if voided else SampledPrivacy.of(beta, asked.k),
            voided=voided,
        )

    @property
    def stated(self) -> tuple[float, float] | None:
        """The ε that is stated, of whatever kind, and its δ; None if none is."""
        if self.sampled is not None:
            return self.sampled.epsilon, self.sampled.delta
        return None if self.noise is None else (self.noise, 0.0)

    def sentences(self) -> tuple[str, ...]:
        """Say what is promised and what is not."""
        return tuple(text for text in (self._classes(), self._privacy(), *self.covers) if text)

    def _classes(self) -> str:
        if self.k is None:
            return "Nothing was anonymized: no class of a certain size is promised."
        least = [f"k = {self.k}", *(f"l = {value} of {name}" for name, value in self.diversity.items())]
        text = f"Before the generator, the anonymized rows have {', '.join(least)}."
        if self.k_learned is None or self.k_learned >= self.k:
            return text
        rows = "1 row" if self.k_learned == 1 else f"{self.k_learned} rows"
        return f"{text} After sampling the smallest class that takes part has {rows}."

    def _privacy(self) -> str:
        own, more = self.sampled, len(self.voided) - 1
        if own is not None:
            return (
                f"Differential privacy under sampling (β = {own.beta:g}, ε = {own.epsilon:.3g}, "
                f"δ = {own.delta:.1e}): records are sampled, generalized by levels that no record has a say "
                f"in, and released in classes of at least {own.k}. It holds while the seed is secret and the "
                "labels and ranges of the schema are public knowledge, and does not cover how many rows are "
                "drawn."
            )
        others = f" (and {more} more {'reason' if more == 1 else 'reasons'})" if more > 0 else ""
        return f"Differential privacy is not promised: {self.voided[0]}{others}." if self.voided else ""


def measure_classes(
    table: Table, quasi_identifiers: tuple[str, ...], sensitive: tuple[str, ...]
) -> tuple[int, dict[str, int]]:
    """Return the rows of the smallest class, and the fewest different values of each sensitive column."""
    (classes,) = group_equal_rows(table.select(quasi_identifiers))
    found = {}
    for name in sensitive:
        (held,) = group_equal_rows(table.select([name]))
        pairs = np.unique(np.stack((classes, held), axis=1), axis=0)
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


MOST_LISTED = 10_000
"""Whole numbers: of a column with more, a hierarchy has only those of the rows."""


def broken(
    asked: "AnonymizationSettings | None",
    sampling: Sampling,
    transition: Transition,
    *,
    schema: Schema | None = None,
    declared: Iterable[str] | None = None,
) -> tuple[str, ...]:
    """Return why nothing is promised, the weightiest first; nothing if all conditions hold.

    ``declared`` are the columns of which a schema file says everything; None where nobody knows, as where a
    schema is handed over as public.
    """
    if asked is None:
        return ("nothing is generalized",)
    columns = () if schema is None else schema.columns
    names = {column.name for column in columns}
    known = names if declared is None else set(declared)
    open_columns = [column.name for column in columns if column.name not in known]
    some = wording.listed(open_columns)
    left_open = f"a schema does not declare all of {some}, and the rest was read from the rows"
    conditions = (
        (asked.levels is None, "the levels were searched for, which asks the rows"),
        (bool(asked.automatic), "hierarchies were made from the values of the rows"),
        (
            any(model.column is not None for model in asked.models),
            "classes are also suppressed for their sensitive values",
        ),
        (bool(names - set(asked.hierarchies)), "columns without a hierarchy are learned as they are"),
        (
            not all(map(_listed, columns)),
            "not all values of a column can be listed, so its hierarchy is made from those of the rows",
        ),
        (asked.suppression < 1, "whether anything is released depends on the rows"),
        (
            sampling.when != "before" or sampling.stratified or sampling.beta == 1,
            "records are not sampled one by one before they are generalized",
        ),
        (transition.asks_rows, "the transition asks the rows"),
        (bool(open_columns), left_open),
    )
    reasons = tuple(reason for holds, reason in conditions if holds)
    if not reasons and SampledPrivacy.of(sampling.beta, asked.k) is None:
        return (f"k = {asked.k} is too small for beta = {sampling.beta:g}",)
    return reasons


def uncovered(asked: "AnonymizationSettings", schema: Schema, declared: Iterable[str] | None) -> str:
    """Say of which columns the rows decided what a generalized value may stand for, which no noise covers."""
    from tabveil.synthesis.anonymize.building.graded import Dates, NumberIntervals  # noqa: PLC0415

    known = schema.names if declared is None else tuple(declared)
    read = [
        name
        for name, entry in asked.hierarchies.items()
        if name not in known
        or name in asked.automatic
        or not (_listed(schema[name]) or isinstance(entry, NumberIntervals | Dates))
    ]
    if not read:
        return ""
    return (
        f"{WARNING}: the noise of the transition does not cover which values there may be in "
        f"{wording.listed(read)}: that was read from the rows. Declare labels, or low and high, in a schema, "
        "and write hierarchies down."
    )


def _listed(column: Column) -> bool:
    """Whether all values that a column may have can be listed."""
    if isinstance(column, Numeric):
        return column.integer and column.high - column.low < MOST_LISTED
    return True
