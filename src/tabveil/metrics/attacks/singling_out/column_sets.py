"""What the release keeps of some columns only: the scan over sets of columns as part of an attack.

Descriptions around whole rows do not see a release that holds some columns of everybody, and no others.
The scan of :mod:`tabveil.metrics.agreement` does: hundreds of sets of columns are tried, and what they show
together is one test, which pays for all of them. Only where it sees something, the set that shows it becomes
a configuration: a set of columns that somebody chose for what it shows has no meaning where nothing is seen.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

from numpy.random import Generator

from tabveil.core.estimate import Estimate, difference, rate
from tabveil.core.result import Setting
from tabveil.core.table import Split
from tabveil.core.wording import listed
from tabveil.metrics.agreement import Hits, scan
from tabveil.metrics.attacks.configurations import Comparator, Comparison

SEEN = 0.005
"""So unlikely by chance, what the sets show is looked at."""


@dataclass(frozen=True, kw_only=True)
class ColumnSets:
    """What sets of columns showed; nothing, for attacks that do not look at them."""

    comparators: Mapping[Setting, Comparator] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    p_value: float | None = None  # of all sets together

    @classmethod
    def of(cls, tables: Split, *, rng: Generator) -> Self:
        """Look at all columns."""
        if not len(tables.control):
            return cls()
        found = scan(tables, rng=rng)
        if found is None:
            return cls()
        comparators: dict[Setting, Comparator] = {}
        if found.p_value <= SEEN:
            sizes = tables.train.n_people, tables.control.n_people
            parts = ", numbers in parts" if found.coarse else ""
            setting = Setting(
                label=f"{listed(found.columns)}{parts}", n_columns=len(found.columns), columns=found.columns
            )
            comparators[setting] = partial(_compare, found.hits, *sizes, found.n_sets)
        details = {"sets_of_columns": {"tried": found.n_sets, "p_value": found.p_value}}
        return cls(comparators=comparators, details=details, p_value=found.p_value)

    def with_p_value(self, other: float | None) -> float | None:
        """Put together the p-values of the sets and of all other configurations: two tests."""
        if other is None or self.p_value is None:
            return self.p_value if other is None else other
        return min(2 * min(other, self.p_value), 1.0)


def _compare(hits: Hits, n_train: int, n_control: int, n_sets: int, confidence: float) -> Comparison:
    """Compare the people who are hit; the lower bound of a set that was chosen holds for all that were tried.

    The choice makes a value too large rather than too small, so the upper bound needs no more.
    """
    counts = hits.train, n_train, hits.control, n_control
    gain = difference(*counts, confidence)
    low = difference(*counts, 1 - (1 - confidence) / n_sets).low
    return Comparison(
        attack=rate(hits.train, n_train, confidence),
        control=rate(hits.control, n_control, confidence),
        baseline=None,
        risk=None,
        gain=Estimate(value=gain.value, low=low, high=gain.high, n=gain.n),
        p_value=None,  # that of all sets together counts
        beats_baseline=True,
        facts={
            "people_train": hits.train,
            "n_train": n_train,
            "people_control": hits.control,
            "n_control": n_control,
            "rows_train": hits.rows_train,
            "rows_control": hits.rows_control,
        },
    )
