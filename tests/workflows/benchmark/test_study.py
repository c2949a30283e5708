import json
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

from tabveil.errors import ParameterError, TabveilError
from tabveil.metrics.registry import defaults
from tabveil.synthesis.risks import Leaky, Noisy
from tabveil.workflows.benchmark.study import DATASETS, Hospital, Sizes, Study, TableFile, load

SMALL = {"datasets": ["hospital"], "risks": ["leaky"]}


def refused(**changes):
    with pytest.raises(TabveilError) as caught:
        Study.read({**SMALL, **changes})
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_what_is_left_out_has_sensible_defaults():
    study = Study.read(SMALL)
    assert [item.label for item in study.metrics] == list(defaults(words=False))
    assert study.datasets[0].dataset == Hospital()
    assert study.risks[0].model == Leaky()
    assert study.risks[0].levels == Leaky.levels
    assert study.sizes("hospital", 9000) == Sizes(train=3000, control=3000, release=3000)


def test_parameters_levels_and_labels_are_read():
    risks = [
        {"name": "noisy", "label": "behind noise", "sigma": 0.1, "reading": "absolute", "levels": [0.05]}
    ]
    metrics = [{"name": "nearest_neighbors", "n_neighbors": [5]}, "mmd"]
    study = Study.read(
        {**SMALL, "risks": risks, "metrics": metrics, "rows": {"train": 5, "control": 3, "release": 4}}
    )
    assert study.risks[0].model == Noisy(sigma=0.1, reading="absolute")
    assert (study.risks[0].label, study.risks[0].levels) == ("behind noise", (0.05,))
    assert [item.label for item in study.metrics] == ["nearest_neighbors (n_neighbors 5)", "mmd"]
    assert study.sizes("hospital", 12) == Sizes(train=5, control=3, release=4)


def test_what_is_given_by_name_replaces_what_the_file_says(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text("repeats: 3\ndatasets: [hospital]\nrisks: [leaky]\n")
    assert Study.read(path, repeats=5).repeats == 5
    assert Study.read(path, repeats=None).repeats == 3


def test_paths_start_at_the_folder_of_the_file(tmp_path):
    path = tmp_path / "study.json"
    path.write_text(json.dumps({"datasets": [{"file": "people.csv"}], "risks": ["leaky"]}))
    (choice,) = Study.read(path).datasets
    assert choice.dataset.file == tmp_path / "people.csv"
    assert choice.label == "people"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"risks": ["leeky"]}, "Did you mean 'leaky'?"),
        ({"risks": [{"name": "leaky", "levels": [0, 1.5]}]}, "level must lie from 0 to 1, got 1.5"),
        ({"risks": [{"name": "leaky", "levels": [0, 0]}]}, "levels must be different numbers"),
        ({"risks": [{"name": "leaky", "levels": []}]}, "levels must be different numbers"),
        ({"risks": [{"name": "leaky", "levels": "much"}]}, "levels must be numbers such as 0.1,0.5"),
        ({"risks": [{"name": "noisy", "sigmaa": 1}]}, "Did you mean 'sigma'?"),
        ({"risks": [{"levels": [0]}]}, "must have a name"),
        ({"risks": []}, "the list is empty"),
        ({"risks": ["leaky", "leaky"]}, "stands there twice"),
        ({"metrics": ["mdm"]}, "Did you mean 'mmd'?"),
        ({"metrics": [{"name": "linkability", "n_neighbors": [0]}]}, "n_neighbors"),
        ({"datasets": ["hospitl"]}, "Did you mean 'hospital'?"),
        ({"datasets": [{"name": "hospital", "row": 3}]}, "Did you mean 'rows'?"),
        ({"repeats": 0}, "repeats"),
        ({"rows": 0}, "rows must be >= 1"),
        ({"rows": {"train": 3}}, "control is missing"),
        ({"sed": 1}, "sed: unknown key"),
    ],
)
def test_a_fault_is_one_clear_line_before_anything_runs(changes, said):
    assert said in refused(**changes)


def test_what_must_be_given_is_named():
    with pytest.raises(ParameterError, match="datasets must be given"):
        Study.read({"risks": ["leaky"]})


def test_too_few_people_are_refused_by_the_name_of_the_dataset():
    study = Study.read({**SMALL, "rows": 400})
    with pytest.raises(
        ParameterError, match=r"dataset 'hospital'.*need 1,200 different rows, and there are 1,000"
    ):
        study.sizes("hospital", 1000)
    with pytest.raises(ParameterError, match="need 3 different rows, and there are 2"):
        Study.read(SMALL).sizes("hospital", 2)


def test_rows_of_a_file_can_be_made_independent(tmp_path):
    people = pd.DataFrame(
        {
            "patient": [1, 1, 2, 3, 4, 5],
            "age": [30, 31, 30, 40, 40, "?"],
            "sex": list("ffmmmm"),
        }
    )
    path = tmp_path / "people.csv"
    people.to_csv(path, index=False)
    table = load(TableFile(file=path, missing=("?",), one_row_per="patient", drop=("patient",)))
    np.testing.assert_array_equal(table.column("age"), [30, 30, 40, 40, np.nan])
    assert table.schema.names == ("age", "sex")
    distinct = load(TableFile(file=path, missing=("?",), drop=("patient",), distinct=True))
    assert len(distinct) == 5
    few = TableFile(file=path, missing=("?",), sample=2)
    assert len(load(few)) == 2
    np.testing.assert_array_equal(load(few).values, load(few).values)
    with pytest.raises(ParameterError, match=r"no column 'sexx'\. Did you mean 'sex'"):
        load(TableFile(file=path, drop=("sexx",)))
    with pytest.raises(ParameterError, match="sample must be <= 6, got 7"):
        load(TableFile(file=path, sample=7))


@dataclass(frozen=True)
class Twins:
    name: ClassVar[str] = "twins"

    def load(self):
        return pd.DataFrame({"age": [1.0, 1.0, 2.0]})


def test_a_dataset_of_the_users_own_may_return_any_table():
    with DATASETS.adding(Twins):
        (choice,) = Study.read({**SMALL, "datasets": ["twins"]}).datasets
    assert len(load(choice.dataset)) == 3
    assert Study.read({**SMALL, "datasets": [Twins()]}).datasets[0].label == "twins"
