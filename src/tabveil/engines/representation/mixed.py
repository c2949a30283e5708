"""Rows as they are, by the mixed distance."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from tabveil.core.table import Schema, Split, Table
from tabveil.engines.neighbors import Space


@dataclass(frozen=True, kw_only=True)
class Mixed:
    """Compare rows by Gower's distance: numbers by their range, categories by equality."""

    name: ClassVar[str] = "mixed"

    def view(
        self,
        split: Split,
        *,
        rng: Generator,  # noqa: ARG002 - nothing is learned
        reference: Table | None = None,  # noqa: ARG002 - nothing is learned
    ) -> "MixedView":
        """Look at rows of these tables."""
        return MixedView(schema=split.schema)


@dataclass(frozen=True, kw_only=True)
class MixedView:
    """Rows of one schema, by the mixed distance."""

    schema: Schema

    columnwise: ClassVar[bool] = True

    def see(self, table: Table, known: Sequence[str]) -> Table:
        """Return the known columns."""
        return table.select(known)

    def space(self, known: Sequence[str]) -> Space:
        """Return the distance over the known columns."""
        return Space.gower(self.schema.select(known))
