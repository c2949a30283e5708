"""Who stands apart from all others, as a representation sees them."""

from numpy.random import Generator

from tabveil.core.settings.registry import completed
from tabveil.core.table import Floats, Split, Table
from tabveil.engines.neighbors import local_outlier_factors
from tabveil.errors import ParameterError
from tabveil.protocols import Representation


def outlier_factors(
    table: Table, representation: Representation, *, n_neighbors: int, rng: Generator
) -> Floats:
    """Return the local outlier factor of every row among all rows of the table, (n,).

    A representation that learns learns from these very rows: nobody is treated in a way of their own.
    """
    split = Split(train=table, control=table, synthetic=table)
    view, names = representation.view(split, rng=rng), table.schema.names
    return local_outlier_factors(view.space(names), view.see(table, names), n_neighbors=n_neighbors)


def require_representation(owner: str, given: object) -> None:
    """Refuse what is no representation, such as the class of one."""
    if isinstance(given, type) or not callable(getattr(given, "view", None)):
        raise ParameterError(
            owner,
            f"representation must be one, such as tabveil.engines.representation.Mixed(), got {given!r}.",
        )
    completed(given, Representation)
