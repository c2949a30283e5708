"""A benchmark of linked tables: people are dealt and planted with all their rows, and metrics see it."""

import numpy as np
import pandas as pd
import pytest
import yaml

from tabveil.core.linked import people_behind
from tabveil.datasets import clinic
from tabveil.errors import ParameterError
from tabveil.synthesis.risks import Leaky, LeakyPeople, Noisy, NoisyPeople, Overfit
from tabveil.workflows.benchmark import Study, run
from tabveil.workflows.benchmark.databases import LinkedTablesFile, dealt, of_people
from tabveil.workflows.benchmark.findings import find
from tabveil.workflows.benchmark.plan import work_of
from tabveil.workflows.cells.store import content

HANGS = {
    "person": {"table": "patients", "key": "patient"},
    "linked": {"visits": {"key": "patient", "order": "day"}},
    "data": "all",
}


@pytest.fixture
def file(tmp_path):
    (tmp_path / "all").mkdir()
    for name, rows in clinic(210, seed=1).items():
        rows.to_csv(tmp_path / "all" / f"{name}.csv", index=False)
    (tmp_path / "db.yaml").write_text(yaml.safe_dump(HANGS))
    return tmp_path / "db.yaml"


def test_a_study_names_a_database_and_sees_its_leak(file, tmp_path):
    study = {
        "repeats": 1,
        "rows": 70,
        "datasets": [{"tables": "db.yaml"}],
        "risks": [
            {"name": "leaky", "levels": [0, 0.5]},
            {"name": "noisy", "sigma": 0, "lam": 0, "p": 0, "levels": [0.5], "label": "still"},
        ],
        "metrics": ["identical_match_share", "membership_views"],
    }
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(study))
    read = Study.read(tmp_path / "study.yaml")
    assert [choice.label for choice in read.datasets] == ["db"]
    store = tmp_path / "found"
    assert run(read, store, workers=1).failures == {}
    found = find(store)
    values = {
        (curve.risk, curve.metric, point.level): point.mean.value
        for curve in found.curves
        for point in curve.points
    }
    assert values["leaky", "identical_match_share", 0.0] < 0.05
    assert values["leaky", "identical_match_share", 0.5] == pytest.approx(0.5, abs=0.1)
    assert values["leaky", "membership_views", 0.5] > 0.3
    assert values["still", "membership_views", 0.5] == values["leaky", "membership_views", 0.5]


def test_rows_of_linked_tables_decide_the_address_too(file):
    before = content(LinkedTablesFile(tables=file).load())
    assert content(LinkedTablesFile(tables=file).load()) == before
    visits = pd.read_csv(file.parent / "all" / "visits.csv")
    visits.loc[3, "cost"] += 1
    visits.to_csv(file.parent / "all" / "visits.csv", index=False)
    assert content(LinkedTablesFile(tables=file).load()) != before


def test_people_are_dealt_once(file):
    people = people_behind(LinkedTablesFile(tables=file, sample=200).load())
    assert people is not None
    parts = dealt(people, (60, 60, 80), rng=np.random.default_rng(0))
    assert [len(part) for part in parts] == [60, 60, 80]
    assert len(np.unique(np.concatenate([part.keys["patient"] for part in parts]))) == 200


def test_leaks_of_rows_become_leaks_of_people_and_others_are_refused(file):
    assert of_people(Leaky()) == LeakyPeople()
    assert of_people(Noisy(p=0.2)) == NoisyPeople(noise=Noisy(p=0.2))
    with pytest.raises(ParameterError, match="overfit: makes rows of one table"):
        of_people(Overfit())
    nowhere = file.with_name("nowhere.yaml")
    nowhere.write_text(yaml.safe_dump({key: HANGS[key] for key in ("person", "linked")}))
    with pytest.raises(ParameterError, match="data is missing"):
        LinkedTablesFile(tables=nowhere).load()
    asked = {"datasets": [{"tables": str(file)}], "risks": [{"name": "leaky", "levels": [0]}], "rows": 100}
    study = Study.read(asked)
    with pytest.raises(ParameterError, match="there are 210"):
        work_of(study)
