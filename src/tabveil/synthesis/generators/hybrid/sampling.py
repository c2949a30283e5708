"""Beta-sampling: each record takes part by chance only, so that nobody can be sure that somebody did.

Simple sampling keeps every record by itself. Stratified sampling rounds the number of rows of each stratum
up or down at random, so that every record still has exactly the chance ``beta``, and each stratum its share
to within one row: none is lost or favored systematically.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.sampling import group_equal_rows
from tabveil.core.settings import values
from tabveil.core.table import Indices, Table
from tabveil.errors import NotApplicable, ParameterError

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
            raise ParameterError(
                "sampling", "strata are classes or the values of a column; give one of them."
            )
        if self.by is not None and self.when == "before":
            raise ParameterError("sampling", "there are no classes before anything is anonymized.")

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
        kept = np.arange(len(table)) if self.beta == 1 else self._draw(table, classes, rng=rng)
        if len(kept) == 0:
            raise NotApplicable("sampling", f"with beta = {self.beta:g}, no row was left; raise it.")
        return kept

    def _draw(self, table: Table, classes: Indices | None, *, rng: Generator) -> Indices:
        if self.column is not None:
            check.known_names(OWNER, "column", [self.column], table.schema.names)
            (strata,) = group_equal_rows(table.select([self.column]))
        elif self.by is not None:
            if classes is None:
                raise ParameterError("sampling", "by: class needs hierarchies, by which there are classes.")
            strata = classes
        else:
            return np.flatnonzero(rng.random(len(table)) < self.beta)
        return _stratified(strata, self.beta, rng=rng)


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
