"""How far apart two rows are (docs/definitions.md, Distances).

Both distances of tabveil have one form: columns compared by equality, where a mismatch costs 1, and columns
compared by difference, where a pair costs ``(weight * |a - b|) ** power``. Gower's distance is power 1 with
weights 1 / range; the Euclidean distance over standardized numbers and one-hot codes scaled by 1/√2 is power
2 with weights 1 / standard deviation, since two different one-hot codes are then 1 apart. Missing against
missing costs 0 and missing against a value 1, in every column. So one search engine serves both.

A pair of numbers may be kept from costing more than 1, as much as a mismatch: how far they are apart beyond
that does not matter then.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from tabveil.core import check
from tabveil.core.table import Categorical, Floats, Numeric, Schema, Table


@dataclass(frozen=True, kw_only=True)
class MeasuredColumn:
    """A column compared by difference."""

    name: str
    weight: float
    decimals: int | None  # decimal places that every value fits in


@dataclass(frozen=True, kw_only=True)
class Space:
    """A distance between rows of one schema.

    Columns stand by name: their order in a file must not move the last bit of a distance.
    """

    matched: tuple[str, ...]  # compared by equality
    measured: tuple[MeasuredColumn, ...]  # compared by difference
    power: Literal[1, 2]
    divisor: float = 1.0  # what the sum is divided by when reported
    saturated: bool = False  # whether a pair of numbers costs 1 at most

    @classmethod
    def _of(
        cls,
        schema: Schema,
        weight: Callable[[Numeric], float],
        *,
        coded: bool = False,  # whether categories are compared by difference, too
        power: Literal[1, 2] = 2,
        divisor: float = 1.0,
        saturated: bool = False,
    ) -> Self:
        columns = sorted(schema.columns, key=lambda column: column.name)
        return cls(
            matched=tuple(c.name for c in columns if isinstance(c, Categorical) and not coded),
            measured=tuple(
                MeasuredColumn(name=c.name, weight=weight(c), decimals=c.decimals)
                if isinstance(c, Numeric)
                else MeasuredColumn(name=c.name, weight=1.0, decimals=0)
                for c in columns
                if isinstance(c, Numeric) or coded
            ),
            power=power,
            divisor=divisor,
            saturated=saturated,
        )

    @classmethod
    def gower(cls, schema: Schema) -> Self:
        """Return the mixed distance: range-scaled differences and mismatches, averaged over the columns."""
        return cls._of(schema, _inverse_width, power=1, divisor=float(len(schema)))

    @classmethod
    def euclidean(cls, train: Table, encoding: Literal["onehot", "ordinal"] = "onehot") -> Self:
        """Return the Euclidean distance over numbers standardized on ``train`` and encoded categories.

        ``"onehot"`` sets two different categories 1 apart; ``"ordinal"`` uses the codes themselves, whose
        order is arbitrary, as the papers do.
        """
        check.one_of("Space", "encoding", encoding, ("onehot", "ordinal"))
        return cls._of(
            train.schema, lambda c: _inverse_deviation(train.column(c.name)), coded=encoding == "ordinal"
        )

    @classmethod
    def tolerant(cls, release: Table, tolerance: float) -> Self:
        """Return the share of columns that differ; numbers within the tolerance differ by a part.

        That is the square of the share of the tolerance that lies between them, which is counted in standard
        deviations of the column in ``release``; in shares of its range where all rows of the release agree.
        """

        def weight(column: Numeric) -> float:
            return (_inverse_deviation(release.column(column.name)) or _inverse_width(column)) / tolerance

        return cls._of(release.schema, weight, divisor=float(len(release.schema)), saturated=True)

    def reported(self, total: Floats) -> Floats:
        """Return distances as they are reported, from sums over the columns.

        Sums of squares have their root taken, unless they are counts of columns.
        """
        rooted = self.power == 2 and not self.saturated  # noqa: PLR2004
        distance = (np.sqrt(total) if rooted else total) / self.divisor
        return np.round(distance, 12)  # 0.1 + 0.2 and 0.3 are one distance; a comparison must see the tie

    @property
    def names(self) -> frozenset[str]:
        """The columns that are compared."""
        return frozenset((*self.matched, *(column.name for column in self.measured)))


def _inverse_width(column: Numeric) -> float:
    return 1 / column.width if column.width > 0 else 0.0


def _inverse_deviation(cells: Floats) -> float:
    present = cells[~np.isnan(cells)]
    deviation = float(present.std()) if len(present) else 0.0
    return 1 / deviation if deviation > 0 else 0.0
