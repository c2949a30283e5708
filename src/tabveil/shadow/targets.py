"""Who is attacked: the people who have nobody like them, and as many at random."""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.random import Generator

from tabveil.neighbors import Neighbors, Space
from tabveil.table import Floats, Indices, Table

Group = Literal["vulnerable", "random"]

N_OTHERS = 5


def vulnerability(table: Table) -> Floats:
    """Return the mean distance of each row to the five nearest other rows, (n,): the more, the lonelier."""
    near = Neighbors(Space.gower(table.schema), table).nearest_other(min(N_OTHERS, len(table) - 1))
    return np.asarray(near.distance.mean(axis=1))


@dataclass(frozen=True, kw_only=True, eq=False)
class Targets:
    """People to attack, by their positions in the table; how vulnerable each is, 1 the most of all rows."""

    rows: Indices  # (t,)
    ranks: Indices  # (t,)
    groups: tuple[Group, ...]

    @classmethod
    def choose(cls, table: Table, n_targets: int, *, rng: Generator) -> Self:
        """Take the most vulnerable half, and the others at random among all that are left.

        Of those equally lonely the content decides, not the order of the rows.
        """
        order = np.lexsort((table.row_hash(), -vulnerability(table)))
        n_vulnerable = (n_targets + 1) // 2
        left = n_vulnerable + rng.choice(len(table) - n_vulnerable, n_targets - n_vulnerable, replace=False)
        ranks = np.concatenate([np.arange(n_vulnerable), np.sort(left)])
        groups: list[Group] = ["vulnerable"] * n_vulnerable
        groups += ["random"] * (n_targets - n_vulnerable)
        return cls(rows=order[ranks], ranks=ranks + 1, groups=tuple(groups))

    def __len__(self) -> int:
        return len(self.rows)
