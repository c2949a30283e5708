"""One pool of fits serves all targets: who is attacked, who joins which fit, which rows it learns."""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.core.rng import stream
from tabveil.core.table import Floats, Indices, Table
from tabveil.engines.neighbors import N_OTHERS, Space, to_others
from tabveil.errors import ParameterError

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


Rules = Literal["fixed", "redrawn"]
"""Whether all fits learn from one table but for the targets, or each from other people."""

HELD_BACK = 5
"""Without other real rows, one in so many is held back, to stand in for targets."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Pool:
    """The rows of every fit, as positions among the real rows."""

    game: Rules
    targets: Indices  # (t,)
    others: Indices  # (n - t,) that all fits learn from; none where they are redrawn
    auxiliary: Indices  # (a,) who stands in for targets, and for all others where they are redrawn
    n_rows: int  # of a fit
    seed: int

    @classmethod
    def draw(
        cls, targets: Indices, *, n_data: int, n_control: int, n_rows: int | None, game: Rules, seed: int
    ) -> Self:
        """Part the real rows: the first ``n_data`` are those of the release, the others its control.

        ``n_rows`` of None is all that there are, less those held back where there is no control.
        """
        rng, n_targets = stream(seed, "pool"), len(targets)
        rest = rng.permutation(np.setdiff1d(np.arange(n_data), targets))
        control = np.arange(n_data, n_data + n_control)
        size = _size(n_rows, n_data, n_control, n_targets, game)
        if game == "redrawn":
            others, auxiliary = rest[:0], control if n_control else rest
            needed = size
        else:
            others = rest[: size - n_targets]
            auxiliary = control if n_control else rest[size - n_targets :]
            needed = n_targets
        if len(auxiliary) < needed:
            where = "control rows" if n_control else "rows beside those of a fit"
            raise ParameterError(
                "attack",
                f"{n_targets} targets in fits of {size:,} rows need at least {needed:,} {where}, "
                f"there are {len(auxiliary):,}; take fewer targets or fewer rows.",
            )
        return cls(
            game=game, targets=targets, others=others, auxiliary=np.sort(auxiliary), n_rows=size, seed=seed
        )

    def rng(self, fit: int, *names: str) -> Generator:
        """Return the random numbers of a fit for one purpose."""
        return stream(self.seed, self.game, f"fit {fit}", *names)

    def members(self, fit: int) -> NDArray[np.bool_]:
        """Tell which targets join a fit, (t,)."""
        return np.asarray(self.rng(fit, "members").random(len(self.targets)) < 0.5)  # noqa: PLR2004 - a coin

    def rows(self, fit: int, members: NDArray[np.bool_]) -> Indices:
        """Return the rows of a fit, (n,): each target in its place, or who stands there instead.

        Who that is does not depend on who joins. Places are the first, the rows of a table are to be mixed.
        """
        n_drawn = len(self.targets) if self.game == "fixed" else self.n_rows
        drawn = self.rng(fit, "rows").choice(self.auxiliary, n_drawn, replace=False)
        stand_in, redrawn = drawn[: len(self.targets)], drawn[len(self.targets) :]
        return np.concatenate([np.where(members, self.targets, stand_in), self.others, redrawn])

    def order(self, fit: int) -> Indices:
        """Return the order in which the rows of a fit stand: places must tell nothing."""
        return self.rng(fit, "order").permutation(self.n_rows)


def _size(n_rows: int | None, n_data: int, n_control: int, n_targets: int, game: Rules) -> int:
    if n_rows is not None:
        if not n_targets < n_rows <= n_data:
            raise ParameterError(
                "attack",
                f"rows must be more than the {n_targets} targets and at most the {n_data:,} rows of "
                f"the data, got {n_rows:,}.",
            )
        return n_rows
    if game == "redrawn":
        return min(n_data, max((n_control or n_data - n_targets) // 2, n_targets + 1))
    return n_data if n_control else n_data - max(n_targets, n_data // HELD_BACK)
