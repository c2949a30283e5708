"""Who takes part: each record by the same chance, strata neither lost nor favored, and never nobody."""

import numpy as np
import pytest

from tabveil.core.table import Categorical, Schema, Table
from tabveil.errors import NotApplicable, ParameterError
from tabveil.synthesis.generators.hybrid import Sampling


def table(codes):
    column = Categorical(name="ward", labels=("a", "b", "c"))
    return Table(schema=Schema((column,)), values=np.array(codes, dtype=float)[:, None])


def shares(sampling, rows, classes=None, n=4000):
    """How often each row takes part, and how many take part each time."""
    rng = np.random.default_rng(0)
    counts, sizes = np.zeros(len(rows)), []
    for _ in range(n):
        kept = sampling.draw(rows, classes, rng=rng)
        counts[kept] += 1
        sizes.append(len(kept))
    return counts / n, np.array(sizes)


def test_simple_sampling_keeps_every_record_by_itself():
    each, sizes = shares(Sampling(beta=0.3), table([0] * 40))
    np.testing.assert_allclose(each, 0.3, atol=0.04)
    assert sizes.var() == pytest.approx(
        40 * 0.3 * 0.7, rel=0.1
    )  # binomial: no two records know of each other


def test_a_sample_by_class_keeps_its_share_of_each_class_up_to_a_row():
    classes = np.array([0] * 10 + [1] * 3 + [2])
    rng = np.random.default_rng(1)
    found = [
        np.bincount(
            classes[Sampling(beta=0.5, by="class").draw(table([0] * 14), classes, rng=rng)], minlength=3
        )
        for _ in range(3000)
    ]
    assert {int(each[0]) for each in found} == {5}  # a half of ten is five, always
    assert {int(each[1]) for each in found} == {1, 2}  # of three, one or two
    assert {int(each[2]) for each in found} == {0, 1}  # and of one, it or nobody: not lost systematically
    np.testing.assert_allclose(np.mean(found, axis=0), [5, 1.5, 0.5], atol=0.05)


def test_every_record_of_every_stratum_has_the_same_chance():
    each, _ = shares(Sampling(beta=0.4, column="ward"), table([0] * 7 + [1] * 2 + [2] + [np.nan] * 3))
    np.testing.assert_allclose(each, 0.4, atol=0.04)


def test_missing_values_are_a_stratum_of_their_own():
    rows = table([0] * 4 + [np.nan] * 4)
    kept = Sampling(beta=0.5, column="ward").draw(rows, None, rng=np.random.default_rng(0))
    assert np.isnan(rows.column("ward")[kept]).sum() == 2
    assert len(kept) == 4


def test_all_take_part_with_beta_one():
    for sampling in (Sampling(), Sampling(column="ward")):
        assert sampling.draw(table([0, 1, 2]), None, rng=np.random.default_rng(0)).tolist() == [0, 1, 2]


def test_nobody_is_never_left_silently():
    with pytest.raises(NotApplicable, match=r"sampling: with beta = 1e-09, no row was left; raise it\."):
        Sampling(beta=1e-9).draw(table([0] * 5), None, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (0, "beta must be above 0 and at most 1"),
        (1.5, "beta must be above 0 and at most 1"),
        ("many", "sampling: beta must be a number, got 'many'"),
        ({"bet": 0.5}, "no setting 'bet'. Did you mean 'beta'?"),
        ({"by": "ward"}, "by must be class, got 'ward'"),
        ({"by": "class", "column": "ward"}, "give one of them"),
        ({"by": "class", "when": "before"}, "no classes before"),
        ({"when": "later"}, "when must be one of after, before, got 'later'"),
        ({"column": "war"}, "no column 'war'. Did you mean 'ward'?"),
    ],
)
def test_what_cannot_be_sampled_is_refused(given, words):
    given = {"beta": 0.5, **given} if isinstance(given, dict) else given
    classes = np.zeros(2, dtype=np.int64)
    with pytest.raises(ParameterError) as caught:
        Sampling.read(given).draw(table([0, 1]), classes, rng=np.random.default_rng(0))
    assert words in str(caught.value)
