"""The graphical model: trees by hand, beliefs against brute force, estimates that solve their equation."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabveil.core.sampling import draw_given
from tabveil.synthesis.generators.aim.graphical import (
    FLATNESS,
    Measurement,
    aligned,
    believe,
    estimate,
    estimate_total,
    junction_tree,
    projected,
)


def rng(seed=0):
    return np.random.default_rng(seed)


def test_a_chain_needs_nothing_filled_in():
    tree = junction_tree((2, 3, 5), [(0, 1), (1, 2)])
    assert {frozenset(clique) for clique in tree.cliques} == {frozenset({0, 1}), frozenset({1, 2})}
    assert tree.n_cells == 6 + 15
    assert [set(tree.separator(i)) for i in range(2)] == [set(), {1}]


def test_a_ring_is_filled_in_where_tables_stay_small():
    tree = junction_tree((10, 2, 10, 2), [(0, 1), (1, 2), (2, 3), (3, 0)])
    assert {frozenset(clique) for clique in tree.cliques} == {frozenset({0, 1, 3}), frozenset({1, 2, 3})}
    assert tree.n_cells == 40 + 40  # joining the two columns of ten levels would take 200 + 200


def test_columns_without_company_are_trees_by_themselves():
    tree = junction_tree((2, 3, 4), [(0, 2)])
    assert sorted(map(len, tree.cliques)) == [1, 2]
    assert tree.parents == (-1, -1)
    assert tree.holds((2, 0))
    assert not tree.holds((0, 1))


@st.composite
def models(draw):
    generator = rng(draw(st.integers(0, 2**32 - 1)))
    sizes = tuple(int(size) for size in generator.integers(1, 4, 6))
    drawn = {
        frozenset(generator.choice(6, generator.integers(1, 4), replace=False).tolist()) for _ in range(6)
    }
    sets = [tuple(generator.permutation(list(columns)).tolist()) for columns in drawn]
    return sizes, {columns: generator.normal(0, 3, [sizes[i] for i in columns]) for columns in sets}


def brute_force(sizes, weights):
    whole = np.zeros(sizes)
    for columns, table in weights.items():
        whole = whole + aligned(table, columns, tuple(range(len(sizes))))
    return np.exp(whole)


@settings(max_examples=25, deadline=None)
@given(models())
def test_beliefs_are_those_of_the_whole_table(model):
    sizes, weights = model
    whole = brute_force(sizes, weights)
    beliefs = believe(sizes, weights)
    assert beliefs.log_total == pytest.approx(np.log(whole.sum()))
    for columns in itertools.chain(
        *(itertools.permutations(range(6), k) for k in (1, 2, 3)), [tuple(range(6))]
    ):
        expected = projected(whole / whole.sum(), tuple(range(6)), columns)
        np.testing.assert_allclose(beliefs.marginal(columns), expected, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(models())
def test_trees_keep_what_is_shared_together(model):
    sizes, weights = model
    tree = junction_tree(sizes, weights)
    assert all(tree.holds(columns) for columns in weights)
    for clique, parent in enumerate(tree.parents):
        seen = set().union(*tree.cliques[:clique])
        shared = set(tree.separator(clique))
        assert shared == seen & set(tree.cliques[clique])
        assert parent == -1 if not shared else shared <= set(tree.cliques[parent])


def test_weights_of_any_size_are_no_trouble():
    beliefs = believe((2, 2), {(0, 1): np.array([[5000.0, 4999.0], [-5000.0, 0.0]])})
    np.testing.assert_allclose(beliefs.marginal((0,)), [1, 0])
    np.testing.assert_allclose(beliefs.marginal((1,)), [np.e / (1 + np.e), 1 / (1 + np.e)])


def test_exact_counts_are_reproduced_and_the_rest_is_independent():
    left = np.array([[10.0, 30.0], [40.0, 20.0]])
    right = np.array([[25.0, 25.0], [5.0, 45.0]])  # both say that column 1 is 50 and 50
    measured = {
        columns: Measurement(counts=counts, variances=np.full((2, 2), 1e-4))
        for columns, counts in {(0, 1): left, (1, 2): right}.items()
    }
    weights = estimate((2, 2, 2), measured, total=100.0, start={}, iterations=500)
    whole = 100 * believe((2, 2, 2), weights).marginal((0, 1, 2))
    np.testing.assert_allclose(whole, left[:, :, None] * right[None] / 50, atol=0.01)


def test_the_estimate_solves_its_equation():
    generator = rng(1)
    sizes = (3, 4, 2)
    measured = {
        columns: Measurement(
            counts=generator.normal(20, 30, [sizes[i] for i in columns]),
            variances=generator.uniform(100, 900, [sizes[i] for i in columns]),
        )
        for columns in [(0,), (1,), (0, 1), (1, 2), (2, 0)]
    }
    weights = estimate(sizes, measured, total=200.0, start={}, iterations=2000)
    beliefs = believe(sizes, weights)
    flatness = FLATNESS / min(found.variances.min() for found in measured.values()) ** 0.5
    for columns, found in measured.items():
        solved = found.counts - flatness * found.variances * weights[columns]
        np.testing.assert_allclose(200 * beliefs.marginal(columns), solved, atol=0.05)


def test_a_start_near_the_end_leads_to_the_same_end():
    measured = {(0,): Measurement(counts=np.array([5.0, 25.0, -4.0]), variances=np.full(3, 100.0))}
    cold = estimate((3,), measured, total=30.0, start={}, iterations=300)
    warm = estimate((3,), measured, total=30.0, start=cold, iterations=5)
    np.testing.assert_allclose(warm[0,], cold[0,], atol=0.01)


def test_the_more_precise_measurement_counts_more():
    one = Measurement(counts=np.array([10.0]), variances=np.array([4.0]))
    other = Measurement(counts=np.array([20.0]), variances=np.array([1.0]))
    pooled = one.with_another(other)
    assert pooled.counts[0] == pytest.approx(18.0)
    assert pooled.variances[0] == pytest.approx(0.8)


def test_the_total_is_estimated_by_precision():
    rough = Measurement(counts=np.array([50.0, 60.0]), variances=np.array([4.0, 4.0]))
    fine = Measurement(counts=np.array([40.0, 30.0, 30.0]), variances=np.array([1.0, 0.5, 0.5]))
    assert estimate_total([rough, fine]) == pytest.approx((110 / 8 + 100 / 2) / (1 / 8 + 1 / 2))
    assert estimate_total([Measurement(counts=np.array([-9.0]), variances=np.ones(1))]) == 1.0


def test_draws_are_spread_evenly():
    conditions = np.array([0, 1, 0, 1, 0, 1, 0, 1])
    chances = np.array([[0.25, 0.75, 0.0], [0.0, 0.5, 0.5]])
    for seed in range(20):
        drawn = draw_given(chances, conditions, rng=rng(seed))
        assert np.bincount(drawn[conditions == 0], minlength=3).tolist() == [1, 3, 0]
        assert np.bincount(drawn[conditions == 1], minlength=3).tolist() == [0, 2, 2]


def test_each_row_is_drawn_with_its_chances():
    drawn = [
        draw_given(np.array([[0.3, 0.7]]), np.zeros(5, dtype=np.int64), rng=rng(seed)) for seed in range(2000)
    ]
    np.testing.assert_allclose(np.mean(drawn, axis=0), 0.7, atol=0.05)


def test_samples_follow_the_beliefs():
    weights = {(0, 1): rng(2).normal(0, 1, (3, 4)), (1, 2): rng(3).normal(0, 1, (4, 2)), (3,): np.zeros(5)}
    beliefs = believe((3, 4, 2, 5), weights)
    rows = beliefs.sample(20_000, rng=rng(4))
    for columns in [(0, 1), (1, 2), (0, 2), (0, 3)]:
        expected = beliefs.marginal(columns)
        cells = np.ravel_multi_index(tuple(rows[:, i] for i in columns), expected.shape)
        found = np.bincount(cells, minlength=expected.size).reshape(expected.shape) / len(rows)
        np.testing.assert_allclose(found, expected, atol=0.012)
