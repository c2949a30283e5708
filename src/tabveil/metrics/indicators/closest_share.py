"""The closest share: are synthetic rows nearer to training people than to people never seen?"""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.random import Generator

from tabveil.core.estimate import Estimate, excess, known, share
from tabveil.core.people import numbered_together, require_people, rows_worth
from tabveil.core.result import Result, Scores, params_of
from tabveil.core.sampling import group_equal_rows, in_order
from tabveil.core.storage import spool
from tabveil.core.table import Floats, Indices, Split, Table
from tabveil.core.wording import share_of
from tabveil.engines.neighbors import NearestRows, Space, shared
from tabveil.errors import NotApplicable
from tabveil.metrics.indicators.comparison import (
    ByDistance,
    at_most_all,
    nearest,
    search,
    without_people,
)

MOST_TIES = 16
"""Equally near rows that are looked at: more would hardly change the part that is train."""
FEWEST_PEOPLE = 3.5
"""People of as many rows in each table, where they have several: who of fewer owns how much is too skewed."""
NO_ROOM = 1e-9


@dataclass(frozen=True, kw_only=True)
class ClosestShare(ByDistance):
    """Are synthetic rows closer to training people than to people never seen?

    For every synthetic row it is asked which real row is the nearest: one of train or one of control. If the
    generator learned about people in general and not about its training people, training rows are the nearest
    as often as they are many: in one half of the cases, where control is as large as train.

    Parameters
    ----------
    distance
        Gower's distance, made for numbers and categories side by side (0: equal, 1: as different as can be in
        every column), or the Euclidean one.
    encoding
        How the Euclidean distance reads categories: one column for each (``"onehot"``), or numbered in order
        (``"ordinal"``).
    confidence
        The level of all intervals: at 0.95, 95 of 100 such intervals hold the true value.

    Notes
    -----
    ``attack`` is the share of synthetic rows whose nearest real row is a training row; ``control`` is what
    chance gives, the share of training rows among all real rows. ``risk = (attack - control) / (worst -
    control)``: 0 where synthetic rows are as near to people never seen, 1 where they are as near to training
    people as these to themselves (``worst``, 1 where no row is in both tables), at any sizes. There is no
    ``baseline``.

    Of several rows that are equally near each counts its part. Synthetic rows whose nearest real row is the
    same are right or wrong together, so the interval counts how many independent rows they are worth.

    References
    ----------
    - Platzer, M. and Reutterer, T. (2021). Holdout-Based Empirical Assessment of Mixed-Type Synthetic Data.
      Frontiers in Big Data.
    - Gower, J. C. (1971). A General Coefficient of Similarity and Some of Its Properties. Biometrics.
    """

    name: ClassVar[str] = "closest_share"
    title: ClassVar[str] = "Share closer to train"

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Ask each synthetic row for its nearest real row."""
        split.require_control(self.name)
        require_people(self.name, split, self.confidence)
        worth = min(rows_worth(split.train), rows_worth(split.control))
        if split.train.people is not None and worth < FEWEST_PEOPLE:
            raise NotApplicable(self.name, "most rows of train or of control are of a few people.")
        synthetic, space = in_order(without_people(split.synthetic)), self.space(split)
        real = _RealRows.of(split.train, split.control, rng=rng)
        found = real.nearest(space, (split.train, split.control), synthetic.table)
        part, attack = real.share(found, self.confidence)
        chance = known(real.chance, len(part))
        risk = excess(attack, chance, real.worst) if real.worst - real.chance > NO_ROOM else None
        if risk is None:
            raise NotApplicable(self.name, "train and control hold the same rows.")
        return Result(
            metric=self.name,
            labels=self.labels,
            params=params_of(self),
            risk=at_most_all(risk),
            attack=attack,
            control=chance,
            details={
                "nearer_to_train": int(np.sum(part == 1)),
                "nearer_to_control": int(np.sum(part == 0)),
                "ties": int(np.sum((part > 0) & (part < 1))),
                "worst": real.worst,
                "n_train": len(split.train),
                "n_control": len(split.control),
            },
            sensitive_scores=(Scores(table="synthetic", rows=synthetic.rows, values=part),),
        )

    def sentence(self, result: Result) -> str:
        """Tell how many rows are nearer to train."""
        return (
            f"{share_of(result.attack)} of synthetic rows are nearer to a training row than to a row the "
            f"generator never saw; chance alone gives {share_of(result.control)}."
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class _RealRows:
    """The different rows of train and control together, in a random order, and how often each has them.

    Given the rows, which of them are train is chance, as is the order of equally near ones: of more than can
    be looked at, the first are a fair sample.
    """

    records: Table
    numbers: tuple[Indices, Indices]  # (n_train,), (n_control,) which record each row is
    train: Indices  # (r,) how many training rows a record is
    rows: Indices  # (r,) how many rows of either
    people: "_Owners | None"  # where people may have several rows

    @classmethod
    def of(cls, train: Table, control: Table, *, rng: Generator) -> Self:
        groups = group_equal_rows(train, control)
        values = spool.stacked([train.values, control.values])
        _, first = np.unique(np.concatenate(groups), return_index=True)
        n_train, n_control = (np.bincount(group, minlength=len(first)) for group in groups)
        order = rng.permutation(len(first))
        place = np.argsort(order)
        return cls(
            records=Table(schema=train.schema, values=spool.take_rows(values, first[order])),
            numbers=(place[groups[0]], place[groups[1]]),
            train=n_train[order],
            rows=(n_train + n_control)[order],
            people=_Owners.of(train, control, place[np.concatenate(groups)]),
        )

    def nearest(self, space: Space, tables: tuple[Table, Table], synthetic: Table) -> NearestRows:
        """Find the records that are nearest to each synthetic row; which others are near does not matter.

        Where others ask for the nearest rows of train, and of control, these tell: but for rows with more
        equally near ones than anybody looked at.
        """
        n = min(MOST_TIES, len(self.records))
        sides = [search(space, in_order(table).table, synthetic, 1) for table in tables]
        known = [shared.n_answered(side) for side in sides]
        if min(known) < 2 or tables[0].people is not None:  # noqa: PLR2004 - a second one says if there are ties
            return nearest(space, self.records, synthetic, n)
        found = [shared.nearest(replace(side, n_neighbors=k)) for side, k in zip(sides, known, strict=True)]
        best = np.minimum(*(near.distance[:, 0] for near in found))[:, None]
        tied = [near.distance == best for near in found]
        nobody = len(self.records)
        owners = np.concatenate(
            [
                np.where(equal, number[table.content_order][near.index], nobody)
                for equal, number, table, near in zip(tied, self.numbers, tables, found, strict=True)
            ],
            axis=1,
        )
        index = _once(owners, nobody)[:, :n]
        index = np.pad(index, ((0, 0), (0, n - index.shape[1])), constant_values=nobody)
        distance = np.where(index < nobody, best, np.inf)
        # Where the last one looked at is as near, there may be more.
        more = np.flatnonzero(tied[0][:, -1] | tied[1][:, -1] | (index[:, -1] < nobody))
        index[index == nobody] = 0
        if len(more):
            looked = nearest(space, self.records, synthetic.take(more), n)
            distance[more], index[more] = looked.distance, looked.index
        return NearestRows(distance=distance, index=index)

    @property
    def chance(self) -> float:
        return int(self.train.sum()) / int(self.rows.sum())

    @property
    def worst(self) -> float:
        """What training rows would score: each has itself as the nearest, and what equals it."""
        return float(np.sort(self.train**2 / self.rows).sum()) / int(self.train.sum())

    def share(self, found: NearestRows, confidence: float) -> tuple[Floats, Estimate]:
        """Return which part of each synthetic row's nearest rows is train, (m,), and the mean of the parts.

        That lies between Wilson's bounds for as many coins as it is worth.
        The real rows are the observations, each with the synthetic rows it owns, and the noise is the sum of
        squares of what they own. As the number of training rows is given, were all to own equally many there
        would be no noise at all: what they own on average is taken off.
        """
        tied = found.distance == found.distance[:, :1]
        of_train, of_all = ((counts[found.index] * tied).sum(axis=1) for counts in (self.train, self.rows))
        part = np.asarray(of_train / of_all)
        m, n = len(part), int(self.rows.sum())
        of_one = tied / of_all[:, None]  # what a row of each owns
        owned = np.bincount(found.index.ravel(), weights=of_one.ravel(), minlength=len(self.rows))
        if self.people is not None:
            worth = m * m / self.people.noise(np.asarray(owned, np.float64), self.chance)
        else:
            noise = (float(np.sort(self.rows * owned**2).sum()) - m * m / n) * n / (n - 1)
            worth = m * m / max(noise, 1.0)
        return part, share(float(np.sort(part).mean()), m, effective=worth, confidence=confidence)


def _once(numbers: Indices, nobody: int) -> Indices:
    """Return the different numbers of each row (n, k) in ascending order; ``nobody``, above all, fills it."""
    ordered = np.sort(numbers, axis=1)
    ordered[:, 1:][ordered[:, 1:] == ordered[:, :-1]] = nobody
    return np.sort(ordered, axis=1)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Owners:
    """Whose the real rows are: people are dealt to train and control, each with all rows."""

    record: Indices  # (n,) which record each row is
    whose: Indices  # (n,) people numbered from 0
    weight: float  # how much of what people own is noise of train's sum: p (1 - p) if all have as many rows

    @classmethod
    def of(cls, train: Table, control: Table, record: Indices) -> Self | None:
        if train.people is None:
            return None
        whose = numbered_together(train, control)
        rows, part = np.bincount(whose), train.n_people / (train.n_people + control.n_people)
        of_train, squares = len(train) / len(whose), rows.astype(np.float64) ** 2
        by_rows = (1 - of_train) ** 2 * squares[: train.n_people].sum()
        by_rows += of_train**2 * squares[train.n_people :].sum()
        return cls(record=record, whose=whose, weight=max(part * (1 - part), by_rows / squares.sum()))

    def noise(self, owned: Floats, chance: float) -> float:
        """Return the variance of how many rows train owns, in coins that fall to it by ``chance``.

        What a person owns beyond their part of all rows is what dealing them to train changes. Whoever has
        most rows was dealt only once: their noise counts where they are, if that is more.
        """
        rows = np.bincount(self.whose)
        owned_by = np.bincount(self.whose, weights=owned[self.record])
        beyond = owned_by - rows * (float(np.sort(owned_by).sum()) / len(self.whose))
        squares = float(np.sort(beyond**2).sum()) * len(rows) / (len(rows) - 1)
        return max(squares * self.weight / (chance * (1 - chance)), 1.0)
