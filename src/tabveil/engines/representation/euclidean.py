"""Rows as standardized numbers and coded categories, by the Euclidean distance."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from numpy.random import Generator

from tabveil.core import check
from tabveil.core.sampling import in_order
from tabveil.core.table import Split, Table
from tabveil.engines.neighbors import Space


@dataclass(frozen=True, kw_only=True)
class Euclidean:
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
class EuclideanView:
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
