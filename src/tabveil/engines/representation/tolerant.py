"""Rows by the columns in which they differ, where a number that is near enough hardly differs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from tabveil.core import check
from tabveil.core.sampling import in_order
from tabveil.core.table import Split, Table
from tabveil.engines.neighbors import Space


@dataclass(frozen=True, kw_only=True)
class Tolerant:
    """Compare rows by the share of columns that differ, numbers by a part where they are near.

    A copy behind noise agrees nearly everywhere, and where it does not it may be anywhere. So a number costs
    the square of its difference up to the tolerance, and beyond it no more than a category that differs.

    Parameters
    ----------
    tolerance
        From how many standard deviations of the column in the release on a number counts as different.
    """

    tolerance: float = 0.4

    name: ClassVar[str] = "tolerant"

    def __post_init__(self) -> None:
        check.between("Tolerant", "tolerance", self.tolerance, 0, 1000)

    def view(
        self,
        split: Split,
        *,
        rng: Generator,  # noqa: ARG002 - nothing is drawn
        reference: Table | None = None,  # noqa: ARG002 - the release alone is the scale
    ) -> "TolerantView":
        """Look at rows of these tables; the release is the scale, whatever its order."""
        return TolerantView(release=in_order(split.synthetic).table, tolerance=self.tolerance)


@dataclass(frozen=True, kw_only=True, eq=False)
class TolerantView:
    """Rows beside the release whose spread says what is near."""

    release: Table
    tolerance: float

    def see(self, table: Table, known: Sequence[str]) -> Table:
        """Return the known columns."""
        return table.select(known)

    def space(self, known: Sequence[str]) -> Space:
        """Return the share of the known columns that differ."""
        return Space.tolerant(self.release.select(known), self.tolerance)
