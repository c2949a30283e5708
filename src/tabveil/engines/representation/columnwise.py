"""Rows compared column by column: by the mixed, the Euclidean or a tolerant distance."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from numpy.random import Generator

from tabveil.core import check
from tabveil.core.sampling import in_order
from tabveil.core.table import Schema, Split, Table
from tabveil.engines.neighbors import Space
from tabveil.protocols import Representation, View


@dataclass(frozen=True, kw_only=True)
class Mixed(Representation):
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
class MixedView(View):
    """Rows of one schema, by the mixed distance."""

    schema: Schema

    columnwise: ClassVar[bool] = True

    def see(self, table: Table, known: Sequence[str]) -> Table:
        """Return the known columns."""
        return table.select(known)

    def space(self, known: Sequence[str]) -> Space:
        """Return the distance over the known columns."""
        return Space.gower(self.schema.select(known))


@dataclass(frozen=True, kw_only=True)
class Euclidean(Representation):
    """Compare rows by the Euclidean distance over standardized numbers and coded categories.

    Parameters
    ----------
    encoding
        ``"onehot"`` sets two different categories 1 apart; ``"ordinal"`` uses the codes themselves, whose
        order is arbitrary, as the papers do.
    """

    encoding: Literal["onehot", "ordinal"] = "onehot"

    name: ClassVar[str] = "euclidean"

    def __post_init__(self) -> None:
        check.one_of("Euclidean", "encoding", self.encoding, ("onehot", "ordinal"))

    def view(
        self,
        split: Split,
        *,
        rng: Generator,  # noqa: ARG002 - nothing is drawn
        reference: Table | None = None,  # noqa: ARG002 - train alone is the scale
    ) -> "EuclideanView":
        """Look at rows of these tables; numbers are standardized on train, whatever its order."""
        return EuclideanView(train=in_order(split.train).table, encoding=self.encoding)


@dataclass(frozen=True, kw_only=True, eq=False)
class EuclideanView(View):
    """Rows beside the training rows that numbers are standardized on."""

    train: Table
    encoding: Literal["onehot", "ordinal"]

    columnwise: ClassVar[bool] = True

    def see(self, table: Table, known: Sequence[str]) -> Table:
        """Return the known columns."""
        return table.select(known)

    def space(self, known: Sequence[str]) -> Space:
        """Return the distance over the known columns."""
        return Space.euclidean(self.train.select(known), self.encoding)


@dataclass(frozen=True, kw_only=True)
class Tolerant(Representation):
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
class TolerantView(View):
    """Rows beside the release whose spread says what is near."""

    release: Table
    tolerance: float

    def see(self, table: Table, known: Sequence[str]) -> Table:
        """Return the known columns."""
        return table.select(known)

    def space(self, known: Sequence[str]) -> Space:
        """Return the share of the known columns that differ."""
        return Space.tolerant(self.release.select(known), self.tolerance)
