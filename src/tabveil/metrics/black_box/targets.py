"""Who is attacked: the people who have nobody like them, and as many at random."""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.random import Generator

from tabveil.core.table import Floats, Indices, Table
from tabveil.engines.neighbors import N_OTHERS, Space, to_others

Group = Literal["vulnerable", "random"]


def vulnerability(table: Table) -> Floats:
    """Return the mean distance of each row to the five nearest other rows, (n,): the more, the lonelier."""
    return to_others(Space.gower(table.schema), table, N_OTHERS)[:, 1]


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
