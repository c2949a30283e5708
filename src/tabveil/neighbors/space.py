"""How far apart two rows are (SPEC 2).

Both distances of tabveil have one form: columns compared by equality, where a mismatch costs 1, and columns
compared by difference, where a pair costs ``(weight * |a - b|) ** power``. Gower's distance is power 1 with
weights 1 / range; the Euclidean distance over standardized numbers and one-hot codes scaled by 1/√2 is power
2 with weights 1 / standard deviation, since two different one-hot codes are then 1 apart. Missing against
missing costs 0 and missing against a value 1, in every column. So one search engine serves both.
"""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from tabveil import check
from tabveil.table import Categorical, Numeric, Schema, Table

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Space:
    """A distance between rows of one schema."""

    matched: tuple[str, ...]  # compared by equality
    measured: tuple[str, ...]  # compared by difference
    weights: tuple[float, ...]  # one a measured column
    decimals: tuple[int | None, ...]  # likewise
    power: Literal[1, 2]
    divisor: float = 1.0  # what the sum is divided by when reported

    @classmethod
    def gower(cls, schema: Schema) -> Self:
        """Return the mixed distance: range-scaled differences and mismatches, averaged over the columns."""
        measured = [c for c in schema.columns if isinstance(c, Numeric)]
        return cls(
            matched=tuple(sorted(c.name for c in schema.columns if isinstance(c, Categorical))),
            **_measure(measured, [1 / c.width if c.width > 0 else 0.0 for c in measured]),
            power=1,
            divisor=float(len(schema)),
        )

    @classmethod
    def euclidean(cls, train: Table, encoding: Literal["onehot", "ordinal"] = "onehot") -> Self:
        """Return the Euclidean distance over numbers standardized on ``train`` and encoded categories.

        ``"onehot"`` sets two different categories 1 apart; ``"ordinal"`` uses the codes themselves, whose
        order is arbitrary, as the papers do.
        """
        check.one_of("Space", "encoding", encoding, ("onehot", "ordinal"))
        measured = [c for c in train.schema.columns if isinstance(c, Numeric) or encoding == "ordinal"]
        weights = [_inverse_deviation(train.column(c.name)) if isinstance(c, Numeric) else 1.0 for c in measured]
        matched = () if encoding == "ordinal" else train.schema.columns
        return cls(
            matched=tuple(sorted(c.name for c in matched if isinstance(c, Categorical))),
            **_measure(measured, weights),
            power=2,
        )


def _measure(columns: list[Numeric | Categorical], weights: list[float]) -> dict[str, tuple]:
    # Sums run over columns by name: their order in the file must not move the last bit of a distance.
    pairs = sorted(zip(columns, weights, strict=True), key=lambda pair: pair[0].name)
    return {
        "measured": tuple(column.name for column, _ in pairs),
        "weights": tuple(weight for _, weight in pairs),
        "decimals": tuple(column.decimals if isinstance(column, Numeric) else 0 for column, _ in pairs),
    }


def _inverse_deviation(cells: Floats) -> float:
    present = cells[~np.isnan(cells)]
    deviation = float(present.std()) if len(present) else 0.0
    return 1 / deviation if deviation > 0 else 0.0
