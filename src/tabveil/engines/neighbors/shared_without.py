"""Searches without one of the columns, kept for whoever asks again.

An attack that is asked again with another seed looks the same people up in the same release: who is near them
is known, and only lots among equally near rows are drawn anew.
"""

from collections.abc import Sequence
from hashlib import blake2b

from tabveil.core import workers
from tabveil.core.crew import once
from tabveil.core.table import Table
from tabveil.engines.neighbors.leaving_out import NearestByPairs, NearestWithout, NeighborsWithout
from tabveil.engines.neighbors.shared import keeping
from tabveil.engines.neighbors.space import Space


class SharedWithout:
    """Does what :class:`NeighborsWithout` does, once for all who ask the same.

    Rows must be the same in the same order: which of them is named depends on how they stand.
    """

    def __init__(self, space: Space, reference: Table, spaces: Sequence[Space]) -> None:
        self.space, self.reference, self.spaces = space, reference, tuple(spaces)

    def nearest(self, queries: Table) -> NearestWithout | NearestByPairs:
        """Find the nearest reference rows of every query row, by each of the spaces."""
        if not workers.shares():
            return self._engine.nearest(queries)
        key = "without", self._key(queries), self._parts
        kept = keeping().get(key)
        with kept.turn:
            if kept.found is None:
                kept.found = found = self._engine.nearest(queries)
                keeping().count(key, 3 * found.total.size + self.reference.values.size)
            answer: NearestWithout | NearestByPairs = kept.found
        return answer

    @once
    def _engine(self) -> NeighborsWithout:
        return NeighborsWithout(self.space, self.reference, self.spaces)

    @once
    def _parts(self) -> tuple[tuple[tuple[str, ...], float], ...]:
        """Return what tells parts of one space from each other: what they lack, and how they report."""
        names = self.space.names
        return tuple((tuple(names - part.names), part.divisor) for part in self.spaces)

    def _key(self, queries: Table) -> bytes:
        rows = (table.row_hash().tobytes() for table in (self.reference, queries))
        return _digest(repr(self.space).encode(), *rows)


def _digest(*parts: bytes) -> bytes:
    return b"".join(blake2b(part, digest_size=16).digest() for part in parts)
