"""Rows as the vectors of an embedding, by the Euclidean distance between them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tabveil.core.table import Floats, Numeric, Schema, Table
from tabveil.engines.neighbors import MeasuredColumn, Space
from tabveil.errors import ParameterError

Embed = Callable[[Table, Sequence[str]], Floats]
"""Map rows to vectors (n, m), as if the columns named were not known."""

FAR = 1e9  # a vector has no range of its own, and distances between vectors need none


@dataclass(frozen=True, kw_only=True)
class VectorView:
    """Rows as an embedding places them: what is not known is masked, and nearness is that of vectors."""

    embed: Embed
    schema: Schema  # of the rows
    n_dimensions: int  # of the vectors

    def see(self, table: Table, known: Sequence[str]) -> Table:
        """Return the vectors as a table of numbers, all other columns masked."""
        masked = tuple(name for name in self.schema.names if name not in known)
        vectors = np.asarray(self.embed(table, masked), dtype=np.float64)
        expected = (len(table), self.n_dimensions)
        if vectors.shape != expected or not np.isfinite(vectors).all():
            raise ParameterError(
                f"embedding: must return finite vectors of shape {expected}, got {vectors.shape}."
            )
        return Table(schema=self._axes, values=vectors, people=table.people)

    def space(self, known: Sequence[str]) -> Space:  # noqa: ARG002 - what is not known is masked already
        """Return the distance between vectors."""
        axes = tuple(MeasuredColumn(name=name, weight=1.0, decimals=None) for name in self._axes.names)
        return Space(matched=(), measured=axes, power=2)

    @cached_property
    def _axes(self) -> Schema:
        places = range(self.n_dimensions)
        return Schema(tuple(Numeric(name=f"axis {place:05}", low=-FAR, high=FAR) for place in places))
