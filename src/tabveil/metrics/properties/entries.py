"""The sensitive values of every class, as counts: what diversity and closeness are read from."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from tabveil.core.table import Floats, Indices


@dataclass(frozen=True, kw_only=True, eq=False)
class Entries:
    """How often each class holds each value, sorted by class and value; zeros are left out.

    Values are numbered in ascending order, a missing one last, over the table and its reference.
    """

    classes: Indices  # (e,)
    values: Indices  # (e,)
    counts: Indices  # (e,)
    sizes: Indices  # (c,) rows of each class
    reference: Floats  # (v,) share of each value in the reference
    cells: Floats  # (v,) the values themselves

    @classmethod
    def of(cls, classes: Indices, cells: Floats, reference: Floats) -> Self:
        """Count the cells of each class; ``reference`` are cells, too."""
        known, codes = np.unique(np.concatenate((cells, reference)), return_inverse=True)
        own, others = codes[: len(cells)], codes[len(cells) :]
        pairs, counts = np.unique(classes * len(known) + own, return_counts=True)
        return cls(
            classes=pairs // len(known),
            values=pairs % len(known),
            counts=counts,
            sizes=np.bincount(classes),
            reference=np.bincount(others, minlength=len(known)) / max(len(others), 1),
            cells=known,
        )

    @property
    def shares(self) -> Floats:
        """The share of its class that each entry has, (e,)."""
        return np.asarray(self.counts / self.sizes[self.classes])

    def summed(self, terms: Floats) -> Floats:
        """Add up a number of each entry by class, (c,)."""
        return np.bincount(self.classes, weights=terms, minlength=len(self.sizes)).astype(np.float64)
