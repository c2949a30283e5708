import numpy as np
import pytest
from supplies.populations import population, split

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.indicators import MaximumMeanDiscrepancy
from tabveil.metrics.indicators.discrepancy import count_shared, draw_partitions, median_distance, unit_cells

SCHEMA = Schema(
    (
        Numeric(name="x", low=0, high=10),
        Numeric(name="constant", low=3, high=3),
        Categorical(name="c", labels=("a", "b", "c")),
    )
)
ROWS = [
    [0, 3, 0],
    [1, 3, 0],
    [4, 3, 1],
    [10, 3, 0],
    [np.nan, 3, 0],
    [np.nan, 3, 2],
    [2, np.nan, np.nan],
    [0, 3, 0],
]


def gower_sums(values):
    a, b = values[:, None, :], values[None, :, :]
    costs = np.stack(
        [np.abs(a[..., 0] - b[..., 0]) / 10, np.abs(a[..., 1] - b[..., 1]), (a[..., 2] != b[..., 2]) * 1.0],
        -1,
    )
    missing_a, missing_b = np.isnan(a), np.isnan(b)
    costs = np.where(missing_a != missing_b, 1.0, costs)
    return np.where(missing_a & missing_b, 0.0, costs).sum(axis=-1)


@pytest.mark.parametrize("width", [0.15, 0.6, 2.5])
def test_rows_share_cells_as_often_as_the_kernel_says(width):
    table = Table(schema=SCHEMA, values=np.array(ROWS, dtype=float))
    n, cells = 10_000, unit_cells(table)
    partitions = draw_partitions(SCHEMA, width, n, rng=np.random.default_rng(1))
    shared = np.empty((len(table), len(table)))
    for i in range(len(table)):
        roles = (np.arange(len(table)) == i).astype(np.uint8)
        shared[:, i] = count_shared(cells, roles, partitions)[:, 1] / n
    expected = np.exp(-gower_sums(table.values) / width)
    assert shared == pytest.approx(expected, abs=4 * 0.5 / np.sqrt(n))
    assert shared[0, 7] == 1  # equal rows always
    assert (np.diag(shared) == 1).all()


def test_the_median_distance_is_gowers():
    table = Table(schema=SCHEMA, values=np.array(ROWS, dtype=float))
    found = median_distance(unit_cells(table), SCHEMA, rng=np.random.default_rng(0))
    assert found == pytest.approx(np.median(gower_sums(table.values)), abs=0.15)


def test_the_difference_is_the_difference_of_mean_witnesses():
    tables = population("mixed", (120, 120, 80), leak=0.3, seed=1)
    result = MaximumMeanDiscrepancy(bandwidth=0.2)(tables, rng=np.random.default_rng(0))
    swapped = split(tables.schema, tables.control.values, tables.train.values, tables.synthetic.values)
    other = MaximumMeanDiscrepancy(bandwidth=0.2)(swapped, rng=np.random.default_rng(0))
    gap = result.details["mmd2_synthetic_control"] - result.details["mmd2_synthetic_train"]
    assert result.risk.value == pytest.approx(gap / result.details["mmd2_train_control"], rel=0.01)
    # The two runs share a seed but not the pairs behind the width, hence the tolerance.
    by_row = result.sensitive_scores[0].values.mean() - other.sensitive_scores[0].values.mean()
    assert by_row == pytest.approx(gap, rel=0.15)


def test_against_the_kernel_matrix():
    tables = population("normal", (60, 60, 60), leak=0.5, seed=2)
    result = MaximumMeanDiscrepancy(bandwidth=0.5, n_partitions=20_000)(tables, rng=np.random.default_rng(0))
    values = np.concatenate([tables.train.values, tables.control.values, tables.synthetic.values])
    sums = np.abs(values[:, None] - values[None]).sum(axis=-1) / 12
    kernel = np.exp(-sums / result.details["kernel_width"])
    t, c, s = slice(0, 60), slice(60, 120), slice(120, 180)
    expected = kernel[s, s].mean() + kernel[t, t].mean() - 2 * kernel[s, t].mean()
    assert result.details["mmd2_synthetic_train"] == pytest.approx(expected, rel=0.03)
    expected = kernel[t, t].mean() + kernel[c, c].mean() - 2 * kernel[t, c].mean()
    assert result.details["mmd2_train_control"] == pytest.approx(expected, rel=0.03)


def test_unequal_tables_by_the_kernel_matrix():
    tables = population("normal", (40, 15, 30), leak=0.5, seed=2)
    result = MaximumMeanDiscrepancy(bandwidth=0.5, n_partitions=40_000)(tables, rng=np.random.default_rng(0))
    values = np.concatenate([tables.train.values, tables.control.values, tables.synthetic.values])
    sums = np.abs(values[:, None] - values[None]).sum(axis=-1) / 12
    kernel = np.exp(-sums / result.details["kernel_width"])
    others = (kernel[:55, :55].sum(axis=1) - 1) / 54  # the density of other real rows

    def gap(density):
        witness = 2 * (density - others)
        return witness[:40].mean() - witness[40:].mean()

    expected = gap(kernel[:55, 55:].mean(axis=1)) / gap(kernel[:55, :40].mean(axis=1))
    assert result.risk.value == pytest.approx(expected, rel=0.03)


def test_leaked_train_rows_score_highest():
    tables = population("mixed", (300, 300, 300), leak=0.2, seed=3)
    result = MaximumMeanDiscrepancy()(tables, rng=np.random.default_rng(0))
    leaked = {row.tobytes() for row in tables.synthetic.values[:60]}
    flags = np.array(
        [tables.train.values[row].tobytes() in leaked for row in result.sensitive_scores[0].rows]
    )
    assert (
        result.sensitive_scores[0].values[flags].mean()
        > result.sensitive_scores[0].values[~flags].mean() + 1e-3
    )


def test_an_unfaithful_release_does_not_hide_its_leak():
    tables = population("normal", (500, 500, 500), leak=0.3, seed=4)
    shifted = tables.synthetic.values.copy()
    shifted[150:] = np.clip(shifted[150:] + 1.5, -6, 6)
    result = MaximumMeanDiscrepancy()(
        split(tables.schema, tables.train.values, tables.control.values, shifted),
        rng=np.random.default_rng(0),
    )
    assert result.risk.value == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize(
    ("train", "control", "reason"),
    [
        ([ROWS[0], ROWS[1]], [], "control"),
        ([ROWS[0]], [ROWS[0], ROWS[1]], "two train rows"),
        ([ROWS[0]] * 2, [ROWS[0]] * 2, "all train and control rows are equal"),
        ([ROWS[0], ROWS[2]], [ROWS[0], ROWS[2]], "the same rows"),
    ],
)
def test_it_says_why_it_has_no_answer(train, control, reason):
    with pytest.raises(NotApplicable, match=reason):
        MaximumMeanDiscrepancy()(split(SCHEMA, train, control, ROWS), rng=np.random.default_rng(0))


def test_parameters_are_checked_when_given():
    with pytest.raises(ParameterError, match="bandwidth"):
        MaximumMeanDiscrepancy(bandwidth=0)
    with pytest.raises(ParameterError, match="n_partitions"):
        MaximumMeanDiscrepancy(n_partitions=0)
