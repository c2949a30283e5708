"""Copies: which rows of a release are rows of training people, beyond what chance explains?"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.core import check
from tabveil.core.estimate import CONFIDENCE, Estimate, chance_of_at_least
from tabveil.core.estimate.matching import Matching
from tabveil.core.people import Holders, any_of_person, count_sharers_once, numbered, rows_worth
from tabveil.core.sampling import group_equal_rows, in_order
from tabveil.core.storage.plain import Number, PlainData
from tabveil.core.table import Floats, Indices, Split, Table
from tabveil.engines.neighbors import Space
from tabveil.engines.neighbors.shared import Search, nearest_to_some
from tabveil.metrics.control.shared_rows import equal_rows_kept_together

CAUTION = 3.0
"""Chance is taken to be so many times as frequent as train shows with one meeting more: none seen among n
people may still be three in n."""

_MOST_ODDS = 100.0  # of a column that is (almost) constant, two people always agree


@dataclass(frozen=True, kw_only=True)
class LoneCopies:
    """The rows of a release that equal a row of somebody who is alone in train, and what chance explains."""

    rows: int = 0
    people: int = 0
    expected: float = 0.0
    p_value: float = 1.0


def _company(table: Table, equal: Indices) -> tuple[Indices, float]:
    """Return how many other people have a row like each row of a table (n,), 2 for two and more.

    ``equal`` numbers the different rows. And how many of the people, each left out in turn, equal somebody
    who is alone without them.
    """
    people = numbered(table)
    whole = np.zeros(len(table), dtype=np.uint64)
    for hashed in table.parts_hashed():
        whole += hashed
    n_twins, twin = _met(equal, people)
    n_others, who = n_twins, twin
    by_column: list[tuple[Indices, float]] = []
    for hashed in table.parts_hashed():
        n_near, near = _met(whole - hashed, people)
        _, counts = np.unique(hashed, return_counts=True)
        agree = float((counts * (counts - 1.0)).sum() / max(len(table) * (len(table) - 1.0), 1.0))
        odds = min(agree / max(1 - agree, 1 / _MOST_ODDS), _MOST_ODDS)  # that two people agree in the column
        by_column.append((np.flatnonzero((n_twins == 0) & (n_near == 1)), odds))
        same = (n_others == 1) & (n_near == 1) & (near == who)
        who = np.where(n_others == 0, near, who)
        n_others = np.where(same, 1, np.minimum(n_others + n_near, 2))
    equal_pairs = float(len(np.unique(people[(n_twins == 1) & (n_others == 1)])))
    foretold = sum(odds * len(np.unique(people[rows[n_others[rows] == 1]])) for rows, odds in by_column)
    return n_others, max(equal_pairs, foretold)


def _met(keys: NDArray[np.uint64] | Indices, people: Indices) -> tuple[Indices, Indices]:
    """Return how many other people have a row with each row's key, 0, 1 or 2 for more; and who, or -1."""
    _, kind = np.unique(keys, return_inverse=True)
    n_people = int(people.max(initial=0)) + 1
    pairs = np.unique(kind.reshape(-1) * n_people + people)
    held = np.bincount(pairs // n_people)
    total = np.bincount(pairs // n_people, weights=pairs % n_people)
    n_others = np.minimum(held[kind] - 1, 2)
    return n_others, np.where(n_others == 1, total[kind] - people, -1).astype(np.int64)


def lone_copies(split: Split, synthetic: Indices, train: Indices) -> LoneCopies:
    """Count them; ``synthetic`` and ``train`` number the different rows of the tables alike.

    The chance that a released row equals somebody who is alone is that of a left-out training person, with
    caution; the number of different people met is then at most binomial.
    """
    n_people = split.train.n_people
    met = np.isin(train, synthetic)
    if not met.any() or n_people < 2:  # noqa: PLR2004 - nobody is alone by themselves
        return LoneCopies()
    others, meetings = _company(split.train, train)
    lone = met & (others == 0)
    people = int(any_of_person(lone, split.train.people).sum())
    rows = int(np.isin(synthetic, train[lone]).sum())
    rate = min(CAUTION * (meetings + 1) / n_people, 1.0)
    return LoneCopies(
        rows=rows,
        people=people,
        expected=rate * len(synthetic),
        p_value=chance_of_at_least(people, len(synthetic), rate),
    )


RARE = 1e-4
"""A row is a near copy where fewer fresh rows than these come as near to a training row."""

_FRESH_ROWS = 20_000  # two of them come nearer than RARE: more would say the same


@dataclass(frozen=True, kw_only=True)
class NearCopies:
    """Rows of a release that equal no real row, but lie nearer to a training row than fresh rows do.

    ``distance`` is Gower's and rows nearer than that count. ``rate`` is how often a fresh row comes that
    near: one in ten thousand, or one in as many as there are real rows to tell by. The other fields are as in
    :class:`Copies`; what may be compared is less where a table has few rows, never wrong.
    """

    distance: Number
    rate: Number
    near_train: int
    near_control: int
    expected: Number
    share: Estimate
    p_value: Number

    def seen(self, level: float) -> bool:
        """Tell whether more rows lie that near than chance explains, at this level."""
        return self.p_value <= level


@dataclass(frozen=True, kw_only=True)
class Copies(PlainData):
    """Rows of a release that equal real rows, and how many of them are copies.

    ``equal_train`` and ``equal_control`` count the synthetic rows that equal some row of train, of control.
    ``expected`` is how many would equal a row of train by chance, ``share`` the excess as a share of all
    synthetic rows, ``p_value`` how often chance alone gives that many (against copies, one-sided): below
    ``(1 - confidence) / 2`` exactly where ``share.low`` is above zero. Without control rows all three are
    None. ``people`` counts the training people with a row that some synthetic row equals, and
    ``people_expected`` how many of as many fresh people would have one. Every row is another person, unless
    the tables say whose it is: then chance deals people, with all their rows, and equal rows of one person do
    not explain each other. ``repeated`` counts the control rows that somebody else in train or control has,
    too: so far rows repeat by themselves, whatever the release holds.

    ``kept_together`` says that equal rows were never parted between train and control, as records stored
    twice are not: then each different row counts once, or its twins would seem to explain it.

    ``proven`` counts the synthetic rows that equal a row of a training person who is unlike all others, and
    ``proven_people`` these people; ``proven_expected`` is how many rows chance explains at most, and
    ``proven_p`` how often it gives as many. They stand without a control (``copies_alone``).
    """

    n_synthetic: int
    n_train: int
    n_control: int
    equal_train: int
    equal_control: int
    expected: Number | None = None
    share: Estimate | None = None
    p_value: Number | None = None
    people: int
    people_expected: Number | None = None
    repeated: int = 0
    kept_together: bool = False
    near: NearCopies | None = None
    proven: int = 0
    proven_people: int = 0
    proven_expected: Number = 0.0
    proven_p: Number = 1.0

    @property
    def proven_share(self) -> float:
        """The share of the release that is proven to be copies, beyond chance."""
        return max(self.proven - self.proven_expected, 0.0) / max(self.n_synthetic, 1)

    def seen(self, level: float) -> bool:
        """Tell whether more rows are equal than chance explains, at this level."""
        return self.p_value is not None and self.p_value <= level


def copies(split: Split, *, confidence: float = CONFIDENCE, near: bool = True, rng: Generator) -> Copies:
    """Count the rows of the release that equal, or nearly equal, a training row, and how many are chance.

    Exact copies take time linear in the rows, near ones a search for the nearest rows. ``rng`` draws the real
    rows that tell how near fresh rows come, where there are very many. Unless ``near``, near copies are
    not looked for.

    >>> from tabveil.core.table import Numeric, Schema
    >>> schema = Schema((Numeric(name="income", low=0, high=1000),))
    >>> train, control, fresh = (
    ...     Table(schema=schema, values=np.arange(0.0, 900, 3)[:, None] + shift) for shift in range(3)
    ... )
    >>> release = Table(schema=schema, values=np.concatenate([train.values[:30], fresh.values[30:]]))
    >>> tables = Split(train=train, control=control, synthetic=release)
    >>> found = copies(tables, rng=np.random.default_rng(0))
    >>> found.equal_train, found.equal_control, found.expected, found.share.value
    (30, 0, 0.0, 0.1)
    >>> found.seen(0.001)
    True
    """
    check.between("copies", "confidence", confidence, 0.5, 1)
    groups = group_equal_rows(split.synthetic, split.train, split.control)
    n_groups = 1 + max(int(group.max(initial=0)) for group in groups)
    synthetic, train, control = (np.bincount(group, minlength=n_groups) for group in groups)
    alone = lone_copies(split, groups[0], groups[1])
    counted = Copies(
        n_synthetic=len(split.synthetic),
        n_train=len(split.train),
        n_control=len(split.control),
        equal_train=int(synthetic @ (train > 0)),
        equal_control=int(synthetic @ (control > 0)),
        people=int(any_of_person(synthetic[groups[1]] > 0, split.train.people).sum()),
        proven=alone.rows,
        proven_people=alone.people,
        proven_expected=alone.expected,
        proven_p=alone.p_value,
    )
    if len(split.control) == 0:
        return counted
    met = int(any_of_person(synthetic[groups[2]] > 0, split.control.people).sum())
    people_expected = float(met) * split.train.n_people / split.control.n_people
    unequal = (train + control)[groups[0]] == 0
    real = groups[1:]
    holders = Holders.of(split, real, n_groups)
    repeated = int(np.sum((holders.train + holders.control > 1)[real[1]]))
    together = equal_rows_kept_together(*holders.commonest)
    if together:
        split, real = count_sharers_once(split, real)
        holders = Holders.of(split, real, n_groups)
    matching = Matching(n_train=holders.n_train, n_control=holders.n_control)
    changes = matching.changes(holders.train, holders.control)
    gained, lost = (holders.by_owner(synthetic * change) for change in changes)
    found = matching.excess(gained, lost, len(split.synthetic), confidence)
    return replace(
        counted,
        expected=max(counted.equal_train - found.rows, 0.0),
        share=found.share,
        p_value=found.p_value,
        people_expected=people_expected,
        repeated=repeated,
        kept_together=together,
        near=_near(split, matching, unequal, confidence, rng=rng) if near else None,
    )


def _near(
    split: Split, matching: Matching, unequal: NDArray[np.bool_], confidence: float, *, rng: Generator
) -> NearCopies | None:
    """Count the rows that equal no real row and lie nearer to train than fresh rows come.

    None where all fresh rows equal training rows, so that there is no such distance.
    """
    space = Space.gower(split.schema)
    train, control = in_order(split.train).table, in_order(split.control).table
    fresh, worth = _fresh_distances(space, train, control, rng=rng)
    apart = np.sort(fresh[fresh > 0])
    rank = max(int(RARE * (len(fresh) + 1)), 1)
    if len(apart) < rank:
        return None
    distance = float(apart[rank - 1])
    asked = np.flatnonzero(unequal)
    in_train, owner = _nearer(_search(space, train, split.synthetic, 2), asked, distance)
    in_control, other = _nearer(_search(space, control, split.synthetic, 2), asked, distance)
    gained, lost = matching.changes(in_train, in_control)
    owner = np.where(in_train > 0, owner, len(train) + other)
    by_owner = [np.asarray(np.bincount(owner, weights=rows), np.float64) for rows in (gained, lost)]
    found = matching.excess(by_owner[0], by_owner[1], len(split.synthetic), confidence)
    near_train = int(np.sum(in_train > 0))
    return NearCopies(
        distance=distance,
        rate=rank / (worth + 1),
        near_train=near_train,
        near_control=int(np.sum(in_control > 0)),
        expected=max(near_train - found.rows, 0.0),
        share=found.share,
        p_value=found.p_value,
    )


def _search(space: Space, table: Table, queries: Table, n_people: int) -> Search:
    """Ask for rows of so many people, where there are as many."""
    return Search(
        space=space,
        reference=table,
        queries=queries,
        n_neighbors=min(n_people, table.n_people),
        by_person=table.people is not None,
    )


def _fresh_distances(space: Space, train: Table, control: Table, *, rng: Generator) -> tuple[Floats, float]:
    """Return how far real rows are from their nearest other training row: control rows, then train's own.

    And how many rows they are worth, since rows of one person come near together.
    """
    drawn = control.sample(_FRESH_ROWS, rng=rng)
    asked = control.take(drawn)
    distances = nearest_to_some(_search(space, train, control, 1), drawn).distance[:, 0]
    missing = _FRESH_ROWS - len(asked)
    if missing == 0 or train.n_people == 1:
        return distances, rows_worth(asked)
    drawn = train.sample(missing, rng=rng)
    more = train.take(drawn)
    found = nearest_to_some(_search(space, train, train, 2), drawn)
    others = found.distance[:, 1]  # the nearest is the row itself, or its twin
    if train.people is not None:  # else somebody else has an equal row
        others = np.where(train.people[found.index[:, 0]] == more.people, others, found.distance[:, 0])
    return np.concatenate([distances, others]), rows_worth(asked) + rows_worth(more)


def _nearer(search: Search, rows: Indices, distance: float) -> tuple[Indices, Indices]:
    """Return how many people have a row nearer to each of some rows (m,), 2 for more; and the nearest."""
    if len(rows) == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    found = nearest_to_some(search, rows)
    return (found.distance < distance).sum(axis=1), numbered(search.reference)[found.index[:, 0]]
