"""One fit, many canaries: a copy is found out, a fresh release is a coin, and bounds hold."""

import numpy as np
import pytest
from supplies.populations import SCHEMAS, rows

from tabveil.core.table import Split, Table
from tabveil.errors import NotApplicable, ParameterError
from tabveil.protocols import People
from tabveil.synthesis.generators.baselines import Bootstrap, Marginals
from tabveil.synthesis.risks import Canaries
from tabveil.workflows.epsilon import audit_in_one_run, tell_canaries, tell_split

ALPHA = 0.05


def rng(seed=0):
    return np.random.default_rng(seed)


def people(n, seed=0):
    values = rows("mixed", 3 * n, rng(seed)).reshape(3, n, -1)
    return [Table(schema=SCHEMAS["mixed"], values=part) for part in values]


def canaries(make, *, secret=None, seed=0, n=100):
    train, control, release = people(300, seed)
    given = People(train=train, control=control, release=release)
    return Canaries(secret=secret)(given, n, make, rng=rng(seed))


@pytest.mark.parametrize("secret", [None, "region"])
def test_a_copy_betrays_its_canaries_by_an_exact_interval(secret):
    found = tell_canaries(canaries(lambda train, release: train, secret=secret), rng=rng())
    assert found.n_right == found.n_guesses > 40
    assert found.rate(0.95).low > 0.9
    assert found.least_epsilon(delta=0, alpha=ALPHA) > 2


@pytest.mark.parametrize("secret", [None, "region"])
def test_where_nothing_was_learned_guesses_are_coins(secret):
    """The exact interval holds one half in 95 of 100 tries or more, and no ε is proven."""
    tries = [
        tell_canaries(canaries(lambda train, release: release, secret=secret, seed=seed), rng=rng())
        for seed in range(60)
    ]
    rates = [each.rate(0.95) for each in tries]
    assert np.mean([rate.low <= 0.5 <= rate.high for rate in rates]) >= 0.93
    assert np.mean([each.least_epsilon(delta=1e-5, alpha=ALPHA) == 0 for each in tries]) >= 0.93


def test_pairs_by_hand():
    split = canaries(lambda train, release: train, n=4)
    near = Split(train=split.train, control=split.train, synthetic=split.synthetic)
    none = tell_canaries(near, rng=rng())
    assert (none.n_canaries, none.n_guesses) == (4, 0)
    assert none.rate(0.95) is None
    assert tell_canaries(split, share=0.5, rng=rng()).n_guesses <= 2


def test_a_release_of_a_random_split_is_told_for_free():
    train, control, fresh = people(300)
    copy = tell_split(Split(train=train, control=control, synthetic=train), rng=rng())
    assert copy.n_canaries == 300
    assert copy.n_right == copy.n_guesses
    assert copy.least_epsilon(delta=1e-6, alpha=ALPHA) > 1.5
    clean = tell_split(Split(train=train, control=control, synthetic=fresh), rng=rng())
    assert clean.least_epsilon(delta=1e-6, alpha=ALPHA) == 0
    uneven = Split(train=train, control=control.take(np.arange(40)), synthetic=fresh)
    assert tell_split(uneven, rng=rng()).n_canaries == 40
    with pytest.raises(NotApplicable, match="tell_split"):
        tell_split(Split(train=train, control=control.take(np.arange(0)), synthetic=fresh), rng=rng())


def test_pairs_need_as_many_rows_on_both_sides():
    train, control, fresh = people(20)
    uneven = Split(train=train, control=control.take(np.arange(4)), synthetic=fresh)
    with pytest.raises(ParameterError, match="as many rows, got 20 and 4"):
        tell_canaries(uneven, rng=rng())


def test_one_fit_of_a_copying_generator_proves_much_and_of_marginals_little():
    table = people(400)[0]
    copied = audit_in_one_run(Bootstrap(), table, n_canaries=200, share=0.2, rng=rng())
    learned = audit_in_one_run(Marginals(), table, n_canaries=200, share=0.2, rng=rng())
    assert copied.n_guesses == 40
    assert copied.least_epsilon(delta=1e-5, alpha=ALPHA) > 0.3  # a sample misses some that were learned
    assert learned.least_epsilon(delta=1e-5, alpha=ALPHA) == 0
