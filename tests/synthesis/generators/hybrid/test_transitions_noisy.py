"""Does the noise of a transition keep its ε? By calculation on a tiny table, and by counting releases."""

import math
from itertools import product

import numpy as np
import pytest
from supplies.anonymized_by_head import TREE, generalized

from tabveil.synthesis.generators.hybrid import read_transition
from tabveil.workflows.epsilon.bounds import GuessCounts, least_epsilon

HERE, THERE = [(25, 0, 1, 0), (21, 0, 1, 0)], [(25, 1, 9, 0), (21, 0, 1, 0)]
"""Two people of one class; in the neighbor, the first is a doctor with a pay in another bin of it."""


def one_class(rows, columns=("job",)):
    """The rows in one class, by so many generalized columns of two bins each."""
    hierarchies = {"job": TREE, "pay": {"intervals": [[0, 10]]}}
    return generalized(rows, {name: hierarchies[name] for name in columns}, dict.fromkeys(columns, 1))


class Recorded:
    """Random numbers that are all zero, and the scale that each was asked for."""

    def __init__(self):
        self.scales = []

    def geometric(self, chance, size):
        self.scales.append(-math.log1p(-chance))
        return np.zeros(size, dtype=np.int64)

    def laplace(self, *, scale, size):
        self.scales.append(1 / scale)
        return np.zeros(size)


def counted(rows, **settings):
    """The counts of all bins before noise, and by how much ε each tells two neighboring counts apart."""
    rng, seen = Recorded(), []
    transition = read_transition({"name": "noisy_conditional", "bins": 2, **settings})
    kind = type(transition)

    class Watched(kind):
        def weigh(self, cells, counts, everywhere, **rest):
            seen.append(counts)
            return kind.weigh(self, cells, counts, everywhere, **rest)

    Watched(**vars(transition)).learn(rows, rng=rng)
    (scale,) = set(rng.scales)
    return np.concatenate(seen), scale


@pytest.mark.parametrize("columns", [("job",), ("job", "pay")])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_no_outcome_is_likelier_by_more_than_epsilon(epsilon, columns):
    """Every outcome of all noisy counts, and its chance in either table: exact, and the bound is reached."""
    (here, scale), (there, _) = (counted(one_class(rows, columns), epsilon=epsilon) for rows in (HERE, THERE))
    outcomes = np.array(list(product(range(-4, 7), repeat=len(here))))
    chances = [np.exp(-scale * np.abs(outcomes - counts).sum(axis=1)) for counts in (here, there)]
    apart = np.abs(np.log(chances[0]) - np.log(chances[1])).max()
    assert apart == pytest.approx(epsilon)  # twice that before each count had noise for half of its share


def test_the_noise_of_laplace_has_the_same_scale():
    geometric, laplace = (
        counted(one_class(HERE, ("job", "pay")), epsilon=2.0, noise=noise)[1]
        for noise in ("geometric", "laplace")
    )
    assert geometric == pytest.approx(laplace) == pytest.approx(2.0 / 2 / 2)


@pytest.mark.parametrize("noise", ["geometric", "laplace"])
def test_no_more_than_epsilon_is_seen_in_many_releases(noise):
    """Whoever sees that all of a class are nurses guesses that the first is one."""
    transition = read_transition({"name": "noisy_conditional", "epsilon": 1.0, "noise": noise})
    rng, n = np.random.default_rng(0), 4000

    def said(rows):
        found = one_class([rows[0]])
        return sum(transition.learn(found, rng=rng).weights[0][0] == 1 for _ in range(n))

    counts = GuessCounts(hits=said(HERE), n_with=n, false_alarms=said(THERE), n_without=n)
    assert 0.5 < least_epsilon(counts, "any", delta=0, alpha=0.05) <= 1.0


def test_it_says_what_neighbors_are():
    covers = read_transition({"name": "noisy_conditional", "epsilon": 0.5}).covers
    assert "two tables are neighbors if one row has others of the same class" in covers
