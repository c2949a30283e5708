"""Audits of linked tables, by person: what leaks is seen, what does not is not, and order means nothing."""

import json

import numpy as np
import pandas as pd
import pytest
from supplies.linked_people import CLINIC

import tabveil
from tabveil.auditing.report import Report
from tabveil.auditing.request import AuditRequest
from tabveil.datasets import clinic
from tabveil.errors import ParameterError, TabveilError

N = 300
FEW = ("membership_views", "linkability", "membership_distance", "identical_match_share")


def with_leak(n, *, own=True, linked=True):
    """A release of fresh people in which some have what training people have, under new keys."""
    train, release = clinic(N, seed=1), {name: table.copy() for name, table in clinic(N, seed=3).items()}
    if n == 0:
        return release
    theirs, ours = (tables["patients"]["patient"].iloc[:n].tolist() for tables in (train, release))
    if own:
        columns = ["born", "sex", "town", "weight"]
        release["patients"].loc[: n - 1, columns] = train["patients"].loc[: n - 1, columns]
    if linked:
        new = dict(zip(theirs, ours, strict=True))
        visits = train["visits"][train["visits"]["patient"].isin(theirs)]
        kept = release["visits"][~release["visits"]["patient"].isin(ours)]
        release["visits"] = pd.concat(
            [kept, visits.assign(patient=visits["patient"].map(new))], ignore_index=True
        )
    return release


def audit(release, *, train=None, control=None, **given):
    options = {"metrics": FEW, "advice": False, "tables": CLINIC, **given}
    return tabveil.audit(
        train or clinic(N, seed=1),
        release,
        control or clinic(N, seed=2),
        **options,
    )


@pytest.fixture(scope="module")
def leaky():
    return audit(with_leak(30))


@pytest.fixture(scope="module")
def clean():
    return audit(with_leak(0))


def test_people_leaked_with_all_rows_are_measured_by_every_risk_and_as_copies(leaky):
    assert leaky.verdict.state == "above threshold"
    for metric in ("membership_views", "linkability", "membership_distance"):
        assert 0.07 < leaky[metric].gain.value < 0.13, metric
    assert leaky.copies.share.value == pytest.approx(0.1, abs=0.01)
    assert leaky.copies.people == 30
    found = {trace.name: trace for trace in leaky.traces.found}
    assert found["sets"].people > 15
    assert found["runs"].seen(0.01)
    assert not found["keys"].seen(0.5)


def test_a_clean_release_is_not_above(clean):
    assert clean.verdict.state != "above threshold"
    assert clean.copies.equal_train == 0
    assert not any(item.leak_seen for risk in clean.verdict.risks for item in risk.metrics)
    assert not any(item.leak_seen for item in clean.verdict.traces)


@pytest.mark.parametrize("parts", [{"own": False}, {"linked": False}])
def test_leaks_of_linked_rows_alone_and_of_own_rows_alone_are_seen(parts):
    report = audit(with_leak(30, **parts), metrics=["membership_views"])
    assert report.verdict.leak_seen("membership_views")


def test_what_is_inferred_of_linked_rows_is_inferred_from_other_tables():
    report = audit(with_leak(60), metrics=["inference"], secrets=["visits: ward, last", "sex"])
    assert {item.column for item in report["inference"].columns} == {"visits: ward, last", "sex"}
    assert any("sums up the same rows was not known" in note for note in report["inference"].notes)
    ward = next(item for item in report["inference"].columns if item.column.startswith("visits"))
    assert ward.gain.value > 0.1


def test_numbers_are_of_people(leaky):
    assert leaky.counted == "people"
    assert {role: item.counted for role, item in leaky.inputs.items()} == {
        "train": N,
        "control": N,
        "synthetic": N,
    }
    assert "patient" in " ".join(item.name for item in leaky.dropped)


def shuffled_tables(tables, seed):
    """The same rows and columns in another order, the tables too."""
    rng = np.random.default_rng(seed)
    moved = {
        name: table.sample(frac=1, random_state=seed)[list(rng.permutation(table.columns))]
        for name, table in tables.items()
    }
    return dict(reversed(moved.items()))


def as_text(report):
    data = json.loads(report.to_json())
    for result in data["results"]:
        result["seconds"] = 0
    for item in data["inputs"].values():
        item["sha256"] = ""
    return json.dumps({**data, "seconds": 0, "request": {}})


def test_a_shuffled_order_of_rows_columns_and_tables_changes_nothing(leaky):
    again = audit(
        shuffled_tables(with_leak(30), 5),
        train=shuffled_tables(clinic(N, seed=1), 6),
        control=shuffled_tables(clinic(N, seed=2), 7),
    )
    assert as_text(again) == as_text(leaky)


def test_a_shuffled_order_changes_nothing_in_a_whole_audit():
    def noted(seed, moved=None):
        tables = clinic(90, seed=seed)
        words = np.array(
            ["fever", "cough", "pain", "rash", "sleep", "weight", "food", "walk", "heart", "lung"]
        )
        drawn = np.random.default_rng(seed).choice(words, (len(tables["visits"]), 12))
        tables["visits"] = tables["visits"].assign(note=[" ".join(each) for each in drawn])
        return tables if moved is None else shuffled_tables(tables, moved)

    one, other = (
        audit(
            noted(3, moves[0]), train=noted(1, moves[1]), control=noted(2, moves[2]), metrics=None, quick=True
        )
        for moves in ((None, None, None), (5, 6, 7))
    )
    assert {"pii_replay", "text_replay", "singling_out"} & {result.metric for result in one.results}
    assert as_text(one) == as_text(other)


def test_a_report_comes_back_from_its_json_and_draws_the_same_page(leaky):
    again = Report.from_json(leaky.to_json())
    assert again.to_json() == leaky.to_json()
    assert again.linked == leaky.linked
    assert tabveil.html_page(again) == tabveil.html_page(leaky)
    assert "Linked tables" in tabveil.html_page(leaky)


def test_folders_named_in_a_file_are_audited_as_frames_are(tmp_path, leaky):
    roles = {"train": clinic(N, seed=1), "control": clinic(N, seed=2), "out": with_leak(30)}
    for role, tables in roles.items():
        (tmp_path / role).mkdir()
        for name, table in tables.items():
            table.to_parquet(tmp_path / role / f"{name}.parquet")
    said = {**CLINIC, "train": "train/", "control": "control/", "synthetic": "out/"}
    (tmp_path / "db.yaml").write_text(json.dumps(said))  # JSON is YAML
    from_file = tabveil.audit(tables=tmp_path / "db.yaml", metrics=FEW, advice=False, title=leaky.title)
    assert [item.gain for item in from_file.results] == [item.gain for item in leaky.results]
    asked = AuditRequest.read({"tables": tmp_path / "db.yaml"})
    assert asked.train == tmp_path / "train"
    repeated = tmp_path / "audit.yaml"
    repeated.write_text(from_file.config())
    assert AuditRequest.read(repeated).database.linkage == asked.database.linkage


def test_metadata_names_the_tables_as_well():
    metadata = {
        "METADATA_SPEC_VERSION": "V1",
        "tables": {
            "patients": {"primary_key": "patient", "columns": {"patient": {"sdtype": "id"}}},
            "visits": {"columns": {"patient": {"sdtype": "id"}}},
        },
        "relationships": [
            {
                "parent_table_name": "patients",
                "parent_primary_key": "patient",
                "child_table_name": "visits",
                "child_foreign_key": "patient",
            }
        ],
    }
    report = audit(
        with_leak(30), tables=None, metadata=metadata, person_table="patients", metrics=["membership_views"]
    )
    assert report.verdict.leak_seen("membership_views")
    assert report.linked.tables[1].order is None


def test_advice_changes_columns_of_the_tables_they_are_of():
    report = audit(with_leak(30), metrics=["membership_views"], advice=True)
    kinds = {remedy.change.kind for remedy in report.advice.remedies}
    assert "filter" in kinds
    best = next(remedy for remedy in report.advice.remedies if remedy.change.kind == "filter")
    assert 25 <= best.rows_changed <= 45
    assert not best.attacks[0].after.low > 0


def test_planted_people_are_seen_where_a_risk_would_be_within():
    report = audit(
        with_leak(0),
        metrics=["membership_views"],
        policy={"required": ["membership_views"], "thresholds": {"membership": 0.2}},
    )
    (tried,) = report.positive.tried
    assert tried.n_planted == 120
    assert tried.seen
    assert 0.35 < tried.gain.value < 0.45


def test_power_plants_people_with_all_their_rows():
    report = audit(with_leak(0), metrics=["membership_views"], power=True)
    (found,) = report.power.detections
    assert found.smallest is not None
    assert found.smallest <= 0.2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"person": "patient"}, "person is for one table"),
        ({"drop": ["cost"]}, "drop is for one table"),
        ({"schema": {"columns": {}}}, "schema is for one table"),
        ({"tables": None, "person_table": "patients"}, "person_table names a table of --metadata"),
        ({"metadata": {}}, "either a file"),
        ({"tables": 5}, "database"),
    ],
)
def test_what_does_not_go_with_linked_tables_is_refused_in_one_line(given, said):
    with pytest.raises(TabveilError, match=said) as caught:
        audit(with_leak(0), **given)
    assert "\n" not in str(caught.value)


def test_without_tables_two_databases_are_missing():
    with pytest.raises(ParameterError, match="train is missing"):
        tabveil.audit(tables=CLINIC)


def test_without_a_control_little_can_be_said():
    report = tabveil.audit(
        clinic(60, seed=1), clinic(60, seed=3), tables=CLINIC, metrics=["membership_views"], advice=False
    )
    assert report.verdict.state == "inconclusive"
    assert report.skipped[0].metric == "membership_views"
    assert [table.name for table in report.linked.tables] == ["patients", "visits"]


def test_no_row_of_few_people_is_told_of():
    report = tabveil.audit(
        clinic(9, seed=1), clinic(9, seed=3), clinic(9, seed=2), tables=CLINIC, metrics=["linkability"]
    )
    for sizes in report.linked.tables[1].sizes:
        assert sizes.quantiles == (None, None, None)
        assert sizes.without in {None, 0}


def keys_alone(tables):
    return {name: table[["patient"]] for name, table in tables.items()}


def test_tables_of_keys_alone_have_nothing_to_compare():
    with pytest.raises(TabveilError, match="no table has a column beside its keys"):
        tabveil.audit(*(keys_alone(clinic(30, seed=seed)) for seed in (1, 3, 2)), tables=CLINIC_UNORDERED)


CLINIC_UNORDERED = {**CLINIC, "linked": {"visits": {"key": "patient"}}}


@pytest.mark.parametrize("without", ["patients", "visits"])
def test_a_table_may_have_keys_alone(without):
    def stripped(seed):
        tables = clinic(60, seed=seed)
        return {**tables, without: tables[without][["patient"]]}

    report = tabveil.audit(
        stripped(1),
        stripped(3),
        stripped(2),
        tables=CLINIC_UNORDERED,
        metrics=["membership_views", "linkability"],
        advice=False,
    )
    assert not report.skipped
    assert not report.copies.seen(0.05)
    assert "Linked tables" in tabveil.html_page(report)
