"""Many sets of columns tried on the same people: what each shows, and what trying all of them costs."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tabveil.core.estimate.relabeling import chances_of_hits
from tabveil.core.table import Floats, Indices
from tabveil.metrics.agreement.cells import Cells

ROUNDING = 1 + 1e-9  # chances that differ by less are one chance


@dataclass(frozen=True, kw_only=True, eq=False)
class Family:
    """Sets of columns by one way to compare cells, and whom they hit."""

    cells: Cells
    sets: Sequence[Any]  # each what its finder calls a set
    counts: Indices  # (n_sets, 4)
    coarse: bool = False

    @cached_property
    def chances(self) -> Floats:
        """How often each set shows as much by chance, (n_sets,)."""
        laws = {n_hit: self._law(n_hit) for n_hit in np.unique(self._n_hit).tolist()}
        return np.array(
            [laws[n_hit][train] for n_hit, train in zip(self._n_hit.tolist(), self.counts[:, 0], strict=True)]
        )

    def reached(self, chance: float) -> float:
        """Return how many sets are expected to show something so rare by chance: each what it can reach."""
        expected = 0.0
        for n_hit, n_sets in zip(*np.unique(self._n_hit, return_counts=True), strict=True):
            law = self._law(int(n_hit))
            expected += int(n_sets) * float(law[law <= chance * ROUNDING].max(initial=0.0))
        return expected

    @property
    def _n_hit(self) -> Indices:
        return self.counts[:, 0] + self.counts[:, 1]

    def _law(self, n_hit: int) -> Floats:
        """Return the chance that 0, 1, ... or more of those hit are training people, (n_hit + 1,)."""
        return chances_of_hits(n_hit, self.cells.n_train, self.cells.n_people)

    @property
    def smallest(self) -> float:
        """The smallest of these chances."""
        return float(self.chances.min(initial=1.0))

    @property
    def surest(self) -> int:
        """The place of the set that shows most surely that something leaks."""
        return int(np.argmin(self.chances))
