"""What anonymizing a table gives: the generalized rows, and all that later steps need to know about them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Categorical, Column, Floats, Indices, Schema, Table
from tabveil.synthesis.anonymize.hierarchy import MISSING, Hierarchy
from tabveil.synthesis.anonymize.lattice import Node
from tabveil.synthesis.anonymize.losses import LossModel
from tabveil.synthesis.anonymize.models import PrivacyModel
from tabveil.synthesis.anonymize.recoding import Recoding
from tabveil.synthesis.anonymize.search import Step


@dataclass(frozen=True, kw_only=True, eq=False)
class Anonymization:
    """A table whose classes keep every promise, with what that cost."""

    original: Table
    models: tuple[PrivacyModel, ...]
    loss_model: LossModel
    recoding: Recoding
    combination_of_row: NDArray[np.int32]  # (n,) of the original
    loss: float
    column_losses: Floats  # (d,)
    proven: bool  # nothing can be better (of each round, where several nodes recode)
    at_least: float  # the loss of one node for all rows is no smaller
    n_nodes: int
    n_looked_at: int
    way: tuple[Step, ...]  # nodes that were better than all before

    @property
    def hierarchies(self) -> tuple[Hierarchy, ...]:
        """The hierarchy of each quasi-identifier."""
        return self.recoding.combinations.hierarchies

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The names of the columns that are generalized."""
        return tuple(hierarchy.column for hierarchy in self.hierarchies)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The level of each quasi-identifier, in each round; full-domain generalization has one."""
        return self.recoding.nodes

    @property
    def n_suppressed(self) -> int:
        """How many rows are not released."""
        return self.recoding.n_suppressed

    @cached_property
    def rows(self) -> Indices:
        """Which rows of the original are released."""
        return np.flatnonzero(self.recoding.kept[self.combination_of_row])

    @cached_property
    def classes(self) -> Indices:
        """The number of each released row's class."""
        return self.recoding.classes[0][self.combination_of_row[self.rows]]

    @property
    def class_sizes(self) -> Indices:
        """How many rows each class has."""
        return self.recoding.classes[1]

    @cached_property
    def table(self) -> Table:
        """The released rows: quasi-identifiers generalized, all other columns as they were.

        A column that is nowhere generalized keeps its type; the others hold the hierarchy's labels.
        """
        rows = self.rows
        own = self.combination_of_row[rows]
        values = np.empty((len(rows), len(self.original.schema)), order="F")
        columns: list[Column] = []
        places = {hierarchy.column: place for place, hierarchy in enumerate(self.hierarchies)}
        for position, column in enumerate(self.original.schema.columns):
            place = places.get(column.name)
            if place is None or all(node[place] == 0 for node in self.nodes):
                values[:, position] = self.original.values[rows, position]
                columns.append(column)
            else:
                labels, codes = self.recoding.labels(place)
                cells, kept = _without_missing(labels, codes)
                values[:, position] = cells[own]
                columns.append(Categorical(name=column.name, labels=kept))
        return Table(schema=Schema(tuple(columns)), values=values)

    @cached_property
    def levels(self) -> Indices:
        """The level of each quasi-identifier in each class, (n_classes, d)."""
        rounds = self.recoding.rounds[self._representatives]
        return np.array(self.nodes)[rounds]

    @cached_property
    def values(self) -> Indices:
        """The value of each class at its level, among those of the hierarchy's level, (n_classes, d)."""
        leaves = self.recoding.combinations.leaves
        return np.stack(
            [
                hierarchy.codes[self.levels[:, place], leaves[place][self._representatives]]
                for place, hierarchy in enumerate(self.hierarchies)
            ],
            axis=1,
        )

    def leaves_of(self, class_number: int, column: str) -> Indices:
        """Return the leaves that a class may stand for in a column: what a transition draws from."""
        place = self.quasi_identifiers.index(column)
        level, value = self.levels[class_number, place], self.values[class_number, place]
        return self.hierarchies[place].members(int(level), int(value))

    @cached_property
    def _representatives(self) -> Indices:
        """A combination of each class."""
        numbers = self.recoding.classes[0]
        kept = np.flatnonzero(numbers >= 0)
        found = np.empty(len(self.class_sizes), dtype=np.int64)
        found[numbers[kept[::-1]]] = kept[::-1]
        return found


def _without_missing(labels: tuple[str, ...], codes: Indices) -> tuple[Floats, tuple[str, ...]]:
    """Let the label of missing values be missing; return cells and the other labels."""
    cells = codes.astype(np.float64)
    if MISSING not in labels:
        return cells, labels
    gone = labels.index(MISSING)
    cells[codes == gone] = np.nan
    cells[codes > gone] -= 1
    return cells, labels[:gone] + labels[gone + 1 :]
