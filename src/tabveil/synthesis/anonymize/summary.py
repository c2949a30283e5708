"""What a release may say about how it was made: counts, levels and losses, and no value of anybody."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from tabveil.synthesis.anonymize.losses import GeneralizationLoss
from tabveil.synthesis.anonymize.result import Anonymization
from tabveil.synthesis.anonymize.search import Step


@dataclass(frozen=True, kw_only=True)
class ColumnSummary:
    """How one quasi-identifier was generalized."""

    name: str
    levels: tuple[int, ...]  # in each round
    n_levels: int
    n_leaves: int
    loss: float  # the share of its values that a cell stands for, above that of one


@dataclass(frozen=True, kw_only=True)
class SizeSummary:
    """How many classes are about so large."""

    low: int
    high: int
    n_classes: int
    n_rows: int


@dataclass(frozen=True, kw_only=True)
class Summary:
    """How a table was anonymized."""

    models: tuple[str, ...]
    loss_model: str
    loss: float
    proven: bool
    at_least: float
    n_rows: int
    n_suppressed: int
    n_classes: int
    smallest: int
    columns: tuple[ColumnSummary, ...]
    sizes: tuple[SizeSummary, ...]
    n_nodes: int
    n_looked_at: int
    way: tuple[Step, ...]

    @classmethod
    def of(cls, found: Anonymization) -> Self:
        """Sum up a result."""
        return cls(
            models=tuple(model.in_words() for model in found.models),
            loss_model=_name(found),
            loss=found.loss,
            proven=found.proven,
            at_least=found.at_least,
            n_rows=len(found.original),
            n_suppressed=found.n_suppressed,
            n_classes=len(found.class_sizes),
            smallest=int(found.class_sizes.min()),
            columns=tuple(
                ColumnSummary(
                    name=hierarchy.column,
                    levels=tuple(node[place] for node in found.nodes),
                    n_levels=hierarchy.n_levels,
                    n_leaves=len(hierarchy.leaves),
                    loss=float(found.column_losses[place]),
                )
                for place, hierarchy in enumerate(found.hierarchies)
            ),
            sizes=tuple(_sizes(found)),
            n_nodes=found.n_nodes,
            n_looked_at=found.n_looked_at,
            way=found.way,
        )

    @property
    def n_rounds(self) -> int:
        """How many nodes generalize the rows in turn; one where nothing is recoded locally."""
        return len(self.columns[0].levels)


def _name(found: Anonymization) -> str:
    model = found.loss_model
    return f"{model.mean} loss" if isinstance(model, GeneralizationLoss) else model.name.replace("_", " ")


def _sizes(found: Anonymization) -> list[SizeSummary]:
    """Count classes by size, each range twice as wide as the one before."""
    sizes = found.class_sizes
    low, summaries = int(sizes.min()), []
    while low <= sizes.max():
        high = 2 * low - 1
        inside = (sizes >= low) & (sizes <= high)
        if inside.any():
            summaries.append(
                SizeSummary(
                    low=low, high=high, n_classes=int(inside.sum()), n_rows=int(np.sum(sizes[inside]))
                )
            )
        low = high + 1
    return summaries
