"""What a release says about targets: counts of rows that agree with them, and how near the nearest is.

A category agrees where it is equal, a number where its rank among the real rows is within 2 % of them, and
what is missing with what is missing.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Categorical, Column, Floats, Table
from tabveil.core.workers import announce_compilation
from tabveil.metrics.black_box.counting_kernels import count_matches
from tabveil.metrics.black_box.questions import Questions

NEAR_RANKS = 0.02


@dataclass(frozen=True, kw_only=True, eq=False)
class Watch:
    """Targets, and what is asked of every release about them."""

    real: Table  # rows that ranks and scales are taken from
    targets: Floats  # (t, d) cells of the same columns
    questions: Questions

    @classmethod
    def of(cls, real: Table, targets: Floats, questions: Questions) -> Self:
        """Watch these targets."""
        return cls(real=real, targets=np.ascontiguousarray(targets), questions=questions)

    @property
    def n_features(self) -> int:
        """How many numbers a release comes to, for each target."""
        return 1 + len(self.real.schema) + len(self.questions) + 1

    def look(self, release: Table) -> NDArray[np.float32]:
        """Return what a release says about each target, (t, n_features): counts, then a distance."""
        n_targets, n_columns = self.targets.shape
        counts = np.zeros((n_targets, self.n_features - 1), dtype=np.int64)
        nearest = np.full(n_targets, float(n_columns))
        announce_compilation(count_matches)
        low, high = self._windows
        count_matches(
            np.ascontiguousarray(release.values), low, high, np.isnan(self.targets), self.targets,
            self._weights, self.questions.groups, self.questions.masks, counts, nearest,
        )  # fmt: skip
        return np.column_stack([counts, nearest / n_columns]).astype(np.float32)

    @cached_property
    def _windows(self) -> tuple[Floats, Floats]:
        """The least and the largest number that agrees with each target, (t, d) each."""
        windows = [
            _near(column, self.real.values[:, place], self.targets[:, place])
            for place, column in enumerate(self.real.schema.columns)
        ]
        return np.column_stack([low for low, _ in windows]), np.column_stack([high for _, high in windows])

    @cached_property
    def _weights(self) -> Floats:
        """What a difference is multiplied by in each column, (d,); -1 marks categories."""
        return np.array(
            [_weight(*item) for item in zip(self.real.schema.columns, self.real.values.T, strict=True)]
        )


def _weight(column: Column, cells: Floats) -> float:
    if isinstance(column, Categorical):
        return -1.0
    known = cells[~np.isnan(cells)]
    width = float(known.max() - known.min()) if len(known) else 0.0
    return 1 / width if width > 0 else 0.0


def _near(column: Column, cells: Floats, targets: Floats) -> tuple[Floats, Floats]:
    """Return the numbers whose middle rank is within reach of each target's; categories are no numbers."""
    known = np.sort(cells[~np.isnan(cells)])
    if isinstance(column, Categorical) or not len(known):
        return targets, targets
    values, counts = np.unique(known, return_counts=True)
    ranks = (np.cumsum(counts) - counts / 2) / len(known)  # of each value, equals in the middle
    own = np.interp(targets, values, ranks)
    low = np.interp(own - NEAR_RANKS, ranks, values, left=-np.inf)
    high = np.interp(own + NEAR_RANKS, ranks, values, right=np.inf)
    return np.minimum(low, targets), np.maximum(high, targets)
