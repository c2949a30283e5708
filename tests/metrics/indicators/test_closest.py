from itertools import pairwise

import numpy as np
import pytest
from supplies.populations import patients, population, risks, split

from tabveil.core.estimate.means import MOST_RESAMPLES, resamples_for
from tabveil.core.table import Numeric, Schema
from tabveil.core.workers import sharing
from tabveil.engines.neighbors import Neighbors
from tabveil.engines.neighbors.shared import expect
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.attacks.calibrated import MembershipCalibrated
from tabveil.metrics.attacks.inference import Inference
from tabveil.metrics.attacks.membership import MembershipDistance
from tabveil.metrics.control.copies import copies
from tabveil.metrics.indicators import (
    AdversarialAccuracy,
    ClosestShare,
    DistanceToClosest,
    NearestNeighbors,
    NeighborDistanceRatio,
)
from tabveil.metrics.indicators.nearest import _resample, closeness

LINE = Schema((Numeric(name="x", low=0, high=100),))


def rng():
    return np.random.default_rng(0)


def copy_of_train(kind, sizes):
    tables = population(kind, (*sizes, 5))
    return split(tables.schema, tables.train.values, tables.control.values, tables.train.values)


def test_distance_to_closest_by_hand():
    # Control rows are 1, 2, 3 and 10 from train; half of them (alpha) lie within 2.
    tables = split(LINE, [0, 50, 100], [1, 52, 97, 40], [0, 48, 53, 60, 100])
    result = DistanceToClosest(alpha=0.5)(tables, rng=rng())
    assert result.details["threshold"] == pytest.approx(0.02)
    assert result.attack.value == 3 / 5
    assert result.control.value == 2 / 4
    assert result.risk.value == pytest.approx((0.6 - 0.5) / 0.5)
    order = np.argsort(result.sensitive_scores[0].rows)
    assert result.sensitive_scores[0].values[order].tolist() == pytest.approx([0, -0.02, -0.03, -0.1, 0])
    assert result.details["within_train"] == pytest.approx({"median": 0.5, "percentile_5": 0.5})
    assert result.details["fresh"]["median"] == pytest.approx(0.025)


def test_real_to_synthetic_attacks_train_rows():
    tables = split(LINE, [0, 50, 100], [1, 52, 97, 40], [0, 60, 95])
    result = DistanceToClosest(alpha=0.5, direction="real_to_synthetic")(tables, rng=rng())
    # From control: 1, 8, 2, 20; from train: 0, 10, 5.
    assert result.details["threshold"] == pytest.approx(0.02)
    assert result.attack.value == pytest.approx(1 / 3)
    assert result.sensitive_scores[0].table == "train"


def test_real_to_synthetic_needs_a_control():
    with pytest.raises(NotApplicable, match="control"):
        DistanceToClosest(direction="real_to_synthetic")(split(LINE, [0, 50], [], [0]), rng=rng())


@pytest.mark.parametrize("metric", [DistanceToClosest(), NearestNeighbors()])
@pytest.mark.parametrize("kind", ["normal", "levels", "mixed"])
@pytest.mark.parametrize("sizes", [(400, 400), (400, 130), (400, 0)])
def test_a_copy_is_one_with_and_without_control(metric, kind, sizes):
    result = metric(copy_of_train(kind, sizes), rng=rng())
    assert result.details.get("n_neighbors", 1) == 1
    assert result.risk.value == pytest.approx(1, abs=1e-12)
    assert bool(result.notes) == (sizes[1] == 0)


def test_without_control_fresh_rows_cover_zero_and_a_leak_is_measured():
    fresh = risks(DistanceToClosest(), "mixed", (600, 0, 300), seeds=60)
    assert np.mean((fresh[:, 1] <= 0) & (fresh[:, 2] >= 0)) >= 0.9
    leak = risks(DistanceToClosest(), "mixed", (600, 0, 600), leak=0.2, seeds=30)
    assert leak[:, 0].mean() == pytest.approx(0.2, abs=0.02)
    assert np.mean(leak[:, 1] > 0) == 1


def test_equally_close_control_rows_have_no_answer():
    with pytest.raises(NotApplicable, match="equally close"):
        DistanceToClosest()(split(LINE, [0, 50], [0, 0, 50], [1]), rng=rng())
    with pytest.raises(NotApplicable, match="two train rows"):
        DistanceToClosest()(split(LINE, [0], [], [1]), rng=rng())


@pytest.mark.parametrize("levels", [None, 12])
def test_the_closed_form_bootstrap_is_the_plain_one(levels):
    generator = np.random.default_rng(5)
    attacked, fresh = generator.random(150) ** 1.5, generator.random(120)
    if levels:
        attacked, fresh = np.floor(attacked * levels), np.floor(fresh * levels)
    attacked, fresh = np.sort(attacked), np.sort(fresh)
    rank = 6
    closed = np.concatenate([_resample(attacked, fresh, rank, 1000, rng=generator) for _ in range(8)])
    plain = []
    for _ in range(8000):
        a, f = generator.choice(attacked, 150), generator.choice(fresh, 120)
        within = f <= np.partition(f, rank - 1)[rank - 1]
        threshold = f[within].max()
        plain.append(((a <= threshold).mean() - within.mean()) / (1 - within.mean()))
    quantiles = [0.025, 0.16, 0.5, 0.84, 0.975]
    assert np.quantile(closed, quantiles) == pytest.approx(np.quantile(plain, quantiles), abs=0.015)
    assert closed.mean() == pytest.approx(np.mean(plain), abs=0.004)
    assert closed.std() == pytest.approx(np.std(plain), rel=0.04)


def test_closeness_takes_an_actual_value_as_threshold():
    found = closeness("test", np.array([0.0, 1.0]), np.arange(100.0), alpha=0.02, confidence=0.95, rng=rng())
    assert found.threshold == 1.0
    assert found.control.value == 0.02
    assert found.attack.value == found.risk.value == 1


def test_closest_share_by_hand():
    # Nearest to train, nearest to control, a tie.
    result = ClosestShare()(split(LINE, [0, 50], [10, 90], [1, 80, 30]), rng=rng())
    assert result.details == {
        "nearer_to_train": 1, "nearer_to_control": 1, "ties": 1, "worst": 1, "n_train": 2, "n_control": 2,
    }  # fmt: skip
    assert result.attack.value == result.control.value == 0.5
    assert result.risk.value == 0
    order = np.argsort(result.sensitive_scores[0].rows)
    assert result.sensitive_scores[0].values[order].tolist() == pytest.approx([1, 0, 0.5])


def test_closest_share_counts_each_of_equally_near_rows():
    # From 30 a training row and three control rows are equally near; three quarters of real rows are train.
    tables = split(LINE, [20, 100, 101, 102, 103, 104, 105, 106, 107], [40, 40, 20], [30, 100])
    result = ClosestShare()(tables, rng=rng())
    assert result.control.value == 9 / 12
    assert result.attack.value == pytest.approx((1 / 4 + 1) / 2)
    worst = (1 / 2 + 8) / 9  # 20 has a twin in control
    assert result.details["worst"] == pytest.approx(worst)
    assert result.risk.value == pytest.approx((5 / 8 - 9 / 12) / (worst - 9 / 12))


def test_closest_share_of_the_same_rows_has_no_room():
    with pytest.raises(NotApplicable, match="the same rows"):
        ClosestShare()(split(LINE, [0, 50], [50, 0], [1, 80, 30]), rng=rng())


def test_closest_share_counts_rows_around_one_real_row_once():
    one_owner = ClosestShare()(split(LINE, [0, 100], [30, 70], [0, 1, 2, 3, 4, 5]), rng=rng())
    assert one_owner.attack.value == 1
    assert one_owner.risk.low < 0


def test_closest_share_uses_all_rows_whatever_the_sizes():
    tables = population("mixed", (300, 100, 200))
    result = ClosestShare()(tables, rng=rng())
    assert result.control.value == 0.75
    assert result.notes == ()


def test_closest_share_needs_a_control():
    with pytest.raises(NotApplicable, match="tabveil split"):
        ClosestShare()(split(LINE, [0, 1], [], [0]), rng=rng())


def test_nearest_neighbors_by_hand():
    tables = split(LINE, [0, 10, 40], [2, 30, 60, 90], [0, 5])
    result = NearestNeighbors(n_neighbors=(2, 1), alpha=0.25)(tables, rng=rng())
    by_k = result.details["by_n_neighbors"]
    # k = 2: control rows (2 + 8) / 2 = 5, (10 + 20) / 2, (20 + 50) / 2, (50 + 80) / 2; synthetic 5 and 5.
    assert by_k["2"]["threshold"] == pytest.approx(0.05)
    assert by_k["2"]["risk"].value == 1
    # k = 1: control 2, 10, 20, 50; synthetic 0 and 5.
    assert by_k["1"]["threshold"] == pytest.approx(0.02)
    assert by_k["1"]["risk"].value == pytest.approx((0.5 - 0.25) / 0.75)
    assert result.details["n_neighbors"] == 2
    assert result.params["n_neighbors"] == (1, 2)


def test_nearest_neighbors_leaves_out_what_cannot_be():
    result = NearestNeighbors()(split(LINE, [0, 10, 40], [2, 30, 60, 90], [0, 5]), rng=rng())
    assert list(result.details["by_n_neighbors"]) == ["1", "2", "3"]
    assert "k = 5, 10" in result.notes[-1]
    with pytest.raises(NotApplicable, match="only 3"):
        NearestNeighbors(n_neighbors=(5,))(split(LINE, [0, 10, 40], [2, 30], [0]), rng=rng())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DistanceToClosest(alpha=0), "alpha must lie between 0 and 1, got 0"),
        (lambda: DistanceToClosest(direction="sideways"), "direction must be one of"),
        (lambda: ClosestShare(distance="manhattan"), "distance must be one of"),
        (lambda: ClosestShare(encoding="hash"), "encoding must be one of"),
        (lambda: NearestNeighbors(n_neighbors=(0, 1)), "n_neighbors must be >= 1"),
        (lambda: NearestNeighbors(n_neighbors=()), "number of n_neighbors must be >= 1"),
    ],
)
def test_parameters_are_checked_when_given(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_a_share_of_none_or_all_keeps_an_interval():
    fresh = np.arange(100.0)
    none = closeness("test", np.full(30, 50.0), fresh, alpha=0.02, confidence=0.95, rng=rng())
    assert none.attack.value == 0
    assert none.risk.low < 0 < none.risk.high  # of 30 rows, no more than a few could have been expected
    every = closeness("test", np.zeros(30), fresh, alpha=0.02, confidence=0.95, rng=rng())
    assert every.risk.low < every.risk.value == every.risk.high == 1


def test_a_high_level_rests_on_more_than_the_outermost_resamples():
    levels = (0.95, 0.99, 0.999, 0.9999)
    assert [resamples_for(level) for level in levels] == [1000, 1000, 10_000, 100_000]
    assert resamples_for(1 - 1e-12) == MOST_RESAMPLES
    distances = np.random.default_rng(1).normal(size=(2, 400))
    found = [closeness("test", *distances, alpha=0.1, confidence=level, rng=rng()).risk for level in levels]
    assert len({risk.value for risk in found}) == 1
    for narrow, wide in pairwise(found):
        assert wide.low < narrow.low
        assert wide.high > narrow.high


ASK_THE_SAME = (
    ClosestShare(),
    DistanceToClosest(),
    NearestNeighbors(),
    NeighborDistanceRatio(),
    AdversarialAccuracy(),
    DistanceToClosest(distance="euclidean", direction="real_to_synthetic"),
    MembershipDistance(),
    MembershipCalibrated(),
    Inference(),
)


def few_values(sizes):
    """Rows with many twins in all three tables, and many equally near ones."""
    drawn = [np.random.default_rng(n).integers(0, 4, (size, 3)) * 1.0 for n, size in enumerate(sizes)]
    drawn[2][: sizes[2] // 4] = drawn[0][: sizes[2] // 4]
    return split(Schema(tuple(Numeric(name=name, low=0, high=3, decimals=0) for name in "xyz")), *drawn)


@pytest.mark.parametrize(
    "tables",
    [
        few_values((60, 60, 80)),
        few_values((90, 50, 40)),
        population("mixed", (300, 300, 300), leak=0.2),
        population("mixed", (300, 200, 150), leak=0.2),
        patients((90, 80, 90), leak=0.2),
    ],
    ids=["few values", "few values, unequal", "mixed", "mixed, unequal", "people with several rows"],
)
@pytest.mark.parametrize("turned", [False, True])
def test_answers_are_the_same_where_searches_are_shared_whoever_asks_first(tables, turned):
    alone = {metric: metric(tables, rng=rng()) for metric in ASK_THE_SAME}
    near = copies(tables, rng=rng())
    with sharing(seed=0):
        if not turned:  # what is not expected is searched again for more
            expect(search for metric in ASK_THE_SAME for search in metric.searches(tables))
        for metric in reversed(ASK_THE_SAME) if turned else ASK_THE_SAME:
            for _ in range(2):
                found = metric(tables, rng=rng())
                assert found.to_json() == alone[metric].to_json()
                for score, before in zip(found.sensitive_scores, alone[metric].sensitive_scores, strict=True):
                    np.testing.assert_array_equal(score.values, before.values)
        assert copies(tables, rng=rng()) == near


def test_the_share_closer_to_train_needs_no_search_where_others_looked_at_both_tables(monkeypatch):
    tables = population("normal", (300, 300, 300))
    expected = ClosestShare()(tables, rng=rng())
    with sharing(seed=0):
        for metric in (NearestNeighbors(), NeighborDistanceRatio()):
            metric(tables, rng=rng())
        monkeypatch.setattr(Neighbors, "nearest", None)
        assert ClosestShare()(tables, rng=rng()).risk == expected.risk
