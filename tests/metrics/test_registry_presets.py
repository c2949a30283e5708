"""The papers' settings of every metric that they use, beside where they say so; and what these change."""

import numpy as np
import pytest
from supplies.populations import population, split

from tabveil.core.table import Numeric, Schema, Split
from tabveil.datasets import hospital
from tabveil.engines.representation import Contrastive
from tabveil.errors import ParameterError
from tabveil.metrics.registry import METRICS, Knowledge, MetricChoice
from tabveil.tables.reading import load_table

PAPERS = {
    # Thesis 3.3.4, 4.4.3: the second percentile, numbers standardized, ordinal codes; equation 3.10.
    "distance_to_closest": {
        "alpha": 0.02,
        "distance": "euclidean",
        "encoding": "ordinal",
        "equation": "counts",
        "direction": "synthetic_to_real",
    },
    # 4.3.2: the same with means over several neighbors.
    "nearest_neighbors": {
        "alpha": 0.02,
        "distance": "euclidean",
        "encoding": "ordinal",
        "equation": "counts",
    },
    # Eq. 4.1: the share of the release.
    "identical_match_share": {"beyond_chance": False},
    # 3.4.1 and 4.4.3: 2,000 attacks; one attribute, and from 3 to 12.
    "singling_out": {
        "n_attacks": 2000,
        "n_columns": (3, 4, 5, 6, 7, 8, 9, 10, 11, 12),
        "widths": (),
        "column_sets": False,
    },
    "linkability": {"n_neighbors": (1,), "n_splits": None, "n_attacks": 2000, "careful": False},
    # 4.4.3: all attributes are known except the target.
    "inference": {"secrets": None, "known": None, "n_attacks": 2000, "careful": False},
    "ml_inference": {"known": None, "careful": False},
    # 4.4.3: a radius of 0.1.
    "gtcap": {"radii": (0.1,), "weighting": "hard", "known": None},
    # 4.3.3: the area under the curve, of outliers of the training set.
    "domias_kde": {"densities": "smooth", "tested": "outlying_members"},
}
EMBEDDED = ("singling_out", "linkability", "inference", "distance_to_closest")
"""Chapter 3 has each of them in its embedding, too."""


def papers(name, **given):
    return Knowledge().make(MetricChoice.read("test", {"name": name, "preset": "papers", **given}))


@pytest.mark.parametrize("name", PAPERS)
def test_metrics_have_the_papers_settings(name):
    made = papers(name)
    assert {key: getattr(made, key) for key in PAPERS[name]} == PAPERS[name]
    assert METRICS[name]() != made


@pytest.mark.parametrize("name", EMBEDDED)
def test_attacks_in_the_embedding_have_them_too(name):
    made = papers(f"{name}_contrastive")
    assert made.representation == Contrastive(preset="paper")
    same = set(PAPERS[name]) - {"widths", "column_sets", "distance", "encoding"}
    assert {key: getattr(made, key) for key in same} == {key: PAPERS[name][key] for key in same}


def test_no_metric_takes_presets_by_half():
    for kind in METRICS.values():
        for preset in getattr(kind, "presets", {}):
            assert type(kind(preset=preset)) is kind


LINE = Schema((Numeric(name="x", low=0, high=100),))
SHORT = split(LINE, [0, 10, 20, 30], [1, 12, 23, 34], [0.5, 5, 20.1, 30])


@pytest.mark.parametrize(("times", "expected"), [(1, 0.5), (2, 2.0), (4, 5.0)])
def test_the_papers_equation_counts_rows_by_hand(times, expected):
    # Training rows lie 1, 2, 3, 4 from control: the median is 2.5. Three synthetic rows lie nearer to train,
    # for four training rows: (3/4 - 1/2) / (1 - 1/2); and so many times as many in a release that is larger.
    tables = split(LINE, [0, 10, 20, 30], [1, 12, 23, 34], [0.5, 5, 20.1, 30] * times)
    for name, given in (("distance_to_closest", {}), ("nearest_neighbors", {"n_neighbors": [1]})):
        found = papers(name, alpha=0.5, **given)(tables, rng=np.random.default_rng(0))
        assert found.risk.value == pytest.approx(expected)
        assert found.attack.value == pytest.approx(0.75 * times)
        assert found.control.value == 0.5
        assert found.risk.low <= expected <= found.risk.high


def test_a_larger_release_of_fresh_people_is_a_leak_by_the_papers_equation_alone():
    larger = population("normal", (1000, 1000, 4000))
    rng = np.random.default_rng(0)
    # Four times the rows: (4 - 1) · 0.02 / (1 - 0.02).
    assert papers("distance_to_closest")(larger, rng=rng).risk.value == pytest.approx(0.0612, abs=0.03)
    shares = papers("distance_to_closest", equation="shares")(larger, rng=rng)
    assert shares.risk.value == pytest.approx(0, abs=0.02)


def test_the_papers_equation_needs_control_and_one_direction():
    nobody = split(LINE, [0, 10], [], [0, 10])
    with pytest.raises(Exception, match="control"):
        papers("distance_to_closest")(nobody, rng=np.random.default_rng(0))
    with pytest.raises(ParameterError, match="equation 'counts' is for direction 'synthetic_to_real' alone"):
        papers("distance_to_closest", direction="real_to_synthetic")


def test_the_papers_take_all_matches():
    ones = split(LINE, [1, 1, 2, 3], [1, 1, 2, 4], [1, 1, 2, 4])
    assert papers("identical_match_share")(ones, rng=np.random.default_rng(0)).risk.value == 0.75
    assert METRICS["identical_match_share"]()(ones, rng=np.random.default_rng(0)).risk.value < 0.5


@pytest.mark.parametrize("name", ["linkability", "inference", "ml_inference"])
def test_the_papers_count_all_guesses_and_no_surest_ones(name):
    tables = population("mixed", (600, 600, 600))
    rng = np.random.default_rng(0)
    levels = {item.setting.level for item in papers(name)(tables, rng=rng).configurations}
    assert levels == {1}
    assert len({item.setting.level for item in METRICS[name]()(tables, rng=rng).configurations}) > 1


def test_the_papers_judge_smooth_densities_by_their_area_and_outlying_members_are_no_chance():
    people = load_table(hospital(1500, seed=0)).table
    train, control, synthetic = (people.take(np.flatnonzero(np.arange(1500) % 3 == i)) for i in range(3))
    tables = Split(train=train, control=control, synthetic=synthetic).with_own_ranges()
    found = papers("domias_kde")(tables, rng=np.random.default_rng(0))
    assert [item.setting.statistic for item in found.configurations] == ["area"]
    assert found.gain == found.risk
    assert found.risk.value > 0.2, "nothing leaked: members were chosen for being far from others"
    fair = papers("domias_kde", tested="random")(tables, rng=np.random.default_rng(0))
    assert fair.risk.low < 0 < fair.risk.high


def test_the_papers_describe_the_rows_that_are_outliers():
    with pytest.raises(ParameterError, match="contamination must be"):
        papers("singling_out_contrastive", contamination="some")
    near = {"name": "euclidean"}
    values = np.concatenate([np.arange(300) / 10, [60.0, 80.0]])
    tables = split(LINE, values, np.arange(300) / 10, values)
    found = papers("singling_out_contrastive", representation=near)(tables, rng=np.random.default_rng(0))
    assert found.configurations[-1].facts["guesses"] == 2
