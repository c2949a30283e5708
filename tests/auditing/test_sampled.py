"""A sample of the people reads a leak as large as all of them do, and says that it is one."""

import json

import numpy as np
import pandas as pd
import pytest
from supplies.plain_words import riddles_in
from supplies.terminal import printed, refused, work_in

import tabveil
from tabveil.auditing.report import Report
from tabveil.auditing.request import AuditRequest
from tabveil.core.estimate.risk import difference, smallest_gain
from tabveil.core.settings.values import read_size
from tabveil.errors import ParameterError
from tabveil.render.audit.page import page

N, LEAK = 4000, 0.05


def people(n, seed):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 95, n)
    return pd.DataFrame(
        {
            "age": age,
            "income": np.round(np.exp(rng.normal(10, 0.6, n))),
            "weight": np.round(rng.normal(75, 14, n), 1),
            "score": np.round(rng.normal(0, 1, n) + age / 30, 2),
            "town": rng.choice([f"town {place}" for place in range(25)], n),
            "job": rng.choice(list("abcdefgh"), n),
            "smokes": rng.random(n) < 0.2,
        }
    )


def leaky(seed):
    train, control, release = (people(N, [seed, role]) for role in range(3))
    copied = int(LEAK * N)
    return train, pd.concat([train.iloc[:copied], release.iloc[copied:]]), control


@pytest.fixture(scope="module")
def reports():
    asked = {"sample": N // 5, "advice": False}
    return [tabveil.audit(*leaky(seed), seed=seed, **asked) for seed in range(3)]


def test_a_planted_leak_reads_as_large_as_it_is(reports):
    """None of the default metrics reads a leak smaller because a fifth of the people was asked."""
    assert not any(report.skipped for report in reports)
    found = {}
    for result in reports[0].results:
        if result.key in {"adversarial_accuracy", "ml_inference"}:  # too noisy; sees a part of any leak
            continue
        each = [report[result.key].measure for report in reports]
        found[result.key] = np.mean([item.value for item in each])
        assert all(item.low <= LEAK <= item.high for item in each[:1]), result.key
    assert len(found) >= 13
    for key, value in found.items():
        assert LEAK - 0.015 < value < LEAK + 0.015, (key, value)


def test_rates_of_claims_make_no_risk(reports):
    """A fifth of the people meets a fifth of what a release claims."""
    for key in ("singling_out", "gtcap"):
        assert reports[0][key].risk is None
        assert "Rates of claims are smaller" in reports[0][key].notes[-1]


def test_every_number_of_a_sample_is_stamped(reports):
    for result in reports[0].results:
        whole = result.key in {"identical_match_share", "mmd"}
        assert any("From a sample" in note for note in result.notes) != whole


def test_the_report_says_how_many_of_how_many_and_what_it_cost(reports):
    report = reports[0]
    said = report.sampled.sentence
    assert "800 of 4,000 training rows and 800 of 4,000 control rows were attacked" in said
    assert f"a gain of {smallest_gain(800, 800):.2g} from chance" in said
    assert f"it could tell {smallest_gain(4000, 4000):.2g}" in said
    assert said in page(report)
    stored = Report.from_json(report.to_json())
    assert stored.sampled == report.sampled
    assert json.loads(report.to_json())["request"]["sample"] == 800
    assert stored.grounds.n_train == 800


def test_scores_are_of_rows_as_they_stand(reports):
    train, release, _ = leaky(0)
    scores = reports[0].sensitive_records()
    near = scores[(scores.metric == "membership_distance") & (scores.table == "train")]
    assert len(near) == 800
    copied = near[near.row < LEAK * N]
    assert copied.score.min() >= near[near.row >= LEAK * N].score.median()
    assert scores[scores.table == "synthetic"].row.max() < len(release)
    assert near.row.max() < len(train)


def test_what_a_sample_means_is_said_in_plain_words(reports):
    shown = page(reports[0])
    said = shown[shown.index("These are numbers of a sample") :][:1500]
    assert riddles_in(said) == []
    assert "800 of" in said


def test_the_smallest_gain_is_where_an_interval_begins_to_leave_out_zero():
    for n, others in [(100, 100), (800, 800), (500, 2000)]:
        gain = smallest_gain(n, others)
        base = round(others / 2)
        told = round((base / others + gain) * n)
        assert difference(told + 1, n, base, others).low > 0
        assert difference(told - 1, n, base, others).low <= 0


def test_a_sample_of_everybody_is_none():
    train, release, control = (table.iloc[:300] for table in leaky(0))
    asked = {"metrics": "closest_share", "advice": False}
    whole = tabveil.audit(train, release, control, **asked)
    sampled = tabveil.audit(train, release, control, sample=300, **asked)
    assert sampled.sampled is None
    assert sampled["closest_share"].risk == whole["closest_share"].risk


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sample": 99}, "audit: sample must be at least 100 people"),
        ({"sample": "many"}, "audit: sample must be a whole number"),
        ({"memory": "much"}, "audit: memory must be a size such as 2GiB or 800MiB, got 'much'"),
        ({"memory": "2 elephants"}, "audit: memory must be a size"),
        ({"memory": "1MiB"}, "audit: memory must be at least 256MiB"),
        ({"memory": True}, "audit: memory must be a size"),
    ],
)
def test_what_is_no_size_is_refused(given, said):
    with pytest.raises(ParameterError) as caught:
        AuditRequest.read(train="t.csv", synthetic="s.csv", **given)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2GiB", 2**31),
        ("2 gib", 2**31),
        ("1GB", 10**9),
        (2**30, 2**30),
        ("1.5GiB", 3 * 2**29),
        ("500000000", 5 * 10**8),
    ],
)
def test_sizes_are_read_as_they_are_written(given, expected):
    assert read_size("audit", "memory", given) == expected


def test_the_program_takes_both(tmp_path, monkeypatch):
    work_in(tmp_path, monkeypatch)
    tables = {role: f"{role}.csv" for role in ("train", "synthetic", "control")}
    more = (
        "--metrics",
        "closest_share",
        "--json",
        "report.json",
        "--sample",
        "100",
        "--memory",
        "1GiB",
        "--no-advice",
    )
    printed("audit", more=more, **tables)
    (tmp_path / "report.json").unlink()
    assert "at least 256MiB" in refused(
        "audit", "--train", "train.csv", "--synthetic", "synthetic.csv", "--memory", "2"
    )
