"""Real people without those who stand apart: are they the ones whom a release betrays?"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.sampling import count_share
from tabveil.core.table import Split, Table
from tabveil.engines.representation import Mixed, outlier_factors, require_representation
from tabveil.errors import ParameterError, SchemaError
from tabveil.protocols import People, Representation


@dataclass(frozen=True, kw_only=True)
class OutlierRemoval:
    """Remove the people who stand apart most, before anything is learned.

    The level is the share of all real rows that is removed: those with the largest local outlier factor.

    Parameters
    ----------
    n_neighbors
        How many distinct rows around a person it is compared with.
    representation
        What is called near: Gower's distance (``Mixed``), the Euclidean one, or the distance in an embedding,
        as in the papers.

    Notes
    -----
    Rows are judged among the rows of train, control and release together, and the same rule removes them from
    all three. Were they removed from train alone, control would have outliers far from everything while train
    has none, and metrics would take that for a leak. Each table loses about the level, not exactly. Of equal
    factors the rows to go are drawn at random. Never more rows are removed than the level says.

    References
    ----------
    - Plasencia Palacios, M. N. et al. (2025). Empirical Evaluation of Structured Synthetic Data Privacy
      Metrics: Novel Experimental Framework. arXiv:2512.16284. (Appendix C.)

    Examples
    --------
    >>> from tabveil.core.table import Numeric, Schema
    >>> ages = Schema((Numeric(name="age", low=0, high=99, decimals=0),))
    >>> train, control, release = (
    ...     Table(schema=ages, values=np.array([[30.0], [31.0], [other]])) for other in (99.0, 32.0, 33.0)
    ... )
    >>> people = People(train=train, control=control, release=release)
    >>> near = OutlierRemoval(n_neighbors=2)
    >>> split = near(people, 0.12, lambda train, release: release, rng=np.random.default_rng(0))
    >>> split.train.column("age").tolist()
    [30.0, 31.0]
    """

    n_neighbors: int = 20
    representation: Representation = field(default_factory=Mixed)

    name: ClassVar[str] = "outlier_removal"
    levels: ClassVar[tuple[float, ...]] = (0.01, 0.02, 0.05, 0.10)

    def __post_init__(self) -> None:
        check.at_least("OutlierRemoval", "n_neighbors", self.n_neighbors, 1)
        require_representation("OutlierRemoval", self.representation)

    @staticmethod
    def check_level(level: float) -> None:
        """Require a share of which somebody is left."""
        check.below_one("OutlierRemoval", "level", level)

    def __call__(
        self, people: People, level: float, make: Callable[[Table, Table], Table], *, rng: Generator
    ) -> Split:
        """Remove a share ``level`` of the people, and learn from those who are left in train."""
        self.check_level(level)
        tables = (people.train, people.control, people.release)
        if any(table.schema != people.train.schema for table in tables):
            raise SchemaError("OutlierRemoval: train, control and release must have the same schema.")
        ends = np.cumsum([len(table) for table in tables])
        factors = outlier_factors(
            _together(tables), self.representation, n_neighbors=self.n_neighbors, rng=rng
        )
        order = rng.permutation(len(factors))
        order = order[np.argsort(-factors[order], kind="stable")]  # the most outlying first, equals by lot
        stays = np.ones(len(factors), dtype=np.bool_)
        stays[order[: count_share(level, len(factors))]] = False
        train, control, release = (
            table.take(np.flatnonzero(rows))
            for table, rows in zip(tables, np.split(stays, ends[:-1]), strict=True)
        )
        for role, table in (("train", train), ("release", release)):
            if not len(table):
                raise ParameterError(f"OutlierRemoval: level must leave a row of {role}, got {level!r}.")
        return Split(train=train, control=control, synthetic=make(train, release))


def _together(tables: tuple[Table, ...]) -> Table:
    return Table(schema=tables[0].schema, values=np.concatenate([table.values for table in tables]))
