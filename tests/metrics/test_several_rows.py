"""People with several rows: whoever takes each row for another person believes to know more than is known.

In a clean release train and control people are alike, and so nothing may be seen. Rows of one person are
alike, too: intervals that take them for different people are too narrow, and see leaks where there are none.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom
from supplies.populations import ignoring_people, patients, population, with_people

from tabveil.core.rng import stream
from tabveil.core.table import Split
from tabveil.engines.representation import Contrastive, Mixed
from tabveil.errors import NotApplicable
from tabveil.metrics.attacks import ATTACKS, MembershipViews
from tabveil.metrics.attacks.calibrated import MembershipCalibrated
from tabveil.metrics.attacks.domias.density_ratios import DomiasKde
from tabveil.metrics.attacks.gtcap.attribution import Attribution
from tabveil.metrics.attacks.inference import Inference
from tabveil.metrics.attacks.linkability import Linkability
from tabveil.metrics.attacks.membership import MembershipDistance
from tabveil.metrics.attacks.neighbor_vote import NeighborVote
from tabveil.metrics.attacks.singling_out.by_predicates import SinglingOut, SinglingOutContrastive
from tabveil.metrics.attacks.singling_out.descriptions import DescriptionAttack
from tabveil.metrics.registry import contrastive

EVERY = (
    *(
        kind()
        for kind in ATTACKS
        if kind.cost != "training"
        and not getattr(kind, "extra", "")
        and kind is not MembershipViews  # a row of linked tables is a person
    ),
    Inference(calibrated=True),
    Linkability(calibrated=True),
    DomiasKde(tested="outliers"),
    DomiasKde(tested="outlying_members"),
    SinglingOutContrastive(representation=Mixed()),
    SinglingOut(deduplicate=True),
)
TINY = Contrastive(width=16, layers=1, dimension=8, epochs=2, batch_size=64)
DEEP = tuple(kind(representation=TINY) for kind in ATTACKS if kind.name in contrastive())
NOMINAL = 0.025  # one side of an interval of 95 %

FEW = 10


def named(metric):
    more = ", calibrated" if getattr(metric, "calibrated", False) else ""
    return f"{metric.name}{more}{getattr(metric, 'tested', '').replace('random', '')}"


every = pytest.mark.parametrize("metric", EVERY, ids=named)
even_deep_ones = pytest.mark.parametrize("metric", [*EVERY, *DEEP], ids=named)


def ask(metric, tables, seed=0):
    if metric in DEEP:
        pytest.importorskip("torch")
    return metric(tables, rng=stream(seed, metric.name))


def gains(metric, draws):
    return [ask(metric, tables, seed).gain for seed, tables in enumerate(draws)]


def false_alarms(metric, draws):
    """Count the clean releases in which a leak is seen."""
    return sum(gain.low > 0 for gain in gains(metric, draws))


@pytest.mark.parametrize(
    "metric",
    [Inference(), Linkability(), MembershipDistance(), Attribution()],
    ids=lambda metric: metric.name,
)
def test_ignoring_people_gives_intervals_that_do_not_cover(metric):
    # 60 people in each table, each with 1 to 20 rows; nothing leaks, so the true gain is 0.
    clean = [patients((60, 60, 60), seed=seed) for seed in range(30)]
    assert false_alarms(metric, clean) <= binom.isf(0.001, len(clean), NOMINAL)  # 4 of 30
    assert false_alarms(metric, map(ignoring_people, clean)) >= 8


@even_deep_ones
def test_somebody_with_one_row_is_a_row(metric):
    tables = population("mixed", (150, 120, 150), leak=0.1, seed=4)
    numbers = np.random.default_rng(0).permutation(270)
    found = ask(metric, with_people(tables, numbers[:150], numbers[150:]))
    plain = ask(metric, tables)
    for figure in ("gain", "attack", "control", "baseline", "risk"):
        one, other = getattr(found, figure), getattr(plain, figure)
        assert (one.value, one.low, one.high, one.n) == pytest.approx(
            (other.value, other.low, other.high, other.n)
        )
    assert found.p_value == pytest.approx(plain.p_value)
    assert found.leading == plain.leading
    for of_people, of_rows in zip(found.sensitive_scores, plain.sensitive_scores, strict=True):
        order = np.argsort(of_people.rows), np.argsort(of_rows.rows)
        np.testing.assert_array_equal(of_people.rows[order[0]], of_rows.rows[order[1]])
        np.testing.assert_allclose(of_people.values[order[0]], of_rows.values[order[1]])


@every
def test_more_rows_of_the_same_people_prove_no_more(metric):
    tables = patients((80, 80, 80), seed=2, most=6)
    four_times = Split(
        train=tables.train.take(np.repeat(np.arange(len(tables.train)), 4)),
        control=tables.control.take(np.repeat(np.arange(len(tables.control)), 4)),
        synthetic=tables.synthetic,
    )
    once, again = ask(metric, tables), ask(metric, four_times)
    assert again.gain.n == once.gain.n
    if not isinstance(metric, DescriptionAttack):  # people with more rows may be described by more
        assert again.attack.n == once.attack.n
    least = 0.85 if once.gain.n > FEW else 0.5  # of eight people, one more named moves a bound far
    assert again.gain.high - again.gain.low > least * (once.gain.high - once.gain.low)


@pytest.mark.parametrize(
    "metric",
    [SinglingOut(), Inference(), Linkability(), Attribution(), NeighborVote(), MembershipCalibrated()],
    ids=lambda metric: metric.name,
)
def test_people_leaked_with_all_of_their_rows_are_seen(metric):
    leaky = ask(metric, patients((200, 200, 200), leak=0.05, seed=1))
    assert 0 < leaky.gain.low <= 0.05 <= leaky.gain.high
    assert leaky.gain.value == pytest.approx(0.05, abs=0.04)
    assert leaky.gain.n == 200
    clean = ask(metric, patients((200, 200, 200), seed=1))
    assert clean.gain.low <= 0 <= clean.gain.high


@every
@pytest.mark.parametrize("sizes", [(1, 40, 20), (40, 1, 20), (1, 1, 20), (40, 0, 20)], ids=str)
def test_one_person_proves_nothing(metric, sizes):
    tables = patients(sizes, leak=1.0, seed=3)
    assert len(tables.train) > 1
    try:
        gain = ask(metric, tables).gain
    except NotApplicable:
        return
    if sizes[1] == 0:
        assert gain is None
    else:
        assert gain.low <= 0.05
        assert gain.high >= 0.5


@every
def test_which_numbers_people_have_and_where_their_rows_stand_does_not_matter(metric):
    tables = patients((30, 40, 40), leak=0.2, seed=5, most=4)
    rng = np.random.default_rng(1)
    numbers = rng.permutation(70) + 1000
    moved = Split(
        **{
            role: replace(side, people=numbers[side.people]).take(rng.permutation(len(side)))
            for role, side in (("train", tables.train), ("control", tables.control))
        },
        synthetic=tables.synthetic,
    )
    one, other = ask(metric, tables).gain, ask(metric, moved).gain
    assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high))
