"""From a table and its hierarchies to a release that keeps its promises, and all that is known about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from tabveil.core import check, workers
from tabveil.core.table import Categorical, Column, Floats, Indices, Schema, Table
from tabveil.errors import NotApplicable, ParameterError
from tabveil.synthesis.anonymize.class_kernels import roll_up
from tabveil.synthesis.anonymize.hierarchy import MISSING, Hierarchy, combine
from tabveil.synthesis.anonymize.lattice import Lattice, Node
from tabveil.synthesis.anonymize.losses import GeneralizationLoss, LossModel
from tabveil.synthesis.anonymize.privacy_models import Closeness, PrivacyModel
from tabveil.synthesis.anonymize.recoding import Recoding, Searching, of_node, recode_locally, recoded_loss
from tabveil.synthesis.anonymize.search import BUDGET, LatticeSearch, SearchStep
from tabveil.synthesis.anonymize.telling import TellingColumn, telling_columns


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
    way: tuple[SearchStep, ...]  # nodes that were better than all before

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
    def telling(self) -> tuple[tuple[TellingColumn, ...], int]:
        """The columns that stay and tell quasi-identifiers that do not, and k if they are known, too."""
        touched = [
            name
            for place, name in enumerate(self.quasi_identifiers)
            if any(node[place] for node in self.nodes)
        ]
        return telling_columns(
            self.original.select(
                [
                    name
                    for name in self.original.schema.names
                    if name in touched or name not in self.quasi_identifiers
                ]
            ),
            self.rows,
            self.classes,
            touched,
        )

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
                cells, kept = _without_missing(*self.recoding.labels(place))
                values[:, position] = cells[own]
                columns.append(Categorical(name=column.name, labels=kept))
        return Table(schema=Schema(tuple(columns)), values=values)

    @cached_property
    def levels(self) -> Indices:
        """The level of each quasi-identifier in each class, (n_classes, d)."""
        return np.array(self.nodes)[self.recoding.rounds[self._representatives]]

    @cached_property
    def values(self) -> Indices:
        """The value of each class at its level, among those of the hierarchy's level, (n_classes, d)."""
        leaves = self.recoding.combinations.leaves
        columns = [
            hierarchy.codes[self.levels[:, place], leaves[place][self._representatives]]
            for place, hierarchy in enumerate(self.hierarchies)
        ]
        return np.stack(columns, axis=1)

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
        return kept[np.unique(numbers[kept], return_index=True)[1]]


def _without_missing(labels: tuple[str, ...], codes: Indices) -> tuple[Floats, tuple[str, ...]]:
    """Let the label of missing values be missing; return cells and the other labels."""
    cells = codes.astype(np.float64)
    if MISSING not in labels:
        return cells, labels
    gone = labels.index(MISSING)
    cells[codes == gone] = np.nan
    cells[codes > gone] -= 1
    return cells, labels[:gone] + labels[gone + 1 :]


ROUNDING = 1e-9  # 5 % of 40 rows are 2, whatever the last bits say


def anonymize(
    table: Table,
    hierarchies: Sequence[Hierarchy],
    *,
    models: Sequence[PrivacyModel],
    loss: LossModel | None = None,
    suppression: float = 1.0,
    local: bool = False,
    budget: int = BUDGET,
    sensitive_hierarchies: Mapping[str, Hierarchy] | None = None,
    levels: Mapping[str, int] | None = None,
) -> Anonymization:
    """Generalize a table as little as its promises allow.

    Parameters
    ----------
    hierarchies
        One for each quasi-identifier; which columns those are is the user's word.
    models
        What every class of equal quasi-identifiers must promise; all of them must hold.
    loss
        What is made as small as possible; the geometric mean of the columns' losses if left out.
    suppression
        The share of rows that may be left out of the release.
    local
        Generalize the rows that would be suppressed by rules of their own.
    budget
        How many groups a search may look at before it is broken off; the result then says so.
    sensitive_hierarchies
        For hierarchical distances of sensitive columns.
    levels
        The level of each quasi-identifier, where somebody chose them: nothing is searched for, and no row has
        a say in how far it is generalized. Classes that break a promise are suppressed all the same.
    """
    if len(table) == 0:
        raise NotApplicable("anonymize", "the table has no rows.")
    _require_sound(hierarchies, models)
    check.share("anonymize", "suppression", suppression)
    check.at_least("anonymize", "budget", budget, 1)
    loss = loss or GeneralizationLoss()
    trees = dict(sensitive_hierarchies or {})
    check.known_names("anonymize", "column", [m.column for m in models if m.column], table.schema.names)
    for model in models:
        if isinstance(model, Closeness) and model.distance == "hierarchical" and model.column not in trees:
            raise ParameterError(
                "anonymize", f"hierarchical distances of {model.column!r} need its hierarchy."
            )
    workers.announce_compilation(roll_up)
    sensitive = {model.column: trees.get(model.column) for model in models if model.column is not None}
    combinations, of_row = combine(table, hierarchies, sensitive)
    most = int(suppression * len(table) + ROUNDING)
    lattice = Lattice(combinations)
    searching = partial(LatticeSearch, models=models, loss=loss, budget=budget)
    first = searching(lattice, most_suppressed=most)
    found = first.run() if levels is None else first.take(_chosen(hierarchies, levels, local=local))
    recoding, proven = of_node(lattice, found), found.proven
    if local:
        recoding, proven = _best_local(lattice, recoding, loss, searching, most=most, proven=proven)
    if recoding.n_suppressed == len(table):
        where = "at any level" if levels is None else "at these levels"
        raise NotApplicable("anonymize", f"no row can be released: no class keeps all promises {where}.")
    return Anonymization(
        original=table,
        models=tuple(models),
        loss_model=loss,
        recoding=recoding,
        combination_of_row=of_row,
        loss=recoded_loss(loss, recoding),
        column_losses=recoding.column_losses,
        proven=proven,
        at_least=found.at_least,
        n_nodes=found.n_nodes,
        n_looked_at=found.n_looked_at,
        way=found.way,
    )


def _best_local(
    lattice: Lattice, first: Recoding, loss: LossModel, searching: Searching, *, most: int, proven: bool
) -> tuple[Recoding, bool]:
    """Recode locally from the best node within the limit, and from the best of all, whose gaps are filled."""
    starts = [(first, proven)]
    if most < lattice.combinations.n_rows:
        freely = searching(lattice, most_suppressed=lattice.combinations.n_rows).run()
        starts.append((of_node(lattice, freely), freely.proven))
    tried = []
    for start, start_proven in starts:
        recoding, rounds_proven = recode_locally(start, searching)
        if recoding.n_suppressed <= most:
            tried.append((recoding, start_proven and rounds_proven))
    return min(tried, key=lambda item: recoded_loss(loss, item[0]))


def _chosen(hierarchies: Sequence[Hierarchy], levels: Mapping[str, int], *, local: bool) -> Node:
    """Return the node of levels that somebody chose."""
    if local:
        raise ParameterError("anonymize", "levels that are chosen leave nothing to recode locally.")
    check.known_names("anonymize", "hierarchy for levels of", levels, [item.column for item in hierarchies])
    node = []
    for hierarchy in hierarchies:
        if hierarchy.column not in levels:
            raise ParameterError("anonymize", f"levels must name column {hierarchy.column!r}, too.")
        level, highest = levels[hierarchy.column], hierarchy.n_levels - 1
        if not 0 <= level <= highest:
            raise ParameterError(
                "anonymize", f"column {hierarchy.column!r} has the levels 0 to {highest}, got {level}."
            )
        node.append(level)
    return tuple(node)


def _require_sound(hierarchies: Sequence[Hierarchy], models: Sequence[PrivacyModel]) -> None:
    if not hierarchies:
        raise ParameterError("anonymize", "name at least one quasi-identifier, with its hierarchy.")
    if not models:
        raise ParameterError("anonymize", "name at least one privacy model, such as k-anonymity.")
    names = [hierarchy.column for hierarchy in hierarchies]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError("anonymize", f"column {name!r} has two hierarchies.")
    for model in models:
        if model.column in names:
            raise ParameterError(
                "anonymize",
                f"column {model.column!r} is sensitive and a quasi-identifier; it can be only one.",
            )
