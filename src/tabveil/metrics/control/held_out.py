"""Was the control held out? What the release shows of control people, beside what the data explain.

Somebody trains on all rows and splits them afterwards: then the release is as near to control as to train,
and any leak looks like chance. So the release is compared with control, too. A generator that never saw a
control row meets it as often as fresh people do, and how often these do, the real rows tell by themselves,
for they are fresh to each other:

- rows that nobody else has: of rows that are alone among all real ones, fresh rows meet as many as there are
  rows that two real people share, in proportion to the pairs (Good 1953). Where equal rows were removed, the
  pairs that are equal in all columns but one tell how many there were;
- rows that are nearly met: control rows come as near to rows of train as to equally many of the release;
- rows that find each other: a control row whose nearest row is nearest to nobody else in control. However a
  release is spread, it has no more of those than train has, unless it was made of control rows.

A release that is smoother than people are meets usual rows more often than people do, so some more is no
proof: three times as many equal rows, five times as many near ones, a tenth more that find each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.core.estimate import chance_of_at_least
from tabveil.core.people import Holders, any_of_person
from tabveil.core.sampling import draw, shuffled_rows
from tabveil.core.storage.plain import Number
from tabveil.core.table import Floats, Indices, Split, Table, mix_bits
from tabveil.engines.neighbors import Space
from tabveil.engines.neighbors.shared import Search, nearest

LEVEL = 0.001
GRANTED_EQUAL = 3.0
GRANTED_NEAR = 5.0
GRANTED_MUTUAL = 1.1
SHARES = (0.001, 0.01, 0.05)
"""Of control people: so many come nearest to train, and the release is held against their distance."""

_ONE = {"rows": "row", "people": "person"}

Hashes = NDArray[np.uint64]

_MOST_PEOPLE = 4000  # of control: more would tell the same
_MOST_ROWS = 20_000
_SALTS = 7  # of a hash: any number


@dataclass(frozen=True, kw_only=True)
class HeldOut:
    """How much the release shows of control people, and how often chance shows as much.

    ``equal`` control people have a row that no other real person has and that some row of the release equals;
    about ``equal_expected`` would if the generator never saw them. ``near`` are those who come nearer to the
    release than ``near_expected`` of them come to as many training rows. ``mutual`` are those whose nearest
    row of the release is nearest to them, where ``mutual_expected`` are so beside as many training rows; of
    a large control a part is asked. The chances are of a generator that never saw the control and meets more
    of it than fresh rows do, by as much as is granted.
    """

    n_people: int
    equal: int = 0
    equal_expected: Number = 0.0
    equal_chance: Number = 1.0
    near: int = 0
    near_expected: Number = 0.0
    near_chance: Number = 1.0
    mutual: int = 0
    mutual_expected: Number = 0.0
    mutual_chance: Number = 1.0

    def fault(self, counted: str) -> str | None:
        """Say that the control was not held out, if it was not; ``counted`` are rows, or people."""
        if self.equal_chance <= LEVEL:
            whose, equal = (_ONE[counted], "equals") if self.equal == 1 else (counted, "equal")
            met = f"{self.equal:,} control {whose} of {self.n_people:,} {equal} a row of the release"
            expected = self.equal_expected
        elif self.near_chance <= LEVEL:
            met = f"{self.near:,} control {counted} come nearer to the release than others do to real rows"
            expected = self.near_expected
        elif self.mutual_chance <= LEVEL:
            met = f"{self.mutual:,} control {counted} and rows of the release are each other's nearest"
            expected = self.mutual_expected
        else:
            return None
        return (
            f"{met}, where about {expected:,.0f} would if the generator had never seen them. The control was "
            "not held out: nothing can be measured against it."
        )


def held_out(split: Split, groups: Sequence[Indices], *, rng: Generator) -> HeldOut:
    """Compare the release with control; ``groups`` number the different rows of train, control, release."""
    n_groups = 1 + max(int(group.max(initial=0)) for group in groups)
    holders = Holders.of(split, groups[:2], n_groups)
    people = holders.train + holders.control  # (n_groups,) who have each row
    synthetic = np.bincount(groups[2], minlength=n_groups)
    met = (people == 1)[groups[1]] & (synthetic > 0)[groups[1]]
    equal = int(any_of_person(met, split.control.people).sum())
    n_real, n_control = len(split.train) + len(split.control), len(split.control)
    per_pair = 2 * len(split.synthetic) * n_control / max(n_real * (n_real - 1), 1)
    shared = float(np.sum(people == 2))  # noqa: PLR2004 - two people
    chance = _at_least(equal, shared, per_pair)
    if chance <= LEVEL:
        shared += _removed(split, people)
        chance = _at_least(equal, shared, per_pair)
    n_people, expected = split.control.n_people, shared * per_pair
    found = HeldOut(n_people=n_people, equal=equal, equal_expected=expected, equal_chance=chance)
    return found if chance <= LEVEL else _with_near(found, split, rng=rng)


def _at_least(equal: int, shared: float, per_pair: float) -> float:
    """Return how often so many are met, where ``shared`` rows of two people tell what is to be expected.

    Both numbers vary; given their sum, each is a part of it.
    """
    odds = GRANTED_EQUAL * per_pair
    return chance_of_at_least(equal, equal + int(np.ceil(shared)), odds / (1 + odds))


def _removed(split: Split, people: Indices) -> float:
    """Return about how many pairs of equal rows are missing, as if they had been removed.

    Of pairs that are equal in all columns but one, as many are equal in that one, too, as of any pairs.
    """
    cells = np.concatenate([split.train.values, split.control.values]) + 0.0
    cells[np.isnan(cells)] = np.nan
    salts = np.random.default_rng(_SALTS).integers(0, 2**63, cells.shape[1], dtype=np.uint64)
    keys = mix_bits(np.ascontiguousarray(cells).view(np.uint64) ^ salts)  # (n, d)
    rows = keys.sum(axis=1, dtype=np.uint64)  # a sum: a column can be taken out again
    equal, everything = _pairs(rows), len(rows) * (len(rows) - 1) / 2
    if everything == equal:
        return 0.0
    there = float((people * (people - 1.0)).sum() / 2)
    expected = 0.0
    for column in keys.T:
        agree = (_pairs(column) - equal) / (everything - equal)
        if agree < 1:
            expected = max(expected, (_pairs(rows - column) - equal) * agree / (1 - agree))
    return max(expected - there, 0.0)


def _pairs(rows: Hashes) -> float:
    times = np.unique(rows, return_counts=True)[1].astype(np.float64)
    return float((times * (times - 1)).sum() / 2)


class _Meeting:
    """Control rows and as many rows of train, or of the release: how near they come, and who finds whom."""

    def __init__(self, space: Space, control: Table, there: Table) -> None:
        found = nearest(Search(space=space, reference=there, queries=control))
        back = nearest(Search(space=space, reference=control, queries=there)).index[:, 0]
        own = np.arange(len(control)) == back[found.index[:, 0]]
        self.distance = found.distance[:, 0]  # (n_control,) to the nearest row there
        # Control rows whose nearest row there equals them, and has them as its nearest control row.
        self.equal = int(np.sum(own & (self.distance == 0)))
        # The same of those whose nearest row there is another.
        self.apart = int(np.sum(own & (self.distance > 0)))


def _with_near(found: HeldOut, split: Split, *, rng: Generator) -> HeldOut:
    """Add what the release shows of control people beside equal rows, if that is more than train shows."""
    one_each = replace(
        split, train=_one_row_each(split.train, rng=rng), control=_one_row_each(split.control, rng=rng)
    )
    to_train, to_release = _meetings(one_each, rng=rng)
    near_chance, near, near_expected = _nearer(to_train.distance, to_release.distance)
    mutual = _mutual(to_train, to_release)
    if mutual[0] <= LEVEL:
        # A release without equal rows meets more of those that people have, and one with very many fewer: so
        # the same must be seen among different rows, each of which counts once.
        train, control, synthetic = (
            table.take(np.unique(table.row_hash(), return_index=True)[1])
            for table in (one_each.train, one_each.control, one_each.synthetic)
        )
        different = Split(train=train, control=control, synthetic=synthetic)
        mutual = max(mutual, _mutual(*_meetings(different, rng=rng)))
    mutual_chance, by_release, by_train = mutual
    return replace(
        found,
        near=near,
        near_expected=near_expected,
        near_chance=near_chance,
        mutual=by_release,
        mutual_expected=float(by_train),
        mutual_chance=mutual_chance,
    )


def _meetings(split: Split, *, rng: Generator) -> tuple[_Meeting, _Meeting]:
    """Let control meet equally many rows of train and of the release."""
    control = draw(split.control, _MOST_PEOPLE, rng=rng).table
    n_rows = min(len(split.train), len(split.synthetic), _MOST_ROWS)
    space = Space.gower(split.schema)
    train, release = (draw(table, n_rows, rng=rng).table for table in (split.train, split.synthetic))
    return _Meeting(space, control, train), _Meeting(space, control, release)


def _one_row_each(table: Table, *, rng: Generator) -> Table:
    """Draw one row of each person: several would lie near each other, and those of a release need not."""
    if table.people is None:
        return table
    rows = shuffled_rows(table, rng=rng)
    first = np.unique(table.people[rows], return_index=True)[1]
    return Table(schema=table.schema, values=table.values[rows[first]])


def _mutual(train: _Meeting, release: _Meeting) -> tuple[float, int, int]:
    """Count the control rows and rows of the release, or of train, that find each other, after the chance.

    That is of so many more by the release. Equal rows count as far as train has such: else they may have been
    kept from control.
    """
    equal = min(release.equal, int(GRANTED_EQUAL * train.equal))
    by_train, by_release = train.equal + train.apart, equal + release.apart
    granted = GRANTED_MUTUAL / (1 + GRANTED_MUTUAL)
    return chance_of_at_least(by_release, by_train + by_release, granted), by_release, by_train


def _nearer(to_train: Floats, to_release: Floats) -> tuple[float, int, float]:
    """Count who comes nearer to the release than a few of them come to train: chance, people, expected.

    Given where those few are, how many others come nearer is a number of failures before so many successes.
    Rows that are met exactly are counted as such, and not here.
    """
    tried = []
    for share in SHARES:
        rank = int(share * len(to_train))
        if rank == 0 or (distance := float(np.partition(to_train, rank - 1)[rank - 1])) == 0:
            continue
        near = int(np.sum((to_release > 0) & (to_release < distance)))
        granted = GRANTED_NEAR / (1 + GRANTED_NEAR)
        chance = chance_of_at_least(near, near + rank - 1, granted)  # before the last of the few is met
        tried.append((chance, near, float(rank)))
    chance, people, expected = min(tried, default=(1.0, 0, 0.0))
    return min(chance * max(len(tried), 1), 1.0), people, expected
