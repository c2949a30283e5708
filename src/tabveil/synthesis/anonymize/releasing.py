"""What leaves: rows as the kind of table that came in, and a summary without a value of anybody."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from tabveil.core.rng import stream
from tabveil.core.sampling import random_order
from tabveil.core.table import Table
from tabveil.synthesis.anonymize.anonymizing import Anonymization
from tabveil.synthesis.anonymize.losses import GeneralizationLoss
from tabveil.synthesis.anonymize.search import SearchStep
from tabveil.synthesis.anonymize.telling import TellingColumn
from tabveil.tables import reading as frame
from tabveil.tables.reading import Layout
from tabveil.tables.reading.layout import as_labels


def to_native(found: Anonymization, layout: Layout) -> Any:  # noqa: ANN401 - whichever library the user works with
    """Return the released rows as pandas, polars or Arrow, as they came; generalized columns are text.

    They are in random order.
    """
    return frame.to_native(*_shuffled(found, layout))


def write(found: Anonymization, layout: Layout, path: str | Path) -> None:
    """Write the released rows to a file, in random order, whole or not at all."""
    frame.write(*_shuffled(found, layout), path)


def _shuffled(found: Anonymization, layout: Layout) -> tuple[Table, Layout]:
    generalized = {
        name for place, name in enumerate(found.quasi_identifiers) if any(node[place] for node in found.nodes)
    }
    rows = found.table.take(random_order(found.table, rng=stream(0, "anonymize order")))
    return rows, as_labels(layout, generalized)


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
    way: tuple[SearchStep, ...]
    telling: tuple[TellingColumn, ...] = ()
    """The columns that stay as they are and tell quasi-identifiers that do not."""
    smallest_with_telling: int | None = None
    """The rows of the smallest class if these columns are known, too; None in what was stored before."""

    @classmethod
    def of(cls, found: Anonymization) -> Self:
        """Sum up a result."""
        model = found.loss_model
        name = f"{model.mean} loss" if isinstance(model, GeneralizationLoss) else model.name.replace("_", " ")
        return cls(
            models=tuple(model.in_words() for model in found.models),
            loss_model=name,
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
            telling=found.telling[0],
            smallest_with_telling=found.telling[1],
        )

    @property
    def n_rounds(self) -> int:
        """How many nodes generalize the rows in turn; one where nothing is recoded locally."""
        return len(self.columns[0].levels)


def _sizes(found: Anonymization) -> list[SizeSummary]:
    """Count classes by size, each range twice as wide as the one before."""
    sizes = found.class_sizes
    low, summaries = int(sizes.min()), []
    while low <= sizes.max():
        high = 2 * low - 1
        inside = (sizes >= low) & (sizes <= high)
        if inside.any():
            n_classes, n_rows = int(inside.sum()), int(np.sum(sizes[inside]))
            summaries.append(SizeSummary(low=low, high=high, n_classes=n_classes, n_rows=n_rows))
        low = high + 1
    return summaries
