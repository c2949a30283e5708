"""No cap hides a leak: what tries a part of the rows estimates over all, below and above every limit.

Half of the training people stand in the release. Each attack, indicator and check is asked once with its
limits above the size of the tables, and once far below: both must see the leak, at about the same size.
"""

import inspect

import numpy as np
import pytest
from supplies.populations import population, split

import tabveil.metrics.control.copies as copies_module
from tabveil.core.rng import stream
from tabveil.core.table import Numeric, Schema
from tabveil.engines.representation import Mixed
from tabveil.metrics import agreement
from tabveil.metrics.agreement import nearly_copied, scan
from tabveil.metrics.attacks.singling_out.by_predicates import SinglingOutContrastive
from tabveil.metrics.control import check_control, held_out
from tabveil.metrics.control.copies import copies
from tabveil.metrics.registry import METRICS, defaults

LEAK = 0.5
N = 400
LIMITS = {
    "singling_out": {"n_windows": 100, "n_attacks": 50},
    "linkability": {"n_attacks": 100},
    "inference": {"n_attacks": 100},
    "ml_inference": {"n_attacks": 100},
    "neighbor_vote": {"n_attacks": 100},
    "gtcap": {"n_attacks": 100},
    "membership_distance": {"n_attacks": 100},
    "membership_calibrated": {"n_attacks": 100},
    "domias_kde": {"n_attacks": 60},
    "identical_match_share": {},
    "distance_to_closest": {},
    "closest_share": {},
    "nearest_neighbors": {},
    "neighbor_distance_ratio": {},
    "adversarial_accuracy": {},
    "mmd": {},
}
"""The parameters of each default metric that limit how many rows it looks at, far below the tables' size."""


@pytest.fixture(scope="module")
def leaky():
    return population("mixed", (N, N, N), leak=LEAK, seed=5)


def test_every_default_metric_and_every_limit_of_it_is_here():
    words = {"pii_replay", "text_replay"}  # count all people, without a limit
    assert set(LIMITS) | words == set(defaults(quick=False))
    for name, limits in LIMITS.items():
        limiting = {
            item
            for item in inspect.signature(METRICS[name]).parameters
            if item in {"n_attacks", "n_windows", "max_rows"}
        }
        assert limiting == set(limits), name


@pytest.mark.parametrize("name", [name for name, limits in LIMITS.items() if limits])
def test_a_limit_of_an_attack_hides_nothing(name, leaky):
    whole, part = (
        METRICS[name](**limits)(leaky, rng=stream(0, name))
        for limits in (dict.fromkeys(LIMITS[name], 10**6), LIMITS[name])
    )
    assert whole.gain.low > 0
    assert part.gain.low > 0
    assert part.gain.value == pytest.approx(whole.gain.value, abs=0.15)


def test_a_limit_of_the_contrastive_attack_is_none_by_default(leaky):
    metric = SinglingOutContrastive(representation=Mixed())
    found = metric(leaky, rng=stream(0, "a"))
    assert metric.n_attacks is None
    assert found.gain.low > 0


def test_one_column_of_everybody_is_seen_among_many_people():
    """Two thousand guesses of 45,000 people could never expose more than one in twenty of them."""
    rng = np.random.default_rng(0)
    schema = Schema(tuple(Numeric(name=f"c{j}", low=0, high=9000) for j in range(6)))
    fresh = [rng.integers(0, 4, (3000, 5)).astype(float) for _ in range(3)]
    cost = rng.permutation(9000).astype(float)
    train, control = (np.column_stack([fresh[i], cost[3000 * i : 3000 * (i + 1)]]) for i in range(2))
    release = np.column_stack([fresh[2], rng.permutation(cost[:3000])])
    for rows in (release, np.concatenate([release, release])):
        metric = METRICS["singling_out"](n_attacks=50, n_windows=50)
        found = metric(split(schema, train, control, rows), rng=stream(0, "singling_out"))
        assert found.gain.low > 0.9


def test_a_limit_of_a_check_hides_nothing(leaky, monkeypatch):
    rng = np.random.default_rng
    whole = (copies(leaky, rng=rng(0)), nearly_copied(leaky, rng=rng(0)), scan(leaky, rng=rng(0)))
    monkeypatch.setattr(copies_module, "_FRESH_ROWS", 50)
    monkeypatch.setattr(agreement, "LARGE", 100)
    monkeypatch.setattr(agreement, "ROWS_AT_MOST", 1)
    part = (copies(leaky, rng=rng(0)), nearly_copied(leaky, rng=rng(0)), scan(leaky, rng=rng(0)))
    for one, other in zip(whole, part, strict=True):
        assert max(one.p_value, other.p_value) < 1e-6
    assert part[0].share.value == pytest.approx(whole[0].share.value, abs=0.02)
    assert part[1].gain.value == pytest.approx(whole[1].gain.value, abs=0.02)
    assert part[2].hits.train == pytest.approx(whole[2].hits.train, rel=0.1)


def test_a_limit_of_the_check_of_the_control_hides_nothing(leaky, monkeypatch):
    both = np.concatenate([leaky.train.values, leaky.control.values])
    seen = split(leaky.schema, leaky.train.values, leaky.control.values, both)
    monkeypatch.setattr(held_out, "_MOST_PEOPLE", 100)
    monkeypatch.setattr(held_out, "_MOST_ROWS", 100)
    assert any("not held out" in fault for fault in check_control(seen, rng=np.random.default_rng(0)).fails)
