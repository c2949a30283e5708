"""From a table and its hierarchies to a release that keeps its promises."""

from collections.abc import Mapping, Sequence

from tabveil.core import check, workers
from tabveil.core.table import Table
from tabveil.errors import NotApplicable, ParameterError
from tabveil.synthesis.anonymize.combinations import combine
from tabveil.synthesis.anonymize.grouping_kernels import roll_up
from tabveil.synthesis.anonymize.hierarchy import Hierarchy
from tabveil.synthesis.anonymize.lattice import Lattice, Node
from tabveil.synthesis.anonymize.losses import GeneralizationLoss, LossModel
from tabveil.synthesis.anonymize.models import Closeness, PrivacyModel
from tabveil.synthesis.anonymize.recoded_loss import column_losses, recoded_loss
from tabveil.synthesis.anonymize.recoding import Recoding, of_node, recode_locally
from tabveil.synthesis.anonymize.result import Anonymization
from tabveil.synthesis.anonymize.search import BUDGET, look_at, search

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
        raise NotApplicable("anonymize: the table has no rows.")
    _require_sound(hierarchies, models)
    check.share("anonymize", "suppression", suppression)
    check.at_least("anonymize", "budget", budget, 1)
    loss = loss or GeneralizationLoss()
    trees = dict(sensitive_hierarchies or {})
    check.known_names("anonymize", "column", [m.column for m in models if m.column], table.schema.names)
    for model in models:
        if isinstance(model, Closeness) and model.distance == "hierarchical" and model.column not in trees:
            raise ParameterError(f"anonymize: hierarchical distances of {model.column!r} need its hierarchy.")
    workers.announce_compilation(roll_up)
    sensitive = dict.fromkeys(model.column for model in models if model.column is not None)
    combinations, of_row = combine(table, hierarchies, {name: trees.get(name) for name in sensitive})
    most = int(suppression * len(table) + ROUNDING)
    lattice = Lattice(combinations)
    if levels is None:
        found = search(lattice, models, loss, most_suppressed=most, budget=budget)
    else:
        node = _chosen(hierarchies, levels, local=local)
        found = look_at(lattice, node, models, loss, most_suppressed=most)
    recoding, proven = of_node(lattice, found), found.proven
    if local:
        recoding, proven = _best_local(
            lattice, recoding, models, loss, most=most, budget=budget, proven=proven
        )
    if recoding.n_suppressed == len(table):
        where = "at any level" if levels is None else "at these levels"
        raise NotApplicable(f"anonymize: no row can be released: no class keeps all promises {where}.")
    return Anonymization(
        original=table,
        models=tuple(models),
        loss_model=loss,
        recoding=recoding,
        combination_of_row=of_row,
        loss=recoded_loss(loss, recoding),
        column_losses=column_losses(recoding),
        proven=proven,
        at_least=found.at_least,
        n_nodes=found.n_nodes,
        n_looked_at=found.n_looked_at,
        way=found.way,
    )


def _best_local(
    lattice: Lattice,
    first: Recoding,
    models: Sequence[PrivacyModel],
    loss: LossModel,
    *,
    most: int,
    budget: int,
    proven: bool,
) -> tuple[Recoding, bool]:
    """Recode locally from the best node within the limit, and from the best of all, whose gaps are filled."""
    starts = [(first, proven)]
    if most < lattice.combinations.n_rows:
        n_rows = lattice.combinations.n_rows
        freely = search(lattice, models, loss, most_suppressed=n_rows, budget=budget)
        starts.append((of_node(lattice, freely), freely.proven))
    tried = []
    for start, start_proven in starts:
        recoding, rounds_proven = recode_locally(start, models, loss, budget=budget)
        if recoding.n_suppressed <= most:
            tried.append((recoding, start_proven and rounds_proven))
    return min(tried, key=lambda item: recoded_loss(loss, item[0]))


def _chosen(hierarchies: Sequence[Hierarchy], levels: Mapping[str, int], *, local: bool) -> Node:
    """Return the node of levels that somebody chose."""
    if local:
        raise ParameterError("anonymize: levels that are chosen leave nothing to recode locally.")
    check.known_names("anonymize", "hierarchy for levels of", levels, [item.column for item in hierarchies])
    node = []
    for hierarchy in hierarchies:
        if hierarchy.column not in levels:
            raise ParameterError(f"anonymize: levels must name column {hierarchy.column!r}, too.")
        level, highest = levels[hierarchy.column], hierarchy.n_levels - 1
        if not 0 <= level <= highest:
            raise ParameterError(
                f"anonymize: column {hierarchy.column!r} has the levels 0 to {highest}, got {level}."
            )
        node.append(level)
    return tuple(node)


def _require_sound(hierarchies: Sequence[Hierarchy], models: Sequence[PrivacyModel]) -> None:
    if not hierarchies:
        raise ParameterError("anonymize: name at least one quasi-identifier, with its hierarchy.")
    if not models:
        raise ParameterError("anonymize: name at least one privacy model, such as k-anonymity.")
    names = [hierarchy.column for hierarchy in hierarchies]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"anonymize: column {name!r} has two hierarchies.")
    for model in models:
        if model.column in names:
            raise ParameterError(
                f"anonymize: column {model.column!r} is sensitive and a quasi-identifier; it can be only one."
            )
