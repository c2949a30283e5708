"""Metrics by name: those of users join with one registration, and each is told what concerns it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml
from supplies.terminal import run

import tabveil
from tabveil.core.result import Labels, Result
from tabveil.engines.representation import Euclidean, Mixed
from tabveil.errors import ParameterError
from tabveil.metrics.attacks import Inference
from tabveil.metrics.registry import METRICS, Knowledge, MetricChoice, defaults

LABELS = Labels(pillar="indicator", wp29="propensity", mechanism="distance")


@dataclass(frozen=True, kw_only=True)
class Mine:
    """Is this asked?"""

    name: ClassVar[str] = "mine"
    labels: ClassVar[Labels] = LABELS
    secrets: tuple[str, ...] | None = None
    steps: tuple[int, ...] = field(default_factory=lambda: (1, 2))

    def __call__(self, split, *, rng):
        return Result(metric=self.name, labels=self.labels, params=vars(self))


@dataclass(frozen=True, kw_only=True)
class Demanding:
    """Which column is it?"""

    column: str
    name: ClassVar[str] = "demanding"
    labels: ClassVar[Labels] = LABELS

    def __call__(self, split, *, rng):
        return Result(metric=self.name, labels=self.labels, params=vars(self))


class Undescribed:
    name: ClassVar[str] = "undescribed"
    labels: ClassVar[Labels] = LABELS

    def __call__(self, split, *, rng):
        return Result(metric=self.name, labels=self.labels)


@pytest.fixture
def tables():
    return [tabveil.datasets.hospital(60, seed=seed) for seed in (1, 2, 3)]


@pytest.fixture
def files(tables, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, table in zip(("train", "synthetic", "control"), tables, strict=True):
        table.to_csv(f"{name}.csv", index=False)
    return ["--train", "train.csv", "--synthetic", "synthetic.csv", "--control", "control.csv"]


def test_what_runs_by_default_is_all_that_needs_nothing():
    assert set(METRICS) - set(defaults()) == {
        "distance_to_closest_contrastive",
        "domias_flow",
        "inference_contrastive",
        "linkability_contrastive",
        "membership_contrastive",
        "membership_influence",
        "membership_ratio",
        "membership_trees",
        "membership_views",
        "singling_out_contrastive",
    }
    assert set(defaults()) - set(defaults(quick=True)) == {"ml_inference", "neighbor_vote", "domias_kde"}


def test_a_registered_metric_is_listed_chosen_and_run_by_default(files, tables):
    assert "mine" not in run("metrics").stdout
    with METRICS.adding(Mine):
        text = " ".join(run("metrics").stdout.split())
        assert "mine Is this asked? indicator, propensity, by distance" in text
        result = run("audit", *files, "--metric", "mine", "--json", "-", "-q")
        assert '"metric": "mine"' in result.stdout
        quick = tabveil.audit(*tables, quick=True, secrets=["ward"])
        assert quick.results[-1].metric == "mine"
        assert quick["mine"].params["secrets"] == ("ward",)
    assert "mine" not in defaults()
    assert "no metric 'mine'" in run("audit", *files, "--metric", "mine").stderr


def test_an_attacker_tries_a_metric_of_the_user_with_its_parameters(tables):
    attackers = [{"name": "x", "wants": ["ward"]}, {"name": "y", "links": [["age"], ["sex"]]}]
    report = tabveil.audit(*tables, metrics=[Mine(steps=(7,), secrets=("age",))], attackers=attackers)
    assert [result.key for result in report.results] == ["mine", "mine: x"]
    assert report["mine: x"].params == {"secrets": ("ward",), "steps": (7,)}


def test_a_metric_that_needs_a_parameter_waits_for_it(files):
    with METRICS.adding(Demanding):
        assert "demanding" not in defaults()
        line = run("audit", *files, "--metric", "demanding").stderr
        assert line == "tabveil: demanding: column must be given.\n"
        tables = {"train": "train.csv", "synthetic": "synthetic.csv"}
        asked = {**tables, "metrics": [{"name": "demanding", "column": "age"}]}
        Path("audit.yaml").write_text(yaml.safe_dump(asked))
        result = run("audit", "--config", "audit.yaml", "--json", "-", "-q")
        assert '"column": "age"' in result.stdout


def test_a_metric_without_a_word_about_itself_is_listed_and_run_too(tables):
    with METRICS.adding(Undescribed):
        assert "undescribed" in run("metrics").stdout
        assert "undescribed" in defaults()
        report = tabveil.audit(*tables, metrics="undescribed")
    assert "undescribed" in tabveil.html_page(report)


def test_a_name_is_taken_only_once():
    class Other(Mine):
        name = "mmd"

    with pytest.raises(ParameterError, match="there is a metric called 'mmd' already"):
        METRICS.add(Other)


def test_a_metric_is_told_what_it_has_a_parameter_for():
    knowledge = Knowledge(secrets=("ward",), known=("age",), confidence=0.9)
    assert knowledge.make(MetricChoice(name="inference")) == Inference(
        secrets=("ward",), known=("age",), confidence=0.9
    )
    assert knowledge.make(MetricChoice(name="mmd")).confidence == 0.9


def test_what_was_given_to_a_metric_comes_first():
    choice: Any = MetricChoice.read("audit", {"name": "inference", "known": None, "confidence": 0.8})
    made = Knowledge(secrets=("ward",), known=("age",)).make(choice)
    assert made == Inference(secrets=("ward",), confidence=0.8)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("euclidean", Euclidean()),
        ({"name": "euclidean", "encoding": "ordinal"}, Euclidean(encoding="ordinal")),
        (Mixed(), Mixed()),
    ],
)
def test_a_parameter_that_is_an_object_is_given_by_its_name(given, expected):
    choice = MetricChoice.read("audit", {"name": "inference", "representation": given})
    assert Knowledge().make(choice).representation == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("euclidian", "inference: no representation 'euclidian'. Did you mean 'euclidean'?"),
        ({"encoding": "ordinal"}, "inference: representation: what has parameters must also have a name."),
        ({"name": "mixed", "encoding": "x"}, "mixed: there are no settings, got 'encoding'."),
        ({"name": "euclidean", "encoding": "x"}, "euclidean: encoding must be one of onehot, ordinal, got"),
    ],
)
def test_an_object_that_cannot_be_made_is_named(given, message):
    with pytest.raises(ParameterError) as caught:
        MetricChoice.read("audit", {"name": "inference", "representation": given})
    assert str(caught.value).startswith(message)
