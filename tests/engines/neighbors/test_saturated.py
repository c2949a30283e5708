"""Where a column costs 1 at most: blocks of rows are passed over, and no answer is another for it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from supplies import brute_force
from supplies.spaces import make_space

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.core.workers import working
from tabveil.engines.neighbors import Neighbors
from tabveil.engines.neighbors.saturated import SaturatedIndex
from tabveil.engines.neighbors.saturated_kernels import BLOCK
from tabveil.engines.neighbors.space import Space


def table(rng, n, *, n_labels=3, n_numbers=3, missing=0.1, scale=1.0):
    """Mixed rows, many of them near each other; the last number is the same for all."""
    columns = [
        Categorical(name=f"label {i}", labels=tuple(f"{j:04}" for j in range(2 + 300 * (i == 0))))
        for i in range(n_labels)
    ]
    columns += [Numeric(name=f"number {i}", low=-1e9, high=1e9, decimals=None) for i in range(n_numbers + 1)]
    labels = [np.minimum(rng.geometric(0.02, n), len(c.labels)) - 1.0 for c in columns[:n_labels]]
    numbers = [np.round(rng.standard_cauchy(n), 3) * scale for _ in range(n_numbers)]
    values = np.column_stack([*labels, *numbers, np.full(n, 7.0)])
    values[rng.random(values.shape) < missing] = np.nan
    return Table(schema=Schema(tuple(columns)), values=values)


def assert_found(space, reference, queries, k):
    """Everything is as comparing every pair finds it, to the last bit."""
    found = Neighbors(space, reference).nearest(queries, k)
    distance, index = brute_force.nearest(space, reference, queries, k)
    np.testing.assert_array_equal(found.distance, distance)
    np.testing.assert_array_equal(found.index, index)


@pytest.mark.parametrize("n", [1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 1000])
@pytest.mark.parametrize(("n_labels", "n_numbers"), [(0, 1), (3, 0), (5, 4), (9, 11)])
def test_answers_are_those_of_the_formula_to_the_last_bit(n, n_labels, n_numbers):
    rng = np.random.default_rng(n + n_labels)
    shape = {"n_labels": n_labels, "n_numbers": n_numbers}
    reference, queries = table(rng, n, **shape), table(rng, 300, **shape)
    reference = reference.take(rng.integers(0, n, n))  # some rows stand there again
    for asked in (queries, reference):
        assert_found(Space.tolerant(reference, 0.4), reference, asked, min(n, 3))


@pytest.mark.parametrize("scale", [1e-9, 1e6])
@pytest.mark.parametrize("tolerance", [1e-6, 0.4, 1000])
def test_places_beyond_single_precision_change_nothing(scale, tolerance):
    rng = np.random.default_rng(5)
    reference, queries = (table(rng, 400, scale=scale, missing=0.02) for _ in range(2))
    moved = np.where(np.arange(reference.values.shape[1]) < 3, 1.0, 1 + 1e-9)  # the labels are not
    near = Table(schema=reference.schema, values=reference.values * moved)
    for asked in (queries, near):
        assert_found(Space.tolerant(reference, tolerance), reference, asked, 4)


@given(st.integers(0, 2**32 - 1), st.integers(1, 200), st.integers(0, 4), st.integers(0, 5), st.floats(0, 1))
@settings(max_examples=40, deadline=None)
def test_any_table_is_searched_right(seed, n, n_labels, n_numbers, missing):
    rng = np.random.default_rng(seed)
    shape = {"n_labels": n_labels, "n_numbers": n_numbers, "missing": missing}
    reference, queries = table(rng, n, **shape), table(rng, 20, **shape)
    assert_found(make_space("tolerant", reference), reference, queries, min(n, 2))


def test_any_number_of_threads_finds_the_same():
    rng = np.random.default_rng(8)
    reference, queries = table(rng, 3000), table(rng, 2000)
    space = Space.tolerant(reference, 0.4)
    found = []
    for threads in (1, 4):
        with working(threads=threads):
            found.append(Neighbors(space, reference).nearest(queries, 2))
    np.testing.assert_array_equal(found[0].index, found[1].index)
    np.testing.assert_array_equal(found[0].distance, found[1].distance)


def test_what_is_summed_in_single_precision_is_never_above_the_distance():
    """The slack covers places that are rounded, far from the middle, and sums of many columns."""
    rng = np.random.default_rng(9)
    rows = table(rng, 500, n_numbers=60, scale=100.0)
    index = SaturatedIndex(Space.tolerant(rows, 0.4), rows)
    numbers, labels = index.rows.numbers, index.rows.labels
    a, b = rng.integers(0, len(index.rows), (2, 4000))
    told = np.minimum((numbers[a] - numbers[b]) ** 2, np.float32(1)).sum(axis=1, dtype=np.float32)
    told += (labels[a] != labels[b]).sum(axis=1)
    gaps = np.abs(index.rows.values[a] - index.rows.values[b]) * index.rows.weights
    one_missing = np.isnan(index.rows.values[a]) != np.isnan(index.rows.values[b])
    exact = np.minimum(np.nan_to_num(gaps) ** 2, 1).sum(axis=1) + one_missing.sum(axis=1)
    exact += (index.rows.codes[a] != index.rows.codes[b]).sum(axis=1)
    assert (told <= exact + index.slack).all()
    assert index.slack < 0.1
