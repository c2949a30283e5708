"""How near real and synthetic rows are, before and after training rows were exchanged for control rows.

Can real and synthetic rows be told apart by their neighbors (nearest neighbor adversarial accuracy)? Does a
synthetic row point at one person, or at a crowd (nearest neighbor distance ratio)?
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tabveil.core.people import Flags, numbered, require_people
from tabveil.core.result import Result, Scores, params_of
from tabveil.core.sampling import draw, draw_people, group_equal_rows, in_order
from tabveil.core.table import Floats, Indices, Split, Table
from tabveil.core.wording import value_of
from tabveil.engines.neighbors import NearestRows, Space
from tabveil.engines.neighbors.shared import Search
from tabveil.errors import NotApplicable
from tabveil.metrics.indicators.comparison import (
    ByDistance,
    Exchange,
    ScoreGap,
    nearest,
    nearest_other,
    search,
    summary,
    without_people,
)

FEWEST_PEOPLE = 3
"""One who is left out, another, and somebody next to them."""
COUNTED = {2: "two", 3: "three"}


@dataclass(frozen=True, kw_only=True)
class AdversarialAccuracy(ByDistance):
    """Is the release more entangled with the training rows than with rows never seen?

    Mixes real and synthetic rows and asks of each whether its nearest other row is of its own kind. If real
    and synthetic rows are like draws of one population, the answer is yes in one half of the cases. If
    synthetic rows are copies, the nearest row is nearly always of the other kind. Done once with training
    rows and once with control rows.

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
    On equal numbers of real (R) and synthetic (S) rows ``AA = (mean[d_RS > d_RR] + mean[d_SR > d_SS]) / 2``
    with nearest distances between and within the tables, a row never its own neighbor, ties half. ``attack``
    is AA with training rows, ``control`` with rows never seen; 0.5: not to be told apart; 0: every row's
    nearest is its copy (here *lower* is worse). There is no ``baseline``.

    ``risk = (control - attack) / (control - worst)``: 1 for a copy of train (``worst`` is its AA, 0 unless
    rows have doubles, with which a copy ties), 0 where training rows are like control rows, and below that a
    part of ``attack - worst``. The paper's privacy loss, ``control - attack``, is in ``details``.

    Where control is smaller than train, as many training rows as there are control rows are exchanged for
    these, and ``control`` is AA scaled to an exchange of all: the more unlike the sizes, the wider the
    interval, but a copy reads 1 and fresh rows about 0. Where the release is smaller than train, train is
    sampled down to it, meets only part of what was copied, and the gap is scaled up by that. Rows that are
    each other's nearest neighbor, and synthetic rows near one real row, are right or wrong together; errors
    are computed by sets of real rows linked through their nearest neighbors.

    References
    ----------
    - Yale, A., Dash, S., Dutta, R., Guyon, I., Pavao, A. and Bennett, K. P. (2020). Generation and Evaluation
      of Privacy Preserving Synthetic Health Data. Neurocomputing.
    """

    name: ClassVar[str] = "adversarial_accuracy"
    title: ClassVar[str] = "Adversarial accuracy (NNAA)"

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Compare train with control."""
        split.require_control(self.name, 2)
        require_people(self.name, split, self.confidence)
        n = min(len(split.train), len(split.synthetic))
        if n < 2:  # noqa: PLR2004 - a row is never its own neighbor
            raise NotApplicable(self.name, "needs two rows in every table.")
        n_people = split.train.n_people * n // len(split.train)
        if split.train.people is not None and n_people < FEWEST_PEOPLE:
            raise NotApplicable(self.name, f"needs rows of {FEWEST_PEOPLE} people in every table.")
        synthetic, space = draw(without_people(split.synthetic), n, rng=rng), self.space(split)
        exchange = Exchange.of(draw_people(split.train, n_people, rng=rng).table, split.control, rng=rng)
        within = nearest_other(space, synthetic.table).distance[:, 0]
        before, after = (
            _entanglement(space, real, synthetic.table, within) for real in (exchange.before, exchange.after)
        )
        sampled = len(split.train) / len(exchange.before)
        gap = _gap_of_accuracies(before, after, exchange, worst=_worst(space, before, exchange.before))
        if gap.n_groups < 2:  # noqa: PLR2004 - nothing varies
            raise NotApplicable(self.name, "all real rows are each other's neighbors, no error can be given.")
        sizes = {"train": len(split.train), "synthetic": len(split.synthetic)}
        larger = [f"{role} ({size:,})" for role, size in sizes.items() if size > n]
        notes = [f"Compared on {n:,} rows of each; sampled down: {', '.join(larger)}."] if larger else []
        return Result(
            metric=self.name,
            labels=self.labels,
            params=params_of(self),
            risk=gap.risk(self.name, n, self.confidence).each(lambda end: min(end * sampled, 1.0)),
            attack=gap.attack(n, self.confidence),
            control=gap.control(n, self.confidence),
            details={
                "privacy_loss": gap.fresh - gap.train,
                "train": {"real_side": before.real_side, "synthetic_side": before.synthetic_side},
                "control": {
                    "real_side": exchange.fresh(before.real_side, after.real_side),
                    "synthetic_side": exchange.fresh(before.synthetic_side, after.synthetic_side),
                },
                "n_rows": n,
            },
            notes=(*exchange.note(), *notes),
            sensitive_scores=(
                Scores(table="synthetic", rows=synthetic.rows, values=within - before.distance),
            ),
        )

    def sentence(self, result: Result) -> str:
        """Tell the two accuracies."""
        return (
            f"Neighbors tell synthetic rows from training rows with accuracy {value_of(result.attack)}, from "
            f"rows never seen with {value_of(result.control)}. 0.5: not to be told apart; 0: every row has "
            "its copy."
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Entanglement:
    """Real rows of one kind against the synthetic rows."""

    real_right: Floats  # (n,) 1 where a real row is nearer to its own kind
    synthetic_right: Floats  # (n,) likewise for the synthetic rows
    has_twin: Flags  # (n,) real rows that equal another
    distance: Floats  # (n,) from each synthetic row to its nearest real row
    real_group: Indices  # (n,) real rows linked through nearest neighbors
    synthetic_group: Indices  # (n,) the group of the nearest real row
    without_each: Floats | None  # (n_people,) the accuracy without each person, where they have several rows

    @property
    def real_side(self) -> float:
        return float(self.real_right.mean())  # sums of halves are exact: order does not matter

    @property
    def synthetic_side(self) -> float:
        return float(self.synthetic_right.mean())

    @property
    def accuracy(self) -> float:
        return (self.real_side + self.synthetic_side) / 2


def _entanglement(space: Space, real: Table, synthetic: Table, within_synthetic: Floats) -> _Entanglement:
    to_synthetic = nearest(space, synthetic, real).distance
    n = 1 if real.people is None else 2
    to_real, within_real = nearest(space, real, synthetic, n), nearest_other(space, real, n)
    # (n, 1), or (n, 2): beside the next person, too
    real_right = _farther(to_synthetic, within_real.distance)
    synthetic_right = _farther(to_real.distance, within_synthetic[:, None])
    group = _linked(within_real.index[:, 0])
    without_each = None
    if real.people is not None:
        whose, nobody = numbered(real), np.full(len(synthetic), real.n_people)
        without_each = (
            _right_without_each(real_right, whose, whose[within_real.index[:, 0]], real.n_people)
            + _right_without_each(synthetic_right, nobody, whose[to_real.index[:, 0]], real.n_people)
        ) / 2
    return _Entanglement(
        real_right=real_right[:, 0],
        synthetic_right=synthetic_right[:, 0],
        has_twin=within_real.distance[:, 0] == 0,
        distance=to_real.distance[:, 0],
        real_group=group,
        synthetic_group=group[to_real.index[:, 0]],
        without_each=without_each,
    )


def _right_without_each(right: Floats, whose: Indices, next_to: Indices, n_people: int) -> Floats:
    """Return which part of rows would be right without each person, (n_people,).

    The person's own rows would not be asked, and whoever is ``next_to`` the person would be next to another:
    ``right`` says who is right then, (n, 2). All are sums of halves, which are exact.
    """
    moved = np.bincount(next_to, weights=right[:, 1] - right[:, 0], minlength=n_people)
    own = np.bincount(whose, weights=right[:, 0], minlength=n_people)[:n_people]
    asked = len(right) - np.bincount(whose, minlength=n_people)[:n_people]
    return np.asarray((right[:, 0].sum() - own + moved) / asked)


def _worst(space: Space, train: _Entanglement, table: Table) -> float:
    """Return the accuracy of a copy of train: it ties where a row has a twin.

    Among the copies, an equal row of the same person is a twin, too.
    """
    if table.people is None:
        return float(np.mean(train.has_twin)) / 2
    has_twin = nearest_other(space, replace(table, people=None)).distance[:, 0] == 0
    return (float(np.mean(train.has_twin)) + float(np.mean(has_twin))) / 4


def _gap_of_accuracies(
    before: _Entanglement, after: _Entanglement, exchange: Exchange, worst: float
) -> ScoreGap:
    """Compare the accuracies before and after training rows were exchanged.

    A real row that was kept counts in both; one that left or came counts, and belongs to a set, in one.
    """
    if before.without_each is not None and after.without_each is not None:
        without = before.without_each, after.without_each
        return exchange.gap_of_people((before.accuracy, after.accuracy), without, worst)
    kept, n, n_kept = exchange.kept, len(before.real_right), len(exchange.kept)
    # What each real and each synthetic row moves the accuracy by.
    real_before, real_after = ((each.real_right - each.real_side) / (2 * n) for each in (before, after))
    synthetic_before, synthetic_after = (
        (each.synthetic_right - each.synthetic_side) / (2 * n) for each in (before, after)
    )
    stayed = np.zeros(n)
    stayed[kept] = real_after[:n_kept]
    by_before = np.concatenate([real_before, np.zeros(n - n_kept), synthetic_before])
    by_after = np.concatenate([stayed, real_after[n_kept:], synthetic_after])
    alone, group_after = (np.arange(n) + n for _ in range(2))  # numbers no set has
    group_after[kept] = after.real_group[:n_kept]
    return ScoreGap(
        train=before.accuracy,
        fresh=exchange.fresh(before.accuracy, after.accuracy),
        worst=worst,
        by_train=by_before,
        by_fresh=by_before + (by_after - by_before) / exchange.part,
        groupings=(
            np.concatenate([before.real_group, alone[n_kept:], before.synthetic_group]),
            np.concatenate([group_after, after.real_group[n_kept:], after.synthetic_group]),
        ),
        n_groups=1 + min(int(side.real_group.max()) for side in (before, after)),
    )


def _farther(distance: Floats, other: Floats) -> Floats:
    return np.asarray((distance > other) + (distance == other) / 2)


def _linked(neighbor: Indices) -> Indices:
    """Give one number to all rows connected by 'is the nearest neighbor of'."""
    n = len(neighbor)
    links = coo_array((np.ones(n), (np.arange(n), neighbor)), shape=(n, n))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class NeighborDistanceRatio(ByDistance):
    """Do synthetic rows sit on one training record each, rather than between several?

    For each synthetic row the distance to the nearest training record is divided by the distance to the
    second nearest. Near 0 the row points at one person, near 1 at nobody in particular.

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
    ``attack`` is the mean ratio to training records, ``control`` that to as many records never seen (here
    *lower* is worse). ``risk = 1 - attack / control``: 1 where every row sits on a training record, 0 where
    training records are like control records, and ``control / attack - 1`` below that. There is no
    ``baseline``.

    Where control is smaller than train, as many training rows as there are control rows are exchanged for
    these, and ``control`` is the mean ratio scaled to an exchange of all: the more unlike the sizes, the
    wider the interval, but a copy reads 1 and fresh rows about 0. A larger control is sampled down.

    Records are *different* rows: where a record occurs twice, its double is not counted as the second
    nearest. Otherwise a copy of a common row would have the ratio 0/0, and a copied table of few levels would
    look less risky than a fresh one. Two different records at distance zero (possible only where a column
    does not count) give the ratio 1. Rows near one record are right or wrong together, so errors are computed
    by nearest record.

    References
    ----------
    - Zhao, Z., Kunar, A., Birke, R. and Chen, L. Y. (2021). CTAB-GAN: Effective Table Data Synthesizing.
      Asian Conference on Machine Learning.
    - Steier, A., Ramaswamy, L., Manoel, A. and Haushalter, A. (2025). Synthetic Data Privacy Metrics.
      arXiv:2501.03941.
    """

    name: ClassVar[str] = "neighbor_distance_ratio"
    title: ClassVar[str] = "Neighbor distance ratio (NNDR)"

    def searches(self, split: Split) -> Iterable[Search]:
        """Name those for synthetic rows, in train and in control; each is made where all records differ."""
        n, space = 2 if split.train.people is None else 3, self.space(split)
        tables = [table for table in (split.train, split.control) if table.n_people >= n]
        return [search(space, table, split.synthetic, n) for table in tables]

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Compare the ratios."""
        split.require_control(self.name, 2)
        require_people(self.name, split, self.confidence)
        synthetic, space = in_order(without_people(split.synthetic)), self.space(split)
        exchange = Exchange.of(split.train, split.control, rng=rng)
        sides = []
        for role, table in (("train", exchange.before), ("control", exchange.after)):
            records = _different(table)
            n, whose = (2, "rows") if records.people is None else (3, "people")  # one may be left out
            if records.n_people < n:
                raise NotApplicable(self.name, f"needs {COUNTED[n]} different {role} {whose}.")
            sides.append(_NearRecords(records=records, found=nearest(space, records, synthetic.table, n)))
        before, to_control = sides[0].ratio, sides[1].ratio
        gap = _gap_of_ratios(sides[0], sides[1], exchange)
        if gap.n_groups < 2:  # noqa: PLR2004 - nothing varies
            raise NotApplicable(self.name, "all synthetic rows have the same nearest real row.")
        if exchange.part < 1:  # as few as control records are: ratios hang little on numbers
            records = _different(in_order(split.control).table)
            near = nearest(space, records, synthetic.table, min(2, records.n_people)).distance
            to_control = _quotient(near[:, 0], near[:, -1])
        return Result(
            metric=self.name,
            labels=self.labels,
            params=params_of(self),
            risk=gap.risk(self.name, len(before), self.confidence),
            attack=gap.attack(len(before), self.confidence),
            control=gap.control(len(before), self.confidence),
            details={
                "to_train": summary(before),
                "to_control": summary(to_control),
                "n_train": len(split.train),
                "n_control": len(split.control),
            },
            notes=exchange.note(),
            sensitive_scores=(Scores(table="synthetic", rows=synthetic.rows, values=1 - before),),
        )

    def sentence(self, result: Result) -> str:
        """Tell the two ratios."""
        return (
            "The distance to the nearest record, divided by that to the second nearest, is "
            f"{value_of(result.attack)} on average among training records and "
            f"{value_of(result.control)} among records never seen. Near 0 a synthetic row points at one "
            "record, near 1 at none in particular."
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class _NearRecords:
    """The records next to each synthetic row: two, or three where each must be of another person."""

    records: Table
    found: NearestRows

    @property
    def ratio(self) -> Floats:
        return _quotient(self.found.distance[:, 0], self.found.distance[:, 1])

    @property
    def mean(self) -> float:
        return float(np.sort(self.ratio).mean())  # in no order of the rows

    @property
    def owner(self) -> Indices:
        return self.found.index[:, 0]

    def without_each(self, n_people: int) -> Floats:
        """Return the mean ratio were each person's records not there, (n_people,).

        Without the nearest person the next two count, and without the second the third.
        """
        first, second, third = self.found.distance.T
        owner = np.asarray(self.records.people)[self.found.index]
        lost = np.zeros(int(owner.max()) + 1 + n_people)
        for place, ratio in enumerate((_quotient(second, third), _quotient(first, third))):
            change = ratio - self.ratio
            order = np.lexsort((change, owner[:, place]))  # sums must not depend on the order of the rows
            lost += np.bincount(owner[order, place], weights=change[order], minlength=len(lost))
        return self.mean + lost[:n_people] / len(owner)


def _gap_of_ratios(before: _NearRecords, after: _NearRecords, exchange: Exchange) -> ScoreGap:
    """Compare the ratios of the synthetic rows, (m,), before and after training rows were exchanged."""
    if exchange.before.people is not None:
        without = before.without_each(exchange.before.n_people), after.without_each(exchange.after.n_people)
        return exchange.gap_of_people((before.mean, after.mean), without)
    ratio, m = before.ratio, len(before.ratio)
    fresh = ratio + (after.ratio - ratio) / exchange.part
    mean = float(np.sort(fresh).mean())
    return ScoreGap(
        train=before.mean,
        fresh=mean,
        by_train=(ratio - before.mean) / m,
        by_fresh=(fresh - mean) / m,
        groupings=(before.owner, after.owner),
        n_groups=min(len(np.unique(side.owner)) for side in (before, after)),
    )


def _different(table: Table) -> Table:
    """Keep one of each set of equal rows, as its person's; one that several people have is nobody's."""
    group = group_equal_rows(table)[0]
    _, first = np.unique(group, return_index=True)
    if table.people is not None:
        whose, n_people = numbered(table), table.n_people
        shared = np.bincount(np.unique(group * n_people + whose) // n_people) > 1
        table = replace(table, people=np.where(shared[group], n_people + group, whose))
    return table.take(np.sort(first))


def _quotient(first: Floats, second: Floats) -> Floats:
    return np.where(second > 0, first / np.where(second > 0, second, 1.0), 1.0)
