"""Every metric is listed with its question."""

import pytest
from supplies.terminal import run, work_in

from tabveil.metrics.registry import METRICS


@pytest.fixture
def folder(tmp_path, monkeypatch):
    return work_in(tmp_path, monkeypatch)


def test_metrics_lists_questions_and_labels(folder):
    text = run("metrics").stdout
    for name, metric in METRICS.items():
        assert f"{name}: {metric.title}" in text
        assert metric.labels.mechanism in text
    assert text.count("?") >= len(METRICS)
