"""Who joins which fit: worlds differ in one row, sizes never do, larger pools begin as smaller ones."""

import numpy as np
import pytest
from supplies.populations import SCHEMAS, rows

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.errors import ParameterError
from tabveil.metrics.black_box import InferenceGame, MembershipGame, Pool, Targets
from tabveil.metrics.black_box.games import other_kind, vulnerability


def people(n=200, seed=0):
    return Table(schema=SCHEMAS["mixed"], values=rows("mixed", n, np.random.default_rng(seed)))


def pool_of(n_data=200, n_control=0, n_rows=None, game="fixed", targets=10):
    return Pool.draw(np.arange(targets), n_data=n_data, n_control=n_control, n_rows=n_rows, game=game, seed=3)


@pytest.mark.parametrize("game", ["fixed", "redrawn"])
@pytest.mark.parametrize("n_control", [0, 150])
def test_worlds_differ_by_exactly_one_row(game, n_control):
    pool = pool_of(n_control=n_control, game=game)
    for fit in range(5):
        members = pool.members(fit)
        base = pool.rows(fit, members)
        assert len(set(base.tolist())) == len(base) == pool.n_rows
        for target in range(len(members)):
            flipped = members.copy()
            flipped[target] ^= True
            other = pool.rows(fit, flipped)
            assert (base != other).sum() == 1
            assert (pool.targets[target] in base) != (pool.targets[target] in other)


def test_a_target_that_is_out_is_nowhere():
    for game in ("fixed", "redrawn"):
        pool = pool_of(game=game)
        for fit in range(20):
            members = pool.members(fit)
            held = np.isin(pool.targets, pool.rows(fit, members))
            assert (held == members).all()


def test_the_fixed_game_changes_nobody_but_targets_and_who_stands_in():
    pool = pool_of(n_control=60)
    assert pool.n_rows == 200
    tables = [set(pool.rows(fit, pool.members(fit)).tolist()) for fit in range(6)]
    assert set.intersection(*tables) >= set(range(10, 200))
    redrawn = pool_of(game="redrawn")
    tables = [set(redrawn.rows(fit, redrawn.members(fit)).tolist()) for fit in range(30)]
    assert not set.intersection(*tables) - set(range(10))


def test_each_joins_half_of_the_fits_whatever_the_others_do():
    pool = pool_of()
    inside = np.stack([pool.members(fit) for fit in range(2000)])
    assert np.abs(inside.mean(axis=0) - 0.5).max() < 0.05
    assert np.abs(np.corrcoef(inside.T) - np.eye(10)).max() < 0.1


def test_the_order_of_the_rows_tells_nothing_and_fits_are_the_same_again():
    table = people()
    pool = pool_of()
    game = MembershipGame(real=table, pool=pool)
    again = MembershipGame(real=table, pool=pool_of())
    assert np.array_equal(game.train(4).values, again.train(4).values, equal_nan=True)
    assert sorted(pool.order(4).tolist()) == list(range(pool.n_rows))
    assert not np.array_equal(pool.order(4), pool.order(5))


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"n_data": 15}, "need at least 10 rows beside those of a fit, there are"),
        ({"n_control": 4}, "need at least 10 control rows, there are 4"),
        ({"n_rows": 10}, "rows must be more than the 10 targets"),
        ({"n_rows": 201}, "at most the 200 rows"),
        ({"n_rows": 195}, "need at least 10 rows beside those of a fit, there are 5"),
        ({"n_control": 50, "n_rows": 60, "game": "redrawn"}, "need at least 60 control rows"),
    ],
)
def test_too_few_people_are_refused(sizes, message):
    with pytest.raises(ParameterError, match=message):
        pool_of(**sizes)


def test_vulnerability_is_the_mean_distance_to_five_others():
    schema = Schema((Numeric(name="x", low=0, high=10),))
    table = Table(schema=schema, values=np.array([[0.0], [0], [1], [2], [3], [4], [10]]))
    # From 0: to 0, 1, 2, 3, 4; from 10: to 4, 3, 2, 1, 0 (either of the two).
    assert np.allclose(vulnerability(table)[[0, 6]], [0.2, 0.8])
    assert np.allclose(vulnerability(table.take(np.arange(2))), [0, 0])


def test_the_loneliest_are_attacked_and_as_many_at_random():
    table = people(300)
    targets = Targets.choose(table, 9, rng=np.random.default_rng(0))
    lonely = vulnerability(table)
    assert targets.groups == ("vulnerable",) * 5 + ("random",) * 4
    assert set(targets.rows[:5]) == set(np.argsort(-lonely)[:5])
    assert targets.ranks[:5].tolist() == [1, 2, 3, 4, 5]
    assert len(set(targets.rows.tolist())) == 9
    ordered = np.sort(lonely)[::-1]
    assert np.allclose(lonely[targets.rows], ordered[targets.ranks - 1])


def test_who_is_attacked_does_not_depend_on_the_order_of_the_file():
    table = people(100)
    mixed = np.random.default_rng(5).permutation(100)
    one, other = (Targets.choose(t, 8, rng=np.random.default_rng(0)) for t in (table, table.take(mixed)))
    assert np.array_equal(table.row_hash()[one.rows], table.take(mixed).row_hash()[other.rows])


def test_secrets_are_drawn_evenly_and_nothing_else_is_changed():
    table = people()
    game = InferenceGame(real=table, pool=pool_of(), secret="region")
    drawn = game.labels(400)
    n_values = len(game.examples)
    assert n_values == len(np.unique(table.column("region")))
    assert np.abs(np.bincount(drawn.ravel()) / drawn.size - 1 / n_values).max() < 0.03
    place = table.schema.position("region")
    rows = game.pool.rows(7, np.ones(10, dtype=bool))[game.pool.order(7)]
    expected = table.values[rows]
    at = [np.flatnonzero(rows == target)[0] for target in game.pool.targets]
    expected[at, place] = table.column("region")[game.examples[drawn[7]]]
    assert np.array_equal(game.train(7).values, expected, equal_nan=True)


def test_a_secret_must_have_values_to_choose_from():
    table = people()
    for secret, message in (("income", "2 to 20 values"), ("nothing", "no column 'nothing'")):
        with pytest.raises(ParameterError, match=message):
            InferenceGame(real=table, pool=pool_of(), secret=secret)


def test_a_column_of_another_kind_is_named():
    number, label = Numeric(name="x", low=0, high=1), Categorical(name="x", labels=("a",))
    assert other_kind(Schema((number,)), Schema((number,))) is None
    assert other_kind(Schema((number,)), Schema((label,))) == "x"
