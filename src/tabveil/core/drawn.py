"""A part of the people of an audit, drawn by lot: fewer are asked, in tables that stay whole.

A leak is a share of people. An attack that asks a tenth of them for their nearest released row finds that
share in the tenth, as long as the release is whole: only the interval is wider. Drawing from the release as
well would lose most copies of those who are asked. Other measures ask released rows for their nearest real
ones; there the release is drawn from, and the real rows stay whole. What compares tables as they are is given
all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Self

from numpy.random import Generator

from tabveil.core.result import Result, Scores
from tabveil.core.sampling import rows_of_people
from tabveil.core.table import Indices, Split

Asked = Literal["people", "people, by claims", "released rows", "released rows and control", "everything"]
"""Whom a measure asks, one by one, about the tables that it does not draw from.

Where a release's claims are tried on people, a part of them meets a part of the claims: rates of people hold
as they are, and those of claims are smaller.
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawn:
    """Which rows of each table were drawn: by what they hold, and not by where they stand."""

    whole: Split
    train: Indices
    control: Indices
    synthetic: Indices

    @classmethod
    def of(cls, split: Split, n_people: int, *, rng: Callable[[str], Generator]) -> Self | None:
        """Draw so many people each of train and control, and released rows; None where there are no more.

        ``rng`` gives each table a stream of its own: who is drawn from one hangs on no other.
        """
        if n_people >= max(split.train.n_people, split.control.n_people):
            return None
        released = replace(split.synthetic, people=None)
        return cls(
            whole=split,
            train=rows_of_people(split.train, n_people, rng=rng("train")),
            control=rows_of_people(split.control, n_people, rng=rng("control")),
            synthetic=rows_of_people(released, n_people, rng=rng("synthetic")),
        )

    def split(self, asked: Asked = "people", of: Split | None = None) -> Split:
        """Return the tables for those who ask so; ``of`` are others with the same rows."""
        tables = of or self.whole
        return replace(
            tables, **{role: getattr(tables, role).take(rows) for role, rows in self._rows_of(asked).items()}
        )

    def placed(self, result: Result, asked: Asked) -> Result:
        """Return a result whose scores are of rows as they stand in whole tables."""
        rows = self._rows_of(asked)
        return replace(
            result,
            sensitive_scores=tuple(
                Scores(table=each.table, rows=rows[each.table][each.rows], values=each.values)
                if each.table in rows
                else each
                for each in result.sensitive_scores
            ),
        )

    def _rows_of(self, asked: Asked) -> dict[str, Indices]:
        match asked:
            case "people" | "people, by claims":
                return {"train": self.train, "control": self.control}
            case "released rows":
                return {"synthetic": self.synthetic}
            case "released rows and control":
                return {"synthetic": self.synthetic, "control": self.control}
            case _:
                return {}
