"""Ratios against a sample of the population: scores by hand, what is seen, and what fresh rows read."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import binom
from supplies.populations import adult_thirds, population, split

from tabveil.core.rng import stream
from tabveil.core.table import Categorical, Numeric, Schema, Split, Table
from tabveil.engines.representation import Mixed
from tabveil.metrics.attacks import (
    MembershipCalibrated,
    MembershipDistance,
    MembershipInfluence,
    MembershipRatio,
    MembershipTrees,
)
from tabveil.metrics.attacks.domias.density_ratios import Kernel
from tabveil.metrics.attacks.membership_sampled import Suspects, influence
from tabveil.synthesis.generators.trees.synthesizer import Trees
from tabveil.tables.matrices.points import Coordinates

LINE = Schema((Numeric(name="x", low=0, high=100, decimals=0),))
ATTACKS = (MembershipCalibrated, MembershipRatio, MembershipTrees, MembershipInfluence)
every = pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)


def ask(metric, tables, seed=0):
    return metric(tables, rng=stream(seed, metric.name))


def areas(found):
    """The areas under the curves of all scores, by the score's name."""
    return {
        item.setting.label.split(",")[0]: (1 + item.risk.value) / 2
        for item in found.configurations
        if item.setting.statistic == "area"
    }


def suspects(schema, people, release, sample):
    people, release, sample = (Table(schema=schema, values=np.array(x)) for x in (people, release, sample))
    blind = Split(train=people, control=sample, synthetic=release)
    view = Mixed().view(blind, rng=np.random.default_rng(0))
    return Suspects(people=people, release=release, sample=sample, view=view)


# Influence ------------------------------------------------------------------------------------------------


def refitted(people, release, sample, near, kernel):
    """What the nearest synthetic rows gain when the density is estimated anew with each person."""

    def log_kernels(queries, rows):
        squares = (queries.places[:, None] - rows.places[None]) ** 2
        gaps = np.nansum(np.minimum(squares, kernel.most), axis=2)
        mismatches = (queries.codes[:, None] != rows.codes[None]).sum(axis=2)
        return -kernel.slope * gaps - kernel.cost * mismatches

    of_sample, of_people = log_kernels(release, sample), log_kernels(release, people)
    n, found = len(sample), []
    before = logsumexp(of_sample, axis=1) - np.log(n)
    for person, rows in enumerate(near):
        joined = np.column_stack([of_sample[rows], of_people[rows, person]])
        found.append(np.sum(logsumexp(joined, axis=1) - np.log(n + 1) - before[rows]))
    return np.array(found)


@pytest.mark.parametrize("kind", ["normal", "levels", "mixed"])
def test_the_fast_form_is_what_refitting_gives(kind):
    tables = population(kind, (150, 80, 120), leak=0.2, seed=1)
    coordinates = Coordinates.of(tables.synthetic, tables.train, tables.control)
    people, release, sample = map(coordinates.points, (tables.train, tables.synthetic, tables.control))
    near = np.random.default_rng(2).integers(0, 120, (150, 4))
    for kernel in (Kernel.rule("scott", 80, 5), Kernel.copy(0.05)):
        found = influence(people, release, sample, near, kernel=kernel, n_complete=len(coordinates.complete))
        expected = refitted(people, release, sample, near, kernel)
        np.testing.assert_allclose(found, expected, atol=1e-9)
        assert np.corrcoef(found, expected)[0, 1] > 0.999


def test_the_sharp_limit_by_hand():
    given = suspects(LINE, [[10.0], [50.0]], [[11.0], [60.0]], [[90.0], [31.0]])
    found = MembershipInfluence(n_neighbors=2, offset=0.001).suspicions(given, rng=None)["sharp influence"]
    # The first row is .2 from the sample, the second .29. A person farther than that gains nothing.
    expected = [np.log(0.201 / 0.011), np.log(0.291 / 0.101)]
    np.testing.assert_allclose(found, expected)
    alone = MembershipInfluence(n_neighbors=9).suspicions(given, rng=None)["sharp influence"]
    np.testing.assert_allclose(alone, expected)  # there are no more rows than two


# Trees ----------------------------------------------------------------------------------------------------


def test_a_tree_ratio_by_hand():
    schema = Schema((Categorical(name="sex", labels=("f", "m")),))
    release, sample = [[0.0]] * 3 + [[1.0]], [[0.0], [1.0]]
    given = suspects(schema, [[0.0], [1.0]], release, sample)
    found = MembershipTrees().suspicions(given, rng=np.random.default_rng(0))["tree ratio"]
    # One leaf: its shares, mixed with a hundredth of those overall, where half a row is added to each value
    # (missing and unknown are two more).
    of_release = 0.99 * np.array([3, 1]) / 4 + 0.01 * np.array([3.5, 1.5]) / 6
    of_sample = 0.99 / 2 + 0.01 * 1.5 / 4
    np.testing.assert_allclose(found, np.log(of_release) - np.log(of_sample))


@pytest.fixture(scope="module")
def drawn_from_trees():
    """People of Adult, and a release that trees with small leaves drew."""
    schema, (train, control, _) = adult_thirds()
    train, control = (Table(schema=schema, values=rows[:2500]) for rows in (train, control))
    model = Trees(preset="published", min_leaf=5).fit(train, rng=np.random.default_rng(4))
    return Split(train=train, control=control, synthetic=model.sample(2500, rng=np.random.default_rng(5)))


def test_ratios_see_more_of_trees_than_the_nearest_distance(drawn_from_trees):
    nearest = areas(ask(MembershipDistance(), drawn_from_trees))["distance"]
    ratios = areas(ask(MembershipRatio(n_permutations=19), drawn_from_trees))
    trees = areas(ask(MembershipTrees(n_permutations=19), drawn_from_trees))
    assert ratios["log ratio"] > nearest + 0.02
    assert trees["tree ratio"] > nearest + 0.02
    assert trees["mean of ranks"] > nearest + 0.02


# What all of them read ------------------------------------------------------------------------------------


@every
def test_a_copy_reads_high(attack):
    copy = population("mixed", (300, 300, 300), leak=1.0, seed=6)
    assert max(areas(ask(attack(n_permutations=199), copy)).values()) > 0.85
    assert ask(attack(n_permutations=199), copy).gain.low > 0.3


@every
@pytest.mark.parametrize(
    ("kind", "sizes"), [("mixed", (60, 120, 60)), ("levels", (80, 60, 150)), ("normal", (60, 90, 20))]
)
def test_the_interval_of_a_fresh_release_holds_one_half(attack, kind, sizes):
    # Of the area by itself, without the other readings; sizes of release and sample differ, levels tie.
    n_seeds, metric, held = 100, attack(n_permutations=1), 0
    for seed in range(n_seeds):
        area = ask(metric, population(kind, sizes, seed=seed), seed).curve.area
        held += area.low <= 0.5 <= area.high
    assert held >= binom.ppf(0.001, n_seeds, 0.95)


@pytest.mark.parametrize("attack", [MembershipTrees, MembershipInfluence], ids=lambda attack: attack.name)
def test_fresh_rows_raise_no_more_alarms_than_promised(attack):
    n_seeds, metric = 50, attack(n_permutations=199)
    found = [ask(metric, population("mixed", (160, 120, 100), seed=seed), seed) for seed in range(n_seeds)]
    assert sum(item.gain.low > 0 for item in found) <= binom.ppf(0.999, n_seeds, 0.025)
    assert sum(item.p_value <= 0.2 for item in found) <= binom.ppf(0.999, n_seeds, 0.2)


@every
def test_columns_in_another_order_change_nothing(attack):
    tables = population("mixed", (80, 80, 80), leak=0.3, seed=8)
    names = tables.schema.names[::-1]
    turned = Split(**{key: getattr(tables, key).select(names) for key in ("train", "control", "synthetic")})
    order = np.random.default_rng(0).permutation(80)
    moved = split(
        tables.schema, tables.train.values[order], tables.control.values[::-1], tables.synthetic.values[::-1]
    )
    metric = attack(n_permutations=19)
    expected = areas(ask(metric, tables))
    for other in (turned, moved):
        assert areas(ask(metric, other)) == pytest.approx(expected, abs=0.02)
