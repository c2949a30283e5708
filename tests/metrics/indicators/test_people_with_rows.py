"""Indicators where people have several rows: a person is one observation, however many rows there are.

Smaller, seeded versions of simulations with 12 to 150 people in each table, 1 to 20 rows each: without a
leak, no indicator saw one in more than 5 % of the draws; ignoring who is who, some did in every third.
"""

from itertools import combinations

import numpy as np
import pytest
from supplies.people_with_rows import VISITS, one_row_each, people, repeated, unknown, visits
from supplies.populations import population, split

from tabveil.core.table import Numeric, Schema, Split, Table
from tabveil.engines.neighbors import Space
from tabveil.errors import NotApplicable
from tabveil.metrics.indicators import (
    INDICATORS,
    AdversarialAccuracy,
    ClosestShare,
    DistanceToClosest,
    IdenticalMatchShare,
    MaximumMeanDiscrepancy,
    NearestNeighbors,
    NeighborDistanceRatio,
)
from tabveil.metrics.indicators.closest_share import _Owners
from tabveil.metrics.indicators.comparison import Exchange, nearest
from tabveil.metrics.indicators.discrepancy import count_shared_of_person, draw_partitions, unit_cells
from tabveil.metrics.indicators.exchanging import _different, _entanglement, _NearRecords
from tabveil.metrics.indicators.nearest import sides

LINE = Schema((Numeric(name="x", low=0, high=100),))
QUICK = [kind() for kind in INDICATORS if getattr(kind, "extra", None) is None]
QUICK.append(DistanceToClosest(direction="real_to_synthetic"))
by_name = pytest.mark.parametrize("metric", QUICK, ids=lambda metric: metric.name)


def rng(seed=0):
    return np.random.default_rng(seed)


def on_a_line(values, whose):
    return Table(schema=LINE, values=np.array(values, dtype=float)[:, None], people=np.array(whose))


def risks(metric, splits):
    """Return (n, 3): value, low and high."""
    found = [metric(each, rng=rng(seed)).risk for seed, each in enumerate(splits)]
    return np.array([(risk.value, risk.low, risk.high) for risk in found])


def width(risk):
    return risk.high - risk.low


@by_name
def test_one_row_each_is_every_row_another_person(metric):
    tables = population("mixed", (70, 60, 65), leak=0.2)
    unnamed, named = metric(tables, rng=rng()), metric(one_row_each(tables, rng(5)), rng=rng())
    assert named.risk.value == pytest.approx(unnamed.risk.value, abs=1e-12)
    assert named.details.keys() == unnamed.details.keys()
    assert [score.values.tolist() for score in named.sensitive_scores] == [
        s.values.tolist() for s in unnamed.sensitive_scores
    ]
    if metric.name not in {NeighborDistanceRatio.name, AdversarialAccuracy.name}:  # theirs leave people out
        assert named.risk.low == pytest.approx(unnamed.risk.low, abs=1e-9)
        assert named.risk.high == pytest.approx(unnamed.risk.high, abs=1e-9)
        if named.attack is not None:
            ends = unnamed.attack.low, unnamed.attack.high
            assert (named.attack.low, named.attack.high) == pytest.approx(ends)


@by_name
def test_rows_given_twice_tell_no_more(metric):
    once = visits(60, 60, leak=0.2, seed=4, most=1, n_rows=150)
    twice = Split(train=repeated(once.train), control=repeated(once.control), synthetic=once.synthetic)
    found = metric(once, rng=rng()).risk, metric(twice, rng=rng()).risk
    assert width(found[1]) >= 0.999 * width(found[0])


@pytest.mark.parametrize(
    "metric", [DistanceToClosest(), NearestNeighbors(), MaximumMeanDiscrepancy()], ids=lambda each: each.name
)
def test_rows_given_four_times_would_tell_more_of_unknown_people(metric):
    once = visits(60, 60, leak=0.2, seed=4, most=1, n_rows=150)
    more = Split(train=repeated(once.train, 4), control=repeated(once.control, 4), synthetic=once.synthetic)
    assert width(metric(unknown(more), rng=rng()).risk) < 0.8 * width(metric(more, rng=rng()).risk)


@by_name
def test_a_leak_of_all_rows_of_people_is_seen(metric):
    leaked = [visits(250, 250, leak=0.2, seed=seed, most=6) for seed in range(3)]
    found = risks(metric, leaked)
    assert np.all(found[:, 1] > 0)
    assert found[:, 0] == pytest.approx(0.2, abs=0.12)


def test_five_people_in_a_hundred_are_seen():
    leaked = [visits(300, 300, leak=0.05, seed=seed, most=6) for seed in range(3)]
    assert np.all(risks(IdenticalMatchShare(), leaked)[:, 1] > 0)
    assert np.all(risks(DistanceToClosest(), leaked)[:, 1] > 0)


@by_name
def test_a_copy_of_train_reads_one(metric):
    tables = visits(60, 60, seed=1)
    copied = Split(train=tables.train, control=tables.control, synthetic=unknown(tables).train)
    assert metric(copied, rng=rng()).risk.value == pytest.approx(1)


@by_name
def test_fresh_people_cover_zero(metric):
    found = risks(metric, [visits(50, 50, seed=seed, most=12) for seed in range(12)])
    assert np.mean((found[:, 1] <= 0) & (found[:, 2] >= 0)) >= 10 / 12
    assert abs(found[:, 0].mean()) < 0.1


@pytest.mark.parametrize(
    "metric",
    [MaximumMeanDiscrepancy(n_partitions=40), DistanceToClosest(alpha=0.05)],
    ids=lambda each: each.name,
)
def test_whoever_ignores_people_sees_leaks_where_there_are_none(metric):
    fresh = [visits(60, 60, seed=seed, most=20) for seed in range(40)]
    missed = [
        np.mean((found[:, 1] > 0) | (found[:, 2] < 0))
        for found in (risks(metric, fresh), risks(metric, map(unknown, fresh)))
    ]
    assert missed[0] <= 0.125  # 5 of 40: one in 20 at 95 %
    assert missed[1] >= max(0.2, 2 * missed[0])


@by_name
@pytest.mark.parametrize("sizes", [(1, 30), (30, 1), (1, 1), (2, 2)])
def test_too_few_people_are_answered_or_refused(metric, sizes):
    tables = visits(*sizes, seed=2, most=30)
    try:
        found = metric(tables, rng=rng())
    except NotApplicable as refused:
        found = refused
    if isinstance(found, NotApplicable):
        assert "people" in str(found) or "person" in str(found)
    else:
        assert found.risk.low < 0 < found.risk.high


def test_one_person_without_control_has_no_halves():
    alone = people(1, rng(), most=30)
    tables = Split(train=alone, control=alone.take(np.array([], dtype=int)), synthetic=alone)
    with pytest.raises(NotApplicable, match="two train people"):
        DistanceToClosest()(tables, rng=rng())


@by_name
def test_numbers_of_people_and_order_of_rows_do_not_matter(metric):
    tables = visits(40, 30, leak=0.3, seed=6, most=8)
    order, other = rng(1).permutation(len(tables.train)), rng(2).permutation(len(tables.control))
    train, control = tables.train.take(order), tables.control.take(other)
    turned = Split(
        train=Table(schema=VISITS, values=train.values, people=1000 - train.people),
        control=Table(schema=VISITS, values=control.values, people=1000 - control.people),
        synthetic=tables.synthetic,
    )
    first, second = (metric(each, rng=rng()).risk for each in (tables, turned))
    assert (second.value, second.low, second.high) == pytest.approx((first.value, first.low, first.high))


def test_people_of_a_release_are_nobody():
    tables = visits(40, 40, leak=0.2, seed=3, most=8)
    synthetic = Table(
        schema=VISITS, values=tables.synthetic.values, people=np.zeros(len(tables.synthetic), int)
    )
    named = Split(train=tables.train, control=tables.control, synthetic=synthetic)
    for metric in QUICK:
        assert metric(named, rng=rng()).risk == metric(tables, rng=rng()).risk


def test_halves_and_exchanges_are_of_whole_people():
    tables = visits(21, 9, seed=1)
    none = tables.control.take(np.array([], dtype=int))
    halves = sides("dcr", Split(train=tables.train, control=none, synthetic=tables.synthetic), rng=rng())
    assert halves.reference.n_people == 11
    assert set(halves.reference.people).isdisjoint(halves.fresh.people)
    assert halves.reference_share == len(halves.reference) / len(tables.train)
    exchange = Exchange.of(tables.train, tables.control, rng=rng())
    kept = set(exchange.before.people[exchange.kept])
    left = set(exchange.before.people) - kept
    assert len(left) == 9
    assert set(exchange.after.people) == kept | set(tables.control.people)
    assert exchange.part == np.isin(tables.train.people, list(left)).mean()


def test_a_ratio_points_past_all_rows_of_the_nearest_person():
    train = on_a_line([10, 11, 20, 90, 91, 92], [0, 0, 1, 2, 3, 4])
    control = on_a_line([60, 61, 62, 63, 64, 65], range(10, 16))
    release = split(LINE, [0], [0], [12, 88]).synthetic
    found = NeighborDistanceRatio()(Split(train=train, control=control, synthetic=release), rng=rng())
    # 12 is 1 from person 0, and 8 from person 1; 88 is 2 from person 2, and 3 from person 3.
    assert found.attack.value == pytest.approx((1 / 8 + 2 / 3) / 2)
    unnamed = unknown(Split(train=train, control=control, synthetic=release))
    assert NeighborDistanceRatio()(unnamed, rng=rng()).attack.value == pytest.approx((1 / 2 + 2 / 3) / 2)


def test_a_record_of_several_people_is_nobodys():
    records = _different(on_a_line([5, 5, 7, 5], [0, 1, 1, 0]))
    assert records.values.ravel().tolist() == [5, 7]
    assert records.people[1] == 1
    assert records.people[0] not in {0, 1}


def test_leaving_out_a_person_is_computed_as_if_they_were_not_there():
    tables = visits(12, 2, seed=8, most=5)
    real, space = tables.train, Space.gower(VISITS)
    synthetic = tables.synthetic
    within = rng(0).uniform(0, 0.05, len(synthetic))

    def entangled(table):
        return _entanglement(space, table, synthetic, within)

    def near(table):
        records = _different(table)
        return _NearRecords(records=records, found=nearest(space, records, synthetic, 3))

    without = [real.take(np.flatnonzero(real.people != person)) for person in range(12)]
    assert entangled(real).without_each == pytest.approx([entangled(each).accuracy for each in without])
    assert near(real).without_each(12) == pytest.approx([near(each).mean for each in without])


def test_people_dealt_to_train_own_as_many_rows_as_their_noise_says():
    once = visits(4, 4, seed=3, most=1)
    tables = Split(train=repeated(once.train), control=repeated(once.control), synthetic=once.synthetic)
    owned = rng(1).integers(0, 6, len(tables.train) + len(tables.control)).astype(float)
    owners = _Owners.of(tables.train, tables.control, np.arange(len(owned)))
    rows, total = np.bincount(owners.whose), owned.sum()
    by_person = np.bincount(owners.whose, weights=owned)
    gaps = [
        by_person[list(train)].sum() - total * rows[list(train)].sum() / rows.sum()
        for train in combinations(range(8), 4)
    ]
    assert np.mean(gaps) == pytest.approx(0)
    chance = len(tables.train) / len(owned)
    assert chance * (1 - chance) * owners.noise(owned, chance) == pytest.approx(np.var(gaps))


def test_own_rows_in_the_same_cells_are_counted():
    table = people(15, rng(2), spread=0.02, most=6)
    cells, partitions = unit_cells(table), draw_partitions(VISITS, 0.3, 30, rng=rng())
    counted = count_shared_of_person(cells, table.people, partitions)
    bins = np.floor(cells * partitions.slope[:, :, None] + partitions.offset[:, :, None])  # (p, d, n)
    bins[partitions.slope == 0] = 0
    same = (bins[:, :, :, None] == bins[:, :, None, :]).all(axis=1) & (table.people[:, None] == table.people)
    assert counted.tolist() == same.sum(axis=(0, 2)).tolist()


def test_closest_share_needs_more_than_three_people_on_each_side():
    with pytest.raises(NotApplicable, match="3 training and 3 control people are too few"):
        ClosestShare()(visits(3, 3), rng=rng())
    with pytest.raises(NotApplicable, match="most rows of train or of control are of a few people"):
        ClosestShare()(visits(3, 40, most=1), rng=rng())
    assert ClosestShare()(visits(4, 4, most=1), rng=rng()).risk is not None


def test_whoever_has_most_rows_is_most_of_the_noise():
    tables = visits(4, 40, seed=3, most=2)
    heavy = repeated(tables.train.take(np.flatnonzero(tables.train.people == 0)), 40)
    train = Table(
        schema=VISITS,
        values=np.concatenate([tables.train.values, heavy.values]),
        people=np.concatenate([tables.train.people, heavy.people]),
    )
    owners = _Owners.of(train, tables.control, np.arange(len(train) + len(tables.control)))
    part = len(tables.control) / len(owners.whose)
    assert owners.weight == pytest.approx(part**2, rel=0.1)  # as if that one person were all of train
    assert part**2 > 4 / 44 * 40 / 44  # and more than if people were dealt
